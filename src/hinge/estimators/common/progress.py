"""Progress lines of solvers (`verbose=True`), paths, searches and readers: on standard error or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol, TextIO

from hinge.control import Counter, Monitor
from hinge.problems.certificate import relative

try:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text
except ImportError:  # the extra `progress` is optional; without it the line is plain text
    Console = None  # type: ignore[assignment,misc]

Snapshot = Mapping[str, Any]

TERMINAL_PERIOD = 0.1  # seconds between two redraws of the line on a terminal
NOTEBOOK_PERIOD = 0.25  # seconds between two updates of the output of a notebook cell
LOG_PERIOD = 2.0  # seconds between two lines in a file or a pipe


def describe(label: str, snapshot: Snapshot) -> str:
    """Return one snapshot of a solver, or of a counter, as one line of text."""
    if "total" in snapshot:
        return describe_count(label, snapshot)
    gap = relative(snapshot["gap"], snapshot["primal"], snapshot["dual"])
    return (
        f"{label}  {snapshot['iteration']:>9,d} iterations  {snapshot['seconds']:7.2f} s"
        f"  violation {snapshot['violation']:.2e}  relative gap {gap:.2e}"
        f"  active {snapshot['active']:,d}"
    )


def describe_path(label: str, snapshot: Snapshot) -> str:
    """Return one snapshot of a path, or of a counter, as one line of text."""
    if "total" in snapshot:
        return describe_count(label, snapshot)
    line = f"{label}  at {snapshot['primal']:<10.6g}  {snapshot['iteration']:>9,d} events  {snapshot['seconds']:7.2f} s"
    if "violation" in snapshot:
        line += f"  violation {snapshot['violation']:.2e}"
    return line + (f"  margin {snapshot['active']:,d}" if "active" in snapshot else "")


def describe_count(label: str, snapshot: Snapshot) -> str:
    """Return one snapshot of a counter (`hinge.control.Counter`) as one line of text, with the remaining time."""
    done, total, seconds = snapshot["done"], snapshot["total"], snapshot["seconds"]
    line = f"{label}  {done:,d} of {total:,d} {snapshot['unit']}  {seconds:7.2f} s"
    if 0 < done < total:
        line += f"  about {duration(seconds * (total - done) / done)} left"
    return f"{line}  {snapshot['note']}".rstrip()


def duration(seconds: float) -> str:
    """Return seconds as text, in the largest unit of which they are at least two.

    Examples
    --------
    >>> duration(1.25), duration(95.0), duration(600.0), duration(9000.0)
    ('1.2 s', '95 s', '10 min', '2.5 h')
    """
    for size, unit, digits in ((3600.0, "h", 1), (60.0, "min", 0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


class _Screen(Protocol):
    """Output of the progress line. `period` is the least number of seconds between two calls of `show`."""

    period: float

    def show(self, line: str) -> None: ...

    def close(self, line: str | None) -> None: ...


class ProgressLine:
    """Progress line of a running solver: a context manager with a method `update` that is cheap to call often.

    On a terminal the line is rewritten in place (by `rich`, if it is installed). In files and pipes a new line is
    written every two seconds at most. The last snapshot is always shown.

    Parameters
    ----------
    label : str
        The name of the estimator, for example ``"SVC"`` or ``"SVC (3 vs 8)"``.
    verbose : bool, default=True
        Whether the line is written.
    """

    _describe = staticmethod(describe)

    def __init__(self, label: str, *, verbose: bool = True) -> None:
        self.label = label
        self.verbose = bool(verbose)
        self._screen: _Screen | None = None
        self._last: Snapshot | None = None
        self._shown = 0.0

    def __enter__(self) -> ProgressLine:
        if self.verbose and sys.stderr is not None:
            self._screen = _open_screen(sys.stderr)
            self._last, self._shown = None, time.monotonic()
        return self

    def update(self, snapshot: Snapshot) -> None:
        """Store a snapshot, and show it unless the previous one was shown less than a period ago."""
        if self._screen is None:
            return
        self._last = snapshot
        now = time.monotonic()
        if now - self._shown >= self._screen.period:
            self._shown = now
            self._screen.show(self._describe(self.label, snapshot))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._screen is not None:
            screen, self._screen = self._screen, None
            screen.close(None if self._last is None else self._describe(self.label, self._last))


@contextmanager
def counter(label: str, total: int, unit: str, *, verbose: Any) -> Iterator[Counter]:
    """A counter of steps that a progress line shows if `verbose`."""
    if not verbose:
        yield Counter(None, total, unit)
        return
    with ProgressLine(label) as line:
        yield Counter(line.update, total, unit)


@contextmanager
def progress_callback(estimator: Any) -> Iterator[Monitor | None]:
    """The callback of a progress line while a verbose estimator is trained; None for other estimators."""
    if not estimator.verbose:
        yield None
        return
    with ProgressLine(type(estimator).__name__) as line:
        yield line.update


class PathProgress(ProgressLine):
    """Progress line for the argument `progress` of paths, of their methods, and of low-rank approximations.

    The line of a path has the value of the parameter, the number of events, the time, the violation and the size of the
    margin set. Other operations have a number of steps, and the line an estimate of the remaining time.

    Parameters
    ----------
    label : str, default="path"

    Examples
    --------
    >>> import hinge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> with hinge.PathProgress() as progress:
    ...     path = hinge.regularization_path(X, y, gamma=1.0, progress=progress)
    """

    _describe = staticmethod(describe_path)

    def __init__(self, label: str = "path") -> None:
        super().__init__(label)

    def __enter__(self) -> PathProgress:
        super().__enter__()
        return self

    def __call__(self, snapshot: Snapshot) -> None:
        """Show a snapshot; it is called a few times a second."""
        self.update(snapshot)


def _open_screen(stream: TextIO) -> _Screen:
    display = _notebook_display()
    if display is not None:
        return _Notebook(display)
    if not stream.isatty():
        return _Log(stream)
    return _Terminal(stream) if Console is None else _Rich(stream)


def _notebook_display() -> Any:
    """Return `IPython.display.display` if the program is a notebook, otherwise None."""
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    return ipython.display.display if ipython is not None and getattr(shell, "kernel", None) is not None else None


class _Notebook:
    """One output of a notebook cell, which is updated in place."""

    period = NOTEBOOK_PERIOD

    def __init__(self, display: Any) -> None:
        self.display = display
        self.handle: Any = None

    def show(self, line: str) -> None:
        content = {"text/plain": line}
        if self.handle is None:
            self.handle = self.display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)

    def close(self, line: str | None) -> None:
        if line is not None:
            self.show(line)


class _Log:
    """Lines in a file or a pipe."""

    period = LOG_PERIOD

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, line: str) -> None:
        self.stream.write(line + "\n")
        self.stream.flush()

    def close(self, line: str | None) -> None:
        if line is not None:
            self.show(line)


class _Terminal:
    """One line on a terminal, rewritten after a carriage return."""

    period = TERMINAL_PERIOD

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.width = 0

    def show(self, line: str) -> None:
        self.stream.write("\r" + line.ljust(self.width))
        self.stream.flush()
        self.width = len(line)

    def close(self, line: str | None) -> None:
        if line is not None:
            self.show(line)
        if self.width:
            self.stream.write("\n")
            self.stream.flush()


class _Rich:
    """One line on a terminal, rewritten by `rich` without a separate thread and cut to the width of the window."""

    period = TERMINAL_PERIOD

    def __init__(self, stream: TextIO) -> None:
        self.live = Live(
            console=Console(file=stream), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self.started = False

    def show(self, line: str) -> None:
        if not self.started:
            self.live.start()
            self.started = True
        text = Text(line, no_wrap=True, overflow="ellipsis")
        text.highlight_regex(r"relative gap \S+", "bold")
        self.live.update(text, refresh=True)

    def close(self, line: str | None) -> None:
        if line is not None:
            self.show(line)
        if self.started:
            self.live.stop()
