"""Recorded iterations of a run written in Python, and its stopping criterion."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hinge.control import RunControl
from hinge.problems import History, Status
from hinge.solvers.base import stop_status


class RunLog:
    """Snapshots of a run, and after each of them the decision to continue (None) or a final status.

    Parameters
    ----------
    tol : float
        Relative gap at which the run has converged.
    max_iter : int
        Iteration at which the run ends with `Status.MAX_ITER`.
    control : RunControl
        Deadline, callback and interrupt flag of the run.
    """

    def __init__(self, tol: float, max_iter: int, control: RunControl) -> None:
        self.tol, self.max_iter, self.control = tol, max_iter, control
        self.began = time.monotonic()
        self.records: list[dict[str, Any]] = []
        self.error: BaseException | None = None

    def record(
        self, iteration: int, primal: float, dual: float, gap: float, violation: float, active: int, scale: float = 0.0
    ) -> Status | None:
        """Record a snapshot; SOLVED if the gap is at most `tol` times the objective, or `scale` if that is larger."""
        self.records.append({
            "iteration": iteration, "seconds": time.monotonic() - self.began, "violation": violation,
            "primal": primal, "dual": dual, "gap": gap, "active": active, "exact": True,
        })  # fmt: skip
        if gap <= self.tol * max(0.5 * (abs(primal) + abs(dual)), scale):
            return Status.SOLVED
        if iteration >= self.max_iter:
            return Status.MAX_ITER
        return self.stop_status()

    def stop_status(self) -> Status | None:
        """TIME_LIMIT or INTERRUPTED if the control requests a stop, after a report of the last snapshot."""
        return stop_status(self.control, self.records[-1] if self.records else None)

    def is_converged(self, gap: float, value: float) -> bool:
        """Whether a gap at an objective `value` is within the tolerance."""
        return gap <= self.tol * abs(value - 0.5 * gap)

    def run(self, work: Callable[[], Status]) -> Status:
        """The status of `work()`; an interrupt or an exception of the callback ends it with INTERRUPTED."""
        try:
            with self.control.interruptible():
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
        """The snapshots as columns."""
        return History.from_records(self.records)
