"""Fitting that succeeds, or has not been."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def rollback(estimator: Any) -> Iterator[None]:
    """An error while fitting leaves the estimator as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
