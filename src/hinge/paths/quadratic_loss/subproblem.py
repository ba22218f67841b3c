"""One machine with a quadratic loss: its solution as a function of λ, its events.          docs/math (231), (232)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.paths.quadratic_loss.rational import RationalFunctions
from hinge.problems import Array

RIGHT, CENTRE, LEFT = 0, 1, 2  # α = 0, between, α = h


@dataclass(frozen=True)
class Curve:
    """α and λb as rational functions of λ while the index sets stay as they are.                      (232)

    α_C = level − Σₖ zeta_k / (pole_k + λ) and λb = shift[0] + shift[1] λ + Σₖ shift_k / (pole_k + λ).
    """

    members: NDArray[np.intp]
    level: Array
    zeta: Array
    pole: Array
    shift: tuple[float, float]
    shift_poles: Array

    def alpha(self, lam: float) -> Array:
        """α of the central set."""
        return self.level - self.zeta @ (1.0 / (self.pole + lam))

    def offset(self, lam: float) -> float:
        """b."""
        return (self.shift[0] + self.shift[1] * lam + float(self.shift_poles @ (1.0 / (self.pole + lam)))) / lam


@dataclass(frozen=True)
class Subproblem:
    """min ½αᵀQα/λ + ½‖α‖² − ρ1ᵀα,  0 ≤ α ≤ h  (and yᵀα = 0 with bias),  Q = yyᵀ ∘ K.          (231); (5.10)"""

    K: Array
    y: Array
    rho: float
    h: float
    bias: bool

    def pull(self, places: NDArray[np.int8]) -> Array:
        """h Σ_{j ∈ L} Q_ij."""
        left = np.flatnonzero(places == LEFT)
        if len(left) == 0:
            return np.zeros(len(self.y))
        return self.h * self.y * (self.K[:, left] @ self.y[left])

    def curve(self, places: NDArray[np.int8], pull: Array) -> Curve:
        """The solution as a function of λ for these index sets."""
        members = np.flatnonzero(places == CENTRE)
        m, y = len(members), self.y[members]
        Q = y[:, None] * self.K[np.ix_(members, members)] * y
        ones, q = np.ones(m), pull[members]
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
        self, places: NDArray[np.int8], pull: Array, curve: Curve
    ) -> tuple[RationalFunctions, Array, Array]:
        """What must stay positive, the samples it belongs to, and where they go when it does not.      (5.18)–(5.24)"""
        members, y = curve.members, self.y
        outside = np.flatnonzero(places != CENTRE)
        left = places[outside] == LEFT
        block = y[outside][:, None] * self.K[np.ix_(outside, members)] * y[members]
        sign = np.where(left, -1.0, 1.0)
        constant = block @ curve.level + pull[outside] + y[outside] * curve.shift[0]
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
        a, b, w, who, to = (np.concatenate(column) for column in zip(*parts, strict=True))
        return RationalFunctions(a, b, w, curve.pole), who, to

    def solution(self, places: NDArray[np.int8], lam: float, pull: Array | None = None) -> tuple[Array, float]:
        """(α, b) at λ for these index sets, by one linear system."""
        pull = self.pull(places) if pull is None else pull
        members = np.flatnonzero(places == CENTRE)
        alpha = np.where(places == LEFT, self.h if np.isfinite(self.h) else 0.0, 0.0)
        if len(members) == 0:
            low, up = self.offset_interval(places, pull, 1.0 / lam) if self.bias else (0.0, 0.0)
            finite = [x for x in (low, up) if np.isfinite(x)]
            return alpha, float(np.mean(finite)) if finite else 0.0
        y = self.y[members]
        system = y[:, None] * self.K[np.ix_(members, members)] * y
        system[np.diag_indices(len(members))] += lam
        factor = scipy.linalg.cho_factor(system, lower=True)
        along = scipy.linalg.cho_solve(factor, y)
        found, offset = np.zeros(len(members)), 0.0
        for _ in range(3):  # the solution, and iterative refinement
            right = self.rho * lam - pull[members] - system @ found - offset * y
            change = scipy.linalg.cho_solve(factor, right)
            if self.bias:
                shift = float((y @ (found + change) + np.sum(self.y * alpha)) / (y @ along))
                change, offset = change - shift * along, offset + shift
            found = found + change
        alpha[members] = found
        return alpha, offset / lam

    def offset_interval(self, places: NDArray[np.int8], pull: Array, tau: float) -> tuple[float, float]:
        """The b that suit all samples when none is central, at τ = 1/λ: bounds that are linear in τ."""
        limit = np.where(places == LEFT, self.rho - (self.h if np.isfinite(self.h) else 0.0), self.rho) - pull * tau
        below = (places == RIGHT) == (self.y > 0)
        low = np.max((self.y * limit)[below], initial=-np.inf)
        up = np.min((self.y * limit)[~below], initial=np.inf)
        return float(low), float(up)

    def meeting(
        self, places: NDArray[np.int8], pull: Array, tau: float, last: float
    ) -> tuple[float, tuple[int, int]] | None:
        """With no central sample and a bias: the first τ at which the interval of b is a point, and who closes it."""
        limit = np.where(places == LEFT, self.rho - (self.h if np.isfinite(self.h) else 0.0), self.rho)
        below = np.flatnonzero((places == RIGHT) == (self.y > 0))
        above = np.flatnonzero((places == RIGHT) != (self.y > 0))
        if len(below) == 0 or len(above) == 0:
            return None
        now, line, slope = last, self.y * limit, -self.y * pull
        pair = None
        for _ in range(len(self.y) + 8):  # from the far end, tangents of a concave function
            i = below[np.argmax(line[below] + now * slope[below])]
            j = above[np.argmin(line[above] + now * slope[above])]
            gap, rate = line[j] - line[i] + now * (slope[j] - slope[i]), slope[j] - slope[i]
            if gap >= 0 or rate >= 0:
                break
            pair, before = (int(i), int(j)), now
            now = max(tau, (line[i] - line[j]) / rate)
            if now >= before:
                break
        return None if pair is None else (now, pair)

    def residual(self, places: NDArray[np.int8], lam: float, alpha: Array, offset: float) -> float:
        """Largest violation of (5.11), relative to ρ + max α · max K / λ."""
        score = self.y * (self.K @ (self.y * alpha)) / lam + self.y * offset
        r = score - self.rho + alpha
        wrong = np.where(places == CENTRE, np.abs(r), np.where(places == RIGHT, -r, r))
        box = np.maximum(-alpha, alpha - self.h)
        scale = self.rho + np.max(np.abs(alpha)) * np.max(np.diagonal(self.K)) / lam
        return float(max(np.max(wrong), np.max(box), 0.0) / scale)
