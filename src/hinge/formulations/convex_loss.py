"""Classification and regression with any convex loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.kernels import Access
from hinge.losses import Loss, Piece
from hinge.model import Expansion
from hinge.problems import Array, Diagonal, LossTerm, Problem, Quadratic, Separable


@dataclass(frozen=True)
class ConvexLoss:
    """min ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)), or with φ(yᵢ − f(xᵢ)).            docs/math (316)–(318); SVR tutorial (43)

    The dual has a slope sᵢ of the loss for every sample, split into the pieces of its conjugate:
    min ½βᵀKβ + Σ Cᵢ φ*(sᵢ/Cᵢ), with β = −y ∘ s for a loss of the margin, and − yᵀβ, β = s, for one of the residual.
    `y` holds ±1 or the targets, `cost` the Cᵢ.
    """

    y: Array
    cost: Array
    loss: Loss
    bias: bool = True

    @property
    def _directions(self) -> list[float]:
        """Of every piece: what turns its variable into a slope.  Losses of the margin have falling ones first."""
        if self.loss.form == "margin":
            return [-1.0 if piece.low < 0 else 1.0 for piece in self.loss.pieces]
        return [1.0 if piece.high > 0 else -1.0 for piece in self.loss.pieces]

    def _ends(self) -> tuple[Array, Array]:
        """The box of every variable: 0 is where its piece starts."""
        lows, highs = [], []
        for piece, direction in zip(self.loss.pieces, self._directions, strict=True):
            ends = sorted(direction * (end - piece.start) for end in (piece.low, piece.high))
            lows.append(self.cost * (ends[0] or 0.0))
            highs.append(self.cost * ends[1])
        return np.concatenate(lows), np.concatenate(highs)

    @property
    def upper(self) -> Array:
        """Cᵢ times the length of the piece."""
        return self._ends()[1]

    def build(self, access: Access) -> Problem:
        """With a diagonal where the conjugate is quadratic, and the conjugate itself where it is not."""
        pieces = self.loss.pieces
        if not all(piece.quadratic for piece in pieces):
            return self.proof(access)
        linear, ridge = zip(*(self._parabola(piece) for piece in pieces), strict=True)
        slope = np.concatenate([d * p for d, p in zip(self._directions, linear, strict=True)])
        d = np.concatenate(ridge)
        return self._problem(access, slope, Diagonal(d) if d.any() else None)

    def _parabola(self, piece: Piece) -> tuple[Array, Array]:
        assert piece.linear is not None
        assert piece.ridge is not None
        n = len(self.y)
        with np.errstate(divide="ignore"):
            return np.broadcast_to(np.asarray(piece.linear, dtype=np.float64), (n,)), piece.ridge / self.cost

    def proof(self, access: Access) -> Problem:
        """The same for certificates: no shortcuts, the loss's own values and conjugates."""
        pieces, n = self.loss.pieces, len(self.y)
        each = lambda values: np.repeat(np.asarray(values, dtype=np.float64), n)  # noqa: E731
        cost = np.tile(self.cost, len(pieces))
        starts = each([piece.start for piece in pieces])
        later = each([0.0] + [1.0] * (len(pieces) - 1))
        offset = np.concatenate([self.loss.conjugate(part) for part in np.split(starts, len(pieces))]) * cost * later
        lows, highs = each([piece.low for piece in pieces]), each([piece.high for piece in pieces])
        term = LossTerm(self.loss, len(pieces), cost, each(self._directions), starts, lows, highs, offset)
        return self._problem(access, np.zeros(n * len(pieces)), term)

    def _problem(self, access: Access, linear: Array, term: Separable | None) -> Problem:
        sign, (lower, upper) = self._sign(), self._ends()
        if self.loss.form == "residual":
            linear = linear - sign * np.tile(self.y, len(self.loss.pieces))
        rows = sign[None, :] if self.bias else np.empty((0, len(sign)))
        return Problem(Quadratic(access, sign), linear, rows, np.zeros(len(rows)), lower, upper, term)

    def _sign(self) -> Array:
        """What turns α into β."""
        directions = np.repeat(self._directions, len(self.y))
        return -np.tile(self.y, len(self.loss.pieces)) * directions if self.loss.form == "margin" else directions

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = signs ∘ α summed over the pieces, b = μ."""
        beta = (self._sign() * alpha).reshape(-1, len(self.y)).sum(axis=0)
        return Expansion(beta, float(mu[0]) if self.bias else 0.0)

    def unit(self, mu: Array) -> float:
        """The function is in the problem's units."""
        return 1.0

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Every piece takes the part of the slope that lies in it."""
        beta = expansion.coefficients
        slope = -self.y * beta if self.loss.form == "margin" else beta
        parts = []
        for piece, direction in zip(self.loss.pieces, self._directions, strict=True):
            kept = np.clip(slope, self.cost * piece.low, self.cost * piece.high)
            parts.append(direction * (kept - self.cost * piece.start))
        return np.concatenate(parts), np.array([expansion.intercept] if self.bias else [])
