"""Linear programs of ℓ1-penalized models: bounds of the optimum, at points that HiGHS finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb_mat
from scipy.optimize import linprog

from .numbers import ONE, ZERO, dot, exact, product, total, vector


@dataclass
class LinearProgram:
    """min Σ |aⱼ| + Σ (uᵢ max(0, yᵢ − fᵢ − tᵢ) + lᵢ max(0, fᵢ − yᵢ − tᵢ)),  f = Ka + b."""

    K: arb_mat
    target: list
    lower: list  # l ≥ 0
    upper: list
    tube: list

    def primal(self, a, b):
        """Return the objective, an upper bound on the optimum."""
        value = total(abs(v) for v in a)
        for i, f in enumerate(product(self.K, a)):
            residual = self.target[i] - f - b
            value += self.upper[i] * (residual - self.tube[i]).max(ZERO)
            value += self.lower[i] * (-residual - self.tube[i]).max(ZERO)
        return value.upper()

    def dual(self, beta):
        """Return yᵀβ − tᵀ|β| at a multiple of β in its box with Σβ = 0: a lower bound on the optimum."""
        beta = [b.max(-low).min(high) for b, low, high in zip(beta, self.lower, self.upper, strict=True)]
        sums = {side: total(abs(b) for b in beta if (b > 0) == side and not b.is_zero()) for side in (True, False)}
        if not (sums[True] > 0 and sums[False] > 0):
            return ZERO
        least = sums[True].min(sums[False])
        beta = [b if b.is_zero() else b * least / sums[bool(b > 0)] for b in beta]
        largest = ONE
        for value in product(self.K.transpose(), beta):
            largest = largest.max(abs(value))
        beta = [b / largest for b in beta]
        return (dot(self.target, beta) - dot(self.tube, [abs(b) for b in beta])).lower().max(ZERO)

    def enclose(self, guess=None):
        """Return (lower, upper) bounds on the optimum."""
        n = len(self.target)
        K = np.array([float(v.mid()) for v in self.K.entries()]).reshape(n, n)
        y, t, up, low = (np.array([float(v.mid()) for v in part]) for part in
                         (self.target, self.tube, self.upper, self.lower))  # fmt: skip
        unit, one = np.eye(n), np.ones((n, 1))
        cost = np.concatenate([np.ones(2 * n), [0.0], up, low])
        rows = np.vstack([np.hstack([-K, K, -one, -unit, 0 * unit]), np.hstack([K, -K, one, 0 * unit, -unit])])
        right = np.concatenate([t - y, t + y])
        bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * (2 * n)
        found = linprog(cost, A_ub=rows, b_ub=right, bounds=bounds, method="highs")
        candidates = [([ZERO] * n, ZERO, [ZERO] * n)]
        if guess is not None:
            candidates.append(guess)
        if found.x is not None and found.status == 0:
            multipliers = -found.ineqlin.marginals
            point = vector(found.x[:n] - found.x[n : 2 * n]), exact(found.x[2 * n])
            candidates.append((*point, vector(multipliers[:n] - multipliers[n:])))
        lower, upper = ZERO, None
        for a, b, beta in candidates:
            value = self.primal(a, b)
            upper = value if upper is None or value < upper else upper
            lower = lower.max(self.dual(beta))
        return lower, upper
