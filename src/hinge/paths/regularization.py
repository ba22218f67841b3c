"""Paths over C, weights, margins, ε and ν."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, Formulation, NuSVC, NuSVR, OneClass, OneClassCost
from hinge.kernels import FunctionKernel, Kernel, Precomputed, cache_bytes, make_kernel
from hinge.kernels.access import check_kernel_values
from hinge.matrices import check_kernel_names, check_positive_semidefinite, check_symmetric
from hinge.paths.columns import check_columns, scaled_column, weighted_regression
from hinge.paths.engine import Engine, Progress, path_access, warn_incomplete
from hinge.paths.evaluation.weights import feature_names
from hinge.paths.path import SolutionPath
from hinge.problems import Array, Status
from hinge.problems.parametric import between, parametric_problem, proportional
from hinge.validation import (
    as_floats,
    as_labels,
    as_rows,
    as_samples,
    as_targets,
    check_choice,
    check_number,
    check_per_sample,
    check_range,
    check_same_length,
)

#: Tasks with targets, and all tasks.
SUPERVISED = ("classification", "regression")
TASKS = (*SUPERVISED, "one_class")

#: ν as a linear function of the parameter of its path: θ itself.
NU = np.array([0.0, 1.0])


@dataclass(frozen=True)
class Samples:
    """Validated training data of a path; labels of classification are ±1, +1 for the larger one."""

    X: Any
    y: Array
    kernel: Kernel
    classes: NDArray[Any] | None
    task: str
    feature_names: Any = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.y)


def check_samples(
    X: Any,
    y: Any,
    task: str,
    kernel: Any,
    degree: float,
    gamma: Any,
    coef0: float,
    weight: Array | None = None,
    tasks: tuple[str, ...] = TASKS,
) -> Samples:
    """Validate the data and the kernel of a path."""
    check_choice("task", task, tasks)
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    names = feature_names(X) if hasattr(X, "columns") and not isinstance(made, Precomputed) else None
    X = check_training_rows(made, X)
    classes = None
    if task == "classification":
        labels = as_labels(y)
        classes = np.unique(labels)
        if len(classes) != 2:
            raise ValueError(
                f"y has {len(classes)} classes, but one path separates two: use hinge.one_vs_one_paths for a path per "
                "pair of classes, hinge.selection.path_search to choose C, or pass y == label"
            )
        y = np.where(labels == classes[1], 1.0, -1.0)
    else:
        y = np.ones(X.shape[0]) if task == "one_class" else as_targets(y)
    check_same_length(X, y)
    resolved = made if isinstance(made, Precomputed) else made.resolve(X, np.ones(len(y)) if weight is None else weight)
    if resolved.psd is False:
        raise ValueError(f"{resolved!r} is not positive semidefinite: its problem is not convex and has no path")
    return Samples(X, y, resolved, classes, task, names)


def check_training_rows(kernel: Kernel, X: Any) -> Any:
    """Return training samples as an array or a CSR matrix; a precomputed kernel must be square and symmetric.

    A kernel that calls a Python function may accept other samples; only the structure of sparse matrices is checked.
    """
    if isinstance(kernel, FunctionKernel):
        X = as_rows(X)
        if X.shape[0] == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
        return X
    if isinstance(kernel, Precomputed):
        check_kernel_names(X)
    X = as_samples(X)
    if isinstance(kernel, Precomputed):
        if sp.issparse(X):
            raise ValueError("X is a sparse matrix, but a precomputed kernel must be an array: pass X.toarray()")
        check_symmetric(X)
        check_positive_semidefinite(X)
    return X


def check_vector(name: str, value: Any, n: int, default: float | None = None, positive: bool = True) -> Array:
    """Return one finite number per sample; one number stands for all, and None for `default`."""
    if value is None:
        assert default is not None
        return np.full(n, default)
    if np.ndim(value) == 0:
        value = np.full(n, as_floats(value, name))
    return check_per_sample(name, value, n, nonnegative=positive)


def check_both_classes(samples: Samples, *weights: Array) -> None:
    """Raise if one of the weight vectors is zero on a class."""
    if samples.task != "classification":
        return
    for weight in weights:
        for label in (-1.0, 1.0):
            if not np.any(weight[samples.y == label] > 0):
                raise ValueError(
                    "all samples of one class have weight zero. Give at least one sample of each class a positive "
                    "weight"
                )


def follow(
    samples: Samples,
    formulation: Formulation,
    low: float,
    high: float,
    parameter: str,
    *,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Solve a parametric formulation at `low` and follow its solution to `high`."""
    control, budget = RunControl(max_time, progress), cache_bytes(cache_size)
    parametric = parametric_problem(formulation.dual())
    access = path_access(samples.kernel, samples.X, budget, control=control)
    check_kernel_values(access)
    engine = Engine(access, parametric.group, len(parametric.sign) // len(samples.y), budget)
    engine.start(parametric, low, control=control)
    pieces, counts, status, reached = engine.follow(parametric, low, high, control=control)
    assert pieces is not None
    if len(pieces.start) == 0:
        raise ValueError(f"max_time={max_time!r} ended before the first event of the path; allow more time")
    if status is not Status.SOLVED:
        warn_incomplete(parameter, reached, high, status, stacklevel=4)
    end = high if status is Status.SOLVED else reached
    return SolutionPath(
        parameter, samples.task, samples.kernel, samples.X, samples.y, samples.classes, parametric, pieces, counts,
        low, end, status, samples.feature_names,
    )  # fmt: skip


def regularization_path(
    X: Any,
    y: Any = None,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    task: str = "classification",
    epsilon: Any = 0.1,
    fit_intercept: bool = True,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Compute the exact solution of `SVC`, `SVR` or `OneClassSVM`, depending on the task, for every C.

    The solution of one class for C is that of `OneClassSVM` with ν = 1 / (C Σ weightᵢ), divided by the sum of its
    coefficients: min ½‖w‖² − ρ + C Σ weightᵢ max(0, ρ − ⟨w, Φ(xᵢ)⟩).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    y : array-like of shape (n_samples,)
        Two labels, or numbers for ``task="regression"``; not used for ``task="one_class"``.
    C_min, C_max : float
        For one class, C_min must be at least 1 / Σ weightᵢ.
    kernel, degree, gamma, coef0
        As in `SVC`; the kernel must be positive semidefinite.
    sample_weight : array-like, optional
        Cᵢ = C · weightᵢ; zero leaves a sample out. For regression also a tuple (above, below) or an array of shape
        (n_samples, 2): Cᵢ = C · weightᵢ₀ for targets above the tube and Cᵢ* = C · weightᵢ₁ for targets below it.
    task : {"classification", "regression", "one_class"}
    epsilon : float, tuple or array-like
        Half the width of the tube, for all samples or for each (regression); a tuple or two columns contain the width
        above and below f, as in `SVR`.
    fit_intercept : bool
    cache_size : float or "auto"
        Megabytes for kernel values.
    max_time : float, optional
        Seconds. If they do not suffice, a warning is issued and the path ends early.
    progress : callable, optional
        Called a few times a second with a dictionary: "iteration" is the number of events, "primal" the current C,
        "active" the size of the margin set. Returning False stops the path. `hinge.PathProgress` prints a line.

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
    n = np.shape(y)[0] if task != "one_class" and np.ndim(y) > 0 else np.shape(X)[0]
    weight = star = None
    if sample_weight is not None and task == "regression":
        weight, star = check_columns("sample_weight", sample_weight, n)
    elif sample_weight is not None:
        weight = check_vector("sample_weight", sample_weight, n)
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0, weight if star is None else None)
    weight = np.ones(len(samples.y)) if weight is None else weight
    check_both_classes(samples, weight)
    cost = proportional(weight)
    if task == "classification":
        formulation: Formulation = CSVC(samples.y, cost, fit_intercept)
    elif task == "one_class":
        _check_one_class(fit_intercept)
        smallest = 1.0 / float(np.sum(weight)) if np.any(weight) else np.inf
        if low < smallest:
            raise ValueError(
                f"C_min={low!r} is infeasible for task='one_class': the coefficients, at most C times the weight of a "
                f"sample, have the sum 1. Use C_min of at least {smallest:.6g}, which corresponds to nu=1"
            )
        formulation = OneClassCost(cost)
    else:
        epsilon, epsilon_star = check_columns("epsilon", epsilon, samples.n)
        cost_star = None if star is None else proportional(star)
        formulation = SVR(samples.y, cost, epsilon, cost_star, fit_intercept, epsilon_star)
    return follow(samples, formulation, low, high, "C", cache_size=cache_size, max_time=max_time, progress=progress)


def _check_one_class(fit_intercept: bool) -> None:
    """Raise a ValueError if the offset ρ of one-class classification is to be left out."""
    if not fit_intercept:
        raise ValueError("fit_intercept=False is not possible with task='one_class': the offset is the threshold rho")


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
    epsilon: Any = 0.1,
    epsilon_end: Any = None,
    margin: ArrayLike = 1.0,
    margin_end: ArrayLike | None = None,
    nu: float = 0.5,
    fit_intercept: bool = True,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Compute the exact solution while the sample weights change from `start` to `end`.      Karasuyama ch. 4 and 6

    Cᵢ(θ) = C · (startᵢ + θ (endᵢ − startᵢ)) for θ in [0, 1]. A sample of weight zero has no effect. Margins δᵢ (the
    loss is max(0, δᵢ − yᵢ f(xᵢ))) and tube widths εᵢ may change with the weights, or alone.

    Parameters
    ----------
    X, y : as in `regularization_path`
    start, end : array-like of shape (n_samples,)
        Weights, zero or positive; a number is used for all samples. For regression also a tuple (above, below) or an
        array of shape (n_samples, 2), with the weights of targets above and below the tube.
    C : float
    epsilon, epsilon_end : float, tuple or array-like
        Half widths of the tube at θ = 0 and θ = 1 (regression); a tuple or two columns contain the width above and
        below f.
    margin, margin_end : float or array-like
        Margins at θ = 0 and θ = 1 (classification).
    nu : float
        ν of ``task="one_class"``, where y is not used.

    Returns
    -------
    SolutionPath
        Over ``parameter="theta"``.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.weight_path(X, y, 1.0, np.where(y == 1, 5.0, 1.0), gamma=1.0)
    >>> path.parameter, path.low, path.high
    ('theta', 0.0, 1.0)
    >>> fit = hinge.SVC(gamma=1.0, tol=1e-9).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    >>> bool(np.allclose(path.decision_function(X, 0.5), fit.decision_function(X), atol=1e-6))
    True
    """
    check_number("C", C, 0.0, open_low=True)
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0)
    n = samples.n
    if task == "regression":
        return follow(
            samples, weighted_regression(samples.y, start, end, C, epsilon, epsilon_end, fit_intercept), 0.0, 1.0,
            "theta", cache_size=cache_size, max_time=max_time, progress=progress,
        )  # fmt: skip
    first, last = C * check_vector("start", start, n), C * check_vector("end", end, n)
    check_both_classes(samples, first, last)
    cost = between(first, last)
    if task == "classification":
        first = check_vector("margin", margin, n, positive=False)
        last = first if margin_end is None else check_vector("margin_end", margin_end, n, positive=False)
        formulation: Formulation = CSVC(samples.y, cost, fit_intercept, between(first, last))
    else:
        _check_one_class(fit_intercept)
        check_number("nu", nu, 0.0, 1.0, open_low=True)
        for name, weight in (("start", first), ("end", last)):
            if not np.any(weight > 0):
                raise ValueError(f"{name} has no positive weight; give at least one sample a positive weight")
        formulation = OneClass(cost, nu)
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
    """Compute the exact solution of `SVR` for every ε between `epsilon_min` and `epsilon_max`.

    Parameters as in `regularization_path`.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> X = np.linspace(-3, 3, 40)[:, None]
    >>> y = np.sinc(X[:, 0])
    >>> path = hinge.epsilon_path(X, y, epsilon_min=0.01, epsilon_max=0.5, C=10.0)
    >>> len(path.model(0.4).support), len(path.model(0.02).support) > len(path.model(0.4).support)
    (4, True)
    """
    low, high = check_range("epsilon", epsilon_min, epsilon_max, open_low=False)
    check_number("C", C, 0.0, open_low=True)
    samples = check_samples(X, y, "regression", kernel, degree, gamma, coef0)
    weight, star = check_columns("sample_weight", sample_weight, samples.n, 1.0)
    tube = proportional(np.ones(samples.n))
    formulation = SVR(samples.y, C * weight, tube, scaled_column(star, C), fit_intercept)
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
    """Compute the exact solution of `NuSVC`, `NuSVR` or `OneClassSVM`, depending on the task, for every ν.

    Parameters
    ----------
    X, y : as in `regularization_path`; no y for ``task="one_class"``
    nu_min, nu_max : float
        The interval of ν. The default of `nu_max` is the largest admissible value (docs/math (12)).
    C : float
        For regression.
    task : {"classification", "regression", "one_class"}
        For regression, `path.tube(nu)` is the ε of the solution.

    Returns
    -------
    SolutionPath
        Over ``parameter="nu"``.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.nu_path(X, y, nu_min=0.1, nu_max=0.8, gamma=1.0)
    >>> bool(len(path.model(0.5).support) >= 0.5 * 60)
    True
    """
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0)
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    nu_limit = 1.0
    if task == "classification":
        class_weights = [float(np.sum(weight[samples.y == label])) for label in (-1.0, 1.0)]
        nu_limit = 2 * min(class_weights) / sum(class_weights)
        formulation: Formulation = NuSVC(samples.y, weight, NU)
    elif task == "regression":
        check_number("C", C, 0.0, open_low=True)
        formulation = NuSVR(samples.y, C * weight, NU)
    else:
        formulation = OneClass(weight, NU)
    low, high = check_range("nu", nu_min, nu_limit if nu_max is None else nu_max)
    if high > nu_limit * (1 + 1e-12):
        raise ValueError(f"nu_max={high!r} is infeasible: with these classes nu can be at most {nu_limit:.6g}")
    return follow(samples, formulation, low, high, "nu", cache_size=cache_size, max_time=max_time, progress=progress)
