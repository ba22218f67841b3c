"""Bounds and estimates of the leave-one-out error from one solution.   docs/math (241)–(244), (248)"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from hinge.control import RunControl
from hinge.formulations import NuSVC
from hinge.kernels import Precomputed, open_access
from hinge.paths.engine import Engine
from hinge.paths.regularization import NU, Samples, check_both_classes, check_samples
from hinge.paths.window import Window
from hinge.problems import Array
from hinge.selection.nu.bound import nu_intervals
from hinge.solvers import Auto
from hinge.solvers.time_budget import fits, matrix_seconds
from hinge.validation import check_number

#: Relative distance from a bound up to which a variable is at the bound.
AT_BOUND = 1e-9

TARGET_TOL = 1e-8  # KKT violation of the small problems of `nu_maximized_target`


@dataclass(frozen=True)
class LooBounds:
    """Bounds and estimates of the leave-one-out error of a classifier with two classes.

    Attributes
    ----------
    support_vectors : float
        An upper bound: only support vectors can be errors.
    xi_alpha : float
        An upper bound: the share of samples with 2αᵢR² + ξᵢ ≥ 1 (Joachims), for C-classification.
    span_bound : float
        An upper bound: (D max(D, 1/√C) Σ* α + m)/n with the diameter D in feature space as the span, Σ* over the margin
        and m samples inside (Vapnik and Chapelle), for C-classification.
    span_estimate : float
        The error if removing a sample changes no index set: the sign of yf − αS², S the span.
    nu_general : float
        An upper bound for ν-classification without assumptions: the share of samples whose decision value without them
        is not proved to have the right sign (the general ν-SV bound of the ν tutorial §6, as in docs/math (248)).
    nu_restricted : float
        The estimate of `span_estimate` for ν-classification (ν tutorial §6).
    nu_maximized_target : float
        The error of ν-classification if only variables of the margin set change: a small problem for each support
        vector (ν tutorial §6).
    span_values : ndarray
        The decision values behind `span_estimate` (positive: the larger label).
    nu_intervals : ndarray of shape (n_samples, 2)
        Intervals behind `nu_general`: they contain yf at every sample, of ν-classification trained without it.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> bounds = hinge.selection.loo_bounds(X, y, nu=0.4, gamma=1.0)
    >>> bool(bounds.nu_general <= 1), len(bounds.span_values)
    (True, 60)
    """

    support_vectors: float
    xi_alpha: float
    span_bound: float
    span_estimate: float
    nu_general: float
    nu_restricted: float
    nu_maximized_target: float
    span_values: Array
    nu_intervals: Array


def loo_bounds(
    X: Any,
    y: Any,
    *,
    C: float | None = None,
    nu: float | None = None,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    max_time: float | None = None,
) -> LooBounds:
    """Compute bounds and estimates from one solution: `SVC` with `C` (default 1), or `NuSVC` with `nu`.

    With `C`, the results for ν are those of the equivalent ν-classification; with `nu`, the results for C are those of
    the equivalent C-classification (ν tutorial Prop. 2 and 3). After `max_time` seconds, results that are not yet known
    are NaN, with a warning; a TimeoutError is raised if the solution itself was not found.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> bounds = hinge.selection.loo_bounds(X, y, C=1.0, gamma=1.0)
    >>> exact = hinge.selection.leave_one_out(X, y, C=1.0, gamma=1.0).error
    >>> bool(exact <= bounds.xi_alpha), bool(exact <= bounds.support_vectors)
    (True, True)
    """
    control = RunControl(max_time)
    if C is not None and nu is not None:
        raise ValueError(f"C={C!r} and nu={nu!r} exclude each other; pass one of them")
    samples = check_samples(X, y, "classification", kernel, degree, gamma, coef0)
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        if not np.array_equal(weight, np.ones(samples.n)):
            raise ValueError("the bounds hold for samples of equal weight only; do not pass sample_weight")
    check_both_classes(samples, np.ones(samples.n))
    rows = np.arange(samples.n)
    _check_time(control, matrix_seconds(samples.n, 3.0), max_time)
    K = open_access(samples.kernel, samples.X).block(rows, rows)
    if nu is None:
        beta, b, C = _solve_C(samples, K, 1.0 if C is None else float(C), control)
        nu = float(np.sum(np.abs(beta)) / (samples.n * C))
        scale = 1.0 / C
    else:
        beta, b, rho = _solve_nu(samples, K, float(nu), control)
        beta, b, C, scale = beta / rho, b / rho, 1.0 / rho, rho
    y_, n = samples.y, samples.n
    _check_time(control, 0.0, max_time)
    alpha, f = np.abs(beta), K @ beta + b
    margin = (alpha > AT_BOUND * C) & (alpha < (1 - AT_BOUND) * C)
    support = alpha > AT_BOUND * C
    slack = np.maximum(0.0, 1.0 - y_ * f)
    radius = float(np.max(np.diagonal(K)) - min(0.0, float(np.min(K))))
    diameter = float(np.sqrt(max(0.0, float(np.max(np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K)))))
    inside = support & ~margin
    span_values = f - _restricted(K, beta, support, margin, np.zeros(n, dtype=int), control)
    side = np.where(y_ > 0, 0, 1)
    total = 0.5 * nu * C * np.array([1.0, -1.0])  # without a sample, the total of each class is smaller by ½ν
    nu_values = f - _restricted(K, beta, support, margin, side, control, total, average=True)
    low, high = nu_intervals(K, y_, beta * scale, b * scale, scale, nu, control)
    maximized = _maximized_target(K, y_, beta * scale, support, margin, nu, nu_values, control)
    width = diameter * max(diameter, 1 / float(np.sqrt(C)))
    span_bound = float(width * np.sum(alpha[margin]) + np.sum(inside)) / n
    if np.isnan(maximized):  # it is computed last
        warnings.warn(
            f"max_time={max_time} s did not suffice for all bounds: those that are not known are NaN. Allow more time, "
            "or use fewer samples",
            ConvergenceWarning,
            stacklevel=2,
        )
    return LooBounds(
        support_vectors=float(np.mean(support)),
        xi_alpha=float(np.mean(2 * alpha * radius + slack >= 1)),
        span_bound=min(1.0, span_bound),
        span_estimate=_share_of_errors(y_ * span_values),
        nu_general=_share_of_errors(low),
        nu_restricted=_share_of_errors(y_ * nu_values),
        nu_maximized_target=maximized,
        span_values=span_values,
        nu_intervals=np.stack([low, high], axis=1),
    )


def _check_time(control: RunControl, seconds: float, max_time: float | None) -> None:
    """Raise a TimeoutError if work of this many seconds does not end before the deadline."""
    if control.expired() or not fits(control, seconds):
        raise TimeoutError(f"max_time={max_time} s do not suffice for the bounds; allow more time or fewer samples")


def _share_of_errors(margins: Array) -> float:
    """Share of samples whose margin is not positive; NaN if one of them is not known."""
    return np.nan if np.isnan(margins).any() else float(np.mean(margins <= 0))


def _solve_C(samples: Samples, K: Array, C: float, control: RunControl) -> tuple[Array, float, float]:
    check_number("C", C, 0.0, open_low=True)
    window = Window(Precomputed(), K, samples.y, np.full(samples.n, C), max_time=control.remaining())
    return window.beta, window.intercept, C


def _solve_nu(samples: Samples, K: Array, nu: float, control: RunControl) -> tuple[Array, float, float]:
    nu_max = 2 * min(np.mean(samples.y > 0), np.mean(samples.y < 0))
    if not 0 < nu <= nu_max:
        raise ValueError(f"nu={nu!r} must lie in (0, {nu_max:.6g}] for classes of these sizes")
    parametric = NuSVC(samples.y, np.ones(samples.n), NU).parametric()
    engine = Engine(open_access(Precomputed(), K), parametric.group, 1)
    engine.start(parametric, nu, control=control)
    mu = engine.active_set.mu
    rho = float(0.5 * (mu[1] - mu[0]))
    if rho <= 0:
        raise ValueError(f"nu={nu!r} is too small for this kernel: the margin is zero; use a larger nu")
    return engine.active_set.beta, float(0.5 * (mu[0] + mu[1])), rho


def _restricted(
    K: Array,
    beta: Array,
    support: NDArray[np.bool_],
    margin: NDArray[np.bool_],
    group: NDArray[np.intp],
    control: RunControl,
    total: Array | None = None,
    average: bool = False,
) -> Array:
    """Return the decrease of every decision value if its sample is removed and no index set changes.          (243)

    The residuals of the margin set remain zero, and the totals of the groups change by `total`. Without a margin set
    the other variables do not change. `average`: the offset is the mean of two multipliers, as in ν-classification. The
    result is NaN for samples after the time limit.
    """
    decrease = np.zeros(len(beta))
    members = np.flatnonzero(margin)
    groups = sorted(set(group[members].tolist()))
    rows = np.array([(group[members] == g).astype(float) for g in groups]).reshape(len(groups), len(members))
    m, k = len(members), len(groups)
    system = np.zeros((m + k, m + k))
    system[:m, :m] = K[np.ix_(members, members)]
    system[m:, :m], system[:m, m:] = rows, rows.T
    position = {int(v): i for i, v in enumerate(members)}
    for p in np.flatnonzero(support):
        if control.expired():
            decrease[p] = np.nan
            continue
        keep = np.ones(m + k, dtype=bool)
        if margin[p]:
            keep[position[int(p)]] = False
        used = members[keep[:m]]
        right = np.zeros(m + k)
        right[:m] = K[members, p] * beta[p]  # without p, f on the margin is smaller by beta_p k(x_p, .)
        for i, g in enumerate(groups):
            right[m + i] = beta[p] if group[p] == g else 0.0
            if total is not None:
                right[m + i] -= total[g]
        solution = scipy.linalg.lstsq(system[np.ix_(keep, keep)], right[keep], cond=1e-12, lapack_driver="gelsy")[0]
        change = solution[: len(used)]
        shift = solution[len(used) :]
        offset = float(np.mean(shift)) if average and len(shift) else float(shift[0]) if len(shift) else 0.0
        decrease[p] = K[p, p] * beta[p] - K[p, used] @ change - offset
    return decrease


def _maximized_target(
    K: Array,
    y: Array,
    beta: Array,
    support: NDArray[np.bool_],
    margin: NDArray[np.bool_],
    nu: float,
    restricted: Array,
    control: RunControl,
) -> float:
    """Return the error rate if, for each removed support vector, only variables of the margin set may change.  (244)

    NaN if the time limit is reached.
    """
    n, wrong = len(y), 0
    dual, access = NuSVC(y, np.ones(n), NU).dual(), open_access(Precomputed(), K)
    for p in np.flatnonzero(support):
        if control.expired():
            return np.nan
        free = margin.copy()
        free[p] = False
        fixed = np.where(support & ~margin, np.sign(beta), 0.0)
        fixed[p] = 0.0
        lower = np.where(free, np.where(y > 0, 0.0, -1.0), fixed)
        upper = np.where(free, np.where(y > 0, 1.0, 0.0), fixed)
        total = 0.5 * nu * (n - 1) * np.array([1.0, -1.0])
        low = np.array([np.sum(lower[y > 0]), np.sum(lower[y < 0])])
        high = np.array([np.sum(upper[y > 0]), np.sum(upper[y < 0])])
        if np.any(total < low - 1e-12) or np.any(total > high + 1e-12):
            wrong += bool(y[p] * restricted[p] <= 0)  # infeasible without p: use the restricted value
            continue
        problem = replace(dual, lower=lower, upper=upper, total=total).problem(access)
        solution = Auto(tol=TARGET_TOL).solve(problem, control=control)
        if control.expired():
            return np.nan
        coefficients = y * solution.alpha
        b = 0.5 * float(solution.mu[0] - solution.mu[1])  # μ = (b − ρ, −b − ρ)
        wrong += bool(y[p] * (K[p] @ coefficients + b) <= 0)
    return wrong / n
