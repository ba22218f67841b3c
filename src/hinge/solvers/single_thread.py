"""Linear algebra on one thread.

BLAS libraries bring threads of their own that spin while they wait for each other: beside one other busy process on two
cores, an interior point fit of 569 samples took 0.2 s with one BLAS thread and 1.6 to 3.9 s with two (three fits each).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """The limit is one for the whole process: the first who wants it sets it, the last who leaves takes it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.controller: Any = None
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.controller = self.controller or ThreadpoolController()
                self.limiter = self.controller.limit(limits=1, user_api="blas")
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.limiter.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def single_thread() -> Iterator[None]:
    """A context in which BLAS uses the calling thread only."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
