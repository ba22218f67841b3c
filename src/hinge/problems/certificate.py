"""The certificate: how far a point can be from the optimum at most.  No solver uses this code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hinge.problems import double_double
from hinge.problems.offset import optimal_offset
from hinge.problems.problem import Problem
from hinge.problems.quadratic import Array
from hinge.problems.solution import History

#: A variable this close to a bound, relative to the width of its box, counts as lying on it.
AT_BOUND = 1e-10

#: A lower bound that is above an upper bound by more than this, relative to both, is no rounding error.
CROSSED = 1e-6

#: Certificates of problems with so many variables, taken together, are computed in one pass.
TOGETHER = 4096


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal value and the violations that keep them apart.     LwK Prop. 10.1, docs/math (4)

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
        Multipliers of the equality rows: the offset b, and ρ or ε where a machine has them.
    best_primal, best_dual : float
        The tightest bounds seen during the run, LwK (10.21).
    convex : bool or None
        Whether the kernel is known to be positive semidefinite. Where it is not, the gap measures how well the
        optimality conditions hold, but no longer bounds the distance to the optimum.
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
        """From what is measured at a point: the rest follows."""
        primal = dual + gap
        share = relative(gap, primal, dual)
        return cls(primal, dual, gap, share, violation, infeasibility, mu, primal, dual, convex)

    def proves(self, tol: float) -> bool:
        """Whether the point is feasible, and optimal, to within `tol`; never for a kernel known to be indefinite."""
        known = np.isfinite(self.kkt_violation)  # NaN is not below anything
        return bool(self.gap <= tol and self.infeasibility <= tol and known and self.convex is not False)

    def with_history(self, history: History) -> Certificate:
        """The same with the best bounds of a run; LwK (10.21).  Without convexity there are none."""
        if self.convex is False:
            return self
        best_primal, best_dual = history.best_bounds()
        primal, dual = min(self.primal, best_primal), max(self.dual, best_dual)
        if self.convex is None and dual - primal > CROSSED * (abs(primal) + abs(dual)):
            return replace(self, convex=False)  # bounds of a convex problem do not cross
        return replace(self, best_primal=primal, best_dual=dual)

    def unproven(self, history: History) -> Certificate:
        """What is left when the run was cut off before all samples were looked at: the lower bound."""
        none = np.inf
        cut = replace(self, primal=none, gap=none, relative_gap=none, kkt_violation=none, dual=history.best_dual)
        return cut.with_history(history)

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
    """gap ÷ ((|primal| + |dual|) / 2), LwK (10.9); 0 when all are 0."""
    scale = 0.5 * (abs(primal) + abs(dual))
    if np.isinf(gap) or np.isnan(gap + scale):  # what is not a number proves nothing
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
    """gap = Σᵥ max_{x ∈ {lᵥ, uᵥ}} rᵥ(αᵥ − x),  r = Qα + p + Aᵀμ.            docs/math (4)

    Parameters
    ----------
    problem : Problem
    alpha : ndarray
        The point, feasible up to rounding.
    mu : ndarray, optional
        Multipliers of the equality rows; the ones with the smallest gap when left out.
    gradient : ndarray, optional
        Qα + p where it is known; computed when left out.
    convex : bool, optional
        What is known of Q, passed on.
    remainder : pair of ndarray, optional
        What rounding has left of alpha and mu (`Solution.remainder`): the certificate of the sums, with all of it
        computed to twice the precision, from the whole matrix.  For problems without a term.    (379)
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if remainder is not None:
        return _certify_pairs(problem, alpha, mu, remainder, convex)
    gradient = problem.gradient(alpha) if gradient is None else gradient
    mu = optimal_offset(problem, alpha, gradient) if mu is None else np.asarray(mu, dtype=np.float64)
    residual = problem.reduced(gradient, mu)

    gap, unbounded = _gap(problem, alpha, residual)
    violation = _kkt_violation(problem, alpha, residual + (problem.slope(alpha, gradient) - gradient))
    infeasibility = float(np.maximum(_infeasibility(problem, alpha), unbounded))
    return Certificate.of(-problem.value(alpha, gradient), gap, violation, infeasibility, mu, convex)


def certify_all(
    problems: Sequence[Problem], points: Sequence[tuple[Array, Array, Array]], convex: bool | None = None
) -> list[Certificate]:
    """The certificate of every problem at its point (alpha, mu, gradient), small ones together."""
    found: list[Certificate] = []
    for first, last in _batches(problems):
        some, here = problems[first:last], points[first:last]
        if len(some) == 1 or not all(map(_is_plain, some)):
            found += [certify(problem, *point, convex=convex) for problem, point in zip(some, here, strict=True)]
        else:
            found += _certify_together(some, here, convex)
    return found


def _batches(problems: Sequence[Problem]) -> Iterator[tuple[int, int]]:
    """Runs of problems that are small enough, taken together, for what is computed of them to stay in the cache."""
    first, size = 0, 0
    for k, problem in enumerate(problems):
        if k > first and size + problem.size > TOGETHER:
            yield first, k
            first, size = k, 0
        size += problem.size
    if problems:
        yield first, len(problems)


def _certify_together(
    problems: Sequence[Problem], points: Sequence[tuple[Array, Array, Array]], convex: bool | None
) -> list[Certificate]:
    """One pass over the variables of all."""
    first = np.concatenate([[0], np.cumsum([problem.size for problem in problems])[:-1]])
    alpha, gradient = (np.concatenate([point[k] for point in points]) for k in (0, 2))
    lower, upper, p = (np.concatenate([getattr(each, name) for each in problems]) for name in ("lower", "upper", "p"))
    residual = np.concatenate([each.reduced(g, mu) for each, (_, mu, g) in zip(problems, points, strict=True)])

    gap = np.add.reduceat(residual * (alpha - np.where(residual > 0, lower, upper)), first)
    dual = -0.5 * np.add.reduceat(alpha * (gradient + p), first)
    violation = np.maximum.reduceat(_violations(alpha, residual, lower, upper), first)
    boxes = np.maximum.reduceat(np.maximum(lower - alpha, alpha - upper), first)
    rows = [np.abs(each.excess(a)) for each, (a, _, _) in zip(problems, points, strict=True)]
    infeasibility = [np.maximum.reduce(row, initial=max(box, 0.0)) for row, box in zip(rows, boxes, strict=True)]
    return [
        Certificate.of(d, g, kkt, float(off), mu, convex)
        for d, g, kkt, off, (_, mu, _) in zip(
            dual.tolist(), gap.tolist(), violation.tolist(), infeasibility, points, strict=True
        )
    ]


def _is_plain(problem: Problem) -> bool:
    """Whether every variable has a box and nothing but a box."""
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
    missing = np.max(np.abs(double_double.excess(problem, (alpha, remainder[0]))), initial=0.0)
    boxes = np.maximum((problem.lower - alpha) - remainder[0], (alpha - problem.upper) + remainder[0])
    infeasibility = float(np.max(boxes, initial=max(float(missing), unbounded)))
    violation = _kkt_violation(problem, alpha, residual)
    return Certificate.of(-problem.value(alpha, gradient), gap, violation, infeasibility, mu, convex)


def _gap(problem: Problem, alpha: Array, residual: Array) -> tuple[float, float]:
    """The gap of all variables whose share is finite, and the largest force on the others.   docs/math (4), (314)"""
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


def _kkt_violation(problem: Problem, alpha: Array, residual: Array) -> float:
    return float(np.maximum.reduce(_violations(alpha, residual, problem.lower, problem.upper), initial=0.0))


def _violations(alpha: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """By how much every variable is pushed where it could go; zero or more."""
    width = upper - lower
    margin = AT_BOUND * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < upper - margin, -residual, 0.0)
    falling = np.where(alpha > lower + margin, residual, 0.0)
    pushed: Array = np.maximum(np.maximum(rising, falling), 0.0)
    return pushed


def _infeasibility(problem: Problem, alpha: Array) -> float:
    boxes = np.maximum.reduce(np.maximum(problem.lower - alpha, alpha - problem.upper), initial=0.0)
    return float(np.maximum.reduce(np.abs(problem.excess(alpha)), initial=boxes))


def combine(certificates: Sequence[Certificate]) -> Certificate:
    """One certificate for several independent problems: values add up, violations do not.

    `mu` holds the multipliers of all, one problem after the other.
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
