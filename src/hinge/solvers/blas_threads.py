"""Restriction of BLAS to one thread.

The threads of BLAS libraries spin while they wait for each other. Next to one other busy process on two cores, an
interior-point fit of 569 samples took 0.2 s with one BLAS thread and 1.6 to 3.9 s with two (three fits each).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl


class _Limit:
    """Limit of the whole process: set when the first context is entered, removed when the last one is left."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.contexts = 0
        self.controller: Any = None
        self.limiter: Any = None
        self.owner: threading.Thread | None = None
        self.foreign = False  # whether a limit of other code was in force before

    def enter(self) -> None:
        with self.lock:
            if self.contexts == 0:
                self.controller = self.controller or threadpoolctl.ThreadpoolController()
                self.foreign = _controlling_thread() is not None
                self.limiter = self.controller.limit(limits=1, user_api="blas")
                self.owner = threading.current_thread()
            self.contexts += 1

    def leave(self) -> None:
        with self.lock:
            self.contexts -= 1
            if self.contexts == 0:
                if not self.foreign:
                    _release(self.owner)
                self.limiter.restore_original_limits()
                if not self.foreign:
                    _release(threading.current_thread())


def _release(owner: threading.Thread | None) -> None:
    """Release the control of `owner` over the thread limit of OpenBLAS.

    Since threadpoolctl 3.8 only the thread that set a limit can change it. The last context is often left by another
    thread, and the next one is entered by a third thread. Limits of other code are not changed.
    """
    if owner is not None and _controlling_thread() is owner:
        threadpoolctl.OpenBLASController.clear_controlling_thread(force=True)


def _controlling_thread() -> threading.Thread | None:
    """Return the thread that controls the limit of OpenBLAS; None before threadpoolctl 3.8."""
    state = getattr(getattr(threadpoolctl, "OpenBLASController", None), "_SHARED_STATE", None)
    thread: threading.Thread | None = getattr(state, "controlling_thread", None)
    return thread


_LIMIT = _Limit()


@contextmanager
def single_thread() -> Iterator[None]:
    """Context in which BLAS uses only the calling thread."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
