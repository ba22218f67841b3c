"""Certificates: bounds on the distance of a point from the optimum, computed without any code of the solvers.

The gap of a point depends on the multipliers of the equality rows; `optimal_offset` finds those with the smallest gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import NamedTuple, Self

import numpy as np

from hinge import _core
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems.offset import offset_by_bisection, offset_by_linear_program
from hinge.problems.problem import Problem, dot
from hinge.problems.separable import Array, Diagonal
from hinge.problems.solution import History, Solution

#: A variable is at a bound if its distance from the bound is below this fraction of the width of its box.
BOUND_TOL = 1e-10

#: If a lower bound exceeds an upper bound by more than this, relative to both, the problem is not convex.
CROSSING_TOL = 1e-6

PRINTED_DIGITS = 10  # of the bounds in the text of a certificate

#: The gap is divided by at least this share of the sizes of the terms of the objective, because the terms cancel if
#: the optimum is zero.
ABSOLUTE_SHARE = 1e-10

#: Share of |p| times the width of the box in the size of the terms.
SHARE_OF_BOX = 0.01

#: Relative error of the values of losses and conjugates, in units of the rounding error.
TERM_OPERATIONS = 32

NO_ERROR = np.zeros(1)  # error of a gradient that counts as exact


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal value, and violations of the optimality conditions.  LwK Prop. 10.1, docs/math (4), (600)

    The bounds include all rounding errors: they enclose the optimum of the problem that the data define in exact
    arithmetic.

    Attributes
    ----------
    primal : float
        Upper bound on the optimum: the value of the primal objective (½‖w‖² plus losses), rounded up.
    dual : float
        Lower bound on the optimum: the value of the dual objective at a feasible point, rounded down.
    gap : float
        primal − dual.
    relative_gap : float
        gap ÷ ((|primal| + |dual|) / 2), LwK (10.9). If the optimum is zero, the gap is divided by a small share of the
        terms that cancel.
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
    rounding : float
        The part of the gap that is due to rounding errors.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> certificate = hinge.SVC(gamma=1.0).fit(X, y).certificate_
    >>> certificate.dual <= certificate.primal, bool(certificate.relative_gap < 1e-6), certificate.convex
    (True, True, True)
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
    rounding: float = 0.0

    @classmethod
    def of(
        cls,
        primal: float,
        dual: float,
        violation: float,
        infeasibility: float,
        mu: Array,
        convex: bool | None,
        rounding: float = 0.0,
        scale: float = 0.0,
    ) -> Self:
        """Return the certificate of a point from its bounds and violations.

        `scale` is the size of the terms of the objective. A bound that is NaN is replaced by an infinite one.
        """
        primal = np.inf if primal != primal else primal
        dual = -np.inf if dual != dual else dual
        if dual > primal:  # impossible for a convex problem
            primal, dual, convex = dual, primal, False
        gap = primal - dual
        if gap < np.inf and math.fsum([primal, -dual, -gap]) > 0:  # rounded up
            gap = math.nextafter(gap, np.inf)
        share = relative(gap, primal, dual, scale)
        return cls(primal, dual, gap, share, violation, infeasibility, mu, primal, dual, convex, min(rounding, gap))

    @classmethod
    def of_bounds(cls, found: Bounds | _core.Bounds, mu: Array, convex: bool | None) -> Self:
        """Return the certificate with these bounds, at the multipliers μ."""
        return cls.of(
            found.upper,
            found.lower,
            found.kkt_violation,
            found.infeasibility,
            mu,
            convex,
            found.rounding,
            found.scale,
        )

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
        if primal == self.best_primal and dual == self.best_dual:
            return self
        if self.convex is None and dual - primal > CROSSING_TOL * (abs(primal) + abs(dual)):
            return replace(self, convex=False)  # bounds of a convex problem do not cross
        if dual > primal:  # the matrix is indefinite by its rounding errors
            return self
        return replace(self, best_primal=primal, best_dual=dual)

    def unproven(self, history: History) -> Certificate:
        """Return the certificate of a run that ended before the gradient was exact: only the lower bound remains."""
        lower = float(np.fmax.reduce(history.dual, initial=-np.inf))
        unknown = np.inf
        bound = replace(
            self,
            primal=unknown,
            gap=unknown,
            relative_gap=unknown,
            kkt_violation=unknown,
            dual=lower,
            best_primal=unknown,
            best_dual=lower,
        )
        return bound.with_history(history)

    def __str__(self) -> str:
        text = (
            f"optimum between {_rounded(self.best_dual, ROUND_FLOOR)} and {_rounded(self.best_primal, ROUND_CEILING)}: "
            f"gap {self.gap:.3g} ({self.relative_gap:.2g} relative), KKT violation {self.kkt_violation:.2g}, "
            f"infeasibility {self.infeasibility:.1g}"
        )
        if self.convex is False:
            return text + "; the kernel is not positive definite: no proof"
        return text if self.convex else text + "; proven if the kernel matrix is positive semidefinite"


def _rounded(value: float, rounding: str) -> str:
    """Return the value with ten digits, rounded in the given direction."""
    if not np.isfinite(value):
        return f"{value}"
    digits = Context(prec=PRINTED_DIGITS, rounding=rounding).create_decimal(Decimal(value))
    return f"{float(digits):.{PRINTED_DIGITS}g}"


def difference_above(primal: float, dual: float) -> float:
    """Return primal − dual, rounded up."""
    if np.isinf(primal) or np.isinf(dual):
        return np.inf
    gap = primal - dual
    return gap if math.fsum([primal, -dual, -gap]) <= 0 else float(np.nextafter(gap, np.inf))


def relative(gap: float, primal: float, dual: float, scale: float = 0.0) -> float:
    """Return gap ÷ ((|primal| + |dual|) / 2), LwK (10.9); 0 if all are 0, and infinity if one of them is NaN.

    `scale` is the size of the terms of the objective; the gap is divided by at least a small share of it.
    """
    size = max(0.5 * (abs(primal) + abs(dual)), ABSOLUTE_SHARE * scale)
    if np.isinf(gap) or np.isnan(gap + size):
        return np.inf
    return gap / size if size > 0 else (0.0 if gap == 0 else np.inf)


def certify(
    problem: Problem,
    alpha: Array,
    mu: Array | None = None,
    gradient: Array | None = None,
    convex: bool | None = None,
    error: Array | None = None,
) -> Certificate:
    """Bound the optimum by the Lagrangian at (α, μ) and by the objective at a feasible point near α.  docs/math (600)

    The bounds include the rounding errors of their evaluation.

    Parameters
    ----------
    problem : Problem
    alpha : ndarray
        The point, feasible up to rounding.
    mu : ndarray, optional
        Multipliers of the equality rows; by default those with the smallest gap.
    gradient : ndarray, optional
        Qα + p, if it is known. By default it is computed as accurately as possible.
    convex : bool, optional
        Whether Q is known to be positive semidefinite; stored in the certificate.
    error : ndarray, optional
        Bounds on the errors of `gradient`, one or one per variable; zero by default.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.formulations import CSVC
    >>> from hinge.kernels import RBF, open_access
    >>> from hinge.problems import certify
    >>> from hinge.solvers import SMO
    >>> X, sign = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> problem = CSVC(sign, np.ones(3)).build(open_access(RBF(1.0), X))
    >>> bool(certify(problem, SMO().solve(problem).alpha).relative_gap < 1e-9), certify(problem, np.zeros(3)).dual
    (True, 0.0)
    """
    alpha = np.ascontiguousarray(alpha, dtype=np.float64)
    if gradient is None:
        gradient, error = problem.bounded_gradient(alpha, accurate=True)
    if mu is None:
        mu = optimal_offset(problem, alpha, gradient)
    else:
        mu = np.ascontiguousarray(mu, dtype=np.float64)
    found = bounds(problem, alpha, mu, gradient, NO_ERROR if error is None else error)
    if found.lower < 0 and share_variables(problem.A) and zero_is_feasible(problem):
        # The value of the null model: few points near α satisfy rows that share variables.
        found = Bounds(found.upper, 0.0, *(getattr(found, name) for name in Bounds._fields[2:]))
    return Certificate.of_bounds(found, mu, convex)


def known_bounds(problem: Problem, solution: Solution) -> _core.Bounds | None:
    """Return the bounds of `problem` that were computed at the point of `solution`, or None."""
    known = solution.known_bounds
    if known is None or known.problem is not problem:
        return None
    same = known.alpha is solution.alpha and known.mu is solution.mu and known.gradient is solution.gradient
    return known.bounds if same else None  # type: ignore[no-any-return]


def share_variables(rows: Array) -> bool:
    """Whether equality rows have variables in common."""
    return len(rows) > 1 and bool(np.any(np.count_nonzero(rows, axis=0) > 1))


def zero_is_feasible(problem: Problem) -> bool:
    """Whether α = 0 satisfies all constraints. Without a term, or with one that is zero there, its value is zero."""
    if problem.term is not None and np.any(problem.term.value(np.zeros(problem.size)) != 0):
        return False
    return not problem.d.any() and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))


class Bounds(NamedTuple):
    """Bounds of a problem with a term that is not quadratic; the attributes are those of the compiled `Bounds`."""

    upper: float
    lower: float
    rounding: float
    kkt_violation: float
    infeasibility: float
    scale: float
    moved: float


def bounds(problem: Problem, alpha: Array, mu: Array, gradient: Array, error: Array) -> Bounds | _core.Bounds:
    """Return the upper bound of the Lagrangian at (α, μ) and the lower bound of a feasible point near α.

    `gradient` may be that of another function: the upper bound is then that of this function with ½αᵀ(gradient − p) in
    place of its half squared norm.
    """
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return _bounds_with_term(problem, alpha, mu, gradient, error)
    return _core.certified_bounds(
        problem.p,
        problem.lower,
        problem.upper,
        None if problem.term is None else problem.term.d,
        problem.A,
        problem.d,
        problem.bounds_error,
        problem.totals_error,
        problem.Q.access.largest(),
        alpha,
        mu,
        np.ascontiguousarray(gradient),
        np.ascontiguousarray(error),
    )


def _bounds_with_term(problem: Problem, alpha: Array, mu: Array, gradient: Array, error: Array) -> Bounds:
    """Return the bounds of a problem with a term h that is not quadratic.                     docs/math (603)

    The terms of the gap are convex functions of the residual: with an error of the residual they are largest at an end
    of its interval.
    """
    term = problem.term
    assert term is not None
    rows = np.abs(mu) @ np.abs(problem.A) if len(mu) else np.zeros(problem.size)
    residual = problem.reduced_gradient(gradient, mu)
    size = np.abs(gradient) + 2 * np.abs(problem.p) + rows
    radius = error + 4 * UNIT_ROUNDOFF * size
    ends = [term.gap(alpha, residual + side * radius, problem.lower, problem.upper) for side in (-1.0, 0.0, 1.0)]
    shares = np.maximum(np.maximum(ends[0], ends[2]), ends[1])
    value = term.value(alpha)
    operations = TERM_OPERATIONS * UNIT_ROUNDOFF + 2 * problem.bounds_error
    finite = np.isfinite(shares)
    terms = np.abs(value) + np.abs(residual * alpha) + np.abs(alpha * gradient) + np.where(finite, shares, 0.0)
    rounding = float(np.sum(np.abs(alpha) * radius) + operations * np.sum(terms))
    slopes = np.abs(gradient) + np.abs(term.gradient(alpha)) + radius
    visible, cost, moved = _cost_of_feasibility(problem, alpha, slopes)
    rounding += cost

    curvature = dot(alpha, gradient - problem.p)
    dual = -(0.5 * curvature + dot(problem.p, alpha) + float(np.sum(value)))
    missing = abs(dot(mu, problem.d) - dot(mu @ problem.A, alpha)) if len(mu) else 0.0
    unbounded = float(np.max(np.abs(residual[~finite]), initial=0.0))
    upper = np.inf if unbounded > 0 else dual + float(np.sum(shares)) + missing
    inflation = float(np.sum((shares - ends[1])[finite]))
    slope = residual + (problem.objective_gradient(alpha, gradient) - gradient)
    violation = float(np.maximum.reduce(kkt_violations(alpha, slope, problem.lower, problem.upper), initial=0.0))
    infeasibility = max(infeasibility_of(problem, alpha), unbounded)
    lower = dual - rounding - visible
    width = np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, 0.0)
    scale = float(np.sum(terms) + SHARE_OF_BOX * np.sum(width * np.abs(problem.p)))
    return Bounds(upper + rounding, lower, 2 * rounding + inflation, violation, infeasibility, scale, moved)


def _cost_of_feasibility(problem: Problem, alpha: Array, slope: Array) -> tuple[float, float, float]:
    """Return bounds on the increase of the objective if α is moved into the boxes and to the equality rows.

    The first is due to a violation that is visible, the second to rounding. The third bounds the distance in the ℓ1
    norm.
    """
    violation = np.maximum(np.maximum(problem.lower - alpha, alpha - problem.upper), 0.0)
    outside, rounded, moved = float(np.sum(violation * slope)), 0.0, float(np.sum(violation))
    for row, total in zip(problem.A, problem.d, strict=True):
        used = row != 0
        if not used.any():
            continue
        products = row * alpha
        missing = abs(math.fsum(products.tolist()) - total)
        rounding = UNIT_ROUNDOFF * float(np.sum(np.abs(products))) + problem.totals_error * abs(total)
        slack = np.minimum(alpha - problem.lower, problem.upper - alpha)
        steps = 2 * (missing + rounding) / np.where(used, np.abs(row), 1.0)
        possible = used & (slack >= steps)
        if not possible.any():
            outside = np.inf if missing + rounding > 0 else outside
            continue
        cost = float(np.min(np.where(possible, slope, np.inf))) / float(np.min(np.abs(row[used])))
        outside += 2 * cost * missing
        rounded += 2 * cost * rounding
        moved += 2 * (missing + rounding) / float(np.min(np.abs(row[used])))
    return outside, rounded + 0.5 * problem.Q.access.largest() * moved**2, moved


def kkt_violations(alpha: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """Return the KKT violation of every variable: how fast the objective falls in a feasible direction."""
    width = upper - lower
    margin = BOUND_TOL * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < upper - margin, -residual, 0.0)
    falling = np.where(alpha > lower + margin, residual, 0.0)
    violations: Array = np.maximum(np.maximum(rising, falling), 0.0)
    return violations


def infeasibility_of(problem: Problem, alpha: Array) -> float:
    """Return the largest violation of a constraint."""
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
    primal = _sum_above([c.primal for c in certificates])
    dual = 0.0 - _sum_above([-c.dual for c in certificates])  # no −0.0
    gap = difference_above(primal, dual)
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=_combined_relative_gap(certificates, gap, primal, dual),
        kkt_violation=float(np.max([c.kkt_violation for c in certificates])),
        infeasibility=float(np.max([c.infeasibility for c in certificates])),
        mu=np.concatenate([c.mu for c in certificates]),
        best_primal=_sum_above([c.best_primal for c in certificates]),
        best_dual=0.0 - _sum_above([-c.best_dual for c in certificates]),
        convex=certificates[0].convex,
        rounding=sum(c.rounding for c in certificates),
    )


def _sum_above(values: Sequence[float]) -> float:
    """Return the sum, rounded up."""
    if not all(map(math.isfinite, values)):
        return float(np.sum(values))
    total = math.fsum(values)
    return total if math.fsum([*values, -total]) <= 0 else float(np.nextafter(total, np.inf))


def _combined_relative_gap(certificates: Sequence[Certificate], gap: float, primal: float, dual: float) -> float:
    """Return the relative gap of a sum; at most the largest one of the parts, which may be relative to their terms."""
    return min(relative(gap, primal, dual), max(c.relative_gap for c in certificates))


# ---- multipliers of the equality rows with the smallest gap ---------------------------------------------------------


def optimal_offset(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Return argmin over μ of the gap (4): a weighted median per equality row or, with a term h, a root of (315).

    Rows that share variables, which no formulation of this package has, lead to a linear program.
    """
    rows = problem.A
    if problem.term is not None:
        return offset_by_bisection(problem, alpha, gradient)
    if len(rows) > 1 and share_variables(rows):
        return offset_by_linear_program(problem, alpha, gradient)
    alpha, gradient = np.ascontiguousarray(alpha), np.ascontiguousarray(gradient)
    mu = np.empty(len(rows))
    for k, row in enumerate(rows):
        mu[k] = _core.best_multiplier(row, alpha, gradient, problem.lower, problem.upper)
    return mu
