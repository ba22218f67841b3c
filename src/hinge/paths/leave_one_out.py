"""Exact solutions without each of several samples, from one inverse of the matrix of the margin.   (531)–(534)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hinge import _core
from hinge.control import RunControl
from hinge.paths.breakpoints import MARGIN
from hinge.paths.engine import Engine
from hinge.problems import Array
from hinge.problems.parametric import Values
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.time_budget import fits

#: KKT violation, relative to the scale of the problem, up to which a solution is accepted.
MAX_VIOLATION = 1e-11

#: Variables within this share of the largest bound are at their bounds.
AT_BOUND = 1e-10

#: Number of solutions that are computed and verified at a time.
BLOCK = 256

#: Operations of `_invert` for each sample of the margin and each entry of K, and operations per second. If the time
#: estimated from them exceeds the time limit, the inverse is not computed.
OPERATIONS_PER_ENTRY, OPERATIONS_PER_SECOND = 4, 1e10

#: Number of n × n matrices in memory at the same time. If they do not fit, the inverse is not computed.
MATRICES_IN_MEMORY = 5

#: The inverse is computed only if at least one of this many samples is removed. For fewer removals, it is cheaper to
#: remove the samples one after the other.
SAMPLES_PER_REMOVAL = 20


def has_unique_offset(engine: Engine, values: Values) -> bool:
    """Whether b of the current solution is zero or determined by a support vector between its bounds.

    Otherwise samples without a coefficient determine it: as ends of its interval, or, if the lower bound is negative,
    as free variables of value zero.
    """
    active = engine.active_set
    near = AT_BOUND * float(max(np.abs(values.lower).max(), np.abs(values.upper).max()))
    free = (active.beta != 0) & (active.beta > values.lower + near) & (active.beta < values.upper - near)
    return not len(active.mu) or bool(free.any())


@dataclass(frozen=True)
class Removals:
    """Solutions without single samples.

    Attributes
    ----------
    samples : ndarray of int
        The sample that is missing in each solution.
    beta : ndarray of shape (n_solutions, n)
        Coefficients per sample.
    intercept : ndarray of shape (n_solutions,)
    value : ndarray of shape (n_solutions,)
        Decision value of the missing sample.
    exact : ndarray of bool
        Whether the optimality conditions hold and the offset is unique. The other solutions are not to be used.
    events : ndarray of int
        Number of changes of the margin along each path.
    """

    samples: NDArray[np.int64]
    beta: Array
    intercept: Array
    value: Array
    exact: NDArray[np.bool_]
    events: NDArray[np.int64]


@dataclass(frozen=True)
class MarginInverse:
    """A solution, the inverse of the matrix of its margin, and the matrices of (531).

    The margin includes the multiplier of the equality constraint, if there is one, as its last variable.
    """

    K: Array
    schur: Array
    solved: Array
    inverse: Array
    margin: NDArray[np.int64]
    values: Values
    engine: Engine

    @classmethod
    def of(cls, engine: Engine, values: Values, removals: int, control: RunControl | None = None) -> Self | None:
        """Return the matrices of the current solution of the problem with the data `values`.

        Returns None if they are singular, if they do not fit into memory or into the time limit of `control`, or if
        there are few removals.
        """
        active, n = engine.active_set, engine.access.n
        if SAMPLES_PER_REMOVAL * removals < n:
            return None
        one_group = bool((np.asarray(engine.group) == 0).all())
        margin = np.flatnonzero(np.asarray(active.places) == MARGIN).astype(np.int64)
        grouped = one_group or bool((np.asarray(engine.group) < 0).all())
        distinct = len(np.unique(margin % n)) == len(margin)  # two variables of a sample have the same column
        if not grouped or not distinct or not len(margin) or 8 * MATRICES_IN_MEMORY * n**2 > engine.cache_bytes:
            return None
        if control is not None and not fits(control, OPERATIONS_PER_ENTRY * len(margin) * n**2 / OPERATIONS_PER_SECOND):
            return None
        rows = np.arange(n)
        K = engine.access.block(rows, rows)
        try:
            schur, solved, inverse = _invert(K, margin % n, one_group)
        except LinAlgError:
            return None
        if not np.isfinite(schur).all():
            return None
        return cls(K, schur, solved, inverse, margin, values, engine)

    def removals(self, samples: NDArray[Any], threads: int = 1) -> Iterator[Removals]:
        """Remove each of the samples from the solution; return the solutions in blocks."""
        active, n = self.engine.active_set, len(self.K)
        mu = float(active.mu[0]) if len(active.mu) else 0.0
        transposed, places = np.ascontiguousarray(self.solved.T), np.asarray(active.places)
        linear, lower, upper = (np.ascontiguousarray(each) for each in self.values[:3])
        for first in range(0, len(samples), BLOCK):
            block = np.asarray(samples[first : first + BLOCK], dtype=np.int64)
            found, intercept = np.empty((len(block), n)), np.empty(len(block))
            events = _core.remove_each(
                schur=self.schur, solved=self.solved, solved_transposed=transposed, inverse=self.inverse,
                margin_variables=self.margin, linear=linear, lower=lower, upper=upper, start=active.beta, place=places,
                f=active.f, mu=mu, samples=block, beta=found, intercept=intercept, threads=threads,
            )  # fmt: skip
            yield self._verified(block, found, intercept, np.asarray(events))

    def _verified(
        self, samples: NDArray[np.int64], beta: Array, intercept: Array, events: NDArray[np.int64]
    ) -> Removals:
        """Compute f of the solutions and check the optimality conditions of all samples.                  (534)

        If all variables are at bounds, the offset is not unique. `ActiveSet` then returns the middle of its interval.
        """
        n, count = len(self.K), np.arange(len(samples))
        used = np.flatnonzero(beta.any(axis=0))
        decision = beta[:, used] @ self.K[used] + intercept[:, None]
        linear, lower, upper = (each.reshape(-1, n) for each in self.values[:3])
        scale = float(np.abs(linear).max() + np.abs(self.engine.active_set.f).max())
        near = AT_BOUND * float(max(np.abs(lower).max(), np.abs(upper).max()))
        variables = [beta] if len(linear) == 1 else [np.maximum(beta, 0.0), np.minimum(beta, 0.0)]
        worst = np.zeros(len(samples))
        unique = np.full(len(samples), not len(self.engine.active_set.mu))  # the offset, if there is one
        for slot, value in enumerate(variables):
            residual = decision + linear[slot]
            residual[count, samples] = 0.0
            down, up = value > lower[slot] + near, value < upper[slot] - near  # directions in which it can move
            down[count, samples] = up[count, samples] = False  # the removed sample does not determine the offset
            unique |= (down & up).any(axis=1)
            violation = np.maximum(np.where(down, residual, 0.0), np.where(up, -residual, 0.0))
            outside = np.maximum(lower[slot] - value, value - upper[slot])
            outside[count, samples] = 0.0
            worst = np.maximum(worst, np.maximum(violation.max(axis=1), scale * (outside.max(axis=1) > near)))
        exact = unique & (events >= 0) & (worst <= MAX_VIOLATION * scale)
        return Removals(samples, beta, intercept, decision[count, samples], exact, events)


def _invert(K: Array, margin: NDArray[np.intp], constrained: bool) -> tuple[Array, Array, Array]:
    """Return the matrices T, W and H⁻¹ of (531).

    With a constraint, κ is added to all kernel values, as in (204). This changes neither of the matrices, except for
    the entry of H⁻¹ that belongs to the multiplier, which is not used.
    """
    kappa = float(np.abs(np.diagonal(K)).max()) if constrained else 0.0
    rows = K[margin] + kappa
    m = len(margin)
    with single_thread():
        factor = cho_factor(rows[:, margin], lower=True)
        inverse = cho_solve(factor, np.eye(m))
        inverse = 0.5 * (inverse + inverse.T)
        solved = cho_solve(factor, rows)
        if constrained:
            ones = cho_solve(factor, np.ones(m))
            total = float(ones.sum())
            multiplier = (solved.sum(axis=0) - 1.0) / total
            solved = np.vstack([solved - np.outer(ones, multiplier), multiplier])
            inverse = np.block([
                [inverse - np.outer(ones, ones) / total, ones[:, None] / total],
                [ones[None, :] / total, np.array([[-1.0 / total]])],
            ])  # fmt: skip
            rows = np.vstack([rows, np.ones(K.shape[0])])
        schur = K + kappa - rows.T @ solved
    return schur, np.ascontiguousarray(solved), np.ascontiguousarray(inverse)
