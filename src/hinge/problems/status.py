"""Termination status of a solver."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Termination status of a solver. Only SOLVED means that the tolerance was reached.

    See the table in the user guide: SOLVED is confirmed by the certificate.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import Status
    >>> model = hinge.SVC().fit([[0.0], [1.0]], [0, 1])
    >>> model.status_ is Status.SOLVED, [status.name for status in Status]
    (True, ['SOLVED', 'MAX_ITER', 'TIME_LIMIT', 'INTERRUPTED', 'NUMERICAL'])
    """

    SOLVED = 0
    MAX_ITER = 1
    TIME_LIMIT = 2
    INTERRUPTED = 3
    NUMERICAL = 4

    def __str__(self) -> str:
        return self.name
