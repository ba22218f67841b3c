"""Exit codes, and the message and exit code of every exception that can end a command."""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum

#: Environment variable: if it is set, the traceback of a failure is printed before the message.
TRACEBACK_VARIABLE = "HINGE_TRACEBACK"


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    SUCCESS = 0
    FAILURE = 1
    USAGE = 2
    NOT_CONVERGED = 3  # a result was written, but it does not have the requested tolerance, or is incomplete
    INTERRUPTED = 130


class UsageError(Exception):
    """Arguments that are not valid; the message names the argument, its value, the reason and the remedy."""


class CommandError(Exception):
    """A failure whose message is complete: it names the file or the argument, the reason and the remedy."""


#: Exceptions that the library raises for invalid data and arguments, and for missing optional packages. Their messages
#: are complete sentences for the user.
EXPECTED = (CommandError, ValueError, TypeError, ImportError)


def report(error: BaseException, command: str) -> ExitCode:
    """Print one message for the exception that ended a command, and return the exit code."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    code, message = describe(error, command)
    write_message(message)
    return code


def describe(error: BaseException, command: str) -> tuple[ExitCode, str]:
    """Return the exit code and the message of an exception."""
    if isinstance(error, UsageError):
        return ExitCode.USAGE, f"{_text(error)} (see `hinge {command}{' ' if command else ''}--help`)"
    if isinstance(error, KeyboardInterrupt):
        detail = _text(error)
        return ExitCode.INTERRUPTED, f"interrupted{f'; {detail}' if detail else ''}"
    if isinstance(error, BrokenPipeError):
        return ExitCode.FAILURE, "the output was closed before all of it was written"
    if isinstance(error, OSError):
        return ExitCode.FAILURE, _describe_os_error(error)
    if isinstance(error, MemoryError):
        return ExitCode.FAILURE, (
            f"out of memory{f' ({_text(error)})' if _text(error) else ''}: use a linear estimator, fewer samples, or a "
            "smaller value of --memory"
        )
    if isinstance(error, EXPECTED):
        return ExitCode.FAILURE, _text(error)
    kind = type(error).__name__
    return ExitCode.FAILURE, (
        f"internal error: {kind}: {_text(error)}; set {TRACEBACK_VARIABLE}=1 for the traceback, and report it"
    )


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or _text(error)
    if error.filename is None:
        return f"writing or reading failed: {reason}"
    return f"{os.fsdecode(error.filename)}: {reason}"


def _text(error: BaseException) -> str:
    """The message of an exception in one line."""
    return " ".join(str(error).split())


def write_message(message: str) -> None:
    """Write one line to standard error, if that is possible."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"hinge: {message}\n")
        sys.stderr.flush()
    except OSError:  # standard error is closed or full: there is no other place for the message
        pass
