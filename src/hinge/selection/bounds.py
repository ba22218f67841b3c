"""What can be said about the leave-one-out error without leaving anything out.   docs/math (241)–(244), (248)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from hinge.formulations import NuSVC
from hinge.kernels import Precomputed, open_access
from hinge.paths.engine import Engine
from hinge.paths.regularization import NU, Samples, check_both_classes, check_samples
from hinge.paths.window import Window
from hinge.problems import Array
from hinge.selection.nu_bound import nu_intervals
from hinge.solvers import Auto

#: A variable this close to a bound, relative to the bound, is on it.
AT_BOUND = 1e-9


@dataclass(frozen=True)
class LooBounds:
    """Bounds on and estimates of the leave-one-out error of a classifier with two classes.

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
        An upper bound for the ν-machine that assumes nothing: the share of samples whose decision value without them is
        not proved to have the right sign (the general ν-SV bound of the ν tutorial §6, as in docs/math (248)).
    nu_restricted : float
        The estimate of `span_estimate` for the ν-machine with its margin and its totals (ν tutorial §6).
    nu_maximized_target : float
        The error of the ν-machine if samples only leave the margin: a small problem over the margin for each support
        vector (ν tutorial §6).
    span_values : ndarray
        The decision values behind `span_estimate` (positive: the larger label).
    nu_intervals : ndarray of shape (n_samples, 2)
        Behind `nu_general`: yf at every sample, of the ν-machine trained without it, lies between.
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
) -> LooBounds:
    """Bounds and estimates from one trained machine: `SVC` with `C` (default 1), or `NuSVC` with `nu`.

    With `C` the ν figures are those of the equivalent ν-machine, and with `nu` the C figures those of the equivalent
    C-machine (ν tutorial Prop. 2 and 3).
    """
    if C is not None and nu is not None:
        raise ValueError("give C or nu, not both")
    samples = check_samples(X, y, "classification", kernel, degree, gamma, coef0)
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        if not np.array_equal(weight, np.ones(samples.n)):
            raise ValueError("the bounds are for samples of equal weight; leave sample_weight out")
    check_both_classes(samples, np.ones(samples.n))
    everyone = np.arange(samples.n)
    K = open_access(samples.kernel, samples.X).block(everyone, everyone)
    if nu is None:
        beta, b, C = _by_C(samples, K, 1.0 if C is None else float(C))
        nu = float(np.sum(np.abs(beta)) / (samples.n * C))
        scale = 1.0 / C
    else:
        beta, b, rho = _by_nu(samples, K, float(nu))
        beta, b, C, scale = beta / rho, b / rho, 1.0 / rho, rho
    y_, n = samples.y, samples.n
    alpha, f = np.abs(beta), K @ beta + b
    margin = (alpha > AT_BOUND * C) & (alpha < (1 - AT_BOUND) * C)
    support = alpha > AT_BOUND * C
    slack = np.maximum(0.0, 1.0 - y_ * f)
    radius = float(np.max(np.diagonal(K)) - min(0.0, float(np.min(K))))
    diameter = float(np.sqrt(max(0.0, float(np.max(np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K)))))
    inside = support & ~margin
    span_values = f - _restricted(K, beta, support, margin, np.zeros(n, dtype=int))
    side = np.where(y_ > 0, 0, 1)
    total = 0.5 * nu * C * np.array([1.0, -1.0])  # one sample less: each class's total falls by ½ν per unit of bound
    nu_values = f - _restricted(K, beta, support, margin, side, total, average=True)
    low, high = nu_intervals(K, y_, beta * scale, b * scale, scale, nu)
    width = diameter * max(diameter, 1 / float(np.sqrt(C)))
    span_bound = float(width * np.sum(alpha[margin]) + np.sum(inside)) / n
    return LooBounds(
        support_vectors=float(np.mean(support)),
        xi_alpha=float(np.mean(2 * alpha * radius + slack >= 1)),
        span_bound=min(1.0, span_bound),
        span_estimate=float(np.mean(y_ * span_values <= 0)),
        nu_general=float(np.mean(low <= 0)),
        nu_restricted=float(np.mean(y_ * nu_values <= 0)),
        nu_maximized_target=_maximized_target(K, y_, beta * scale, support, margin, nu, nu_values),
        span_values=span_values,
        nu_intervals=np.stack([low, high], axis=1),
    )


def _by_C(samples: Samples, K: Array, C: float) -> tuple[Array, float, float]:
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C={C!r} must be positive and finite")
    window = Window(Precomputed(), K, samples.y, np.full(samples.n, C))
    return window.beta, window.intercept, C


def _by_nu(samples: Samples, K: Array, nu: float) -> tuple[Array, float, float]:
    most = 2 * min(np.mean(samples.y > 0), np.mean(samples.y < 0))
    if not 0 < nu <= most:
        raise ValueError(f"nu={nu!r} must lie in (0, {most:.6g}], what the class sizes allow")
    parametric = NuSVC(samples.y, np.ones(samples.n), NU).parametric()
    engine = Engine(open_access(Precomputed(), K), parametric.group, 1)
    engine.start(parametric, nu)
    mu = engine.active_set.mu
    rho = float(0.5 * (mu[1] - mu[0]))
    if rho <= 0:
        raise ValueError(f"nu={nu!r} is not above nu_min for this kernel: the margin is zero; use a larger nu")
    return engine.active_set.beta, float(0.5 * (mu[0] + mu[1])), rho


def _restricted(
    K: Array,
    beta: Array,
    support: NDArray[np.bool_],
    margin: NDArray[np.bool_],
    group: NDArray[np.intp],
    total: Array | None = None,
    average: bool = False,
) -> Array:
    """How far each decision value falls when its sample goes and no index set changes.                       (243)

    The margin keeps its residuals at zero and the totals of the groups move by `total`; without margin nothing moves.
    `average`: the offset is the mean of two multipliers, as in ν-classification.
    """
    fall = np.zeros(len(beta))
    members = np.flatnonzero(margin)
    groups = sorted(set(group[members].tolist()))
    rows = np.array([(group[members] == g).astype(float) for g in groups]).reshape(len(groups), len(members))
    m, k = len(members), len(groups)
    system = np.zeros((m + k, m + k))
    system[:m, :m] = K[np.ix_(members, members)]
    system[m:, :m], system[:m, m:] = rows, rows.T
    position = {int(v): i for i, v in enumerate(members)}
    for p in np.flatnonzero(support):
        keep = np.ones(m + k, dtype=bool)
        if margin[p]:
            keep[position[int(p)]] = False
        used = members[keep[:m]]
        right = np.zeros(m + k)
        right[:m] = K[members, p] * beta[p]  # f on the margin loses beta_p k(x_p, .)
        for i, g in enumerate(groups):
            right[m + i] = beta[p] if group[p] == g else 0.0
            if total is not None:
                right[m + i] -= total[g]
        answer = scipy.linalg.lstsq(system[np.ix_(keep, keep)], right[keep], cond=1e-12, lapack_driver="gelsy")[0]
        moved = answer[: len(used)]
        shift = answer[len(used) :]
        offset = float(np.mean(shift)) if average and len(shift) else float(shift[0]) if len(shift) else 0.0
        fall[p] = K[p, p] * beta[p] - K[p, used] @ moved - offset
    return fall


def _maximized_target(
    K: Array, y: Array, beta: Array, support: NDArray[np.bool_], margin: NDArray[np.bool_], nu: float, other: Array
) -> float:
    """Errors when, for each removed support vector, only the margin may move, anywhere in its box.           (244)"""
    n, wrong = len(y), 0
    dual, access = NuSVC(y, np.ones(n), NU).dual(), open_access(Precomputed(), K)
    for p in np.flatnonzero(support):
        free = margin.copy()
        free[p] = False
        held = np.where(support & ~margin, np.sign(beta), 0.0)
        held[p] = 0.0
        lower = np.where(free, np.where(y > 0, 0.0, -1.0), held)
        upper = np.where(free, np.where(y > 0, 1.0, 0.0), held)
        goal = 0.5 * nu * (n - 1) * np.array([1.0, -1.0])
        low = np.array([np.sum(lower[y > 0]), np.sum(lower[y < 0])])
        high = np.array([np.sum(upper[y > 0]), np.sum(upper[y < 0])])
        if np.any(goal < low - 1e-12) or np.any(goal > high + 1e-12):
            wrong += bool(y[p] * other[p] <= 0)  # the margin alone cannot make up for the sample: the restricted value
            continue
        small = replace(dual, lower=lower, upper=upper, total=goal)
        answer = Auto(tol=1e-8).solve(small.problem(access))
        coefficients = y * answer.alpha
        b = 0.5 * float(answer.mu[0] - answer.mu[1])  # μ = (b − ρ, −b − ρ)
        wrong += bool(y[p] * (K[p] @ coefficients + b) <= 0)
    return wrong / n
