"""Linear algebra on one thread.

BLAS libraries bring threads of their own that spin while they wait for each other: beside one other busy process on two
cores, an interior point fit of 569 samples took 0.2 s with one BLAS thread and 1.6 to 3.9 s with two (three fits each).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    return ThreadpoolController()


def single_thread() -> Any:
    """A context in which BLAS uses the calling thread only."""
    return _controller().limit(limits=1, user_api="blas")
