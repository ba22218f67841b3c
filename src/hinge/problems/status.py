"""How a solver ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a solver ended; only SOLVED says that the tolerance asked for was reached."""

    SOLVED = 0
    MAX_ITER = 1
    TIME_LIMIT = 2
    INTERRUPTED = 3
    NUMERICAL = 4
