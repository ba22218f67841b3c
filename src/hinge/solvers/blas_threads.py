"""Linear algebra on one thread.

BLAS libraries bring threads of their own that spin while they wait for each other: beside one other busy process on two
cores, an interior point fit of 569 samples took 0.2 s with one BLAS thread and 1.6 to 3.9 s with two (three fits each).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl


class _Limit:
    """The limit is one for the whole process: the first who wants it sets it, the last who leaves takes it back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.controller: Any = None
        self.limiter: Any = None
        self.owner: threading.Thread | None = None
        self.theirs = False  # somebody else's limit was there before

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.controller = self.controller or threadpoolctl.ThreadpoolController()
                self.theirs = _controlling_thread() is not None
                self.limiter = self.controller.limit(limits=1, user_api="blas")
                self.owner = threading.current_thread()
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                if not self.theirs:
                    _let_go(self.owner)
                self.limiter.restore_original_limits()
                if not self.theirs:
                    _let_go(threading.current_thread())


def _let_go(owner: threading.Thread | None) -> None:
    """Since threadpoolctl 3.8 the thread that has set a limit of OpenBLAS is the only one whose limits have an effect.

    Until it gives that up: here at the end, for whoever is last to leave is often another thread, and so is whoever
    enters next. Limits that others hold are left to them.
    """
    if owner is not None and _controlling_thread() is owner:
        threadpoolctl.OpenBLASController.clear_controlling_thread(force=True)


def _controlling_thread() -> threading.Thread | None:
    """The thread whose limit of OpenBLAS holds; None before threadpoolctl 3.8."""
    state = getattr(getattr(threadpoolctl, "OpenBLASController", None), "_SHARED_STATE", None)
    thread: threading.Thread | None = getattr(state, "controlling_thread", None)
    return thread


_LIMIT = _Limit()


@contextmanager
def single_thread() -> Iterator[None]:
    """A context in which BLAS uses the calling thread only."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
