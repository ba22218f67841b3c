"""Parametric problem of a quadratic loss: its solution as a function of λ, and its events.   docs/math (231), (232)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.paths.quadratic_loss.rational import RationalFunctions
from hinge.problems import Array

REFINEMENT_STEPS = 2  # steps of iterative refinement of a solution

#: Index sets, named after the pieces of the loss as a function of the margin: α = 0 (right), between, α = h (left).
RIGHT, CENTRE, LEFT = 0, 1, 2


@dataclass(frozen=True)
class Curve:
    """α and λb as rational functions of λ for given index sets.                                            (232)

    α_C = level − Σₖ zeta_k / (pole_k + λ) and λb = shift[0] + shift[1] λ + Σₖ shift_k / (pole_k + λ).
    """

    members: NDArray[np.intp]
    level: Array
    zeta: Array
    pole: Array
    shift: tuple[float, float]
    shift_poles: Array

    def alpha(self, lam: float) -> Array:
        """Return α of the central set."""
        return self.level - self.zeta @ (1.0 / (self.pole + lam))

    def offset(self, lam: float) -> float:
        """Return b."""
        return (self.shift[0] + self.shift[1] * lam + float(self.shift_poles @ (1.0 / (self.pole + lam)))) / lam


@dataclass(frozen=True)
class QuadraticLossProblem:
    """min ½αᵀQα/λ + ½‖α‖² − ρ1ᵀα,  0 ≤ α ≤ h  (and yᵀα = 0 with bias),  Q = yyᵀ ∘ K.          (231); (5.10)"""

    K: Array
    y: Array
    rho: float
    h: float
    bias: bool

    def bound_gradient(self, places: NDArray[np.int8]) -> Array:
        """Return h Σ_{j ∈ L} Q_ij, the part of Qα of the variables at their upper bound."""
        left = np.flatnonzero(places == LEFT)
        if len(left) == 0:
            return np.zeros(len(self.y))
        return self.h * self.y * (self.K[:, left] @ self.y[left])

    def curve(self, places: NDArray[np.int8], gradient: Array) -> Curve:
        """Return the solution as a function of λ for these index sets."""
        members = np.flatnonzero(places == CENTRE)
        m, y = len(members), self.y[members]
        Q = y[:, None] * self.K[np.ix_(members, members)] * y
        ones, q = np.ones(m), gradient[members]
        if not self.bias:
            pole, U = scipy.linalg.eigh(Q, driver="evd") if m else (np.zeros(0), np.zeros((0, 0)))
            pole = np.maximum(pole, 0.0)
            zeta = U * (self.rho * pole * (U.T @ ones) + U.T @ q)
            return Curve(members, self.rho * ones, zeta, pole, (0.0, 0.0), np.zeros(len(pole)))
        if m == 0:
            return Curve(members, ones, np.zeros((0, 0)), np.zeros(0), (0.0, 0.0), np.zeros(0))
        unit = y / np.sqrt(m)
        total = -self.h * float(np.sum(self.y[places == LEFT])) if np.isfinite(self.h) else 0.0
        along = total / np.sqrt(m)
        basis = scipy.linalg.qr(unit[:, None])[0][:, 1:]
        pole, U = scipy.linalg.eigh(basis.T @ Q @ basis, driver="evd") if m > 1 else (np.zeros(0), np.zeros((0, 0)))
        pole = np.maximum(pole, 0.0)
        V = basis @ U
        c, d = V.T @ ones, V.T @ (q + along * (Q @ unit))
        level, zeta = along * unit + self.rho * (V @ c), V * (self.rho * pole * c + d)
        row = unit @ Q / np.sqrt(m)
        constant = -(unit @ q) / np.sqrt(m) - row @ level
        slope = (self.rho * float(unit @ ones) - along) / np.sqrt(m)
        return Curve(members, level, zeta, pole, (float(constant), slope), row @ zeta)

    def constraints(
        self, places: NDArray[np.int8], gradient: Array, curve: Curve
    ) -> tuple[RationalFunctions, Array, Array]:
        """Return functions that are positive until an event, their samples, and the sets these enter.  (5.18)–(5.24)"""
        members, y = curve.members, self.y
        outside = np.flatnonzero(places != CENTRE)
        left = places[outside] == LEFT
        block = y[outside][:, None] * self.K[np.ix_(outside, members)] * y[members]
        sign = np.where(left, -1.0, 1.0)
        constant = block @ curve.level + gradient[outside] + y[outside] * curve.shift[0]
        linear = y[outside] * curve.shift[1] - np.where(
            left, self.rho - self.h if np.isfinite(self.h) else 0.0, self.rho
        )
        weight = block @ curve.zeta - y[outside][:, None] * curve.shift_poles
        parts = [
            (curve.level, np.zeros(len(members)), curve.zeta, members, np.full(len(members), RIGHT)),
            (sign * constant, sign * linear, sign[:, None] * weight, outside, np.full(len(outside), CENTRE)),
        ]
        if np.isfinite(self.h):
            parts.append(
                (self.h - curve.level, np.zeros(len(members)), -curve.zeta, members, np.full(len(members), LEFT))
            )
        a, b, w, samples, to = (np.concatenate(column) for column in zip(*parts, strict=True))
        return RationalFunctions(a, b, w, curve.pole), samples, to

    def solution(self, places: NDArray[np.int8], lam: float, gradient: Array | None = None) -> tuple[Array, float]:
        """Return (α, b) at λ for these index sets, from a linear system."""
        gradient = self.bound_gradient(places) if gradient is None else gradient
        members = np.flatnonzero(places == CENTRE)
        alpha = np.where(places == LEFT, self.h if np.isfinite(self.h) else 0.0, 0.0)
        if len(members) == 0:
            low, up = self.offset_interval(places, gradient, 1.0 / lam) if self.bias else (0.0, 0.0)
            finite = [x for x in (low, up) if np.isfinite(x)]
            return alpha, float(np.mean(finite)) if finite else 0.0
        y = self.y[members]
        system = y[:, None] * self.K[np.ix_(members, members)] * y
        system[np.diag_indices(len(members))] += lam
        factor = scipy.linalg.cho_factor(system, lower=True)
        along = scipy.linalg.cho_solve(factor, y)
        central, offset = np.zeros(len(members)), 0.0
        for _ in range(1 + REFINEMENT_STEPS):
            right = self.rho * lam - gradient[members] - system @ central - offset * y
            change = scipy.linalg.cho_solve(factor, right)
            if self.bias:
                shift = float((y @ (central + change) + np.sum(self.y * alpha)) / (y @ along))
                change, offset = change - shift * along, offset + shift
            central = central + change
        alpha[members] = central
        return alpha, offset / lam

    def offset_interval(self, places: NDArray[np.int8], gradient: Array, tau: float) -> tuple[float, float]:
        """Return the interval of optimal b if the central set is empty, at τ = 1/λ; its ends are linear in τ."""
        limit = np.where(places == LEFT, self.rho - (self.h if np.isfinite(self.h) else 0.0), self.rho) - gradient * tau
        below = (places == RIGHT) == (self.y > 0)
        low = np.max((self.y * limit)[below], initial=-np.inf)
        up = np.min((self.y * limit)[~below], initial=np.inf)
        return float(low), float(up)

    def interval_closes(
        self, places: NDArray[np.int8], gradient: Array, tau: float, last: float
    ) -> tuple[float, tuple[int, int]] | None:
        """Return the first τ at which the interval of b is a point, and the samples at its ends, or None.

        For problems with a bias and an empty central set.
        """
        limit = np.where(places == LEFT, self.rho - (self.h if np.isfinite(self.h) else 0.0), self.rho)
        below = np.flatnonzero((places == RIGHT) == (self.y > 0))
        above = np.flatnonzero((places == RIGHT) != (self.y > 0))
        if len(below) == 0 or len(above) == 0:
            return None
        now, line, slope = last, self.y * limit, -self.y * gradient
        pair = None
        for _ in range(len(self.y) + 8):  # Newton steps on a concave piecewise linear function, from the far end
            i = below[np.argmax(line[below] + now * slope[below])]
            j = above[np.argmin(line[above] + now * slope[above])]
            width, rate = line[j] - line[i] + now * (slope[j] - slope[i]), slope[j] - slope[i]
            if width >= 0 or rate >= 0:
                break
            pair, before = (int(i), int(j)), now
            now = max(tau, (line[i] - line[j]) / rate)
            if now >= before:
                break
        return None if pair is None else (now, pair)

    def residual(self, places: NDArray[np.int8], lam: float, alpha: Array, offset: float) -> float:
        """Return the largest violation of (5.11), relative to ρ + max α · max K / λ."""
        score = self.y * (self.K @ (self.y * alpha)) / lam + self.y * offset
        r = score - self.rho + alpha
        wrong = np.where(places == CENTRE, np.abs(r), np.where(places == RIGHT, -r, r))
        box = np.maximum(-alpha, alpha - self.h)
        scale = self.rho + np.max(np.abs(alpha)) * np.max(np.diagonal(self.K)) / lam
        return float(max(np.max(wrong), np.max(box), 0.0) / scale)
