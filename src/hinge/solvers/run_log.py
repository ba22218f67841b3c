"""What a run written in Python keeps: its snapshots, its limits, and who may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from hinge.control import hearing
from hinge.problems import History, Status
from hinge.solvers.callback import Monitor


class RunLog:
    """Snapshots of a run, and the verdict after each: go on (None), or a status."""

    def __init__(self, tol: float, max_iter: int, max_time: float | None, monitor: Monitor | None) -> None:
        self.tol, self.max_iter, self.monitor = tol, max_iter, monitor
        self.began = time.monotonic()
        self.deadline = None if max_time is None else self.began + max_time
        self.records: list[dict[str, Any]] = []
        self.error: BaseException | None = None

    def note(
        self, iteration: int, primal: float, dual: float, gap: float, violation: float, active: int, scale: float = 0.0
    ) -> Status | None:
        """Take a snapshot; SOLVED once the gap is at most tol times the objective (or `scale`, if that is more)."""
        self.records.append({
            "iteration": iteration, "seconds": time.monotonic() - self.began, "violation": violation,
            "primal": primal, "dual": dual, "gap": gap, "active": active, "exact": True,
        })  # fmt: skip
        if gap <= self.tol * max(0.5 * (abs(primal) + abs(dual)), scale):
            return Status.SOLVED
        if iteration >= self.max_iter:
            return Status.MAX_ITER
        return self.limits()

    def enough(self, gap: float, value: float) -> bool:
        """Whether a gap is within the tolerance."""
        return gap <= self.tol * max(abs(value - 0.5 * gap), 0.0)

    def limits(self) -> Status | None:
        """TIME_LIMIT or INTERRUPTED where it is time to stop."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            return Status.TIME_LIMIT
        if self.monitor is not None and self.records and self.monitor(self.records[-1]) is False:
            return Status.INTERRUPTED
        return None

    def run(self, work: Callable[[], Status]) -> Status:
        """`work`, whose errors end the run: a signal, or what the monitor raised."""
        try:
            with hearing():
                return work()
        except np.linalg.LinAlgError:
            return Status.NUMERICAL
        except BaseException as interruption:
            self.error = interruption
            return Status.INTERRUPTED

    @property
    def iterations(self) -> int:
        return int(self.records[-1]["iteration"]) if self.records else 0

    def history(self) -> History:
        names = [field.name for field in fields(History)]
        return History.from_columns({name: np.array([record[name] for record in self.records]) for name in names})
