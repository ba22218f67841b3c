"""Linear problems in signed variables, conversions between their form and problem (1), and their certificates.

No solver is used to compute the certificates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from hinge import _core
from hinge.kernels import Access, Linear
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.kernels.samples import view
from hinge.problems.bounds import SHARE_OF_BOX
from hinge.problems.certificate import Certificate
from hinge.problems.problem import Dual, Problem
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status

#: Range of the costs of losses with a curvature. Outside this range, 1/C in the dual problem overflows.
MIN_COST, MAX_COST = 1e-300, 1e300

ROUNDING_SHARE = 1e-2  # of the tolerance: if rounding errors exceed it, products are computed in twice the precision
SUM_TOL = 1e-9  # relative deficits of Σβ up to this are corrected by one variable, larger ones by many
MAX_TARGET = 1e140  # larger targets are rejected: sums of their squares would overflow


class Bias(IntEnum):
    """No offset, an offset with a quadratic penalty, or a free offset."""

    NONE = 0
    PENALIZED = 1
    FREE = 2


def distinct(values: Array) -> Array:
    """Return one element of a broadcast scalar, and all elements of other arrays."""
    return values[:1] if values.strides == (0,) else values


def scaled(values: Array, factor: float) -> Array:
    """Return values · factor; a broadcast scalar remains one, without memory for its elements."""
    if values.strides == (0,) and len(values):
        return np.broadcast_to(values[0] * factor, len(values))
    return np.asarray(factor * values, dtype=np.float64)


def scaled_cost(cost: Array, h: float) -> Array:
    """Return h · cost, the bound of |β| for a loss with slopes up to h; a broadcast scalar if h is infinite."""
    return np.broadcast_to(h, cost.shape) if np.isinf(h) else scaled(cost, h)


def broadcast_ratio(numerator: float, values: Array) -> Array:
    """Return numerator / values; a broadcast scalar remains one."""
    return np.broadcast_to(numerator / distinct(values), values.shape)


def check_inverse_cost(cost: Array) -> None:
    """Raise a ValueError if 1/cost overflows."""
    costs = distinct(cost)
    if not len(costs):
        return
    low, high = float(np.min(costs)), float(np.max(costs))
    if not (low >= MIN_COST and high <= MAX_COST):
        raise ValueError(
            f"C times the weights of samples and classes lies between {low:g} and {high:g}; a squared loss needs "
            f"1/C: use C and weights with products between {MIN_COST:g} and {MAX_COST:g}, and a weight of 0 for "
            "samples that are to be left out"
        )


def _range_with_zero(values: Array) -> tuple[float, float]:
    """Return the smallest interval that contains zero and all values."""
    values = values[:1] if values.strides == (0,) else values  # one element of a broadcast scalar
    return float(np.minimum.reduce(values, initial=0.0)), float(np.maximum.reduce(values, initial=0.0))


@dataclass(frozen=True)
class LinearProblem:
    """min ½‖w‖² + ½b²/B² + d b + Σ lossᵢ(⟨w, xᵢ⟩ + b).                                   docs/math (101)

    With `l1`, ‖w‖₁ + |b|/B replaces the squared norms, d = 0, and the loss is one of a margin with a curvature; (861).
    lossᵢ(f) = max −fβ − hᵢ(β) over lower ≤ β ≤ upper, hᵢ(β) = ½ ridgeᵢ β² + tube |β| − targetᵢ β. `bounds_error` and
    `totals_error` are relative rounding errors, as in `Problem`. `target_error` bounds the absolute rounding errors of
    the targets and the tube; it requires finite bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import LinearProblem
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> problem = LinearProblem(X, target=y, lower=np.minimum(y, 0), upper=np.maximum(y, 0), ridge=np.zeros(3))
    >>> problem.X.shape, problem.bias.name
    ((3, 1), 'FREE')
    """

    X: Any
    target: Array
    lower: Array
    upper: Array
    ridge: Array
    tube: float = 0.0
    bias: Bias = Bias.FREE
    bias_scale: float = 1.0
    total: float = 0.0
    bounds_error: float = 0.0
    totals_error: float = 0.0
    target_error: float = 0.0
    l1: bool = False
    n: int = field(init=False, repr=False)  # number of samples

    def __post_init__(self) -> None:
        n = int(self.X.shape[0])
        object.__setattr__(self, "n", n)
        for name in ("target", "lower", "upper", "ridge"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.shape != (n,):
                raise ValueError(f"{name} has shape {value.shape}, expected ({n},)")
            object.__setattr__(self, name, value)
        self._check_values()
        for name in ("target", "lower", "upper", "ridge"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    def _check_values(self) -> None:
        low, high = _range_with_zero(self.target)
        largest = max(high, -low)
        if not np.isfinite(largest):
            raise ValueError("target must be finite")
        if largest > MAX_TARGET:
            raise ValueError(
                f"y contains {largest:g}, whose square overflows: divide y by its standard deviation, or scale it such "
                f"that all values are below {MAX_TARGET:g}"
            )
        (lowest, high_lower), (low_upper, highest) = _range_with_zero(self.lower), _range_with_zero(self.upper)
        if high_lower > 0 or low_upper < 0 or _range_with_zero(self.ridge)[0] < 0:
            raise ValueError("zero must lie between lower and upper, and ridge must not be negative")
        bounded = np.isfinite(highest) and np.isfinite(lowest)
        curved = np.min(distinct(self.ridge), initial=np.inf) > 0
        if not bounded and not curved and np.any((self.ridge == 0) & np.isinf(self.upper - self.lower)):
            raise ValueError("a variable without ridge needs finite bounds, because its loss is infinite otherwise")


@dataclass(frozen=True, eq=False)
class KnownProducts:
    """Products of samples X with weights w, computed by a solver.                               docs/math (621), (622)

    `values` holds ⟨w, xᵢ⟩ and bounds on their errors and on ‖w − Xᵀβ‖. They apply to these three arrays only.
    """

    X: Any
    weights: Array
    beta: Array
    values: _core.LinearProducts

    def of(self, X: Any, weights: Array, beta: Array) -> _core.LinearProducts | None:
        """Return the values if they are the products of these arrays."""
        return self.values if X is self.X and weights is self.weights and beta is self.beta else None


@dataclass(frozen=True)
class LinearSolution:
    """(w, b) and the dual point β, with the bounds computed by the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import LinearProblem
    >>> from hinge.solvers import CoordinateDescent
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> problem = LinearProblem(X, target=y, lower=np.minimum(y, 0), upper=np.maximum(y, 0), ridge=np.zeros(3))
    >>> solution = CoordinateDescent(tol=1e-9).solve_linear(problem)
    >>> solution.status.name, solution.weights.round(6), round(float(solution.primal), 6)
    ('SOLVED', array([-1.]), 1.5)
    """

    weights: Array
    offset: float
    beta: Array
    primal: float
    dual: float
    gap: float
    violation: float
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None
    counters: dict[str, int] | None = None
    floor: float = 0.0  # gaps below this count as zero, docs/math (133)
    products: KnownProducts | None = None
    rounded: ClassVar[bool] = True  # the values of the solver and its history do not include rounding errors

    def certificate(self, problem: LinearProblem, tol: float | None = None) -> Certificate:
        """Return the certificate of (w, b) and β; see `certify_linear` for `tol`.

        If `tol` is given, it is computed from the products of the solver if these are accurate enough.
        """
        if tol is not None and self.products is not None:
            known = self.products.of(problem.X, self.weights, self.beta)
            if known is not None:
                found = _certify_linear(problem, self.weights, self.offset, self.beta, accurate=False, known=known)
                if _is_sharp(found, tol):
                    return found
        return certify_linear(problem, self.weights, self.offset, self.beta, tol)


# ---- conversions ----------------------------------------------------------------------------------------------------


def linear_problem(dual: Dual, X: Any, bias: Bias, bias_scale: float = 1.0) -> LinearProblem:
    """Return the linear form (101) of a dual problem: K = XXᵀ.

    A tube that differs above and below f is symmetric around shifted targets.                       docs/math (710)
    """
    ridge = np.zeros(len(dual.target)) if dual.ridge is None else dual.ridge
    total = float(dual.total[0]) if len(dual.total) else 0.0
    tube = np.asarray(dual.tube)
    if tube.size > 1 and np.any(tube != tube.flat[0]):
        raise ValueError("a linear problem needs the same tube width for all samples")
    width = float(tube.flat[0]) if tube.size else 0.0
    target, error = dual.target, 0.0
    if dual.tube_star is not None:  # a symmetric tube around shifted targets
        star = float(np.asarray(dual.tube_star).flat[0])
        shift, width = 0.5 * (width - star), 0.5 * (width + star)
        target = target - shift
        error = 4 * UNIT_ROUNDOFF * (float(np.max(np.abs(target), initial=0.0)) + abs(shift) + width)
    errors = (dual.bounds_error, dual.totals_error, error)
    return LinearProblem(X, target, dual.lower, dual.upper, ridge, width, bias, bias_scale, total, *errors)


def linear_form(problem: Problem) -> LinearProblem:
    """Return the linear form of problem (1) with a linear kernel. Raise a ValueError if it does not exist."""
    access: Any = problem.Q.access
    if not isinstance(getattr(access, "kernel", None), Linear):
        raise ValueError("CoordinateDescent needs a linear kernel: use SMO or another solver of hinge.solvers")
    sign = problem.Q.sign
    if len(problem.d) > 1 or (len(problem.d) == 1 and not _is_one_group(problem.A[0] * sign)):
        raise ValueError("CoordinateDescent needs at most one equality row over all variables: use SMO")
    bias = Bias.FREE if len(problem.d) else Bias.NONE
    total = float(problem.d[0] / problem.A[0, 0] * sign[0]) if len(problem.d) else 0.0
    n, linear = problem.Q.n, sign * problem.p
    low, high = sign * problem.lower, sign * problem.upper
    low, high = np.minimum(low, high), np.maximum(low, high)
    tube = 0.0
    if problem.Q.slots == 2:
        tubes = 0.5 * (linear[:n] - linear[n:])
        tube = float(tubes[0])
        if not (tube >= 0 and np.allclose(tubes, tube) and np.all(low[:n] == 0) and np.all(high[n:] == 0)):
            raise ValueError("CoordinateDescent needs one tube for all samples: use SMO")
        linear, low, high = 0.5 * (linear[:n] + linear[n:]), low[n:], high[:n]
    ridge = np.zeros(n) if problem.term is None else problem.sample_diagonal()
    errors = (problem.bounds_error, problem.totals_error)
    return LinearProblem(access.factor(), -linear, low, high, ridge, tube, bias, 1.0, total, *errors)


def kernel_form(problem: LinearProblem, access: Access) -> Problem:
    """Return a linear problem as problem (1).

    `access` is that of a linear kernel. If the offset is penalized, its features must include the constant.
    """
    total = np.array([problem.total] if problem.bias is Bias.FREE else [])
    sign = np.ones(problem.n)
    return Dual(
        problem.target,
        problem.lower,
        problem.upper,
        sign,
        total,
        problem.tube,
        problem.ridge,
        split=problem.tube > 0,
        bounds_error=problem.bounds_error,
        totals_error=problem.totals_error,
    ).problem(access)


def _is_one_group(row: Array) -> bool:
    """Whether an equality row, in signed variables, has the same coefficient for all variables."""
    return bool(len(row) and row[0] != 0 and np.all(row == row[0]))


def kernel_variables(problem: Problem, beta: Array) -> Array:
    """Return the variables α of problem (1) from those of its linear form."""
    if problem.Q.slots == 2:
        return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    return problem.Q.sign * beta


# ---- certificate ----------------------------------------------------------------------------------------------------


def certify_linear(
    problem: LinearProblem, weights: Array, offset: float, beta: Array, tol: float | None = None
) -> Certificate:
    """Bound the optimum by the primal value of (w, b) and the dual value of β, rounding included.  docs/math (620)

    Every (w, b) gives an upper bound, and every β in its box, with Σβ = d for a free offset, a lower bound. β is made
    feasible, and inner products are computed as in twice the precision. If `tol` is given, this is done only if
    rounding errors and the distance of β from a feasible point contribute more than a small share of `tol` to the
    relative gap.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import LinearProblem, certify_linear
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> problem = LinearProblem(X, target=y, lower=np.minimum(y, 0), upper=np.maximum(y, 0), ridge=np.zeros(3))
    >>> certificate = certify_linear(problem, np.array([-1.0]), 1.0, np.array([0.0, 0.5, -0.5]))
    >>> round(certificate.primal, 6), round(certificate.dual, 6)
    (1.5, 0.875)
    """
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    beta = np.ascontiguousarray(beta, dtype=np.float64)
    if tol is not None:
        found = _certify_linear(problem, weights, offset, beta, accurate=False)
        if _is_sharp(found, tol):
            return found
    return _certify_linear(problem, weights, offset, _feasible(problem, beta), accurate=True)


def _is_sharp(found: Certificate, tol: float) -> bool:
    """Whether rounding errors contribute only a small share of `tol` to the relative gap."""
    return bool(found.rounding <= ROUNDING_SHARE * tol * max(abs(found.primal), abs(found.dual)) < np.inf)


def _certify_linear(
    problem: LinearProblem,
    weights: Array,
    offset: float,
    beta: Array,
    accurate: bool,
    known: _core.LinearProducts | None = None,
) -> Certificate:
    found = _core.certified_linear_bounds(
        view(problem.X).native,
        problem.target,
        problem.lower,
        problem.upper,
        problem.ridge,
        problem.tube,
        int(problem.bias),
        problem.bias_scale,
        problem.total,
        problem.bounds_error,
        problem.totals_error,
        weights,
        float(offset),
        beta,
        accurate,
        known,
        problem.l1,
    )
    mu = np.array([offset] if problem.bias is not Bias.NONE else [])
    upper, lower, rounding = found.upper, found.lower, found.rounding
    if problem.target_error:  # losses and the dual value are Lipschitz continuous in the targets
        slack = 1.01 * problem.target_error
        above = slack * float(np.sum(np.maximum(problem.upper, -problem.lower)))
        below = slack * float(np.sum(np.abs(beta)))
        upper, lower, rounding = upper + above, lower - below, rounding + above + below
    scale = found.scale
    if not lower > 0.5 * upper:  # the optimum may be zero: the losses at w = 0 are a scale
        width = np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, 0.0)
        scale += SHARE_OF_BOX * float(np.sum(width * np.abs(problem.target)))
    return Certificate.of(upper, lower, found.kkt_violation, found.infeasibility, mu, True, rounding, scale)


def _feasible(problem: LinearProblem, beta: Array) -> Array:
    """Return β if it is feasible up to rounding; otherwise move it into its box and correct its sum.

    The part of β that makes the sum too large is scaled. If that is not possible, β moves towards its bounds.
    """
    if not ((problem.lower <= beta) & (beta <= problem.upper)).all():
        beta = np.clip(beta, problem.lower, problem.upper)
    if problem.bias is not Bias.FREE:
        return beta
    missing = float(problem.total - np.sum(beta, dtype=np.longdouble))
    if abs(missing) <= SUM_TOL * (abs(problem.total) + float(np.sum(np.abs(beta)))):
        slack = np.minimum(problem.upper - beta, beta - problem.lower)
        largest = int(np.argmax(np.minimum(slack, np.abs(beta)))) if len(beta) else 0
        if missing != 0 and slack[largest] > 2 * abs(missing):
            beta = beta.copy()
            beta[largest] += missing
        return beta
    towards_zero = np.where(beta * missing < 0, beta, 0.0)
    share = -missing / float(np.sum(towards_zero)) if towards_zero.any() else np.inf
    if 0 < share <= 1:
        return beta - share * towards_zero
    slack = (problem.upper if missing > 0 else problem.lower) - beta
    share = missing / float(np.sum(slack)) if np.isfinite(slack).all() and slack.any() else np.inf
    return beta + share * slack if 0 < share <= 1 else beta
