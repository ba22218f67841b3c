"""The function behind the command `hinge`: parse, run the command, and report failures."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from hinge.cli.catalog import BY_NAME
from hinge.cli.failures import ExitCode, report, write_message
from hinge.cli.parser import parse, top_help
from hinge.cli.startup import loading, postpone_imports

#: Commands whose data file is read while the estimators are imported.
EARLY_READERS = frozenset({"train", "grid", "path"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (by default those of the process) and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        postpone_imports()
    name = next((word for word in words if word in BY_NAME), "")
    try:
        arguments = parse(words)
        if arguments.command is None:
            print(f"hinge {import_module('hinge').__version__}" if arguments.version else top_help().rstrip())
            code = int(ExitCode.SUCCESS)
        else:
            with short_warnings():
                code = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, so that a full disk or a closed pipe is reported
    except SystemExit as stop:  # argparse has printed the help
        return _flushed(int(stop.code or 0), name)
    except BaseException as error:
        code = report(error, name)
        if isinstance(error, OSError) and error.filename is None:
            discard_output()
    return int(code)


def run(arguments: Any) -> int:
    """Run the parsed command and return its exit code."""
    with loading("pandas", "rich"):  # scikit-learn imports them if they are installed; the commands need neither for it
        if arguments.command in EARLY_READERS:
            import_module("hinge.cli.datafile").start_reading(arguments)
        module = import_module(BY_NAME[arguments.command].module)
    return int(module.run(arguments))


def _flushed(code: int, name: str) -> int:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        code = report(error, name)
        discard_output()
    return code


def discard_output() -> None:
    """Send what is left in the buffer of standard output nowhere: Python would report its loss once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


@contextlib.contextmanager
def short_warnings() -> Iterator[None]:
    """Print warnings as one line without the position in the source code, each text once."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            shown.add(text)
            write_message(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
