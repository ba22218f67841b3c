"""First zero of rational functions A + Bλ − Σₖ ωₖ/(σₖ + λ), σ ≥ 0, as λ decreases.  docs/math (233)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array

ROUNDING_TOL = 2e-15  # values below this, relative to the sum of the absolute values of all terms, are zero
TOUCHING_TOL = 1e3 * ROUNDING_TOL  # relative value up to which a function with a small slope is taken for a double root
FLAT_SLOPE = 1e-6  # relative slope below which a root may be a double root
MIN_STEP, MIN_STEP_AT_DOUBLE_ROOT = 1e-15, 1e-10  # smallest relative steps, so that no iteration stagnates
TANGENT_STEPS = 4  # tangents per evaluation of a bound
BATCH = 8  # functions that are evaluated at a time after the first round, those with the smallest bounds
MAX_ROUNDS = 100_000  # evaluations of batches before the search ends


@dataclass(frozen=True)
class Crossing:
    """First function that reaches zero (−1: none), its root, and the numbers of evaluations and functions."""

    which: int
    at: float
    evaluations: int
    functions: int


@dataclass(frozen=True)
class RationalFunctions:
    """Functions F_i(λ) = constant_i + linear_i λ − Σₖ weight_ik / (pole_k + λ)."""

    constant: Array
    linear: Array
    weight: Array
    pole: Array

    def values(self, lam: float) -> Array:
        """Return F(λ)."""
        return self.constant + self.linear * lam - self.weight @ (1.0 / (self.pole + lam))

    def scaled(self, factor: Array) -> RationalFunctions:
        """Return factor_i F_i."""
        return RationalFunctions(factor * self.constant, factor * self.linear, factor[:, None] * self.weight, self.pole)

    def select(self, i: int) -> RationalFunctions:
        """Return F_i alone."""
        row = slice(i, i + 1)
        return RationalFunctions(self.constant[row], self.linear[row], self.weight[row], self.pole)

    def first_crossing(self, start: float, stop: float) -> Crossing:
        """Return the largest λ in [stop, start) at which an F_i, which is not negative at `start`, becomes negative.

        With t = −λ every F_i is A − Bt + ψ(t) − φ(t), ψ and φ increasing and convex. ψ is replaced by its lower bound
        p/(q − t) and φ by its upper bound r + s/(δ − t), both exact to first order (Karasuyama (5.19), (5.20)). The
        root of this lower bound of F is not beyond that of F, so that the iteration converges quadratically from one
        side. A function whose bound is positive up to the smallest root found so far is discarded (cutoff).
        """
        count = len(self.constant)
        delta = np.min(np.where(self.weight > 0, self.pole, np.inf), axis=1, initial=np.inf)
        t, slopes = np.full(count, -start), np.zeros(count)
        undecided, best, which, evaluations = np.ones(count, dtype=bool), -stop, -1, 0
        for round_ in range(MAX_ROUNDS):
            rows = np.flatnonzero(undecided & (t < best))
            if len(rows) == 0:
                break
            if round_ > 0 and len(rows) > BATCH:  # their roots discard most of the others
                rows = rows[np.argpartition(t[rows], BATCH)[:BATCH]]
            evaluations += len(rows)
            at, is_root, step, slopes[rows] = self._advance(rows, t[rows], delta[rows])
            if round_ == 0 and is_root.any():  # zero at `start` and decreasing: the steepest is first
                steepest = int(rows[is_root][np.argmin(slopes[rows][is_root])])
                return Crossing(steepest, start, evaluations, count)
            undecided[rows[is_root]] = False
            t[rows] = at + np.where(is_root, 0.0, step)
            if is_root.any():
                first = int(rows[is_root][np.argmin(at[is_root])])
                if t[first] < best:
                    best, which = float(t[first]), first
        return Crossing(which, -best, evaluations, count)

    def _advance(
        self, rows: NDArray[np.intp], at: Array, delta: Array
    ) -> tuple[Array, NDArray[np.bool_], Array, Array]:
        """Evaluate functions at t: return (t, whether it is a root, step to the root of the bound, relative slope)."""
        reciprocal = 1.0 / (self.pole - at[:, None])
        weight = self.weight[rows]
        rising, falling = np.maximum(-weight, 0.0) * reciprocal, np.maximum(weight, 0.0) * reciprocal
        psi, phi = np.sum(rising, axis=1), np.sum(falling, axis=1)
        psi_rate, phi_rate = np.einsum("ik,ik->i", rising, reciprocal), np.einsum("ik,ik->i", falling, reciprocal)
        constant, linear = self.constant[rows], self.linear[rows]
        line = constant - linear * at
        size = np.abs(constant) + np.abs(linear * at) + psi + phi
        value, slope = line + psi - phi, -linear + psi_rate - phi_rate
        step = _bound_root(line, linear, psi, psi_rate, phi, phi_rate, delta - at)
        is_root = (slope < 0) & ((value <= ROUNDING_TOL * size) | (step <= MIN_STEP * np.abs(at)))
        touching = (value <= TOUCHING_TOL * size) & (slope * np.abs(at) > -FLAT_SLOPE * size)
        least = np.where(touching, MIN_STEP_AT_DOUBLE_ROOT, MIN_STEP) * np.abs(at)
        step = np.where(is_root, 0.0, np.maximum(step, least))
        return at, is_root, step, slope / np.maximum(size, np.finfo(float).tiny)


def _bound_root(
    line: Array, linear: Array, psi: Array, psi_rate: Array, phi: Array, phi_rate: Array, to_pole: Array
) -> Array:
    """Return the first root u ≥ 0 of A − Bu + p/(q − u) − r − s/(δ − u), or infinity.

    The convex term p/(q − u) is replaced by its tangent, which is a lower bound. The remaining function is concave, and
    its root solves a quadratic equation. A few tangents approximate the root from below.
    """
    positive = psi > 0
    q = np.where(positive, psi / np.where(positive, psi_rate, 1.0), np.inf)
    p = np.where(positive, psi * np.where(positive, q, 0.0), 0.0)
    bounded = np.isfinite(to_pole)
    D = np.where(bounded, to_pole, 1.0)
    r, s = np.where(bounded, phi - D * phi_rate, 0.0), np.where(bounded, D * D * phi_rate, 0.0)
    u = np.zeros_like(line)
    for _ in range(TANGENT_STEPS):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            distance = np.where(positive, q - u, 1.0)
            height = np.where(positive, p / distance, 0.0)
            rate = np.where(positive, p / distance**2, 0.0)
            c1 = rate - linear
            c0 = line - r + height - rate * u
            flat = np.where(c1 < 0, -c0 / c1, np.inf)
            a2, a1, a0 = -c1, c1 * D - c0, c0 * D - s
            root = np.sqrt(np.maximum(a1 * a1 - 4 * a2 * a0, 0.0))
            z = -0.5 * (a1 + np.where(a1 >= 0, root, -root))
            one, two = z / a2, a0 / z
            low, high = np.fmin(one, two), np.fmax(one, two)
            curved = np.where(c1 > 0, high, np.where(c1 < 0, low, two))
            curved = np.clip(np.nan_to_num(curved, nan=0.0, posinf=0.0, neginf=0.0), 0.0, D)
        next_u = np.where(bounded & (s > 0), curved, flat)
        next_u = np.where(np.isfinite(u), np.maximum(next_u, u), np.inf)
        next_u = np.where(np.isfinite(next_u) & (next_u < q), next_u, np.inf)
        if np.array_equal(next_u, u):
            break
        u = next_u
    return u
