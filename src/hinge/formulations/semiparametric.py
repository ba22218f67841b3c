"""Semiparametric models: functions without a penalty besides the kernel expansion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hinge.formulations.base import Formulation
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Dual, Problem

#: A function counts as dependent on others if their combinations leave less than this share of its norm.
INDEPENDENCE_TOL = 1e-9


@dataclass(frozen=True, kw_only=True)
class SemiparametricExpansion(Expansion):
    """f(x) = Σᵢ coefficients[i] k(xᵢ, x) + Σⱼ weights[j] ψⱼ(x)."""

    weights: Array


@dataclass(frozen=True)
class Semiparametric(Formulation):
    """min ½‖w‖² + Σ Cᵢ φᵢ(f(xᵢ)),  f = ⟨w, Φ⟩ + Σⱼ cⱼ ψⱼ.                  docs/math (851); LwK 10.3.1

    The functions ψⱼ have no penalty: the dual problem is that of the penalized part with one equality row for each of
    them, Σᵢ βᵢ ψⱼ(xᵢ) = 0, whose multiplier is cⱼ.

    Parameters
    ----------
    inner : Formulation
        The penalized part with its loss, without bias.
    functions : ndarray of shape (n_samples, n_functions)
        ψⱼ(xᵢ), with linearly independent columns.
    """

    inner: Formulation
    functions: Array
    scale_of: Array = field(init=False, repr=False)  # powers of two, by which the columns are divided without rounding

    def __post_init__(self) -> None:
        largest = np.max(np.abs(self.functions), axis=0, initial=0.0)
        _, exponent = np.frexp(np.where(largest > 0, largest, 1.0))
        object.__setattr__(self, "scale_of", np.ldexp(1.0, exponent))

    def dual(self) -> Dual:
        """Raise a ValueError: a `Dual` has at most two equality rows, which share no variables."""
        raise ValueError(
            "semiparametric models have one equality row for every unpenalized function; exact paths, updates and "
            "leave-one-out solutions do not support them"
        )

    def build(self, access: Access) -> Problem:
        """Return problem (1) with one equality row for every function."""
        return self._with_rows(self.inner.build(access))

    def certified_problem(self, access: Access) -> Problem:
        """Return the problem for certificates, with the same equality rows."""
        return self._with_rows(self.inner.certified_problem(access))

    def _with_rows(self, problem: Problem) -> Problem:
        values = (self.functions / self.scale_of).T
        rows = np.tile(values, problem.Q.slots) * problem.Q.sign
        return replace(problem, A=rows, d=np.zeros(len(rows)))

    @property
    def upper(self) -> Array:
        """Upper bounds of the variables of problem (1)."""
        return self.inner.upper

    def recover(self, alpha: Array, mu: Array) -> SemiparametricExpansion:
        """β of the penalized part, c = μ."""
        part = self.inner.recover(alpha, np.empty(0))
        return SemiparametricExpansion(
            part.coefficients, 0.0, part.margin, part.tube, weights=np.asarray(mu / self.scale_of)
        )

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """The variables of the penalized part, μ = c."""
        assert isinstance(expansion, SemiparametricExpansion)
        alpha, _ = self.inner.dual_point(expansion)
        return alpha, expansion.weights * self.scale_of


def independent_functions(functions: Array) -> NDArray[np.bool_]:
    """Return which columns are linearly independent of the columns before them, up to rounding."""
    kept = np.zeros(functions.shape[1], dtype=bool)
    basis = np.empty((len(functions), 0))
    for j, column in enumerate(functions.T):
        size = np.max(np.abs(column), initial=0.0)
        if size == 0:
            continue
        unit = column / size
        unit = unit / np.linalg.norm(unit)
        rest = unit - basis @ (basis.T @ unit)
        rest = rest - basis @ (basis.T @ rest)
        norm = float(np.linalg.norm(rest))
        if norm > INDEPENDENCE_TOL:
            kept[j] = True
            basis = np.column_stack([basis, rest / norm])
    return kept
