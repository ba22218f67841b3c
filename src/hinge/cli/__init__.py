"""Command line: `hinge`, or `python -m hinge`.

`catalog` declares all commands and their arguments; the parser, the shell completion and the manual pages are built
from these declarations. A module of `commands` with a function ``run(arguments) -> int`` is imported when its command
runs, so that `hinge --version` and `hinge --help` load neither NumPy nor scikit-learn.

Exit codes are those of `failures.ExitCode`.
"""

from collections.abc import Sequence
from importlib import import_module

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (by default those of the process) and return the exit code."""
    return int(import_module("hinge.cli.entry").main(argv))  # not imported by the commands of LIBSVM
