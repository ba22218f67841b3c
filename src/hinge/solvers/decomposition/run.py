"""Result of a decomposition method before polishing and verification."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from hinge import _core
from hinge.problems import Array, History, Status

#: Counters of the compiled solvers, as reported in `Solution.counters`.
COUNTERS = ("row_hits", "row_misses", "reconstructions", "recomputations")


class Polish(IntEnum):
    """Outcome of polishing by the core. After SINGULAR a least-squares solution may still succeed."""

    UNTRIED, DONE, SINGULAR, FAILED = range(4)


@dataclass(frozen=True)
class DecompositionRun:
    """A point's f = Kβ, the status of the run, and what its precision was.

    `exact`: f belongs to β.
    `single_precision`: kernel rows were stored as float32.
    `insufficient_precision`: float32 rows do not determine f to the tolerance.
    """

    status: Status
    exact: bool
    f: Array
    iterations: int
    history: History
    error: BaseException | None
    violation: float = float("nan")
    objective: float = float("nan")
    single_precision: bool = False
    insufficient_precision: bool = False
    polish: Polish = Polish.UNTRIED
    counters: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, run: _core.SmoRun) -> DecompositionRun:
        """From the record of the compiled solver."""
        return cls(
            status=Status(run.status),
            exact=run.exact,
            f=run.f,
            iterations=run.iterations,
            history=History.from_run(run.history),
            error=run.error,
            violation=run.violation,
            objective=run.objective,
            single_precision=run.single_precision,
            insufficient_precision=run.insufficient_precision,
            polish=Polish(run.polish),
            counters={name: getattr(run, name) for name in COUNTERS},
        )
