"""Transduction by label switching, with exact weight paths.  Karasuyama §4.5.3, docs/math (460)–(466)"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.formulations import CSVC
from hinge.kernels import Access, cache_bytes
from hinge.paths.engine import Engine
from hinge.problems import Array, ParametricProblem, Status
from hinge.problems.parametric import between, constant, parametric_problem

#: Gain of a switch, relative to the objective, up to which it is attributed to rounding errors and not made.
MIN_RELATIVE_GAIN = 1e-10


@dataclass(frozen=True)
class Stage:
    """Result for one cost of the unlabeled samples."""

    cost_positive: float
    cost_negative: float
    switches: int
    events: int
    objective: float
    seconds: float


class TimeLimitReached(Exception):
    """The time limit ended a path; the solution is the one before it."""


@dataclass
class Transduction:
    """min over y*, w, b:  ½‖w‖² + Σ Cᵢ ξᵢ + Σ C*ⱼ ξ*ⱼ, by switching pairs of labels that reduce it.  docs/math (460)

    Every unlabeled sample has two variables, one for each label. The cost of the label that it does not have is zero.
    A label is switched along a path on which one cost decreases to zero and the other one increases from zero.

    Parameters
    ----------
    access : Access
        To the kernel matrix of all samples, the labeled first.
    y, cost : ndarray
        ±1 and Cᵢ of the labeled samples.
    positives : int or None
        Number of unlabeled samples that get a positive label, k⁺; if None, the number that the classifier trained on
        the labeled samples predicts.

    Attributes
    ----------
    predicted : int
        Number of unlabeled samples that this classifier predicts to be positive.
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
        self.control = RunControl(self.max_time)
        labelled, n = len(self.y), self.access.n
        self.labelled, self.k = labelled, n - labelled
        self.up, self.down = np.zeros(n), np.zeros(n)  # costs of the two labels
        self.up[:labelled] = np.where(self.y > 0, self.cost, 0.0)
        self.down[:labelled] = np.where(self.y < 0, self.cost, 0.0)
        parametric = self._parametric(constant(self.up), constant(self.down))
        self.engine = Engine(self.access, parametric.group, 2, cache_bytes(self.cache_size))
        self.events += self.engine.start(parametric, 0.0, control=self.control).events
        self.predicted = int(np.count_nonzero(self.scores()[labelled:] > 0))
        self.assign(self.predicted if self.positives is None else self.positives)

    def assign(self, positives: int) -> None:
        """Set the first labels: the unlabeled samples with the largest scores are positive."""
        self.positives = positives
        order = np.argsort(-self.scores()[self.labelled :], kind="stable")
        self.label = np.full(self.k, -1.0)
        self.label[order[:positives]] = 1.0

    @staticmethod
    def _parametric(up: Array, down: Array) -> ParametricProblem:
        """Return the problem with a variable for each sample and label, and costs that are linear functions of θ."""
        labels = np.repeat([1.0, -1.0], up.shape[1])
        return parametric_problem(CSVC(labels, np.concatenate([up, down], axis=1)).dual())

    # ---- the current solution ---------------------------------------------------------------------------------

    def scores(self) -> Array:
        """Return f at all samples."""
        return self.engine.active_set.f + self.engine.active_set.mu[0]

    @property
    def beta(self) -> Array:
        """Coefficients of all samples."""
        return self.engine.active_set.beta.reshape(2, -1).sum(axis=0)

    @property
    def intercept(self) -> float:
        """b."""
        return float(self.engine.active_set.mu[0])

    @property
    def unlabeled_cost(self) -> Array:
        """Cost of every unlabeled sample."""
        return (self.up + self.down)[self.labelled :]

    def objective(self) -> float:
        """Return ½‖w‖² plus the losses for the current labels and costs.   docs/math (461)"""
        f = self.scores()
        losses = self.up * np.maximum(0.0, 1 - f) + self.down * np.maximum(0.0, 1 + f)
        return float(0.5 * self.beta @ self.engine.active_set.f + np.sum(losses))

    # ---- changes ----------------------------------------------------------------------------------------------

    def _follow(self, up: Array, down: Array) -> None:
        if self.control.expired():
            raise TimeLimitReached
        path = self._parametric(between(self.up, up), between(self.down, down))
        _, counts, status, _ = self.engine.follow(path, 0.0, 1.0, record=False, control=self.control)
        if status is not Status.SOLVED:
            raise TimeLimitReached
        self.events += counts.events

    def _move(self, up: Array, down: Array) -> None:
        """Change the costs along one path; an error restores the current solution."""
        before = self.engine.active_set.beta
        try:
            self._follow(up, down)
        except BaseException:
            self.engine.start(self._parametric(constant(self.up), constant(self.down)), 0.0, before)
            raise
        self.up, self.down = up, down

    def leave_out(self, groups: Iterable[NDArray[np.intp]]) -> Array:
        """Return f at every labeled sample, of the solution without its group.   docs/math (470)"""
        active_set = self.engine.active_set
        snapshot, values, is_support = active_set.snapshot(), self.scores()[: self.labelled], self.beta != 0
        for group in groups:
            if not is_support[group].any():
                continue
            up, down = self.up.copy(), self.down.copy()
            up[group] = down[group] = 0.0
            try:
                self._follow(up, down)
                values[group] = self.scores()[group]
            finally:
                active_set.restore(snapshot)
        return values

    def _set_costs(self, label: Array, positive: float, negative: float) -> None:
        up, down = self.up.copy(), self.down.copy()
        up[self.labelled :] = np.where(label > 0, positive, 0.0)
        down[self.labelled :] = np.where(label < 0, negative, 0.0)
        self._move(up, down)
        self.label = label

    def _gains(self, positive: float, negative: float) -> Array:
        """Return the decrease of the objective if the label of a sample is switched and w remains.   docs/math (463)"""
        f = self.scores()[self.labelled :]
        as_positive, as_negative = positive * np.maximum(0.0, 1 - f), negative * np.maximum(0.0, 1 + f)
        return np.where(self.label > 0, as_positive - as_negative, as_negative - as_positive)

    def best_pairs(self, positive: float, negative: float, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return up to `count` pairs (positive, negative) whose switch has the largest gains.  docs/math (464)"""
        gains = self._gains(positive, negative)
        ups, downs = np.flatnonzero(self.label > 0), np.flatnonzero(self.label < 0)
        ups, downs = (side[np.argsort(-gains[side], kind="stable")[:count]] for side in (ups, downs))
        pairs = min(len(ups), len(downs))
        enough = gains[ups[:pairs]] + gains[downs[:pairs]] > MIN_RELATIVE_GAIN * max(1e-300, abs(self.objective()))
        last = pairs if enough.all() else int(np.argmin(enough))
        return ups[:last], downs[:last]

    def switch_labels(self, positive: float, negative: float, batch: int = 1) -> int:
        """Switch pairs until no pair reduces the objective; return their number.

        A switch that does not reduce the computed objective is undone: its gain was a rounding error of f. The
        objective therefore decreases with every switch, and no labels occur twice.
        """
        switched, objective = 0, self.objective()
        while True:
            ups, downs = self.best_pairs(positive, negative, batch)
            if len(ups) == 0:
                return switched
            before, label = self.label, self.label.copy()
            label[ups], label[downs] = -1.0, 1.0
            snapshot = self.engine.active_set.snapshot(), self.up, self.down
            self._set_costs(label, positive, negative)
            if not self.objective() < objective - MIN_RELATIVE_GAIN * abs(objective):
                self.label, (point, self.up, self.down) = before, snapshot
                self.engine.active_set.restore(point)
                return switched
            objective = self.objective()
            switched += len(ups)
            self.switches += len(ups)

    def run(self, cost: float, first: float, growth: float, batch: int = 1) -> None:
        """Increase the costs of the unlabeled samples from `first` · `cost` to `cost` by factors of `growth`.

        Labels are switched at every cost.
        """
        assert self.positives is not None
        others = self.k - self.positives
        ratio = self.positives / others if self.positives and others else 1.0
        negative, positive = min(cost, first * cost), min(cost, first * cost * ratio)
        try:
            while True:
                events_before, began = self.events, time.monotonic()
                self._set_costs(self.label, positive, negative)
                switched = self.switch_labels(positive, negative, batch)
                seconds, events = time.monotonic() - began, self.events - events_before
                self.stages.append(Stage(positive, negative, switched, events, self.objective(), seconds))
                if positive >= cost and negative >= cost:
                    return
                positive, negative = min(growth * positive, cost), min(growth * negative, cost)
        except TimeLimitReached:
            self.status = Status.TIME_LIMIT
