"""Where do rational functions A + Bλ − Σₖ ωₖ/(σₖ + λ), σ ≥ 0, fall to zero first as λ decreases?  docs/math (233)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array

#: Relative to the sum of the sizes of a function's terms: values below this are zero.
NOISE = 2e-15
INNER = 4
FRONT = 8
MAX_ROUNDS = 100_000


@dataclass(frozen=True)
class Crossing:
    """The first function that reaches zero (−1: none does), where, and what it cost."""

    which: int
    at: float
    evaluations: int
    functions: int


@dataclass(frozen=True)
class RationalFunctions:
    """F_i(λ) = constant_i + linear_i λ − Σₖ weight_ik / (pole_k + λ)."""

    constant: Array
    linear: Array
    weight: Array
    pole: Array

    def values(self, lam: float) -> Array:
        """F at λ."""
        return self.constant + self.linear * lam - self.weight @ (1.0 / (self.pole + lam))

    def times(self, factor: Array) -> RationalFunctions:
        """Each multiplied by a number of its own."""
        return RationalFunctions(factor * self.constant, factor * self.linear, factor[:, None] * self.weight, self.pole)

    def only(self, i: int) -> RationalFunctions:
        """One of them."""
        one = slice(i, i + 1)
        return RationalFunctions(self.constant[one], self.linear[one], self.weight[one], self.pole)

    def first_crossing(self, start: float, stop: float) -> Crossing:
        """The largest λ in [stop, start) at which some F_i, not negative at `start`, goes below zero.

        With t = −λ every F_i is A − Bt + ψ(t) − φ(t), ψ and φ increasing and convex. ψ is replaced by its lower bound
        p/(q − t) and φ by its upper bound r + s/(δ − t), both exact to first order (Karasuyama (5.19), (5.20)): the
        root of the bound is never behind that of F, and the iteration converges quadratically from the near side. A
        function whose bound stays positive up to the best root known is out of the race (cutoff).
        """
        count = len(self.constant)
        delta = np.min(np.where(self.weight > 0, self.pole, np.inf), axis=1, initial=np.inf)
        t, slopes = np.full(count, -start), np.zeros(count)
        waiting, best, which, evaluations = np.ones(count, dtype=bool), -stop, -1, 0
        for round_ in range(MAX_ROUNDS):
            racing = np.flatnonzero(waiting & (t < best))
            if len(racing) == 0:
                break
            if round_ > 0 and len(racing) > FRONT:  # those with the nearest bounds decide how far the others must look
                racing = racing[np.argpartition(t[racing], FRONT)[:FRONT]]
            evaluations += len(racing)
            here, arrived, step, slopes[racing] = self._advance(racing, t[racing], delta[racing])
            if round_ == 0 and arrived.any():  # already at zero and falling: the steepest goes
                steepest = int(racing[arrived][np.argmin(slopes[racing][arrived])])
                return Crossing(steepest, start, evaluations, count)
            waiting[racing[arrived]] = False
            t[racing] = here + np.where(arrived, 0.0, step)
            if arrived.any():
                first = int(racing[arrived][np.argmin(here[arrived])])
                if t[first] < best:
                    best, which = float(t[first]), first
        return Crossing(which, -best, evaluations, count)

    def _advance(
        self, racing: NDArray[np.intp], here: Array, delta: Array
    ) -> tuple[Array, NDArray[np.bool_], Array, Array]:
        """One evaluation: whether t = `here` is a root, how far the bound allows to go, and the (relative) slope."""
        share = 1.0 / (self.pole - here[:, None])
        weight = self.weight[racing]
        rising, falling = np.maximum(-weight, 0.0) * share, np.maximum(weight, 0.0) * share
        psi, phi = np.sum(rising, axis=1), np.sum(falling, axis=1)
        psi_rate, phi_rate = np.einsum("ik,ik->i", rising, share), np.einsum("ik,ik->i", falling, share)
        constant, linear = self.constant[racing], self.linear[racing]
        line = constant - linear * here
        size = np.abs(constant) + np.abs(linear * here) + psi + phi
        value, slope = line + psi - phi, -linear + psi_rate - phi_rate
        step = _bound_root(line, linear, psi, psi_rate, phi, phi_rate, delta - here)
        arrived = (slope < 0) & ((value <= NOISE * size) | (step <= 1e-15 * np.abs(here)))
        touching = (value <= 1e3 * NOISE * size) & (slope * np.abs(here) > -1e-6 * size)  # a double root, or nearly
        step = np.where(arrived, 0.0, np.maximum(step, np.where(touching, 1e-10, 1e-15) * np.abs(here)))
        return here, arrived, step, slope / np.maximum(size, np.finfo(float).tiny)


def _bound_root(
    line: Array, linear: Array, psi: Array, psi_rate: Array, phi: Array, phi_rate: Array, room: Array
) -> Array:
    """How far to the first root of A − Bu + p/(q − u) − r − s/(δ − u), u ≥ 0; infinity if there is none.

    p/(q − u) is convex: its tangent is below it, and what remains is concave with one root ahead, from a quadratic
    equation. A few tangents lead to the root of the bound itself, from the near side.
    """
    positive = psi > 0
    q = np.where(positive, psi / np.where(positive, psi_rate, 1.0), np.inf)
    p = np.where(positive, psi * np.where(positive, q, 0.0), 0.0)
    bounded = np.isfinite(room)
    D = np.where(bounded, room, 1.0)
    r, s = np.where(bounded, phi - D * phi_rate, 0.0), np.where(bounded, D * D * phi_rate, 0.0)
    u = np.zeros_like(line)
    for _ in range(INNER):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gap = np.where(positive, q - u, 1.0)
            height = np.where(positive, p / gap, 0.0)
            rate = np.where(positive, p / gap**2, 0.0)
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
        following = np.where(bounded & (s > 0), curved, flat)
        following = np.where(np.isfinite(u), np.maximum(following, u), np.inf)
        following = np.where(np.isfinite(following) & (following < q), following, np.inf)
        if np.array_equal(following, u):
            break
        u = following
    return u
