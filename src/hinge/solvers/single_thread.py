"""Linear algebra on one thread.

BLAS libraries bring threads of their own that spin while they wait for each other: on a busy machine a factorisation
that takes 10 ms on one thread was seen to take 200 ms on two.
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
