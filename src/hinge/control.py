"""Run control: deadline, progress callback and interrupt flag of a run, passed down the call chain. Numbers of threads.

Ctrl-C between the end of a solver and the assembly of the model would leave no model. Within
``with control.capture_signals():`` the handler of SIGINT therefore stores the exception instead of raising it. Compiled
solvers poll `RunControl.interrupt` and end with the best point so far. Python code that may be left at any line,
because its caller catches the exception and has a result, runs within ``with control.interruptible():``, where the
exception is raised at once. The end of `capture_signals` raises the stored exception; by then the model is complete.

A second Ctrl-C is always raised at once. Python delivers signals to the main thread only: in other threads both
contexts leave the handler unchanged, and only the flag is read.

`n_jobs` has the meaning that joblib defines. joblib is consulted only in programs that have loaded it: its import takes
longer than many fits, and nothing has configured it before. scikit-learn loads it, but the command line postpones that
(`hinge.cli.startup`).
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from hinge.validation import check_number

T = TypeVar("T")

#: Limit of the processor time of a group of processes in Linux: microseconds per period, or "max", and the period.
CPU_LIMIT = "/sys/fs/cgroup/cpu.max"

#: The two numbers in the first version of control groups; negative means unlimited.
OLD_CPU_LIMIT = ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")

#: Progress callback, called with a snapshot (iteration, seconds, violation, primal, dual, gap, ...) a few times a
#: second. The run stops if it returns False.
Monitor = Callable[[dict[str, Any]], bool | None]

#: Progress callback of a `Counter`.
StepMonitor = Callable[[dict[str, Any]], Any]

Handler = Callable[[int, FrameType | None], Any]


class RunControl:
    """Deadline, progress callback and interrupt flag of one run.

    Controls derived with `limited_to` and `with_callback` share the interrupt flag. So does a control that is created
    while signals are captured for another one, as in a nested fit: it uses the flag of the installed handler.

    Parameters
    ----------
    max_time : float or None
        Seconds until the deadline, counted from now; None for no deadline.
    callback : callable or None
        Called with a snapshot of the run a few times a second; returning False stops the run.
    on_step : callable or None
        Called with the snapshots of counters: parts of the run with a known number of steps.

    Attributes
    ----------
    deadline : float or None
        Time of `time.monotonic` at which the run has to end.
    flag : InterruptFlag
        Its attribute `error` is polled by the compiled solvers.

    Examples
    --------
    >>> from hinge.control import RunControl
    >>> control = RunControl(max_time=60.0)
    >>> control.expired(), control.interrupt
    (False, None)
    >>> control.limited_to(0.0).expired()
    True
    """

    __slots__ = ("callback", "deadline", "flag", "on_step")

    def __init__(
        self, max_time: float | None = None, callback: Monitor | None = None, on_step: StepMonitor | None = None
    ) -> None:
        if max_time is not None:
            check_number("max_time", max_time, 0.0, finite=False)
        self.deadline: float | None = None if max_time is None else time.monotonic() + float(max_time)
        self.callback, self.on_step = callback, on_step
        self.flag = installed_flag() or InterruptFlag()

    # ---- deadline ---------------------------------------------------------------------------------------------

    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def max_seconds(self) -> float:
        """Seconds until the deadline in the form of the compiled solvers: −1 without a deadline."""
        return -1.0 if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def limited_to(self, max_time: float | None) -> RunControl:
        """The control of a part of this run that may take `max_time` seconds at most."""
        if max_time is None:
            return self
        limit = time.monotonic() + max_time
        return self._derived(limit if self.deadline is None else min(limit, self.deadline), self.callback)

    def reserving(self, seconds: float, max_share: float = 1.0) -> RunControl:
        """The control of a part of this run that leaves `seconds` before the deadline to the rest of the run.

        At most the share `max_share` of the remaining time is reserved.
        """
        if self.deadline is None or seconds <= 0:
            return self
        reserved = min(seconds, max_share * max(0.0, self.deadline - time.monotonic()))
        return self._derived(self.deadline - reserved, self.callback)

    # ---- progress ---------------------------------------------------------------------------------------------

    def report(self, snapshot: dict[str, Any]) -> bool:
        """Call the callback, if there is one. Return False if the callback requests a stop."""
        return self.callback is None or self.callback(snapshot) is not False

    def counter(self, total: int, unit: str) -> Counter:
        """Reports of a part of this run that consists of `total` steps."""
        return Counter(self.on_step, total, unit)

    def with_callback(self, callback: Monitor | None, on_step: StepMonitor | None = None) -> RunControl:
        """The control of a part of this run that reports to `callback`, and parts with counted steps to `on_step`."""
        if callback is self.callback and on_step is self.on_step:
            return self
        part = self._derived(self.deadline, callback)
        part.on_step = on_step
        return part

    def without_callback(self) -> RunControl:
        """The control of a part of this run that reports no progress."""
        return self.with_callback(None)

    def _derived(self, deadline: float | None, callback: Monitor | None) -> RunControl:
        part = RunControl.__new__(RunControl)
        part.deadline, part.callback, part.on_step, part.flag = deadline, callback, self.on_step, self.flag
        return part

    # ---- interrupts -------------------------------------------------------------------------------------------

    @property
    def interrupt(self) -> BaseException | None:
        """The exception that a signal raised while signals were captured; None before that."""
        return self.flag.error

    def capture_signals(self, raises: bool = True) -> _Capture:
        """A context in which SIGINT sets `interrupt` instead of raising; its end raises the stored exception.

        Parameters
        ----------
        raises : bool
            False if the exception is reported otherwise: solvers return it as `Solution.error`.
        """
        return _Capture(self, raises)

    def interruptible(self) -> _Interruptible:
        """A context in which a captured signal is raised at once, even if it arrived before the context.

        Resources that must be released (a lock, the limit on BLAS threads) must not be acquired within it: a signal can
        arrive between the lines of a `with` statement.
        """
        return _Interruptible(self)

    def unless_interrupted(self, work: Callable[[], T]) -> T | None:
        """Return ``work()``, or None if the captured interrupt of this run ended it."""
        try:
            return work()
        except BaseException as error:
            if error is not self.interrupt:
                raise
            return None

    def interruptible_call(self, work: Callable[[], T]) -> T | None:
        """Return ``work()``, or None if an interrupt was raised during the call. It is raised at once."""
        try:
            with self.interruptible():
                return work()
        except BaseException as error:
            if error is not self.interrupt:
                raise
            return None

    def is_interrupt(self, error: BaseException) -> bool:
        """Whether a handler of SIGINT raised `error`: Python's own handler, or one whose exception was captured."""
        return isinstance(error, KeyboardInterrupt) or error is self.interrupt


#: Seconds between two reports of a counter.
REPORT_PERIOD = 0.1


class Counter:
    """Reports to a progress callback how many steps of a loop are done.

    A snapshot contains "done", "total", "unit" (what is counted), "seconds" and "note" (a text).
    """

    __slots__ = ("_reported", "callback", "done", "start", "total", "unit")

    def __init__(self, callback: StepMonitor | None, total: int, unit: str) -> None:
        self.callback, self.total, self.unit, self.done = callback, total, unit, 0
        self.start = self._reported = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> bool:
        """Count steps; return False if the callback requests a stop. The last step is always reported."""
        self.done += steps
        if self.callback is None:
            return True
        now = time.monotonic()
        if now - self._reported < REPORT_PERIOD and self.done < self.total:
            return True
        self._reported = now
        state = {"done": self.done, "total": self.total, "unit": self.unit, "seconds": now - self.start, "note": note}
        return self.callback(state) is not False


@dataclass(slots=True, eq=False)
class InterruptFlag:
    """A handler of SIGINT that stores the exception of the handler it replaced.

    Attributes
    ----------
    error : BaseException or None
        The exception of the first signal.
    raises_at_once : bool
        Whether the exception is also raised, as in `RunControl.interruptible`.
    previous : handler or None
        The replaced handler.
    """

    error: BaseException | None = None
    raises_at_once: bool = False
    previous: Handler | int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        assert callable(self.previous)
        try:
            self.previous(number, frame)
        except BaseException as error:
            if self.error is not None:  # a second signal
                self.uninstall()
                raise
            self.error = error.with_traceback(None)  # its frames would keep their arrays alive
            if self.raises_at_once:
                self.raises_at_once = False
                raise

    def uninstall(self) -> None:
        """Restore the previous handler, unless a later one has replaced this one."""
        previous = self.previous
        if signal.getsignal(signal.SIGINT) is self:
            signal.signal(signal.SIGINT, previous)


def installed_flag() -> InterruptFlag | None:
    """The installed handler of SIGINT if it is a flag; None in threads other than the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if isinstance(handler, InterruptFlag) else None


@dataclass(slots=True, eq=False)
class _Capture:
    """Context of `RunControl.capture_signals`.

    If signals are already captured for another control, this one uses its flag.
    """

    control: RunControl
    raises: bool
    flag: InterruptFlag | None = None
    outermost: bool = False
    raised_at_once: bool = False

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        installed, previous = installed_flag(), signal.getsignal(signal.SIGINT)
        if installed is not None:
            self.raised_at_once, installed.raises_at_once = installed.raises_at_once, False
            self.flag = self.control.flag = installed
        elif callable(previous):  # SIG_IGN, SIG_DFL and handlers of C code remain installed
            self.flag, self.outermost = self.control.flag, True
            self.flag.previous = previous
            signal.signal(signal.SIGINT, self.flag)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.flag is None:
            return
        if self.outermost:
            self.flag.uninstall()
        else:
            self.flag.raises_at_once = self.raised_at_once
        stored = self.flag.error
        if stored is not None and self.raises and error is not stored:
            raise stored


@dataclass(slots=True, eq=False)
class _Interruptible:
    """Context of `RunControl.interruptible`."""

    control: RunControl
    installed: InterruptFlag | None = None
    raised_at_once: bool = False

    def __enter__(self) -> Self:
        self.installed = installed_flag()
        if self.installed is None:
            if self.control.flag.error is not None:
                raise self.control.flag.error
            return self
        self.control.flag = self.installed
        self.raised_at_once, self.installed.raises_at_once = self.installed.raises_at_once, True
        if self.installed.error is not None:  # an earlier signal; later ones are raised by the handler
            self.installed.raises_at_once = self.raised_at_once
            raise self.installed.error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.installed is not None:
            self.installed.raises_at_once = self.raised_at_once


# ---- threads ---------------------------------------------------------------------------------------------------------


def effective_n_jobs(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` stands for.

    Parameters
    ----------
    n_jobs : int or None
        A positive number of threads; −1 for all processors, −2 for all but one, and so on; None for one thread, or
        for what `joblib.parallel_config` sets.

    Examples
    --------
    >>> from hinge.control import effective_n_jobs
    >>> effective_n_jobs(2)
    2
    """
    joblib = sys.modules.get("joblib")
    if joblib is not None and "effective_n_jobs" in vars(joblib):
        return int(joblib.effective_n_jobs(n_jobs))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: pass a number of threads, or -1 for all processors")
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, processors() + 1 + n_jobs)


def processors() -> int:
    """Return the number of processors that the process may use, as `joblib.cpu_count`."""
    count = os.cpu_count() or 1
    limits = [count, int(os.environ.get("LOKY_MAX_CPU_COUNT", count)), _limit_of_group(count)]
    if hasattr(os, "sched_getaffinity"):
        limits.append(len(os.sched_getaffinity(0)))
    return max(1, min(limits))


def _limit_of_group(count: int) -> int:
    words = _read(CPU_LIMIT).split()
    if len(words) != 2:
        words = [_read(name).strip() for name in OLD_CPU_LIMIT]
    try:
        limit, period = map(int, words)
    except ValueError:  # "max", or the files do not exist
        return count
    return math.ceil(limit / period) if limit > 0 and period > 0 else count


def _read(name: str) -> str:
    try:
        with open(name, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""
