"""Classification and regression with any convex loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.formulations.base import COST_ERROR, Formulation
from hinge.formulations.c_svc import margin_dual
from hinge.formulations.svr import residual_dual
from hinge.kernels import Access
from hinge.losses import Loss
from hinge.model import Expansion
from hinge.problems import Array, Dual, LossTerm, Problem, Quadratic


@dataclass(frozen=True)
class ConvexLoss(Formulation):
    """min ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)), or with φ(yᵢ − f(xᵢ)).            docs/math (316)–(318); SVR tutorial (43)

    The dual problem is min ½βᵀKβ + Σ Cᵢ φ*(sᵢ/Cᵢ) with β = −y ∘ s for a loss of the margin, and
    min ½βᵀKβ − yᵀβ + Σ Cᵢ φ*(sᵢ/Cᵢ) with β = s for a loss of the residual. sᵢ is the slope of the loss of sample i. It
    is the sum of one variable for every piece of the conjugate. `y` holds ±1 or the targets, `cost` the Cᵢ.
    """

    y: Array
    cost: Array
    loss: Loss
    bias: bool = True

    def dual(self) -> Dual:
        """Return the dual problem of a loss whose conjugate is quadratic on an interval."""
        conjugate = self.loss.quadratic_conjugate
        if conjugate is None:
            raise ValueError(f"the conjugate of loss={self.loss!r} is not quadratic: use `build` with a separable term")
        with np.errstate(divide="ignore"):
            if self.loss.form == "margin":
                return margin_dual(self.y, self.cost, conjugate, self.bias)
            return residual_dual(self.y, self.cost, conjugate, self.bias, split=len(self.loss.pieces) == 2)

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem.

        A quadratic conjugate is represented by a linear and a diagonal term, other conjugates by a separable term.
        """
        if self.loss.quadratic_conjugate is None:
            return self.certified_problem(access)
        return self.dual().problem(access)

    def certified_problem(self, access: Access) -> Problem:
        """Return the problem with the loss itself as separable term. The certificate uses its values and conjugates."""
        pieces, n = self.loss.pieces, len(self.y)
        cost, starts = np.tile(self.cost, len(pieces)), np.repeat([piece.start for piece in pieces], n)
        not_first = np.repeat([0.0] + [1.0] * (len(pieces) - 1), n)
        conjugates = [self.loss.conjugate(part) for part in np.split(starts, len(pieces))]
        offset = np.concatenate(conjugates) * cost * not_first
        lows, highs = (np.repeat(ends, n) for ends in zip(*((piece.low, piece.high) for piece in pieces), strict=True))
        term = LossTerm(self.loss, len(pieces), cost, np.repeat(self._directions, n), starts, lows, highs, offset)
        sign, (lower, upper), linear = self._sign(), self._bounds(), np.zeros(n * len(pieces))
        if self.loss.form == "residual":
            linear = linear - sign * np.tile(self.y, len(pieces))
        rows = sign[None, :] if self.bias else np.empty((0, len(sign)))
        total = np.zeros(len(rows))
        return Problem(Quadratic(access, sign), linear, rows, total, lower, upper, term, bounds_error=COST_ERROR)

    @property
    def upper(self) -> Array:
        """Upper bounds of the variables: Cᵢ times the length of the piece."""
        return self._bounds()[1]

    @property
    def _directions(self) -> list[float]:
        """Sign of every piece: sign times variable is the contribution of the piece to the slope."""
        if self.loss.form == "margin":
            return [-1.0 if piece.low < 0 else 1.0 for piece in self.loss.pieces]
        return [1.0 if piece.high > 0 else -1.0 for piece in self.loss.pieces]

    def _bounds(self) -> tuple[Array, Array]:
        """Bounds of the variables. A variable is zero at the start of its piece."""
        lows, highs = [], []
        for piece, direction in zip(self.loss.pieces, self._directions, strict=True):
            ends = sorted(direction * (end - piece.start) for end in (piece.low, piece.high))
            lows.append(self.cost * (ends[0] or 0.0))
            highs.append(self.cost * ends[1])
        return np.concatenate(lows), np.concatenate(highs)

    def _sign(self) -> Array:
        """Signs with β = sign ∘ α, summed over the pieces."""
        directions = np.repeat(self._directions, len(self.y))
        return -np.tile(self.y, len(self.loss.pieces)) * directions if self.loss.form == "margin" else directions

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = sign ∘ α summed over the pieces, b = μ."""
        beta = (self._sign() * alpha).reshape(-1, len(self.y)).sum(axis=0)
        return Expansion(beta, float(mu[0]) if self.bias else 0.0)

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Return the variables and multipliers. The variable of a piece is the part of the slope within the piece."""
        beta = expansion.coefficients
        slope = -self.y * beta if self.loss.form == "margin" else beta
        parts = []
        for piece, direction in zip(self.loss.pieces, self._directions, strict=True):
            clipped = np.clip(slope, self.cost * piece.low, self.cost * piece.high)
            parts.append(direction * (clipped - self.cost * piece.start))
        return np.concatenate(parts), np.array([expansion.intercept] if self.bias else [])
