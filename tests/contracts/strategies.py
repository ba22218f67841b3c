"""Strategies of hypothesis for problem (1): small, often degenerate, always convex, feasible and bounded.

    min ½αᵀQα + pᵀα + ½Σ dᵥαᵥ²   s.t.  Aα = d,  l ≤ α ≤ u,      Q = S K̃ S,  K̃ = K repeated over the slots

The last term belongs to a quadratic loss; some problems have it.

Hypothesis draws and shrinks the structure: rank, repeated and zero rows, groups, kinds of bounds, scales. The numbers
come from a seeded generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from hinge.kernels import Precomputed, open_access
from hinge.problems import Diagonal, Problem, Quadratic
from reference.qp import solve_by_enumeration, solve_with_clarabel


@dataclass(frozen=True)
class Program:
    """A problem as arrays, with the feasible point that it was built around."""

    K: np.ndarray
    sign: np.ndarray
    p: np.ndarray
    A: np.ndarray
    d: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    feasible: np.ndarray
    ridge: np.ndarray | None = None

    @property
    def size(self):
        return self.p.size

    @property
    def Q(self):
        slots = self.size // len(self.K)
        return np.tile(self.K, (slots, slots)) * np.outer(self.sign, self.sign)

    @property
    def hessian(self):
        return self.Q if self.ridge is None else self.Q + np.diag(self.ridge)

    @property
    def bounded(self):
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def value(self, alpha):
        return 0.5 * alpha @ self.hessian @ alpha + self.p @ alpha

    def infeasibility(self, alpha):
        """Largest violation of the bounds and of Aα = d."""
        outside = max(np.max(self.lower - alpha, initial=0), np.max(alpha - self.upper, initial=0))
        return max(outside, np.abs(self.A @ alpha - self.d).max(initial=0))

    def optimum(self):
        solve = solve_by_enumeration if self.size <= 5 else solve_with_clarabel
        return solve(self.hessian, self.p, self.A, self.d, self.lower, self.upper)

    @property
    def reach(self):
        """Bound on the size of the variables: the largest bound, or an estimate where bounds are infinite."""
        ends = np.r_[self.lower, self.upper, self.feasible]
        far = np.abs(ends[np.isfinite(ends)]).max(initial=0)
        if not self.bounded:
            least = np.linalg.eigvalsh(self.hessian)[0]
            far = max(far, 2 * np.linalg.norm(self.hessian @ self.feasible + self.p) / least)
        return far or 1.0

    @property
    def steepness(self):
        """Scale of the gradient, in which tolerances are expressed."""
        curvature = np.abs(self.K).max() + (0.0 if self.ridge is None else self.ridge.max())
        return np.abs(self.p).max() + curvature * self.reach or 1.0

    def problem(self):
        """The same problem for hinge.  With one slot and positive signs, Q is passed as a dense matrix."""
        if len(self.K) == self.size and (self.sign > 0).all():
            quadratic = Quadratic.dense(self.K)
        else:
            quadratic = Quadratic(open_access(Precomputed(), self.K), self.sign)
        term = None if self.ridge is None else Diagonal(self.ridge)
        return Problem(quadratic, self.p, self.A, self.d, self.lower, self.upper, term)


@st.composite
def programs(draw, max_samples=8, bounded=None, max_exponent=6, term=False, cone=False):
    """Problems with at most `max_samples` samples.

    `term`: True for a positive diagonal term, None for one that is absent or zero for some samples. `cone`: α ≥ 0.
    """
    slots = draw(st.sampled_from([1, 1, 2]))
    n = draw(st.integers(1, max(1, max_samples // slots)))
    size = n * slots
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    open_box = draw(st.booleans()) if bounded is None else not bounded
    # Two slots make Q singular. With infinite bounds the problem is bounded only if Q is positive definite.
    open_box = cone or (open_box and slots == 1)
    exponent = st.integers(-max_exponent, max_exponent)
    curvature, slope, width = (10.0 ** draw(exponent) for _ in range(3))

    K = _gram(draw, rng, n, definite=open_box and not cone) * curvature
    sign = rng.choice([-1.0, 1.0], size) if draw(st.booleans()) else np.ones(size)
    p = rng.normal(size=size) * slope * draw(st.sampled_from([0.0, 1.0, 1.0]))
    lower, upper = (np.zeros(size), np.full(size, np.inf)) if cone else _box(draw, rng, size, width, open_box)
    ridge = _ridge(draw, rng, n, slots, curvature, term)
    if ridge is not None and slots == 2:
        # Two variables of one sample belong to regression, where p + p* = 2ε ≥ 0 makes one of them 0 at the optimum.
        # Solvers with a diagonal term rely on it.
        p[n:] = np.maximum(p[n:], -p[:n])

    rows = draw(st.integers(0, 2))
    group = rng.integers(-1 if draw(st.booleans()) else 0, rows, size) if rows else np.full(size, -1)
    # The rows of A, multiplied by the signs, are constant on disjoint groups. A group may be empty.
    A = np.array([sign * (group == g) for g in range(rows)], dtype=float).reshape(rows, size)
    # d is chosen for a feasible point: inside the box, or at a vertex, which may be the only feasible point.
    where = rng.random(size) if draw(st.booleans()) else rng.integers(0, 2, size).astype(float)
    low, high = np.where(np.isfinite(lower), lower, -width), np.where(np.isfinite(upper), upper, width)
    feasible = np.clip(low + where * (high - low), lower, upper)
    return Program(K, sign, p, A, A @ feasible, lower, upper, feasible, ridge)


def _ridge(draw, rng, n, slots, curvature, term):
    """Diagonal term, for one variable per sample unless `term` is True.

    Solvers for box constraints add it to K. With two variables per sample that is equivalent only if one of them is 0.
    """
    if term is False or (term is None and (slots > 1 or draw(st.booleans()))):
        return None
    ridge = curvature * rng.uniform(0.1, 1.0, n) * 10.0 ** draw(st.integers(-1, 1))
    if term is None and draw(st.booleans()):
        ridge[rng.random(n) < 0.5] = 0.0
    return np.tile(ridge, slots)


def _gram(draw, rng, n, definite):
    """Positive semidefinite matrix of any rank, with repeated and zero samples; or a positive definite one."""
    if definite:
        F = rng.normal(size=(n, n))
        return F @ F.T / n + 0.1 * np.eye(n)
    F = rng.normal(size=(n, draw(st.integers(0, n))))
    if draw(st.booleans()):
        F = F[rng.integers(0, n, n)]
    if draw(st.booleans()):
        F[rng.random(n) < 0.3] = 0.0
    return F @ F.T


def _box(draw, rng, size, width, open_box):
    kind = draw(st.sampled_from(["zero to C", "patterns", "anywhere"]))
    if kind == "zero to C":
        lower, upper = np.zeros(size), np.full(size, width)
    elif kind == "patterns":
        lower, upper = np.zeros(size), width * rng.uniform(0.1, 1, size)
    else:
        lower = width * rng.normal(size=size)
        upper = lower + width * rng.uniform(0, 1, size)
    if draw(st.booleans()):
        fixed = rng.random(size) < 0.3
        upper[fixed] = lower[fixed]
    if open_box:
        upper[rng.random(size) < 0.6] = np.inf
        lower[rng.random(size) < 0.3] = -np.inf
    return lower, upper
