"""Certificates: bounds on the distance of a point from the optimum, computed without any code of the solvers.

The gap of a point depends on the multipliers of the equality rows; `optimal_offset` finds those with the smallest gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy  # scipy.optimize is loaded on first use: it takes longer than all other imports

from hinge import _core
from hinge.problems import double_double
from hinge.problems.problem import Problem
from hinge.problems.separable import Array
from hinge.problems.solution import History

#: Variables within this fraction of the width of their box from a bound count as lying on it.
BOUND_TOL = 1e-10

#: If a lower bound exceeds an upper bound by more than this, relative to both, the problem is not convex.
CROSSING_TOL = 1e-6

#: Certificates of small problems with up to this many variables in total are computed in one pass.
MAX_BATCH_SIZE = 4096

INFINITE_MULTIPLIER = 1e100  # multipliers beyond this are reported as infinite


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal value, and violations of the optimality conditions.     LwK Prop. 10.1, docs/math (4)

    Attributes
    ----------
    primal : float
        Value of the primal objective (½‖w‖² plus losses): an upper bound on the optimum.
    dual : float
        Value of the dual objective: a lower bound on the optimum.
    gap : float
        primal − dual, summed from non-negative terms so that it does not cancel.
    relative_gap : float
        gap ÷ ((|primal| + |dual|) / 2), LwK (10.9).
    kkt_violation : float
        Largest violation of the optimality conditions by a single variable.
    infeasibility : float
        Largest violation of a constraint (equality rows, boxes, and the sign conditions of infinite bounds).
    mu : ndarray
        Multipliers of the equality rows: the offset b, and ρ or ε of formulations with ν.
    best_primal, best_dual : float
        The tightest bounds during the run, LwK (10.21).
    convex : bool or None
        Whether the kernel is known to be positive semidefinite. If it is not, the gap measures how well the optimality
        conditions hold, but does not bound the distance from the optimum.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    infeasibility: float
    mu: Array
    best_primal: float
    best_dual: float
    convex: bool | None = None

    @classmethod
    def of(
        cls, dual: float, gap: float, violation: float, infeasibility: float, mu: Array, convex: bool | None
    ) -> Self:
        """Return the certificate of a point from its dual value, gap and violations."""
        primal = dual + gap
        share = relative(gap, primal, dual)
        return cls(primal, dual, gap, share, violation, infeasibility, mu, primal, dual, convex)

    @classmethod
    def of_run(
        cls,
        primal: float,
        dual: float,
        gap: float,
        violation: float,
        infeasibility: float,
        mu: Array,
        history: History,
    ) -> Certificate:
        """Return the bounds that the solver of a convex problem computed, with the best bounds of its run."""
        share = relative(gap, primal, dual)
        return cls(primal, dual, gap, share, violation, infeasibility, mu, primal, dual, True).with_history(history)

    def proves(self, tol: float) -> bool:
        """Whether the point is feasible and optimal to within `tol`; False if the kernel is known to be indefinite."""
        finite = np.isfinite(self.kkt_violation)
        return bool(self.gap <= tol and self.infeasibility <= tol and finite and self.convex is not False)

    def with_history(self, history: History) -> Certificate:
        """Return the certificate with the best bounds of a run; LwK (10.21).

        The values of a run are not bounds if the problem is not convex.
        """
        if self.convex is False:
            return self
        primal = min(self.primal, float(np.fmin.reduce(history.primal[history.exact], initial=np.inf)))
        dual = max(self.dual, float(np.fmax.reduce(history.dual, initial=-np.inf)))
        if self.convex is None and dual - primal > CROSSING_TOL * (abs(primal) + abs(dual)):
            return replace(self, convex=False)  # bounds of a convex problem do not cross
        return replace(self, best_primal=primal, best_dual=dual)

    def unproven(self, history: History) -> Certificate:
        """Return the certificate of a run that ended before the gradient was exact: only the lower bound remains."""
        lower = float(np.fmax.reduce(history.dual, initial=-np.inf))
        unknown = np.inf
        bound = replace(self, primal=unknown, gap=unknown, relative_gap=unknown, kkt_violation=unknown, dual=lower)
        return bound.with_history(history)

    def __str__(self) -> str:
        text = (
            f"optimum between {self.best_dual:.10g} and {self.best_primal:.10g}: gap {self.gap:.3g} "
            f"({self.relative_gap:.2g} relative), KKT violation {self.kkt_violation:.2g}, "
            f"infeasibility {self.infeasibility:.1g}"
        )
        if self.convex is False:
            return text + "; the kernel is not positive definite: no proof"
        return text if self.convex else text + "; proven if the kernel matrix is positive semidefinite"


def relative(gap: float, primal: float, dual: float) -> float:
    """Return gap ÷ ((|primal| + |dual|) / 2), LwK (10.9); 0 if all are 0, and infinity if one of them is NaN."""
    scale = 0.5 * (abs(primal) + abs(dual))
    if np.isinf(gap) or np.isnan(gap + scale):
        return np.inf
    return gap / scale if scale > 0 else (0.0 if gap == 0 else np.inf)


def certify(
    problem: Problem,
    alpha: Array,
    mu: Array | None = None,
    gradient: Array | None = None,
    convex: bool | None = None,
    remainder: tuple[Array, Array] | None = None,
) -> Certificate:
    """Return the certificate of a point: gap = Σᵥ max_{x ∈ {lᵥ, uᵥ}} rᵥ(αᵥ − x),  r = Qα + p + Aᵀμ.    docs/math (4)

    Parameters
    ----------
    problem : Problem
    alpha : ndarray
        The point, feasible up to rounding.
    mu : ndarray, optional
        Multipliers of the equality rows; by default those with the smallest gap.
    gradient : ndarray, optional
        Qα + p, if it is known.
    convex : bool, optional
        Whether Q is known to be positive semidefinite; stored in the certificate.
    remainder : pair of ndarray, optional
        Rounding errors of alpha and mu (`Solution.remainder`). The certificate is then that of the sums, computed in
        double-double precision from the whole matrix. Only for problems without a term.    (379)
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if remainder is not None:
        return _certify_pairs(problem, alpha, mu, remainder, convex)
    gradient = problem.gradient(alpha) if gradient is None else gradient
    mu = optimal_offset(problem, alpha, gradient) if mu is None else np.asarray(mu, dtype=np.float64)
    residual = gradient
    for row, multiplier in zip(problem.A, mu, strict=True):
        residual = residual + multiplier * row

    gap, unbounded = _gap(problem, alpha, residual)
    slope = residual if problem.term is None else residual + (problem.objective_gradient(alpha, gradient) - gradient)
    violation = float(np.maximum.reduce(_violations(alpha, slope, problem.lower, problem.upper), initial=0.0))
    infeasibility = float(np.maximum(_infeasibility(problem, alpha), unbounded))
    value = 0.5 * float(np.einsum("i,i->", alpha, gradient + problem.p))
    if problem.term is not None:
        value += float(np.sum(problem.term.value(alpha)))
    return Certificate.of(-value, gap, violation, infeasibility, mu, convex)


def certify_all(
    problems: Sequence[Problem], points: Sequence[tuple[Array, Array, Array]], convex: bool | None = None
) -> list[Certificate]:
    """Return the certificate of every problem at its point (alpha, mu, gradient); small ones are computed together."""
    if len(problems) == 1:
        return [certify(problems[0], *points[0], convex=convex)]
    found: list[Certificate] = []
    for first, last in _batches(problems):
        some, here = problems[first:last], points[first:last]
        if len(some) == 1 or not all(map(_is_plain, some)):
            found += [certify(problem, *point, convex=convex) for problem, point in zip(some, here, strict=True)]
        else:
            found += _certify_together(some, here, convex)
    return found


def _batches(problems: Sequence[Problem]) -> Iterator[tuple[int, int]]:
    """Yield ranges of problems whose arrays, taken together, fit into the processor cache."""
    first, size = 0, 0
    for k, problem in enumerate(problems):
        if k > first and size + problem.size > MAX_BATCH_SIZE:
            yield first, k
            first, size = k, 0
        size += problem.size
    if problems:
        yield first, len(problems)


def _certify_together(
    problems: Sequence[Problem], points: Sequence[tuple[Array, Array, Array]], convex: bool | None
) -> list[Certificate]:
    """Return the certificates of several problems from one pass over all variables."""
    first = np.concatenate([[0], np.cumsum([problem.size for problem in problems])[:-1]])
    alpha, gradient = (np.concatenate([point[k] for point in points]) for k in (0, 2))
    lower, upper, p = (np.concatenate([getattr(each, name) for each in problems]) for name in ("lower", "upper", "p"))
    residual = np.concatenate([each.reduced_gradient(g, mu) for each, (_, mu, g) in zip(problems, points, strict=True)])

    gap = np.add.reduceat(residual * (alpha - np.where(residual > 0, lower, upper)), first)
    dual = -0.5 * np.add.reduceat(alpha * (gradient + p), first)
    violation = np.maximum.reduceat(_violations(alpha, residual, lower, upper), first)
    boxes = np.maximum.reduceat(np.maximum(lower - alpha, alpha - upper), first)
    rows = [np.abs(each.equality_residual(a)) for each, (a, _, _) in zip(problems, points, strict=True)]
    infeasibility = [np.maximum.reduce(row, initial=max(box, 0.0)) for row, box in zip(rows, boxes, strict=True)]
    return [
        Certificate.of(d, g, kkt, float(off), mu, convex)
        for d, g, kkt, off, (_, mu, _) in zip(
            dual.tolist(), gap.tolist(), violation.tolist(), infeasibility, points, strict=True
        )
    ]


def _is_plain(problem: Problem) -> bool:
    """Whether the problem has finite bounds and no term."""
    boxed = np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()
    return bool(problem.term is None and problem.size > 0 and boxed)


def _certify_pairs(
    problem: Problem, alpha: Array, mu: Array | None, remainder: tuple[Array, Array], convex: bool | None
) -> Certificate:
    if problem.term is not None or mu is None:
        raise ValueError("a remainder needs its multipliers mu, and a problem without a term")
    K = problem.Q.kernel_matrix()
    gradient, residual = double_double.residual(problem, K, (alpha, remainder[0]), (mu, remainder[1]))
    towards = np.where(residual > 0, problem.lower, problem.upper)
    closed = np.isfinite(towards)
    gap = float(np.sum(residual[closed] * ((alpha - towards) + remainder[0])[closed]))
    unbounded = float(np.max(np.abs(residual[~closed]), initial=0.0))
    missing = np.max(np.abs(double_double.equality_residual(problem, (alpha, remainder[0]))), initial=0.0)
    boxes = np.maximum((problem.lower - alpha) - remainder[0], (alpha - problem.upper) + remainder[0])
    infeasibility = float(np.max(boxes, initial=max(float(missing), unbounded)))
    violation = float(np.maximum.reduce(_violations(alpha, residual, problem.lower, problem.upper), initial=0.0))
    return Certificate.of(-problem.value(alpha, gradient), gap, violation, infeasibility, mu, convex)


def _gap(problem: Problem, alpha: Array, residual: Array) -> tuple[float, float]:
    """Return the gap of variables with a finite share, and the largest residual of the others.  docs/math (4), (314)"""
    if problem.term is None:
        towards = np.where(residual > 0, problem.lower, problem.upper)
        bounded = np.isfinite(towards)
        if bounded.all():
            return float(np.add.reduce(residual * (alpha - towards))), 0.0
        shares = residual[bounded] * (alpha[bounded] - towards[bounded])
    else:
        shares = problem.term.gap(alpha, residual, problem.lower, problem.upper)
        bounded = np.isfinite(shares)
        shares = shares[bounded]
    return float(np.sum(shares)), float(np.max(np.abs(residual[~bounded]), initial=0.0))


def _violations(alpha: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """Return the KKT violation of every variable: how fast the objective falls in a feasible direction."""
    width = upper - lower
    margin = BOUND_TOL * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < upper - margin, -residual, 0.0)
    falling = np.where(alpha > lower + margin, residual, 0.0)
    violations: Array = np.maximum(np.maximum(rising, falling), 0.0)
    return violations


def _infeasibility(problem: Problem, alpha: Array) -> float:
    worst = float(np.maximum.reduce(np.maximum(problem.lower - alpha, alpha - problem.upper), initial=0.0))
    for row, total in zip(problem.A, problem.d, strict=True):
        worst = float(np.maximum(worst, abs(np.einsum("i,i->", row, alpha) - total)))
    return worst


def combine(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate for several independent problems: the sums of the values, the largest of the violations.

    `mu` holds the multipliers of all problems, one after the other.
    """
    if len(certificates) == 1:
        return certificates[0]
    primal = sum(c.primal for c in certificates)
    dual = sum(c.dual for c in certificates)
    gap = sum(c.gap for c in certificates)
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt_violation=float(np.max([c.kkt_violation for c in certificates])),
        infeasibility=float(np.max([c.infeasibility for c in certificates])),
        mu=np.concatenate([c.mu for c in certificates]),
        best_primal=sum(c.best_primal for c in certificates),
        best_dual=sum(c.best_dual for c in certificates),
        convex=certificates[0].convex,
    )


# ---- multipliers of the equality rows with the smallest gap ---------------------------------------------------------


def optimal_offset(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Return argmin over μ of the gap (4): a weighted median per equality row or, with a term h, a root of (315).

    Rows that share variables, which no formulation of this package has, lead to a linear program.
    """
    rows = problem.A
    if problem.term is not None:
        return _by_bisection(problem, alpha, gradient)
    if len(rows) == 2 and np.any((rows[0] != 0) & (rows[1] != 0)):
        return _by_linear_program(problem, alpha, gradient)
    alpha, gradient = np.ascontiguousarray(alpha), np.ascontiguousarray(gradient)
    mu = np.empty(len(rows))
    for k, row in enumerate(rows):
        mu[k] = _core.best_multiplier(row, alpha, gradient, problem.lower, problem.upper)
    return mu


def _by_linear_program(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Minimize Σ t_v s.t.  t_v ≥ r_v (α_v − x) for finite bounds x,  r = g + Aᵀμ; infinite bounds fix its sign."""
    size, rows = problem.size, problem.A
    cost = np.concatenate([np.zeros(len(rows)), np.ones(size)])
    left, right = [], []
    for bound, outward in ((problem.lower, 1.0), (problem.upper, -1.0)):
        finite = np.isfinite(bound)
        distance = np.where(finite, alpha - np.where(finite, bound, 0.0), 0.0)
        block = np.hstack([(rows * distance).T, -np.eye(size)])
        left.append(block[finite])
        right.append(-(gradient * distance)[finite])
        # an infinite bound: the reduced gradient must not point to this side
        left.append(np.hstack([outward * rows.T, np.zeros((size, size))])[~finite])
        right.append(-outward * gradient[~finite])
    bounds = [(None, None)] * len(rows) + [(0, None)] * size
    left_side, right_side = np.vstack(left), np.concatenate(right)
    answer = scipy.optimize.linprog(cost, A_ub=left_side, b_ub=right_side, bounds=bounds, method="highs")
    if answer.x is None:
        return np.asarray(np.linalg.lstsq(rows.T, -gradient, rcond=None)[0], dtype=np.float64)
    return np.asarray(answer.x[: len(rows)], dtype=np.float64)


def _by_bisection(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Find the root of the derivative of the gap, aᵀ(α − x(μ)), which increases with μ_k.           docs/math (315)

    Here x(μ) maximizes −(g + Aᵀμ)ᵀx − h(x). Rows that share variables are minimized alternately.
    """
    rows, mu = problem.A, np.zeros(len(problem.A))
    shared = len(rows) == 2 and bool(np.any((rows[0] != 0) & (rows[1] != 0)))
    for _ in range(30 if shared else 1):
        before = mu.copy()
        for k, row in enumerate(rows):
            others = gradient + mu @ rows - mu[k] * row
            mu[k] = _root(problem, alpha, others, row, mu[k])
        if np.allclose(mu, before, rtol=1e-14, atol=0.0):
            break
    return mu


def _root(problem: Problem, alpha: Array, slope: Array, row: Array, start: float) -> float:
    """Return the midpoint of the interval of roots, or its finite end."""
    term = problem.term
    assert term is not None
    if not np.any(row):
        return 0.0

    def derivative(mu: float) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.nansum(row * (alpha - term.answer(slope + mu * row, problem.lower, problem.upper))))

    left = _first(lambda mu: derivative(mu) >= 0, start)
    right = _first(lambda mu: derivative(mu) > 0, start if np.isinf(left) else left)
    if np.isfinite(left) and np.isfinite(right):
        return 0.5 * (left + right)
    return left if np.isfinite(left) else right if np.isfinite(right) else start


def _first(holds: Callable[[float], bool], start: float) -> float:
    """Return the smallest μ for which a monotone condition holds; ∓∞ if it holds always or never."""
    step = max(1.0, abs(start))
    low = high = start
    if holds(start):
        while holds(low):
            if step > INFINITE_MULTIPLIER:
                return -np.inf
            low, high, step = start - step, low, 16 * step
    else:
        while not holds(high):
            if step > INFINITE_MULTIPLIER:
                return np.inf
            low, high, step = high, start + step, 16 * step
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
