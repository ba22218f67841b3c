"""Newton's method for pairs: a proximal point method whose steps are smooth problems.      docs/math (437)–(440)

Squared errors make a smooth problem from the beginning, and need one such step.                          (467)–(469)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from hinge.kernels import Linear, PairAccess
from hinge.problems import Array

#: Systems up to this size are factored; larger ones are left to conjugate gradients.
DIRECT = 3000

#: Newton steps for one proximal step, and trials of one line search.
INNER = 40
TRIALS = 30

#: A kink that is smooth over less than this is a kink.
THINNEST = 1e-13


@dataclass
class PairNewton:
    """α ← argmin of the dual plus ½σ‖α − α_old‖², each by Newton's method on its primal, with σ falling.

    `ridge` is d of ½Σ dα² where errors are squared, and empty otherwise.
    """

    pairs: PairAccess
    cost: Array
    alpha: Array
    ridge: Array
    deadline: float | None = None
    max_steps: int = -1
    steps: int = 0
    asked_to_stop: bool = False
    f: Array = field(init=False)
    X: Any = field(init=False)

    def __post_init__(self) -> None:
        kernel = getattr(self.pairs.base, "kernel", None)
        self.X = self.pairs.base.factor() if isinstance(kernel, Linear) else None
        self._settle(self.alpha)

    def _product(self, coefficients: Array) -> Array:
        """K times coefficients of samples."""
        if self.X is None:
            return self.pairs.base.matvec(coefficients)
        return np.asarray(self.X @ (self.X.T @ coefficients), dtype=np.float64)

    def _settle(self, alpha: Array) -> None:
        """Take α, and f and the gap that belong to it."""
        self.alpha = alpha
        self.beta = self.pairs.coefficients(alpha)
        self.f = self._product(self.beta)
        short = 1 - self.pairs.differences(self.f)
        self.gap = self._terms(alpha, short)
        self.dual = float(np.sum(alpha) - 0.5 * self.beta @ self.f)
        push = short
        if len(self.ridge):
            push = short - self.ridge * alpha
            self.dual -= 0.5 * float(self.ridge @ alpha**2)
        self.primal = self.dual + self.gap
        wrong = ((push > 0) & (alpha < self.cost)) | ((push < 0) & (alpha > 0))
        self.violation = float(np.max(np.abs(push[wrong]), initial=0.0))

    def _terms(self, alpha: Array, short: Array) -> float:
        """What the pairs add to the gap.                                                docs/math (433), (468)"""
        if len(self.ridge):
            away = alpha - np.maximum(short, 0.0) / self.ridge
            return float(np.sum(0.5 * self.ridge * away**2 + np.maximum(-short, 0.0) * alpha))
        return float(np.sum(np.where(short > 0, (self.cost - alpha) * short, -alpha * short)))

    def stop(self) -> str | None:
        """Why to stop before the end, if there is a reason."""
        if self.asked_to_stop:
            return "interrupted"
        if self.deadline is not None and time.monotonic() > self.deadline:
            return "time"
        return "steps" if 0 <= self.max_steps <= self.steps else None

    def run(self, wanted: Callable[[PairNewton], bool], tell: Callable[[PairNewton], None]) -> str:
        """Until `wanted` says so: "solved", a reason to stop, or "stalled" when rounding leaves nothing to gain.

        On the way w is ahead of Dᵀα, and the gap of the two together (440) says how it goes; at the end w is Dᵀα.
        """
        if len(self.ridge):
            return self._run_smooth(wanted, tell)
        loss = float(np.sum(self.cost * np.maximum(1 - self.pairs.differences(self.f), 0.0)))
        kinks = min(0.2 * loss, 2 * self.gap) if loss > 0 else 2 * self.gap  # no pair may be missing its margin
        width = kinks / max(float(np.sum(self.cost)), np.finfo(float).tiny)  # of a kink
        beta, f, alpha = self.beta.copy(), self.f.copy(), self.alpha
        together, tightness, stalls = np.inf, 0.05, 0
        while not wanted(self):
            if not width >= THINNEST:
                return "stalled"
            before = together
            sigma = width / max(float(np.mean(self.cost)), np.finfo(float).tiny)  # the kink is smooth over `width`
            found = self._proximal_step(alpha, beta, f, np.full(len(alpha), sigma), tightness)
            if found is None:
                return self.stop() or "time"
            alpha, beta, f, together = found
            last = self.alpha
            old_gap = self.gap
            self._settle(alpha)
            tell(self)
            if wanted(self):
                return "solved"
            if self.gap > old_gap:
                self._settle(last)  # the better of the two is what we would answer
                if together < 0.1 * old_gap:
                    tightness *= 0.01
            stalls = stalls + 1 if together > 0.9 * before and tightness < 1e-12 else 0
            if stalls > 5 or tightness < 1e-24:
                return "stalled"
            if together > 0.2 * before:
                width *= 0.3
        return "solved"

    def _run_smooth(self, wanted: Callable[[PairNewton], bool], tell: Callable[[PairNewton], None]) -> str:
        """Squared errors: α(w) = max(0, 1 − Df)/d leaves only ‖w − Φᵀ Dᵀα‖² of the gap.          docs/math (468)"""
        beta, f, nothing = self.beta.copy(), self.f.copy(), np.zeros_like(self.alpha)
        together, stalls = np.inf, 0
        while not wanted(self):
            before = together
            found = self._proximal_step(nothing, beta, f, self.ridge, 0.0, most=1)  # one Newton step, then look
            if found is None:
                return self.stop() or "time"
            alpha, beta, f, together = found
            last, old_gap = self.alpha, self.gap
            self._settle(alpha)
            if self.gap > old_gap:
                self._settle(last)
            tell(self)
            stalls = stalls + 1 if self.gap >= old_gap and together >= before else 0
            if stalls > 5:
                return "solved" if wanted(self) else "stalled"
        return "solved"

    def _proximal_step(
        self, centre: Array, beta: Array, f: Array, sigma: Array, tightness: float, most: int = INNER
    ) -> tuple[Array, Array, Array, float] | None:
        """One proximal step, until its slack ‖w − Φᵀ Dᵀα‖²/2 is small beside the pairs' own terms of the gap."""
        z = self.pairs.differences(f)
        for inner in range(most + 1):
            if self.stop():
                return None
            short = 1 - z
            alpha = np.clip(centre + short / sigma, 0.0, self.cost)
            rest = beta - self.pairs.coefficients(alpha)
            f_rest = self._product(rest)
            slack = max(0.0, 0.5 * float(rest @ f_rest))
            terms = self._terms(alpha, short)
            if slack <= tightness * terms or inner == most:
                break
            free = np.flatnonzero((alpha > 0) & (alpha < self.cost))
            step = self._direction(rest, f_rest, free, sigma[free])
            f_step = self._product(step)
            t = self._search(beta, step, f_step, z, centre, sigma)
            self.steps += 1
            if t == 0.0:
                break
            beta = beta + t * step
            f = f + t * f_step
            z = self.pairs.differences(f)
        return alpha, beta, f, terms + slack

    def _direction(self, rest: Array, f_rest: Array, free: Any, sigma: Array) -> Array:
        """−(I + LK)⁻¹ rest, L = D_Fᵀ σ⁻¹ D_F, as coefficients of samples.                         docs/math (439)"""
        if len(free) == 0:
            return -rest
        D = self.pairs.incidence(free)
        few_features = self.X is not None and not hasattr(self.X, "indptr") and self.X.shape[1] <= DIRECT
        if few_features and self.X.shape[1] < len(free):
            # w-space: v = (I + XᵀLX)⁻¹ Xᵀ rest; the same step has the coefficients rest − L X v.
            LX = D.T @ (sp.diags_array(1.0 / sigma) @ D) @ self.X
            H = self.X.T @ LX
            H[np.diag_indices_from(H)] += 1.0
            v = sla.cho_solve(sla.cho_factor(H, overwrite_a=True), self.X.T @ rest)
            return -(rest - LX @ v)
        right = D @ f_rest
        if len(free) <= DIRECT:
            M = self.pairs.block(free, free)
            M[np.diag_indices_from(M)] += sigma
            inner = sla.cho_solve(sla.cho_factor(M, overwrite_a=True), right)
        else:
            inner = self._conjugate_gradients(D, right, sigma)
        return -(rest - D.T @ inner)

    def _conjugate_gradients(self, D: Any, right: Array, sigma: Array, rounds: int = 60) -> Array:
        """(σ + D K Dᵀ) x = right, roughly."""
        x, r = np.zeros_like(right), right.copy()
        p, rr = r.copy(), float(r @ r)
        enough = 1e-2 * rr
        for _ in range(rounds):
            if rr <= enough or self.stop():
                break
            q = sigma * p + D @ self._product(D.T @ p)
            step = rr / float(p @ q)
            x += step * p
            r -= step * q
            new = float(r @ r)
            p, rr = r + (new / rr) * p, new
        return x

    def _search(self, beta: Array, step: Array, f_step: Array, z: Array, centre: Array, sigma: Array) -> float:
        """Near the zero of the slope of the smooth primal along the step, which rises: bracketed secants."""
        linear, square = float(beta @ f_step), float(step @ f_step)
        z_step = self.pairs.differences(f_step)
        at, rate = centre + (1 - z) / sigma, -z_step / sigma

        def slope(t: float) -> float:
            return linear + t * square - float(np.clip(at + t * rate, 0.0, self.cost) @ z_step)

        low, high, at_low = 0.0, 1.0, slope(0.0)
        if at_low >= 0:
            return 0.0
        enough, at_high = 0.2 * abs(at_low), slope(1.0)
        while at_high < -enough and high < 64:
            low, at_low, high = high, at_high, 2 * high
            at_high = slope(high)
        for trial in range(TRIALS):
            if abs(at_high) <= enough:
                return high
            t = low - at_low * (high - low) / (at_high - at_low) if trial % 3 < 2 else 0.5 * (low + high)
            value = slope(t)
            if abs(value) <= enough:
                return t
            if value < 0:
                low, at_low = t, value
            else:
                high, at_high = t, value
        return low if low > 0 else high
