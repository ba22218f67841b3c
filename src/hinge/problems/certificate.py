"""Certificates: bounds on the distance of a point from the optimum, computed without any code of the solvers.

`hinge.problems.bounds` evaluates the bounds, `hinge.problems.offset` finds the multipliers with the smallest gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Self

import numpy as np

from hinge import _core
from hinge.problems.bounds import Bounds, bounds
from hinge.problems.offset import optimal_offset, share_variables
from hinge.problems.problem import Problem
from hinge.problems.separable import Array
from hinge.problems.solution import History, Solution

#: If a lower bound exceeds an upper bound by more than this, relative to both, the problem is not convex.
CROSSING_TOL = 1e-6

PRINTED_DIGITS = 10  # of the bounds in the text of a certificate

#: The gap is divided by at least this share of the sizes of the terms of the objective, because the terms cancel if
#: the optimum is zero.
ABSOLUTE_SHARE = 1e-10

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


def zero_is_feasible(problem: Problem) -> bool:
    """Whether α = 0 satisfies all constraints. Without a term, or with one that is zero there, its value is zero."""
    if problem.term is not None and np.any(problem.term.value(np.zeros(problem.size)) != 0):
        return False
    return not problem.d.any() and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))


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
