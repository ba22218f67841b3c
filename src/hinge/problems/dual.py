"""Dual problems in signed variables, and their kernel, linear and parametric forms.

A formulation defines its dual problem once, as a `Dual`. Solvers of kernel problems get the form (1), linear solvers
(101), paths (201). The module also converts problem (1) with a linear kernel to the linear form and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access, Linear
from hinge.problems.linear import Bias, LinearProblem
from hinge.problems.problem import Problem, Quadratic
from hinge.problems.separable import Array, Diagonal, Separable


class Values(NamedTuple):
    """Data of (201) at one value of the parameter, or their rates of change."""

    linear: Array
    lower: Array
    upper: Array
    total: Array


@dataclass(frozen=True)
class ParametricProblem:
    """min ½βᵀKβ + c(θ)ᵀβ,  Σ_{v ∈ g} βᵥ = e_g(θ),  lo(θ) ≤ β ≤ hi(θ).              docs/math (201)

    Every array has two rows: its value at θ = 0 and its rate. `group` is −1 for a variable in no group. Variable v
    belongs to sample v mod n, and αᵥ = signᵥ βᵥ.
    """

    linear: Array
    lower: Array
    upper: Array
    total: Array
    group: NDArray[np.int8]
    sign: Array

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.sign)

    def at(self, theta: float) -> Values:
        """Return the data at θ."""
        linear, lower, upper, total = self.linear, self.lower, self.upper, self.total
        if theta == 0:
            return Values(linear[0], lower[0], upper[0], total[0])
        return Values(
            linear[0] + theta * linear[1],
            lower[0] + theta * lower[1],
            upper[0] + theta * upper[1],
            total[0] + theta * total[1],
        )

    def rates(self) -> Values:
        """Return the derivatives of the data with respect to θ."""
        return Values(self.linear[1], self.lower[1], self.upper[1], self.total[1])

    def problem(self, access: Access, theta: float) -> Problem:
        """Return problem (1) at θ for solvers and certificates; its multipliers are those of the signed problem."""
        now = self.at(theta)
        rows = group_rows(self.group, self.sign, np.ones(len(now.total)))
        return unsigned_problem(access, self.sign, now.linear, now.lower, now.upper, rows, now.total)


def unsigned_problem(
    access: Access,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    rows: Array,
    total: Array,
    term: Separable | None = None,
) -> Problem:
    """Return problem (1) in α = sign ∘ β from the linear term and the bounds of β."""
    first, second = sign * lower, sign * upper
    # adding zero turns −0.0, the product of a zero bound and a negative sign, into 0.0
    low, high = np.minimum(first, second) + 0.0, np.maximum(first, second) + 0.0
    return Problem(Quadratic(access, sign), sign * linear, rows, total, low, high, term)


def group_rows(group: NDArray[np.int8], sign: Array, factors: Array) -> Array:
    """Return the equality rows in α: factor · Σ_{v ∈ g} βᵥ for every group g."""
    rows = np.empty((len(factors), len(sign)))
    for g, factor in enumerate(factors):
        rows[g] = np.where(group == g, factor * sign, 0.0)
    return rows


def constant(values: Array) -> Array:
    """Return the two rows of data that do not depend on θ."""
    rows = np.zeros((2, *values.shape))
    rows[0] = values
    return rows


def between(start: Array, end: Array) -> Array:
    """Return the two rows of data that go from `start` at θ = 0 to `end` at θ = 1."""
    rows = np.empty((2, *start.shape))
    rows[0] = start
    np.subtract(end, start, out=rows[1])
    return rows


def proportional(rates: Array) -> Array:
    """Return the two rows of θ times `rates`."""
    return np.stack([np.zeros_like(rates), rates])


@dataclass(frozen=True)
class Dual:
    """Dual problem in signed variables, without its kernel matrix.

    min ½βᵀKβ + Σᵢ (½ ridgeᵢ βᵢ² + tubeᵢ |βᵢ| − targetᵢ βᵢ),  lower ≤ β ≤ upper,  Σ_{v ∈ g} βᵥ = total_g

    There is one value per sample. Every array may be a linear function of a parameter θ: it then has two rows, the
    value at θ = 0 and the rate.

    Attributes
    ----------
    target, lower, upper : ndarray
    sign : ndarray
        Sign of βᵢ where it has one: the α of problem (1) is sign ∘ β. Not used if `split`.
    total : ndarray
        Right-hand sides of the equality rows: none, one or two.
    tube : float or ndarray
    ridge : ndarray or None
        Zero if None.
    split : bool
        Whether problem (1) has two variables for every sample, α and α*, with β = α − α*.
    group : ndarray or None
        Equality row of every variable; None: all belong to the first row, if there is one.
    row_factors : tuple of float
        Factors by which (1) multiplies the equality rows. −1 makes the coefficients of a row of negative variables
        positive.
    """

    target: Array
    lower: Array
    upper: Array
    sign: Array
    total: Array
    tube: float | Array = 0.0
    ridge: Array | None = None
    split: bool = False
    group: NDArray[np.int8] | None = None
    row_factors: tuple[float, ...] = (1.0, 1.0)

    def variables(self) -> tuple[Array, Array, Array, Array]:
        """Return (sign, linear, lower, upper) of every signed variable, those of α before those of −α*."""
        if not self.split:
            return self.sign, 0.0 - self.target, self.lower, self.upper
        zero = np.zeros_like(self.upper)
        return (
            np.repeat([1.0, -1.0], self.target.shape[-1]),
            np.concatenate([self.tube - self.target, -(self.tube + self.target)], axis=-1),
            np.concatenate([zero, self.lower], axis=-1),
            np.concatenate([self.upper, zero], axis=-1),
        )

    def problem(self, access: Access) -> Problem:
        """Return the kernel form, problem (1)."""
        sign, linear, lower, upper = self.variables()
        factors = np.array(self.row_factors[: len(self.total)])
        if self.group is not None:
            rows = group_rows(self.group, sign, factors)
        else:
            rows = sign[None, :] if len(self.total) else np.empty((0, len(sign)))
        term = None
        if self.ridge is not None and self.ridge.any():
            term = Diagonal(np.tile(self.ridge, 2) if self.split else self.ridge)
        return unsigned_problem(access, sign, linear, lower, upper, rows, factors * self.total, term)

    def linear_problem(self, X: Any, bias: Bias, bias_scale: float = 1.0) -> LinearProblem:
        """Return the linear form (101): K = XXᵀ."""
        ridge = np.zeros(len(self.target)) if self.ridge is None else self.ridge
        total = float(self.total[0]) if len(self.total) else 0.0
        tube = np.asarray(self.tube)
        if tube.size > 1 and np.any(tube != tube.flat[0]):
            raise ValueError("a linear problem needs the same tube width for all samples")
        width = float(tube.flat[0]) if tube.size else 0.0
        return LinearProblem(X, self.target, self.lower, self.upper, ridge, width, bias, bias_scale, total)

    def parametric(self) -> ParametricProblem:
        """Return the form of paths (201); arrays with one row are constants.

        A tube of width zero, for all θ, needs one variable per sample only.
        """
        target, lower, upper, total = (_two_rows(a) for a in (self.target, self.lower, self.upper, self.total))
        n, sign, split = target.shape[1], self.sign, self.split and (self.group is not None or bool(np.any(self.tube)))
        if split:
            tube = _two_rows(np.broadcast_to(np.asarray(self.tube, dtype=np.float64), np.shape(self.tube) or (n,)))
            dual = Dual(target, lower, upper, sign, total, tube, split=True)
            sign, linear, lower, upper = dual.variables()
        else:
            sign, linear = (np.ones(n) if self.split else sign), 0.0 - target
        group = self.group
        if group is None:
            group = np.full(len(sign), 0 if total.shape[1] else -1, dtype=np.int8)
        return ParametricProblem(linear, lower, upper, total, group, sign)


def _two_rows(values: Array) -> Array:
    return values if values.ndim == 2 else constant(values)


def linear_form(problem: Problem) -> LinearProblem:
    """Return problem (1) with a linear kernel in the linear form; a ValueError states why it has none."""
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
    return LinearProblem(access.factor(), -linear, low, high, ridge, tube, bias, 1.0, total)


def kernel_form(problem: LinearProblem, access: Access) -> Problem:
    """Return a linear problem as problem (1).

    `access` is that of a linear kernel. If the offset is penalised, its features must include the constant.
    """
    total = np.array([problem.total] if problem.bias is Bias.FREE else [])
    sign = np.ones(problem.n)
    return Dual(
        problem.target, problem.lower, problem.upper, sign, total, problem.tube, problem.ridge, split=problem.tube > 0
    ).problem(access)


def _is_one_group(row: Array) -> bool:
    """Whether an equality row, in signed variables, has the same coefficient for all variables."""
    return bool(len(row) and row[0] != 0 and np.all(row == row[0]))


def kernel_variables(problem: Problem, beta: Array) -> Array:
    """Return the variables α of problem (1) from those of its linear form."""
    if problem.Q.slots == 2:
        return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    return problem.Q.sign * beta
