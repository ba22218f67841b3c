"""What every formulation can do: labels in, problem (1) out, and back again."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem


class Formulation(Protocol):
    """A machine's dual: from labels and costs to problem (1), and from its solution to a function."""

    @property
    def upper(self) -> Array:
        """The upper bound of every variable."""
        ...

    def build(self, access: Access) -> Problem:
        """The quadratic program over the kernel matrix behind `access`."""
        ...

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """The function a solution stands for."""
        ...

    def unit(self, mu: Array) -> float:
        """What 1 in the recovered function is in the problem's own units: ρ of ν-classification, else 1."""
        ...

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """(alpha, mu) of the problem from the function: the inverse of `recover`, for certificates."""
        ...


def proof_of(formulation: Formulation, access: Access) -> Problem:
    """The problem a certificate is computed for: with the loss itself, where solvers are given something quicker."""
    plain = getattr(formulation, "proof", formulation.build)
    problem: Problem = plain(access)
    return problem


def split_signs(coefficients: Array) -> Array:
    """Regression variables (α, α*) with α − α* = coefficients and α α* = 0."""
    return np.concatenate([np.maximum(coefficients, 0.0), np.maximum(-coefficients, 0.0)])


def difference(alpha: Array) -> Array:
    """α − α* from the two slots of regression."""
    up, down = alpha.reshape(2, -1)
    return up - down
