"""Computation of the regularization path of quadratic losses.               Karasuyama ch. 5, docs/math (233)–(235)"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.control import REPORT_PERIOD, RunControl
from hinge.kernels import open_access
from hinge.losses import Loss, loss_names, make_loss
from hinge.paths.engine import PathError, Progress, warn_incomplete
from hinge.paths.quadratic_loss.path import QuadraticLossPath
from hinge.paths.quadratic_loss.problem import CENTRE, LEFT, QuadraticLossProblem
from hinge.paths.regularization import check_samples
from hinge.problems import Array, Status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.time_budget import fits, matrix_seconds

MAX_IDLE_STEPS = 1000  # consecutive events at the same λ before the path ends with an error
RECOMPUTE_INTERVAL = 200  # events after which the gradient is recomputed, which limits accumulated rounding errors

#: Search for a λ at which the index sets of the solution are trivial.
START_TOL = 1e-12  # relative violation of the optimality conditions up to which index sets are accepted
MIN_FIRST_LAMBDA, FIRST_LAMBDA_FRACTION = 1e-3, 1 / 64  # first λ: this fraction of max Σⱼ |Kᵢⱼ|, or the minimum
LAMBDA_FACTOR, MAX_LAMBDA_STEPS = 4, 30  # factor between the values of λ that are tried, and their number

BISECTION_STEPS = 200  # of the multiplier ν in (235)


def quadratic_loss_path(
    X: Any,
    y: Any,
    *,
    loss: str | Loss | tuple[float, float] = "squared_hinge",
    lambda_max: float | None = None,
    lambda_min: float = 1e-5,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    fit_intercept: bool = False,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> QuadraticLossPath:
    """Compute the exact regularization path of min ½λ‖w‖² + ½Σφ(ρ − yᵢf(xᵢ)), φ quadratic up to h, linear beyond.

    Parameters
    ----------
    X, y : as in `regularization_path`; two classes
    loss : str, hinge.losses.Loss or (rho, h)
        "squared_hinge": (1, ∞), "modified_huber": (1, 2), "huberized_hinge": (1.1, 0.2), or another loss of the margin
        with a quadratic conjugate; or a pair of numbers with 0 < ρ < ∞ and 0 < h ≤ ∞.
    lambda_max : float, optional
        Largest λ. By default a value above which the index sets do not change.
    lambda_min : float
    kernel, degree, gamma, coef0
        As in `SVC`.
    fit_intercept : bool
        Whether the function has a bias, which is not penalized. The dissertation does not use one.
    max_time : float, optional
        Seconds. If they do not suffice, a warning is issued and the path ends at a larger λ.
    progress : callable, optional
        Called a few times a second with {"iteration", "primal", "seconds", "violation", "active"}: number of events, λ,
        time, KKT violation and size of the central set. Returning False stops the path.

    Returns
    -------
    QuadraticLossPath

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.quadratic_loss_path(X, y, loss="squared_hinge", gamma=1.0, lambda_min=1e-3)
    >>> path.model(0.01).score(X, y), bool(path.kkt_violation < 1e-8)
    (1.0, True)
    """
    samples = check_samples(X, y, "classification", kernel, degree, gamma, coef0)
    rho, h = _loss_parameters(loss)
    if not (np.isfinite(lambda_min) and lambda_min > 0):
        raise ValueError(f"lambda_min={lambda_min!r} must be positive and finite")
    if lambda_max is not None and not lambda_min < lambda_max < np.inf:
        hint = "; exchange them" if lambda_min > lambda_max else ""
        raise ValueError(f"lambda_min={lambda_min!r} must be below lambda_max={lambda_max!r}{hint}")
    control = RunControl(max_time)
    if not fits(control, matrix_seconds(samples.n)):
        raise TimeoutError(
            f"max_time={max_time} s do not suffice for the kernel matrix of {samples.n} samples, which this path "
            "needs; allow more time, or use hinge.approximate_path"
        )
    access, rows = open_access(samples.kernel, samples.X), np.arange(samples.n)
    problem = QuadraticLossProblem(access.block(rows, rows), samples.y, rho, h, bool(fit_intercept))
    with single_thread():
        start, places = _start(problem, lambda_max)
        return _follow(problem, samples, start, places, lambda_max, float(lambda_min), progress, control)


def _loss_parameters(loss: Any) -> tuple[float, float]:
    """Return (ρ, h) of a loss with φ*(−a) = −ρa + ½δa² for 0 ≤ a ≤ bound: h = δ · bound.

    The path is that of δ = 1. Another δ only multiplies λ.
    """
    if isinstance(loss, str | Loss):
        names = loss_names("margin", smooth=True)
        if isinstance(loss, str) and loss not in names:
            raise ValueError(f"loss={loss!r} must be one of {', '.join(map(repr, names))} or a pair (rho, h)")
        conjugate = make_loss(loss, "margin").quadratic_conjugate
        if conjugate is None or not conjugate.curvature:
            raise ValueError(f"loss={loss!r} has no quadratic part: use one of {', '.join(map(repr, names))}")
        return float(conjugate.threshold), conjugate.curvature * conjugate.bound
    rho, h = (float(v) for v in loss)
    if not (rho > 0 and np.isfinite(rho) and h > 0):
        raise ValueError(f"loss=(rho={rho!r}, h={h!r}) needs 0 < rho < inf and 0 < h <= inf")
    return rho, h


def _start(problem: QuadraticLossProblem, lambda_max: float | None) -> tuple[float, NDArray[np.int8]]:
    """Return a λ that is so large that the index sets are trivial, and these sets.        (235); Karasuyama 5.3.4"""
    y, n = problem.y, len(problem.y)
    candidates = [np.full(n, CENTRE, dtype=np.int8)]
    if np.isfinite(problem.h):
        candidates.append(np.full(n, LEFT, dtype=np.int8))
        for larger in (1.0, -1.0):
            candidates.append(np.where(y == larger, CENTRE, LEFT).astype(np.int8))
        if problem.rho == problem.h:
            candidates.append(_places_at_kink(problem))
    largest_row_sum = float(np.max(np.sum(np.abs(problem.K), axis=1)))
    lam = max(MIN_FIRST_LAMBDA, largest_row_sum * FIRST_LAMBDA_FRACTION)
    for _ in range(MAX_LAMBDA_STEPS):
        for places in candidates:
            if problem.bias and not np.any(places == CENTRE) and np.sum(y) != 0:
                continue
            alpha, offset = problem.solution(places, lam)
            if np.any(alpha < 0) or np.any(alpha > problem.h):
                continue
            if problem.residual(places, lam, alpha, offset) < START_TOL:
                return (lam if lambda_max is None else max(lam, lambda_max)), places
        lam *= LAMBDA_FACTOR
    raise PathError(
        f"no solution for large lambda was found for loss=({problem.rho}, {problem.h}); use a slightly different h"
    )


def _places_at_kink(problem: QuadraticLossProblem) -> NDArray[np.int8]:
    """Return the index sets for ρ = h and large λ.                                                          (235)

    Every α tends to h: αᵢ = h − max(0, qᵢ + yᵢν)/λ with a ν for which Σ yᵢαᵢ = 0.
    """
    y, gradient = problem.y, problem.bound_gradient(np.full(len(problem.y), LEFT, dtype=np.int8))
    nu = 0.0
    if problem.bias:
        low, high = -float(np.max(np.abs(gradient))) - 1.0, float(np.max(np.abs(gradient))) + 1.0
        for _ in range(BISECTION_STEPS):
            nu = 0.5 * (low + high)
            above = np.sum(y * np.maximum(0.0, gradient + y * nu)) > 0
            low, high = (low, nu) if above else (nu, high)
    return np.where(gradient + y * nu > 0, CENTRE, LEFT).astype(np.int8)


def _follow(
    problem: QuadraticLossProblem, samples: Any, start: float, places: NDArray[np.int8], highest: float | None,
    lowest: float, progress: Progress | None, control: RunControl,
) -> QuadraticLossPath:  # fmt: skip
    """Follow the solution from λ = start down to `lowest`; the part above `highest` is removed."""
    lam, knots = start, [start]
    changed, place, offset = [np.arange(samples.n)], [places.copy()], [0, samples.n]
    evaluations = functions = idle = 0
    violation = longest = 0.0
    first = reported = time.monotonic()
    gradient = problem.bound_gradient(places)
    while lam > lowest:
        began = time.monotonic()
        step = _next_event(problem, places, gradient, lam, lowest)
        evaluations, functions = evaluations + step.evaluations, functions + step.functions
        idle = 0 if step.at < lam * (1 - 1e-14) else idle + 1
        if idle > MAX_IDLE_STEPS:
            raise PathError(f"ties could not be resolved at lambda={lam:.6g}; perturb the data slightly")
        alpha, b = problem.solution(places, step.at, gradient)
        violation = max(violation, problem.residual(places, step.at, alpha, b))
        lam = step.at
        knots.append(lam)
        if len(step.samples) == 0:
            break
        for i, to in zip(step.samples, step.to, strict=True):
            if LEFT in (places[i], to):
                sign = 1.0 if to == LEFT else -1.0
                gradient = gradient + sign * problem.h * problem.y * problem.K[:, i] * problem.y[i]
            places[i] = to
            changed.append(np.array([i]))
            place.append(np.array([to], dtype=np.int8))
        offset.append(offset[-1] + len(step.samples))
        if len(knots) % RECOMPUTE_INTERVAL == 0:
            gradient = problem.bound_gradient(places)
        longest = max(longest, time.monotonic() - began)
        remaining = control.remaining()
        if remaining is not None and remaining <= longest:
            warn_incomplete("lambda", lam, lowest, Status.TIME_LIMIT, stacklevel=4)
            break
        if progress is not None and (now := time.monotonic()) - reported >= REPORT_PERIOD:
            reported = now
            snapshot = {
                "iteration": len(knots), "primal": lam, "seconds": now - first, "violation": violation,
                "active": int(np.sum(places == CENTRE)),
            }  # fmt: skip
            if progress(snapshot) is False:
                break
    path = QuadraticLossPath(
        samples.kernel, samples.X, samples.y, samples.classes, problem.rho, problem.h, problem.bias,
        np.array(knots), np.concatenate(changed), np.concatenate(place).astype(np.int8), np.array(offset[: len(knots)]),
        violation, evaluations / max(functions, 1), samples.feature_names,
    )  # fmt: skip
    return path if highest is None or highest >= start else _below(path, highest)


@dataclass(frozen=True)
class _Event:
    """Next change of the index sets: λ, the samples, and the sets that they enter."""

    at: float
    samples: list[int]
    to: list[int]
    evaluations: int
    functions: int


def _next_event(
    problem: QuadraticLossProblem, places: NDArray[np.int8], gradient: Array, lam: float, lowest: float
) -> _Event:
    """Return the next event below λ, or one without samples at `lowest`."""
    if problem.bias and not np.any(places == CENTRE):
        closes = problem.interval_closes(places, gradient, 1.0 / lam, 1.0 / lowest)
        if closes is None:
            return _Event(lowest, [], [], 0, 0)
        return _Event(1.0 / closes[0], list(closes[1]), [CENTRE, CENTRE], 1, 1)
    curve = problem.curve(places, gradient)
    functions, samples, to = problem.constraints(places, gradient, curve)
    root = functions.first_crossing(lam, lowest)
    if root.which < 0:
        return _Event(lowest, [], [], root.evaluations, root.functions)
    return _Event(root.at, [int(samples[root.which])], [int(to[root.which])], root.evaluations, root.functions)


def _below(path: QuadraticLossPath, highest: float) -> QuadraticLossPath:
    """Return the part of a path below `highest`."""
    k = path._segment(highest)
    places, keep = path.places(highest), path.offset[k + 1]
    n = len(path.y)
    return QuadraticLossPath(
        path.kernel, path.X, path.y, path.classes, path.rho, path.h, path.bias,
        np.concatenate([[highest], path.knots[k + 1 :]]), np.concatenate([np.arange(n), path.changed[keep:]]),
        np.concatenate([places, path.place[keep:]]).astype(np.int8),
        np.concatenate([[0], path.offset[k + 1 :] - keep + n]), path.kkt_violation, path.mean_evaluations,
    )  # fmt: skip
