"""Errors, exit codes and threads of the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from hinge.cli.startup import loading, postpone_imports


class CommandError(Exception):
    """A failure with a message for the user; the command prints it and ends with exit code 1."""


class UsageError(CommandError):
    """Invalid arguments: the message, if there is one, is followed by the usage on standard output, as in LIBSVM."""


def run(name: str, usage: str, work: Callable[[Sequence[str]], None], argv: Sequence[str] | None) -> int:
    """Run a command and return its exit code; every failure is one message on standard error.

    Parameters
    ----------
    name : str
        Name of the command.
    usage : str
        Printed after a `UsageError`.
    work : callable
        Gets the arguments.
    argv : sequence of str or None
        The arguments; by default those of the process.
    """
    if argv is None:
        postpone_imports()
    try:
        try:
            work(sys.argv[1:] if argv is None else argv)
            sys.stdout.flush()
        except UsageError as error:
            if str(error):
                print(error, file=sys.stderr)
            print(usage, end="", flush=True)
            return 1
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        print(f"{name}: the program that reads the output has ended", file=sys.stderr)
        _discard_output()
        return 1
    except MemoryError as error:
        print(f"{name}: out of memory ({error}); use a smaller data set or a smaller cache (-m)", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        _discard_output()
        return 1
    return 0


def load(name: str) -> Any:
    """Import a module of this package, and with it the numerical libraries."""
    with loading():
        return import_module(f"hinge.cli.libsvm.{name}")


def thread_count() -> int:
    """Number of threads: OMP_NUM_THREADS, which LIBSVM with OpenMP uses, or 1."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(text)) if text.isdigit() else 1


def _discard_output() -> None:
    """Send what is left in the buffer to the null device, so that the interpreter can flush it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):  # standard output is not a file, as in tests
        return
