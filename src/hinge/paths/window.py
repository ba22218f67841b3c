"""Exact addition, removal and reweighting of samples of one problem.     Karasuyama ch. 3, docs/math (215), (216)"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.control import Counter, RunControl, StepMonitor
from hinge.formulations import CSVC, SVR, Formulation, OneClass
from hinge.kernels import GramAccess, Kernel, cache_bytes, open_access
from hinge.kernels.access import check_kernel_values
from hinge.paths.engine import Counts, Engine
from hinge.paths.leave_one_out import MarginInverse, has_unique_offset
from hinge.problems import Array, ParametricProblem, Problem, Status
from hinge.problems.parametric import Values, between, constant, parametric_problem

#: Memory is released if the number of removed samples exceeds this share of the samples in memory, plus a constant.
MAX_REMOVED_SHARE, MAX_REMOVED = 0.25, 16

#: Spare rows of an array that grows: a fraction of its rows, and a constant number.
ROWS_PER_SPARE_ROW, MIN_SPARE_ROWS = 8, 16


def stack(first: Any, second: Any) -> Any:
    """Return the rows of both arrays or sparse matrices."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    return np.ascontiguousarray(np.concatenate([first, second]))


def sides(values: Any, ndim: int) -> tuple[Any, Any]:
    """Return values of targets above and below f: the two columns of an array of more than `ndim` dimensions.

    Other values are the same on both sides; the second is then None.
    """
    if np.ndim(values) <= ndim:
        return values, None
    return values[..., 0].copy(), values[..., 1].copy()


def _two_columns(cost: Any) -> Any:
    """Return values of samples as two equal columns if they have one; None remains None."""
    return cost if cost is None or cost.ndim == 2 else np.column_stack([cost, cost])


class GrowingRows:
    """Samples to which more can be added; arrays have spare rows, so that samples are seldom copied."""

    def __init__(self, X: Any) -> None:
        self.X: Any = X
        self._buffer: NDArray[Any] | None = None
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f":
            self._reserve(len(X))

    def _reserve(self, n: int) -> None:
        buffer = np.empty((n + n // ROWS_PER_SPARE_ROW + MIN_SPARE_ROWS, self.X.shape[1]), dtype=self.X.dtype)
        buffer[: len(self.X)] = self.X
        self.X, self._buffer = buffer[: len(self.X)], buffer

    def add(self, new: Any) -> Any:
        """Append rows and return all rows. Arrays that were returned before do not change."""
        if self._buffer is None or self.X.dtype != np.result_type(self.X, new):
            self.X, self._buffer = stack(self.X, new), None
            return self.X
        before, n = len(self.X), len(self.X) + len(new)
        if n > len(self._buffer):
            self._reserve(n)
        self._buffer[before:n] = new
        self.X = self._buffer[:n]
        return self.X


class Window:
    """Exact solution of one classification (y = ±1), regression or one-class problem, with updates.

    Adding a sample changes its cost from zero to Cᵢ, removing it changes its cost to zero. All changes of one update
    are made along one path. Positions refer to the current samples, in the order in which they were added.

    The costs of regression may have two columns, for targets above and below f. `epsilon` may be an array (ε, ε*), or
    one with a row for each sample; updates can then change it.
    `nu` is that of one-class classification, whose costs are weights.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        y: Array,
        cost: Array,
        task: str = "classification",
        epsilon: Any = 0.1,
        beta: Array | None = None,
        cache_size: float | str = "auto",
        max_time: float | None = None,
        nu: float = 0.5,
    ) -> None:
        self.kernel, self.task, self.epsilon, self.nu = kernel, task, epsilon, nu
        self.cache_size, self.max_time = cache_size, max_time
        self.compiled = kernel.nodes() is not None
        self.access: GramAccess | None = None
        self._solve(X, y, cost, beta)

    def _solve(self, X: Any, y: Array, cost: Array, beta: Array | None) -> None:
        self.rows, self.y, self.cost = GrowingRows(X), y, cost
        self.current = np.arange(len(y))
        self.access = self._open(X)
        check_kernel_values(self.access)
        parametric = self._parametric(constant(cost))
        self.slots = parametric.size // len(y)
        self.engine = Engine(self.access, parametric.group, self.slots, cache_bytes(self.cache_size))
        start = None if beta is None else self._variables(beta)
        self.counts = self.engine.start(parametric, 0.0, start, RunControl(self.max_time))

    def _open(self, X: Any) -> GramAccess:
        if self.compiled:  # kernel values are computed when they are needed: no memory budget
            return open_access(self.kernel, X, 0) if self.access is None else self.access.for_samples(X)
        return open_access(self.kernel, X, budget_bytes=cache_bytes(self.cache_size))

    def _parametric(self, cost: Array, tube: Array | None = None) -> ParametricProblem:
        """Return the problem with costs that are linear functions of θ, and the tube as well if it is given."""
        if self.task == "classification":
            formulation: Formulation = CSVC(self.y, cost)
        elif self.task == "one_class":
            formulation = OneClass(cost, self.nu)
        else:
            above, below = sides(cost, 2)
            if np.ndim(self.epsilon) == 2:
                epsilon, epsilon_star = sides(constant(self.epsilon) if tube is None else tube, 2)
            else:
                epsilon, epsilon_star = sides(self.epsilon, 0)
            formulation = SVR(self.y, above, epsilon, below, epsilon_star=epsilon_star)
        return parametric_problem(formulation.dual(), always_split=np.ndim(self.epsilon) == 2)

    def _variables(self, beta: Array) -> Array:
        """Return the signed variables of coefficients per sample."""
        if self.task == "regression" and self.slots == 2:
            return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        return beta

    # ---- the current solution ---------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        """Samples in memory, including removed ones."""
        return self.rows.X

    @property
    def n(self) -> int:
        """Number of current samples."""
        return len(self.current)

    def samples(self) -> Any:
        """Return a view of the current samples if they are consecutive rows of an array, else None."""
        first, last = int(self.current[0]), int(self.current[-1]) + 1
        consecutive = type(self.X) is np.ndarray and last - first == len(self.current)
        return self.X[first:last] if consecutive else None

    @property
    def coefficients(self) -> Array:
        """Coefficients of all samples in memory, with the rounding errors of the path."""
        beta: Array = self.engine.active_set.beta
        return beta if self.slots == 1 else beta.reshape(self.slots, -1).sum(axis=0)

    @property
    def beta(self) -> Array:
        """Coefficients of the current samples."""
        beta = self.coefficients[self.current]
        cost = self.cost[self.current]  # the path may leave rounding errors at costs of zero
        if cost.ndim == 1:
            beta[cost == 0] = 0.0
        else:
            beta[((cost[:, 0] == 0) & (beta > 0)) | ((cost[:, 1] == 0) & (beta < 0))] = 0.0
        return beta

    @property
    def intercept(self) -> float:
        """b."""
        return float(self.engine.active_set.mu[0])

    def decisions(self) -> Array:
        """Return f at the current samples."""
        return (self.engine.active_set.f + self.intercept)[self.current]

    def problem(self) -> Problem:
        """Return problem (1) of all samples in memory, with the current costs."""
        assert self.access is not None
        return self._parametric(constant(self.cost)).problem(self.access, 0.0)

    # ---- updates ----------------------------------------------------------------------------------------------

    def update(
        self,
        X: Any = None,
        y: Array | None = None,
        cost: Array | None = None,
        forget: NDArray[np.intp] | None = None,
        reweight: Array | None = None,
        tube: Array | None = None,
        new_tube: Array | None = None,
    ) -> Counts:
        """Add samples, remove those at the positions `forget` and set the costs of the others to `reweight`.

        If every sample has its own tube, `tube` are the widths of the samples to add, and `new_tube` new widths of the
        others; both have two columns.
        """
        if any(values is not None and values.ndim == 2 for values in (self.cost, cost, reweight)):
            self.cost, cost, reweight = _two_columns(self.cost), _two_columns(cost), _two_columns(reweight)
        new_cost = self.cost.copy()
        if reweight is not None:
            new_cost[self.current] = reweight
        kept = np.ones(self.n, dtype=bool)
        if forget is not None:
            new_cost[self.current[forget]] = 0.0
            kept[forget] = False
        before, widths = len(self.y), None
        if np.ndim(self.epsilon) == 2:
            widths = self.epsilon.copy()
            if new_tube is not None:
                widths[self.current] = new_tube
        if y is not None and len(y):
            new_cost = np.concatenate([new_cost, cost])
            if widths is not None:
                assert tube is not None
                widths, self.epsilon = np.concatenate([widths, tube]), np.concatenate([self.epsilon, tube])
            path = self._grow(X, y, new_cost, widths)
        else:
            path = self._path(new_cost, widths)
        current = np.concatenate([self.current[kept], np.arange(before, len(self.y))])
        self.counts = self._move(path)
        self.cost, self.current = new_cost, current
        if widths is not None:
            self.epsilon = widths
        if len(self.y) - self.n > MAX_REMOVED_SHARE * len(self.y) + MAX_REMOVED:
            self._release_removed()
        return self.counts

    def _path(self, new_cost: Array, widths: Array | None) -> ParametricProblem:
        """Return the problem in which the costs and the tube change to these values."""
        return self._parametric(between(self.cost, new_cost), None if widths is None else between(self.epsilon, widths))

    def _grow(self, X: Any, y: Array, new_cost: Array, widths: Array | None) -> ParametricProblem:
        """Add samples of cost zero; return the problem whose costs change to `new_cost` and tubes to `widths`."""
        y = np.concatenate([self.y, y])
        access = self._open(self.rows.add(X))
        self.y, self.access = y, access
        self.cost = np.concatenate([self.cost, np.zeros((len(y) - len(self.cost), *self.cost.shape[1:]))])
        path = self._path(new_cost, widths)
        self.engine.active_set.grow(access.gram, path.group, *path.at(0.0))
        self.engine.access = access
        return path

    def _move(self, path: ParametricProblem) -> Counts:
        """Follow a path that starts at the current costs; an error restores the current solution."""
        before = self.engine.active_set.beta
        try:
            _, counts, status, _ = self.engine.follow(path, 0.0, 1.0, record=False, control=RunControl(self.max_time))
            if status is not Status.SOLVED:
                raise TimeoutError(f"the update took more than max_time={self.max_time} s; the model is unchanged")
        except BaseException:
            self.engine.start(self._parametric(constant(self.cost)), 0.0, before)
            raise
        return counts

    def _release_removed(self) -> None:
        if np.ndim(self.epsilon) == 2:
            self.epsilon = self.epsilon[self.current]
        self._solve(self.X[self.current], self.y[self.current], self.cost[self.current], self.beta)

    def without(self, group: NDArray[np.intp]) -> tuple[Array, float]:
        """Return (β, b) of the solution without the samples at these positions."""
        snapshot, new_cost = self.engine.active_set.snapshot(), self.cost.copy()
        new_cost[self.current[group]] = 0.0
        try:
            if len(group):
                self._move(self._parametric(between(self.cost, new_cost)))
            return self.beta, self.intercept
        finally:
            self.engine.active_set.restore(snapshot)

    # ---- leave-out values -------------------------------------------------------------------------------------

    def leave_out(
        self, groups: Iterable[NDArray[np.intp]], progress: StepMonitor | None = None
    ) -> tuple[list[Array], int]:
        """Return the decision values at each group of the solution without that group, and the number of events.

        `max_time` limits the time for all groups together. A TimeoutError leaves the solution unchanged. `progress` is
        called with the number of groups that are done.
        """
        engine, control = self.engine, RunControl(self.max_time)
        snapshot, values, events = engine.active_set.snapshot(), [], 0
        bounds = self._parametric(constant(self.cost)).at(0.0)
        decisions, changes = self.decisions(), (self.beta != 0) | (not has_unique_offset(engine, bounds))
        zero, no_total = np.zeros_like(bounds.linear), np.zeros_like(bounds.total)
        groups = list(groups)
        alone = [int(group[0]) for group in groups if len(group) == 1 and changes[group[0]]]
        counter = Counter(progress, len(groups), "left out")
        single = self._leave_one_out(alone, bounds, control, counter)
        for group in groups:
            if len(group) != 1 or int(group[0]) not in single:
                counter.advance()
            if len(group) == 1 and int(group[0]) in single:
                value, count = single[int(group[0])]
                values.append(np.array([value]))
                events += count
                continue
            if not changes[group].any():
                values.append(decisions[group])
                continue
            if control.expired():
                self._raise_timeout()
            members = (self.current[group][None, :] + len(self.y) * np.arange(self.slots)[:, None]).ravel()
            lower, upper = zero.copy(), zero.copy()
            lower[members], upper[members] = -bounds.lower[members], -bounds.upper[members]
            try:
                counts, status = engine.follow_rates(Values(zero, lower, upper, no_total), control)
                if status is not Status.SOLVED:
                    self._raise_timeout()
                values.append(engine.active_set.f[self.current[group]] + self.intercept)
                events += counts.events
            finally:
                engine.active_set.restore(snapshot)
        return values, events

    def _leave_one_out(
        self, positions: list[int], bounds: Values, control: RunControl, counter: Counter
    ) -> dict[int, tuple[float, int]]:
        """Return the decision values of single samples, and numbers of events, as far as one inverse gives them."""
        inverse = MarginInverse.of(self.engine, bounds, len(positions), control)
        if inverse is None:
            return {}
        position, result = dict(zip(self.current.tolist(), range(self.n), strict=True)), {}
        for found in inverse.removals(self.current[positions]):
            if control.expired():
                self._raise_timeout()
            counter.advance(int(np.sum(found.exact)))
            for k in np.flatnonzero(found.exact):
                result[position[int(found.samples[k])]] = float(found.value[k]), int(found.events[k])
        return result

    def _raise_timeout(self) -> NoReturn:
        raise TimeoutError(f"leaving out took more than max_time={self.max_time} s; the model is unchanged")
