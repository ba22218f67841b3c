"""Paths over C, over instance weights, over margins and tubes, over ν: one engine, different motions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hinge.formulations import CSVC, SVR, Formulation, NuSVC, NuSVR, OneClass
from hinge.kernels import FunctionKernel, Kernel, Precomputed, is_symmetric, make_kernel
from hinge.paths.engine import Engine, Progress, path_access
from hinge.paths.path import SolutionPath
from hinge.problems import Array, Status
from hinge.problems.parametric import between, proportional

#: ν as a function of the parameter of its path: θ itself.
NU = np.array([0.0, 1.0])

TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Samples:
    """Validated training data of a path."""

    X: Any
    y: Array
    kernel: Kernel
    classes: NDArray[Any] | None
    task: str

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.y)


def check_samples(
    X: Any, y: Any, task: str, kernel: Any, degree: float, gamma: Any, coef0: float, weight: Array | None = None
) -> Samples:
    """The door: X, y and the kernel as the paths need them.  Labels become ±1, +1 for the larger."""
    if task not in (*TASKS, "one_class"):
        raise ValueError(f"task={task!r} must be one of {', '.join(map(repr, TASKS))}")
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    if not isinstance(made, FunctionKernel):
        X = check_array(X, dtype=np.float64, order="C", accept_sparse="csr")
    if isinstance(made, Precomputed) and (sp.issparse(X) or X.shape[0] != X.shape[1]):
        raise ValueError(f"X has shape {X.shape}; a precomputed kernel needs a square matrix")
    if isinstance(made, Precomputed) and not is_symmetric(X):
        raise ValueError(
            "X is a precomputed kernel and must be symmetric: X[i, j] and X[j, i] differ. Pass (X + X.T) / 2 if they "
            "differ by rounding only"
        )
    if task == "one_class":
        y = np.ones(X.shape[0])
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    classes = None
    if task == "classification":
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) != 2:
            raise ValueError(
                f"y has {len(classes)} classes, and one path is for two: use hinge.one_vs_one_paths for a path per "
                "pair of classes, hinge.selection.path_search to choose C, or pass y == label"
            )
        y = np.where(y == classes[1], 1.0, -1.0)
    else:
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity; every sample needs a finite target")
    resolved = made if isinstance(made, Precomputed) else made.resolve(X, np.ones(len(y)) if weight is None else weight)
    if resolved.psd is False:
        raise ValueError(f"{resolved!r} is not positive semidefinite: its problem is not convex and has no path")
    return Samples(X, y, resolved, classes, task)


def check_vector(name: str, value: Any, n: int, default: float | None = None, positive: bool = True) -> Array:
    """One number per sample."""
    if value is None:
        assert default is not None
        return np.full(n, default)
    value = np.asarray(value, dtype=np.float64)
    value = np.full(n, float(value)) if value.ndim == 0 else value
    if value.shape != (n,):
        raise ValueError(f"{name} has shape {value.shape}, but there are {n} samples; pass one number per sample")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} contains NaN or infinity")
    if positive and np.any(value < 0):
        raise ValueError(f"{name} has {int(np.sum(value < 0))} negative entries; they must be zero or positive")
    return value


def check_range(name: str, low: Any, high: Any, open_low: bool = True) -> tuple[float, float]:
    """low < high, finite."""
    low, high = float(low), float(high)
    if not (np.isfinite(low) and np.isfinite(high)) or (low <= 0 if open_low else low < 0):
        raise ValueError(f"{name}_min={low!r}, {name}_max={high!r} must be finite, {'> 0' if open_low else '>= 0'}")
    if not low < high:
        hint = "; exchange them" if low > high else ""
        raise ValueError(f"{name}_min={low!r} must be below {name}_max={high!r}{hint}")
    return low, high


def check_both_classes(samples: Samples, *weights: Array) -> None:
    """Each of the weight vectors leaves samples of both classes."""
    if samples.task != "classification":
        return
    for weight in weights:
        for side in (-1.0, 1.0):
            if not np.any(weight[samples.y == side] > 0):
                raise ValueError(
                    "all samples of one class have weight zero: nothing is left to separate. Keep at least "
                    "one sample of each class above zero"
                )


def follow(
    samples: Samples,
    formulation: Formulation,
    low: float,
    high: float,
    parameter: str,
    *,
    beta: Array | None = None,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Start at `low`, follow to `high`."""
    moving = formulation.parametric()
    access = path_access(samples.kernel, samples.X, cache_size)
    if not np.isfinite(access.diagonal()).all():
        raise ValueError("kernel values of these data are not finite: they overflow. Scale the data")
    engine = Engine(access, moving.group, moving.size // samples.n, cache_size)
    engine.start(moving, low, beta, max_time)
    pieces, counts, status, reached = engine.follow(moving, low, high, max_time=max_time, progress=progress)
    assert pieces is not None
    if len(pieces) == 0:
        raise ValueError(f"max_time={max_time!r} ended before the path began; allow more time")
    if status is not Status.SOLVED:
        warnings.warn(
            f"the path ends at {parameter}={reached:.6g}, before {high:.6g}: {status.name}. The part that was "
            "followed is exact",
            ConvergenceWarning,
            stacklevel=3,
        )
    end = high if status is Status.SOLVED else reached
    return SolutionPath(
        parameter, samples.task, samples.kernel, samples.X, samples.y, samples.classes, moving, pieces, counts,
        low, end, status,
    )  # fmt: skip


def regularization_path(
    X: Any,
    y: Any,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    task: str = "classification",
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """The exact solution of `SVC` or `SVR` for every C between `C_min` and `C_max`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    y : array-like of shape (n_samples,)
        Two labels, or numbers for ``task="regression"``.
    C_min, C_max : float
    kernel, degree, gamma, coef0
        As in `SVC`; the kernel must be positive semidefinite.
    sample_weight : array-like, optional
        Cᵢ = C · weightᵢ; zero leaves a sample out.
    task : {"classification", "regression"}
    epsilon : float or array-like
        Half the width of the tube, for all samples or for each (regression).
    fit_intercept : bool
    cache_size : float or "auto"
        Megabytes for kernel values.
    max_time : float, optional
        Seconds; the part of the path followed so far is kept, with a warning.
    progress : callable, optional
        `hinge.PathProgress` shows a line; or a function, called a few times a second with a dictionary: "iteration" is
        the number of events, "primal" the C reached, "active" the size of the margin. Returning False stops the path.

    Returns
    -------
    SolutionPath

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hinge import regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = regularization_path((X - X.mean(0)) / X.std(0), y, C_min=0.01, C_max=10, gamma=0.01)
    >>> path.kkt_violation < 1e-9
    True
    """
    low, high = check_range("C", C_min, C_max)
    weight = None if sample_weight is None else check_vector("sample_weight", sample_weight, np.shape(y)[0])
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0, weight)
    weight = np.ones(samples.n) if weight is None else weight
    check_both_classes(samples, weight)
    cost = proportional(weight)
    if task == "classification":
        formulation: Formulation = CSVC(samples.y, cost, fit_intercept)
    else:
        formulation = SVR(samples.y, cost, check_vector("epsilon", epsilon, samples.n), bias=fit_intercept)
    return follow(samples, formulation, low, high, "C", cache_size=cache_size, max_time=max_time, progress=progress)


def weight_path(
    X: Any,
    y: Any,
    start: ArrayLike,
    end: ArrayLike,
    *,
    C: float = 1.0,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    task: str = "classification",
    epsilon: ArrayLike = 0.1,
    epsilon_end: ArrayLike | None = None,
    margin: ArrayLike = 1.0,
    margin_end: ArrayLike | None = None,
    fit_intercept: bool = True,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """The exact solution while the weights of the samples move from `start` to `end`.      Karasuyama ch. 4 and 6

    Cᵢ(θ) = C · (startᵢ + θ (endᵢ − startᵢ)) for θ in [0, 1]. A weight of zero is a sample that is not there. Margins δᵢ
    (the loss is max(0, δᵢ − yᵢ f(xᵢ))) and tubes εᵢ may move with the weights, or alone.

    Parameters
    ----------
    X, y : as in `regularization_path`
    start, end : array-like of shape (n_samples,)
        Weights, zero or positive; one number stands for all.
    C : float
    epsilon, epsilon_end : float or array-like
        Half widths of the tube at θ = 0 and θ = 1 (regression).
    margin, margin_end : float or array-like
        Margins at θ = 0 and θ = 1 (classification).

    Returns
    -------
    SolutionPath
        Over ``parameter="theta"``.
    """
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C={C!r} must be positive and finite")
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0)
    n = samples.n
    first, last = C * check_vector("start", start, n), C * check_vector("end", end, n)
    check_both_classes(samples, first, last)
    cost = between(first, last)
    if task == "classification":
        here = check_vector("margin", margin, n, positive=False)
        there = here if margin_end is None else check_vector("margin_end", margin_end, n, positive=False)
        formulation: Formulation = CSVC(samples.y, cost, fit_intercept, between(here, there))
    else:
        here = check_vector("epsilon", epsilon, n)
        there = here if epsilon_end is None else check_vector("epsilon_end", epsilon_end, n)
        formulation = SVR(samples.y, cost, between(here, there), bias=fit_intercept)
    return follow(samples, formulation, 0.0, 1.0, "theta", cache_size=cache_size, max_time=max_time, progress=progress)


def epsilon_path(
    X: Any,
    y: Any,
    *,
    epsilon_min: float = 0.0,
    epsilon_max: float = 1.0,
    C: float = 1.0,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """The exact solution of `SVR` for every ε between `epsilon_min` and `epsilon_max`.

    Parameters as in `regularization_path`.
    """
    low, high = check_range("epsilon", epsilon_min, epsilon_max, open_low=False)
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C={C!r} must be positive and finite")
    samples = check_samples(X, y, "regression", kernel, degree, gamma, coef0)
    cost = C * check_vector("sample_weight", sample_weight, samples.n, 1.0)
    formulation = SVR(samples.y, cost, proportional(np.ones(samples.n)), bias=fit_intercept)
    return follow(
        samples, formulation, low, high, "epsilon", cache_size=cache_size, max_time=max_time, progress=progress
    )


def nu_path(
    X: Any,
    y: Any = None,
    *,
    nu_min: float = 0.1,
    nu_max: float | None = None,
    C: float = 1.0,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    task: str = "classification",
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """The exact solution of `NuSVC` for every ν in [nu_min, nu_max]; of `NuSVR` or `OneClassSVM` for the other tasks.

    Parameters
    ----------
    X, y : as in `regularization_path`; no y for ``task="one_class"``
    nu_min, nu_max : float
        `nu_max` is the largest admissible ν when left out (docs/math (12)).
    C : float
        For regression.
    task : {"classification", "regression", "one_class"}
        For regression `path.tube(nu)` is the ε that belongs to ν.

    Returns
    -------
    SolutionPath
        Over ``parameter="nu"``.
    """
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0)
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    nu_limit = 1.0
    if task == "classification":
        sides = [float(np.sum(weight[samples.y == side])) for side in (-1.0, 1.0)]
        nu_limit = 2 * min(sides) / sum(sides)
        formulation: Formulation = NuSVC(samples.y, weight, NU)
    elif task == "regression":
        if not (np.isfinite(C) and C > 0):
            raise ValueError(f"C={C!r} must be positive and finite")
        formulation = NuSVR(samples.y, C * weight, NU)
    else:
        formulation = OneClass(weight, NU)
    low, high = check_range("nu", nu_min, nu_limit if nu_max is None else nu_max)
    if high > nu_limit * (1 + 1e-12):
        raise ValueError(f"nu_max={high!r} is infeasible: with these classes nu can be at most {nu_limit:.6g}")
    return follow(samples, formulation, low, high, "nu", cache_size=cache_size, max_time=max_time, progress=progress)
