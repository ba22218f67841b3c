"""Linear and parametric forms of dual problems.

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
from hinge.problems.problem import Dual, Problem, group_rows, unsigned_problem
from hinge.problems.separable import Array


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
        return self.problem_with(access, self.at(theta))

    def problem_with(self, access: Access, values: Values) -> Problem:
        """Return problem (1) with the data `values` of one θ."""
        rows = group_rows(self.group, self.sign, np.ones(len(values.total)))
        return unsigned_problem(access, self.sign, values.linear, values.lower, values.upper, rows, values.total)


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


def parametric_problem(dual: Dual) -> ParametricProblem:
    """Return the form of paths (201) of a dual problem; arrays with one row are constants.

    A tube of width zero, for all θ, needs one variable per sample only.
    """
    target, total = _two_rows(dual.target), _two_rows(dual.total)
    lower, upper = _two_rows(dual.lower), _two_rows(dual.upper)
    n, sign, split = target.shape[1], dual.sign, dual.split and (dual.group is not None or bool(np.any(dual.tube)))
    if split:
        tube = _two_rows(np.broadcast_to(np.asarray(dual.tube, dtype=np.float64), np.shape(dual.tube) or (n,)))
        two_rows = Dual(target, lower, upper, sign, total, tube, split=True)
        sign, linear, lower, upper = two_rows.variables()
    else:
        sign, linear = (np.ones(n) if dual.split else sign), 0.0 - target
    group = dual.group
    if group is None:
        group = np.full(len(sign), 0 if total.shape[1] else -1, dtype=np.int8)
    return ParametricProblem(linear, lower, upper, total, group, sign)


def linear_problem(dual: Dual, X: Any, bias: Bias, bias_scale: float = 1.0) -> LinearProblem:
    """Return the linear form (101) of a dual problem: K = XXᵀ."""
    ridge = np.zeros(len(dual.target)) if dual.ridge is None else dual.ridge
    total = float(dual.total[0]) if len(dual.total) else 0.0
    tube = np.asarray(dual.tube)
    if tube.size > 1 and np.any(tube != tube.flat[0]):
        raise ValueError("a linear problem needs the same tube width for all samples")
    width = float(tube.flat[0]) if tube.size else 0.0
    return LinearProblem(X, dual.target, dual.lower, dual.upper, ridge, width, bias, bias_scale, total)


def _two_rows(values: Array) -> Array:
    """Return values and rates; those of a constant if `values` has one row."""
    return values if values.ndim == 2 else np.stack([values, np.zeros_like(values)])


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
