"""Ctrl-C while a machine is trained: noted at once, and acted upon where nothing is lost.

A KeyboardInterrupt leaves no model where it comes between the end of a solver and what is made of its answer. Within
`listening()` the handler of SIGINT therefore raises nothing: what the handler before it raises is kept. Solvers look
at `heard()` and end with the best point they have; Python code that can be left at any line, because its caller catches
what is raised and has something in hand, says so with `hearing()`. The end of `listening()` raises what was kept, and
by then the model is there.

A second Ctrl-C is raised at once, wherever it comes. Threads other than the main one never see a signal, and for them
all of this does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
Handler = Callable[[int, FrameType | None], Any]


class _Ear:
    """A handler of SIGINT that keeps what the one before it raises."""

    def __init__(self, before: Handler | int | None, outer: _Ear | None) -> None:
        self.before, self.outer = before, outer
        self.error: BaseException | None = None
        self.open = False

    def hear(self, number: int, frame: FrameType | None) -> None:
        assert callable(self.before)
        try:
            self.before(number, frame)
        except BaseException as error:
            if self.error is not None:  # a second one
                self.close()
                raise
            self.error = error.with_traceback(None)  # frames would keep their arrays alive
            if self.open:
                self.open = False
                raise

    def close(self) -> None:
        """Whoever was there before hears again."""
        global _ear
        if signal.getsignal(signal.SIGINT) == self.hear:
            signal.signal(signal.SIGINT, self.before)
        _ear = self.outer


_ear: _Ear | None = None


def _my_ear() -> _Ear | None:
    """That of the main thread, as long as nobody has put another handler in its place."""
    if _ear is None or threading.current_thread() is not threading.main_thread():
        return None
    return _ear if signal.getsignal(signal.SIGINT) == _ear.hear else None


class listening(ContextDecorator):
    """A context, or a decorator, in which Ctrl-C waits for solvers to end; what it raised is raised at the end.

    Parameters
    ----------
    raises : bool
        False where somebody else tells: a solver says it with `Solution.error`.
    """

    def __init__(self, raises: bool = True) -> None:
        self.raises = raises
        self.ear: _Ear | None = None
        self.outermost = self.was_open = False

    def _recreate_cm(self) -> listening:
        return listening(self.raises)

    def __enter__(self) -> Self:
        global _ear
        if threading.current_thread() is not threading.main_thread():
            return self
        self.ear, before = _my_ear(), signal.getsignal(signal.SIGINT)
        if self.ear is not None:
            self.was_open, self.ear.open = self.ear.open, False
        elif callable(before):  # SIG_IGN and SIG_DFL are none of ours, nor are handlers that Python cannot see
            self.ear, self.outermost = _Ear(before, _ear), True
            _ear = self.ear
            signal.signal(signal.SIGINT, _ear.hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.ear is None:
            return
        if self.outermost:
            self.ear.close()
        else:
            self.ear.open = self.was_open
        kept = self.ear.error  # nothing is added to it any more: the handler is gone
        if kept is not None and self.raises and error is not kept:
            raise kept


class hearing(ContextDecorator):
    """A context, or a decorator, in which Ctrl-C is raised at once, even one that came before.

    Nothing that must be left in order may be entered within: a signal does not wait for the end of a `with` statement's
    own lines.
    """

    def __init__(self) -> None:
        self.ear: _Ear | None = None
        self.was_open = False

    def _recreate_cm(self) -> hearing:
        return hearing()

    def __enter__(self) -> Self:
        self.ear = _my_ear()
        if self.ear is not None:
            self.was_open, self.ear.open = self.ear.open, True
            if self.ear.error is not None:  # it came before; one that comes now is raised by the handler
                self.ear.open = self.was_open
                raise self.ear.error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.ear is not None:
            self.ear.open = self.was_open


def heard() -> BaseException | None:
    """What a signal has asked for since `listening` began; solvers that find something here end."""
    ear = _my_ear()
    return None if ear is None else ear.error


def is_signal(error: BaseException) -> bool:
    """Whether it was raised by a handler of SIGINT, Python's own or another."""
    return isinstance(error, KeyboardInterrupt) or error is heard()


def attempt(work: Callable[[], T]) -> T | None:
    """`work()`; None where a signal, `heard()`, ended it while it was `hearing`."""
    try:
        return work()
    except BaseException as error:
        if error is not heard():
            raise
        return None
