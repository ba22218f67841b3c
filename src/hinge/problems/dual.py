"""Dual problems in signed variables, and their kernel, linear and parametric forms.

A formulation defines its dual problem once, as a `Dual`. Solvers of kernel problems get the form (1), linear solvers
(101), paths (201). The module also converts problem (1) with a linear kernel to the linear form and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access, Linear
from hinge.problems.linear import Bias, LinearProblem
from hinge.problems.parametric import ParametricProblem, constant, group_rows, unsigned_problem
from hinge.problems.problem import Problem
from hinge.problems.quadratic import Array
from hinge.problems.separable import Diagonal


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
