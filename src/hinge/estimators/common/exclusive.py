"""Exclusive access to an estimator: updates from several threads are applied one after another."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

Method = TypeVar("Method", bound=Callable[..., Any])


class Locks:
    """One lock per estimator. They are no attributes, so that estimators can be copied, compared and saved."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all locks: in the child of a fork, a lock that another thread held would stay locked."""
        self._guard = threading.Lock()
        self._locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def of(self, estimator: Any) -> Any:
        """Return the lock of an estimator, which the same thread may acquire again."""
        found = self._locks.get(estimator)
        if found is None:
            with self._guard:
                found = self._locks.setdefault(estimator, threading.RLock())
        return found


_locks = Locks()
lock_of = _locks.of
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_locks.clear)


def exclusive(method: Method) -> Method:
    """Let a method of an estimator wait until a call of another thread on the same estimator has ended."""

    @wraps(method)
    def locked(self: Any, *arguments: Any, **options: Any) -> Any:
        with lock_of(self):
            return method(self, *arguments, **options)

    return cast(Method, locked)
