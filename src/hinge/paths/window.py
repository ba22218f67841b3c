"""Adding, removing and reweighting samples of one machine, exactly.     Karasuyama ch. 3, docs/math (215), (216)"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.formulations import CSVC, SVR
from hinge.kernels import Access, GramAccess, Kernel, cache_bytes, open_access
from hinge.paths.engine import Counts, Engine
from hinge.problems import Array, ParametricProblem, Problem
from hinge.problems.parametric import between, constant

#: Samples that were removed stay in memory until they are this share of all.
DEAD_SHARE = 0.25


def stack(first: Any, second: Any) -> Any:
    """Rows of both."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    return np.ascontiguousarray(np.concatenate([first, second]))


class Rows:
    """Samples that more are added to; arrays have room at their end, so that those that are there need not move."""

    def __init__(self, X: Any) -> None:
        self.X: Any = X
        self._room: NDArray[Any] | None = None
        if self._plain(X):
            self._make_room(len(X))

    @staticmethod
    def _plain(X: Any) -> bool:
        return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f"

    def _make_room(self, n: int) -> None:
        room = np.empty((n + n // 8 + 16, self.X.shape[1]), dtype=self.X.dtype)
        room[: len(self.X)] = self.X
        self.X, self._room = room[: len(self.X)], room

    def add(self, new: Any) -> Any:
        """All rows, the new ones last.  What was given out before stays as it is."""
        if self._room is None or self.X.dtype != np.result_type(self.X, new):
            self.X, self._room = stack(self.X, new), None
            return self.X
        before, n = len(self.X), len(self.X) + len(new)
        if n > len(self._room):
            self._make_room(n)
        self._room[before:n] = new
        self.X = self._room[:n]
        return self.X


class Window:
    """One machine, classification (y = ±1) or regression, with an engine that stays where it is between updates.

    A sample is added by moving its cost from zero to Cᵢ and removed by moving it to zero; all at once along one path.
    Positions count the samples that are there, in the order in which they came.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        y: Array,
        cost: Array,
        task: str = "classification",
        epsilon: float = 0.1,
        beta: Array | None = None,
        cache_size: float | str = "auto",
        max_time: float | None = None,
    ) -> None:
        self.kernel, self.task, self.epsilon = kernel, task, epsilon
        self.cache_size, self.max_time = cache_size, max_time
        self.compiled = kernel.nodes() is not None
        self._begin(X, y, cost, beta)

    def _begin(self, X: Any, y: Array, cost: Array, beta: Array | None) -> None:
        self.rows, self.y, self.cost = Rows(X), y, cost
        self.alive = np.arange(len(y))
        self.access = self._open(X)
        still = self._motion(constant(cost))
        self.slots = still.size // len(y)
        self.engine = Engine(self.access, still.group, self.slots, self.cache_size)
        start = None if beta is None else self._spread(beta)
        self.counts = self.engine.start(still, 0.0, start, self.max_time)

    def _open(self, X: Any) -> Access:
        if self.compiled:  # no matrix is made, and free memory does not matter
            known = getattr(self, "access", None)
            return known.for_samples(X) if isinstance(known, GramAccess) else open_access(self.kernel, X, 0)
        return open_access(self.kernel, X, budget_bytes=cache_bytes(self.cache_size))

    def _motion(self, cost: Array) -> ParametricProblem:
        if self.task == "classification":
            return CSVC(self.y, cost).parametric()
        return SVR(self.y, cost, self.epsilon).parametric()

    def _spread(self, beta: Array) -> Array:
        """Coefficients per sample to variables."""
        if self.task == "regression" and self.slots == 2:
            return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        return beta

    # ---- what the machine is now ------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        """Samples in memory, also those that were removed."""
        return self.rows.X

    @property
    def n(self) -> int:
        """Samples that are there."""
        return len(self.alive)

    def samples(self) -> Any:
        """The samples that are there, where they lie one after the other in an array: no copy; None otherwise."""
        first, last = int(self.alive[0]), int(self.alive[-1]) + 1
        together = type(self.X) is np.ndarray and last - first == len(self.alive)
        return self.X[first:last] if together else None

    @property
    def beta(self) -> Array:
        """Coefficients of the samples that are there."""
        beta = self.engine.set.beta
        return (beta if self.slots == 1 else beta.reshape(self.slots, -1).sum(axis=0))[self.alive]

    @property
    def intercept(self) -> float:
        """b."""
        return float(self.engine.set.mu[0])

    def decisions(self) -> Array:
        """f at the samples that are there."""
        return (self.engine.set.f + self.intercept)[self.alive]

    def problem(self) -> Problem:
        """Problem (1) as it is now, of all samples in memory."""
        return self._motion(constant(self.cost)).problem(self.access, 0.0)

    # ---- changes ----------------------------------------------------------------------------------------------

    def update(
        self,
        X: Any = None,
        y: Array | None = None,
        cost: Array | None = None,
        forget: NDArray[np.intp] | None = None,
        reweight: Array | None = None,
    ) -> Counts:
        """Add samples, remove those at the positions `forget`, give those that stay the costs `reweight`; one path."""
        target = self.cost.copy()
        if reweight is not None:
            target[self.alive] = reweight
        stay = np.ones(self.n, dtype=bool)
        if forget is not None:
            target[self.alive[forget]] = 0.0
            stay[forget] = False
        before = len(self.y)
        if y is not None and len(y):
            target = np.concatenate([target, cost])
            path = self._grow(X, y, target)
        else:
            path = self._motion(between(self.cost, target))
        alive = np.concatenate([self.alive[stay], np.arange(before, len(self.y))])
        self.counts = self._move(path)
        self.cost, self.alive = target, alive
        if len(self.y) - self.n > DEAD_SHARE * len(self.y) + 16:
            self._compact()
        return self.counts

    def _grow(self, X: Any, y: Array, target: Array) -> ParametricProblem:
        """More samples in memory, of cost zero; and the way of all costs to `target`."""
        y = np.concatenate([self.y, y])
        access = self._open(self.rows.add(X))
        self.y, self.access = y, access
        self.cost = np.concatenate([self.cost, np.zeros(len(y) - len(self.cost))])
        path = self._motion(between(self.cost, target))
        self.engine.set.grow(access.gram, path.group, *path.at(0.0))
        self.engine.access = access
        return path

    def _move(self, path: ParametricProblem) -> Counts:
        """Along a path of costs that begins where they are; an error leaves the machine as it was."""
        before = self.engine.set.beta
        try:
            _, counts, status, _ = self.engine.follow(path, 0.0, 1.0, record=False, max_time=self.max_time)
            if status:
                raise TimeoutError(f"the update took more than max_time={self.max_time} s; the model is as it was")
        except BaseException:
            self.engine.start(self._motion(constant(self.cost)), 0.0, before)
            raise
        return counts

    def _compact(self) -> None:
        self._begin(self.X[self.alive], self.y[self.alive], self.cost[self.alive], self.beta)

    def without(self, group: NDArray[np.intp]) -> tuple[Array, float]:
        """(β, b) of the machine without the samples at these positions."""
        here, target = self.engine.set.snapshot(), self.cost.copy()
        target[self.alive[group]] = 0.0
        try:
            if len(group):
                self._move(self._motion(between(self.cost, target)))
            return self.beta, self.intercept
        finally:
            self.engine.set.restore(here)

    # ---- leaving out ------------------------------------------------------------------------------------------

    def leave_out(self, groups: Iterable[NDArray[np.intp]]) -> tuple[list[Array], int]:
        """Decision values at each group of positions, of the machine without that group; and the number of events.

        `max_time` is for all groups together; when it is over there is no answer, and the machine is as it was.
        """
        here, values, events, began = self.engine.set.snapshot(), [], 0, time.perf_counter()
        decisions, used = self.decisions(), self.beta != 0
        still = self._motion(constant(self.cost)).at(0.0)
        zero = np.zeros_like(still.linear)
        for group in groups:
            if not used[group].any():
                values.append(decisions[group])
                continue
            members = (self.alive[group][None, :] + len(self.y) * np.arange(self.slots)[:, None]).ravel()
            lower, upper = zero.copy(), zero.copy()
            lower[members], upper[members] = -still.lower[members], -still.upper[members]
            seconds = self._time_left(began)
            try:
                run = self.engine.set.follow(
                    zero, lower, upper, np.zeros_like(still.total), 0.0, 1.0, False, seconds, -1
                )
                self.engine._check(run)
                if run.status:
                    self._time_is_over()
                values.append(self.engine.set.f[self.alive[group]] + self.intercept)
                events += run.events
            finally:
                self.engine.set.restore(here)
        return values, events

    def _time_left(self, began: float) -> float:
        """Seconds, for the engine, to which zero means no limit."""
        if not self.max_time:
            return 0.0
        left = self.max_time - (time.perf_counter() - began)
        if left <= 0:
            self._time_is_over()
        return left

    def _time_is_over(self) -> NoReturn:
        raise TimeoutError(f"leaving out took more than max_time={self.max_time} s; the model is as it was")


__all__ = ["Window", "stack"]
