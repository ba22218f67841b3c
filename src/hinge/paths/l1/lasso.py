"""Exact paths of the weighted lasso over λ and over its weights.        Karasuyama ch. 6; docs/math (841)–(844)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.control import RunControl
from hinge.formulations import SVR
from hinge.kernels import cache_bytes, make_kernel
from hinge.paths.engine import Engine, Progress, path_access, warn_convergence, warn_incomplete
from hinge.paths.evaluation.weights import feature_names
from hinge.paths.l1.lasso_path import LassoPath
from hinge.problems import Array, ParametricProblem, Status
from hinge.problems.parametric import between, parametric_problem, proportional
from hinge.validation import (
    as_samples,
    as_targets,
    check_flag,
    check_integer,
    check_number,
    check_per_sample,
    check_range,
    check_same_length,
)

#: Ratio of the default `lam_min` and `lam_max`.
DEFAULT_RATIO = 1e-3


@dataclass(frozen=True)
class ReweightedLasso:
    """Result of the reweighted ℓ1 iteration.

    Attributes
    ----------
    coef, intercept
        The last solution.
    weights : ndarray
        The weights of the last solution.
    paths : tuple of LassoPath
        One exact path over θ in [0, 1] for every update of the weights.
    changes : list of float
        Largest change of a coefficient in each update, relative to the largest coefficient.
    converged : bool
    """

    coef: Array
    intercept: float
    weights: Array
    paths: tuple[LassoPath, ...]
    changes: list[float]
    converged: bool


def lasso_path(
    X: Any,
    y: Any,
    *,
    weights: ArrayLike | None = None,
    lam_min: float | None = None,
    lam_max: float | None = None,
    fit_intercept: bool = False,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> LassoPath:
    """Compute the solutions of min ½‖y − Xw‖² + λ Σ vⱼ|wⱼ| for every λ in an interval.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    weights : array-like of shape (n_features,), optional
        vⱼ ≥ 0; one for all coefficients by default. A coefficient of weight zero is not penalized.
    lam_min, lam_max : float, optional
        `lam_max` is by default the smallest λ at which all penalized coefficients are zero, and `lam_min` is
        ``lam_max / 1000``. Both must be positive.
    fit_intercept : bool, default=False
        Add an intercept that is not penalized.
    max_time : float, optional
        Seconds. If they do not suffice, a warning is issued and the path ends early.
    progress : callable, optional
        As in `regularization_path`.

    Returns
    -------
    LassoPath
        Over ``parameter="lam"``. λ is ``alpha * n_samples`` of scikit-learn's `Lasso`.

    Notes
    -----
    If columns of X are dependent, the coefficients may not be unique; the path is then one of the optimal solutions,
    and Xw is unique. The memory is that of the matrix XᵀX.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hinge import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = lasso_path(X, y, fit_intercept=True, lam_min=1.0)
    >>> int((path.coef(400.0) != 0).sum()), path.kkt_violation < 1e-9
    (3, True)
    """
    data = _check_data(X, y, fit_intercept)
    v = _check_weights("weights", weights, data.X.shape[1])
    if not np.any(v > 0):
        raise ValueError(
            "weights are all zero, so lam has no effect: give a coefficient a positive weight, or use "
            "numpy.linalg.lstsq for the least-squares solution"
        )
    if lam_max is None:
        lam_max = _smallest_null(data, v)
        lam_max = max(lam_max, 1.0 if lam_min is None else 2.0 * lam_min) if lam_max <= (lam_min or 0.0) else lam_max
    low, high = check_range("lam", DEFAULT_RATIO * lam_max if lam_min is None else lam_min, lam_max, open_low=False)
    _check_positive("lam_min", low)
    control = RunControl(max_time, progress)
    parametric = _parametric(data, proportional(v))
    engine = _engine(data, low * v, control)
    return _follow(engine, parametric, data, "lam", low, high, control)


def lasso_weight_path(
    X: Any,
    y: Any,
    start: ArrayLike,
    end: ArrayLike,
    *,
    lam: float = 1.0,
    fit_intercept: bool = False,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> LassoPath:
    """Compute the solutions of the weighted lasso while its weights change from `start` to `end`.

    The weights are vⱼ(θ) = startⱼ + θ (endⱼ − startⱼ) for θ in [0, 1].

    Parameters
    ----------
    X, y, fit_intercept, max_time, progress
        As in `lasso_path`.
    start, end : array-like of shape (n_features,)
        Weights, positive at both ends or zero at both ends.
    lam : float
        λ of the whole path.

    Returns
    -------
    LassoPath
        Over ``parameter="theta"``.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); y = X @ [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=50)
    >>> path = hinge.lasso_weight_path(X, y, np.ones(3), [1.0, 1.0, 5.0], lam=5.0)
    >>> path.parameter, path.coef(0.5).round(1)[:2]
    ('theta', array([1.9, 0.8]))
    """
    data = _check_data(X, y, fit_intercept)
    check_number("lam", lam, 0.0, open_low=True)
    d = data.X.shape[1]
    first, last = _check_weights("start", start, d), _check_weights("end", end, d)
    changed = np.flatnonzero((first == 0) != (last == 0))
    if len(changed):
        raise ValueError(
            f"the weight of feature {int(changed[0])} is zero at one end of the path only; use a small positive weight "
            "there, or zero at both ends"
        )
    if not np.any(first + last > 0):
        raise ValueError("start and end are all zero: give a coefficient a positive weight")
    control = RunControl(max_time, progress)
    parametric = _parametric(data, between(lam * first, lam * last))
    engine = _engine(data, lam * first, control)
    return _follow(engine, parametric, data, "theta", 0.0, 1.0, control)


def reweighted_lasso(
    X: Any,
    y: Any,
    *,
    lam: float = 1.0,
    delta: float = 0.1,
    max_updates: int = 20,
    tol: float = 1e-6,
    fit_intercept: bool = False,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> ReweightedLasso:
    """Repeat vⱼ ← 1/(|wⱼ| + δ) from the solution with equal weights, along exact paths of the weights.

    A small λ, such as 1e-9, gives the minimum of Σ vⱼ|wⱼ| subject to y = Xw, up to an error proportional to λ.

    Parameters
    ----------
    X, y, fit_intercept, max_time, progress
        As in `lasso_path`.
    lam : float
        λ of all problems.
    delta : float
        δ > 0, of the size of the smallest coefficient that matters. The weights are at most 1/δ.
    max_updates : int
        Largest number of updates of the weights.
    tol : float
        Relative change of the coefficients at which the weights have converged.

    Returns
    -------
    ReweightedLasso

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); y = X @ [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=50)
    >>> result = hinge.reweighted_lasso(X, y, lam=5.0)
    >>> result.converged, result.coef.round(1)[:2], bool(result.coef[2] == 0)
    (True, array([2. , 0.8]), True)
    """
    data = _check_data(X, y, fit_intercept)
    check_number("lam", lam, 0.0, open_low=True)
    check_number("delta", delta, 0.0, open_low=True)
    check_number("tol", tol, 0.0)
    check_integer("max_updates", max_updates, 1)
    control = RunControl(max_time, progress)
    v = np.ones(data.X.shape[1])
    parametric = _parametric(data, between(lam * v, lam * v))
    engine = _engine(data, lam * v, control)
    paths: list[LassoPath] = []
    changes: list[float] = []
    path = _follow(engine, parametric, data, "theta", 0.0, 1.0, control)
    w = path.coef(1.0)
    while len(paths) < max_updates and not (changes and changes[-1] <= tol):
        v_new = 1.0 / (np.abs(w) + delta)
        parametric = _parametric(data, between(lam * v, lam * v_new))
        path = _follow(engine, parametric, data, "theta", 0.0, 1.0, control)
        if path.status is not Status.SOLVED:
            break
        after = path.coef(1.0)
        size = float(np.max(np.abs(np.concatenate([w, after])), initial=0.0))
        changes.append(float(np.max(np.abs(after - w))) / size if size > 0 else 0.0)
        paths.append(path)
        v, w = v_new, after
    converged = bool(changes) and changes[-1] <= tol
    if not converged and path.status is Status.SOLVED:
        warn_convergence(
            f"the weights did not converge in max_updates={max_updates} updates: the last change is {changes[-1]:.2g}, "
            f"tol={tol:g}. Increase max_updates or tol",
            stacklevel=2,
        )
    return ReweightedLasso(w, float(data.y_mean - data.x_mean @ w), v, tuple(paths), changes, converged)


@dataclass(frozen=True)
class _Data:
    """Validated data, centered if there is an intercept."""

    X: Array
    y: Array
    x_mean: Array
    y_mean: float
    names: Any


def _check_data(X: Any, y: Any, fit_intercept: bool) -> _Data:
    """Validate the data; with an intercept, the columns of X and y are centered.                             (844)"""
    check_flag("fit_intercept", fit_intercept)
    if sp.issparse(X):
        raise TypeError("X is a sparse matrix, which lasso paths do not support: pass X.toarray()")
    names = feature_names(X)
    X, y = as_samples(X), as_targets(y)
    check_same_length(X, y)
    if not fit_intercept:
        return _Data(X, y, np.zeros(X.shape[1]), 0.0, names)
    x_mean, y_mean = X.mean(axis=0), float(y.mean())
    centered = X - x_mean
    centered[:, np.all(X[0] == X, axis=0)] = 0.0  # constant columns, without the rounding error of their mean
    return _Data(centered, y - y_mean, x_mean, y_mean, names)


def _check_weights(name: str, weights: Any, d: int) -> Array:
    """Return one finite weight per coefficient, ones by default."""
    if weights is None:
        return np.ones(d)
    values = np.asarray(weights)
    if values.shape != (d,):
        raise ValueError(f"{name} has shape {values.shape}, but X has {d} features: pass one weight per feature")
    return check_per_sample(name, weights, d)


def _smallest_null(data: _Data, v: Array) -> float:
    """Return the smallest λ at which all penalized coefficients are zero."""
    free = data.X[:, v == 0]
    residual = data.y - free @ np.linalg.lstsq(free, data.y, rcond=None)[0] if free.shape[1] else data.y
    return float(np.max(np.abs(data.X[:, v > 0].T @ residual) / v[v > 0]))


def _parametric(data: _Data, tube: Array) -> ParametricProblem:
    """Return the weighted lasso as a regression problem without equality constraints.                        (842)

    A coefficient whose penalty is always zero has one variable without bounds; its second variable is fixed at zero.
    So are both variables of those that depend linearly on other coefficients of this kind.
    """
    unbounded = np.full(data.X.shape[1], np.inf)
    made = parametric_problem(SVR(data.X.T @ data.y, unbounded, tube, None, False).dual())
    free = np.flatnonzero(~np.any(tube, axis=0))
    if len(free) == 0:
        return made
    lower, upper, d = made.lower.copy(), made.upper.copy(), data.X.shape[1]
    upper[0, free] = lower[0, d + free] = 0.0
    independent = free[_independent(data.X[:, free])]
    lower[0, independent], upper[0, independent] = -np.inf, np.inf
    return replace(made, lower=lower, upper=upper)


def _independent(columns: Array) -> Array:
    """Return the indices of linearly independent columns that span all of them."""
    R, order = scipy.linalg.qr(columns, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > max(columns.shape) * np.finfo(float).eps * np.max(diagonal, initial=0.0)))
    return np.asarray(order[:rank])


def _check_positive(name: str, lam: float) -> None:
    """Raise if λ is zero: the two variables of a coefficient are then dependent."""
    if lam == 0:
        raise ValueError(f"{name}=0 is the least-squares problem: use a small positive value or numpy.linalg.lstsq")


def _engine(data: _Data, tube: Array, control: RunControl) -> Engine:
    """Return the active-set method for XᵀX at the solution for the penalties `tube`.

    The penalized coefficients are zero if all penalties are as large as max |Xᵀy|, or larger if there are coefficients
    without a penalty. A path leads from there to `tube`.
    """
    budget = cache_bytes("auto")
    linear = make_kernel("linear", degree=3, gamma=1.0, coef0=0.0)
    access = path_access(linear, np.ascontiguousarray(data.X.T), budget, control=control)
    largest = np.full(len(tube), max(float(np.max(np.abs(data.X.T @ data.y))), float(np.max(tube))))
    parametric = _parametric(data, between(np.where(tube > 0, largest, 0.0), tube))
    engine = Engine(access, parametric.group, 2, budget)
    engine.start(parametric, 0.0, np.zeros(parametric.size), control)
    quiet = control.without_callback()
    _, _, status, _ = engine.follow(parametric, 0.0, 1.0, record=False, control=quiet)
    if status is not Status.SOLVED:
        raise TimeoutError("max_time was reached before the solution at the start of the path was found")
    return engine


def _follow(
    engine: Engine,
    parametric: ParametricProblem,
    data: _Data,
    parameter: str,
    low: float,
    high: float,
    control: RunControl,
) -> LassoPath:
    """Follow the solution of the engine from `low` to `high`."""
    pieces, counts, status, reached = engine.follow(parametric, low, high, control=control)
    assert pieces is not None
    if len(pieces.start) == 0:
        raise ValueError("max_time ended before the first event of the path; allow more time")
    if status is not Status.SOLVED:
        warn_incomplete(parameter, reached, high, status, stacklevel=4)
    end = high if status is Status.SOLVED else reached
    return LassoPath(
        parameter, parametric, pieces, counts, low, end, data.x_mean, data.y_mean, status, float(data.y @ data.y),
        data.names,
    )  # fmt: skip
