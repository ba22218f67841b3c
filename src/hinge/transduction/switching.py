"""Labels that switch and a cost that grows, both by exact weight paths.  Karasuyama §4.5.3, docs/math (460)–(466)"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hinge.formulations import CSVC
from hinge.kernels import Access
from hinge.paths.engine import Engine
from hinge.problems import Array, ParametricProblem, Status
from hinge.problems.parametric import between, constant

#: Switching must gain more than this share of the objective; below it is rounding.
LEAST_GAIN = 1e-10


@dataclass(frozen=True)
class Stage:
    """What happened at one cost of the unlabelled samples."""

    cost_positive: float
    cost_negative: float
    switches: int
    events: int
    objective: float
    seconds: float


class OutOfTime(Exception):
    """A path was cut off; the machine is where it was before."""


@dataclass
class Transduction:
    """min over y*, w, b:  ½‖w‖² + Σ Cᵢ ξᵢ + Σ C*ⱼ ξ*ⱼ, switching pairs of labels while that helps.  docs/math (460)

    Every unlabelled sample has two variables, one for each label; the cost of the label it does not have is zero. So a
    label switches while the engine stays where it is: one cost goes to zero, the other comes from zero.

    Parameters
    ----------
    access : Access
        To the kernel matrix of all samples, the labelled first.
    y, cost : ndarray
        ±1 and Cᵢ of the labelled samples.
    positives : int or None
        How many of the unlabelled are to be positive: k⁺; as many as the machine of the labelled says when None.

    Attributes
    ----------
    predicted : int
        How many of the unlabelled that machine says are positive.
    """

    access: Access
    y: Array
    cost: Array
    positives: int | None
    cache_size: float | str = "auto"
    max_time: float | None = None
    stages: list[Stage] = field(default_factory=list)
    events: int = 0
    switches: int = 0
    status: Status = Status.SOLVED

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        labelled, n = len(self.y), self.access.n
        self.labelled, self.k = labelled, n - labelled
        self.up, self.down = np.zeros(n), np.zeros(n)  # costs of the two labels
        self.up[:labelled] = np.where(self.y > 0, self.cost, 0.0)
        self.down[:labelled] = np.where(self.y < 0, self.cost, 0.0)
        still = self._motion(constant(self.up), constant(self.down))
        self.engine = Engine(self.access, still.group, 2, self.cache_size)
        self.events += self.engine.start(still, 0.0, max_time=self.max_time).events
        self.predicted = int(np.count_nonzero(self.scores()[labelled:] > 0))
        self.assign(self.predicted if self.positives is None else self.positives)

    def assign(self, positives: int) -> None:
        """First labels: the unlabelled samples with the largest scores are positive."""
        self.positives = positives
        order = np.argsort(-self.scores()[self.labelled :], kind="stable")
        self.label = np.full(self.k, -1.0)
        self.label[order[:positives]] = 1.0

    @staticmethod
    def _motion(up: Array, down: Array) -> ParametricProblem:
        labels = np.repeat([1.0, -1.0], up.shape[1])
        return CSVC(labels, np.concatenate([up, down], axis=1)).parametric()

    # ---- what the machine is now ------------------------------------------------------------------------------

    def scores(self) -> Array:
        """f at all samples."""
        return self.engine.set.f + self.engine.set.mu[0]

    @property
    def beta(self) -> Array:
        """Coefficients of all samples."""
        return self.engine.set.beta.reshape(2, -1).sum(axis=0)

    @property
    def intercept(self) -> float:
        """b."""
        return float(self.engine.set.mu[0])

    @property
    def unlabelled_cost(self) -> Array:
        """The cost of every unlabelled sample."""
        return (self.up + self.down)[self.labelled :]

    def objective(self) -> float:
        """½‖w‖² plus the losses, for the labels and costs as they are.   docs/math (461)"""
        f = self.scores()
        losses = self.up * np.maximum(0.0, 1 - f) + self.down * np.maximum(0.0, 1 + f)
        return float(0.5 * self.beta @ self.engine.set.f + np.sum(losses))

    # ---- changes ----------------------------------------------------------------------------------------------

    def _left(self) -> float | None:
        if self.max_time is None:
            return None
        left = self.max_time - (time.monotonic() - self.began)
        if left <= 0:
            raise OutOfTime
        return left

    def _follow(self, up: Array, down: Array) -> None:
        path = self._motion(between(self.up, up), between(self.down, down))
        _, counts, status, _ = self.engine.follow(path, 0.0, 1.0, record=False, max_time=self._left())
        if status is not Status.SOLVED:
            raise OutOfTime
        self.events += counts.events

    def _move(self, up: Array, down: Array) -> None:
        """Costs along one path; an error leaves everything as it was."""
        before = self.engine.set.beta
        try:
            self._follow(up, down)
        except BaseException:
            self.engine.start(self._motion(constant(self.up), constant(self.down)), 0.0, before)
            raise
        self.up, self.down = up, down

    def without(self, groups: Iterable[NDArray[np.intp]]) -> Array:
        """f at every labelled sample, of the machine without its group; the machine stays.   docs/math (470)"""
        here, values, used = self.engine.set.snapshot(), self.scores()[: self.labelled], self.beta != 0
        for group in groups:
            if not used[group].any():
                continue
            up, down = self.up.copy(), self.down.copy()
            up[group] = down[group] = 0.0
            try:
                self._follow(up, down)
                values[group] = self.scores()[group]
            finally:
                self.engine.set.restore(here)
        return values

    def _set_costs(self, label: Array, positive: float, negative: float) -> None:
        up, down = self.up.copy(), self.down.copy()
        up[self.labelled :] = np.where(label > 0, positive, 0.0)
        down[self.labelled :] = np.where(label < 0, negative, 0.0)
        self._move(up, down)
        self.label = label

    def _gains(self, positive: float, negative: float) -> Array:
        """By how much the objective falls when the label of a sample switches and w stays.   docs/math (463)"""
        f = self.scores()[self.labelled :]
        as_positive, as_negative = positive * np.maximum(0.0, 1 - f), negative * np.maximum(0.0, 1 + f)
        return np.where(self.label > 0, as_positive - as_negative, as_negative - as_positive)

    def best_pairs(self, positive: float, negative: float, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Up to `count` pairs (positive, negative) whose labels should switch, the best first.  docs/math (464)"""
        gains = self._gains(positive, negative)
        ups, downs = np.flatnonzero(self.label > 0), np.flatnonzero(self.label < 0)
        ups, downs = (side[np.argsort(-gains[side], kind="stable")[:count]] for side in (ups, downs))
        both = min(len(ups), len(downs))
        worth = gains[ups[:both]] + gains[downs[:both]] > LEAST_GAIN * max(1e-300, abs(self.objective()))
        last = both if worth.all() else int(np.argmin(worth))
        return ups[:last], downs[:last]

    def settle(self, positive: float, negative: float, batch: int = 1) -> int:
        """Switch pairs until no pair lowers the objective; how many were switched."""
        switched = 0
        while True:
            ups, downs = self.best_pairs(positive, negative, batch)
            if len(ups) == 0:
                return switched
            label = self.label.copy()
            label[ups], label[downs] = -1.0, 1.0
            self._set_costs(label, positive, negative)
            switched += len(ups)
            self.switches += len(ups)

    def run(self, cost: float, first: float, growth: float, batch: int = 1) -> None:
        """Costs of the unlabelled from `first` times `cost` to `cost`, times `growth` each; switching at every one."""
        assert self.positives is not None
        others = self.k - self.positives
        ratio = self.positives / others if self.positives and others else 1.0
        negative, positive = min(cost, first * cost), min(cost, first * cost * ratio)
        try:
            while True:
                before, began = self.events, time.monotonic()
                self._set_costs(self.label, positive, negative)
                switched = self.settle(positive, negative, batch)
                seconds, events = time.monotonic() - began, self.events - before
                self.stages.append(Stage(positive, negative, switched, events, self.objective(), seconds))
                if positive >= cost and negative >= cost:
                    return
                positive, negative = min(growth * positive, cost), min(growth * negative, cost)
        except OutOfTime:
            self.status = Status.TIME_LIMIT
