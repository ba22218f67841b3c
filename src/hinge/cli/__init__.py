"""Command line: `hinge`, or `python -m hinge`.

`catalog` declares all commands and their arguments; the parser, the shell completion and the manual pages are built
from these declarations. A module of `commands` with a function ``run(arguments) -> int`` is imported when its command
runs, so that `hinge --version` and `hinge --help` load neither NumPy nor scikit-learn.

Exit codes are those of `failures.ExitCode`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (by default those of the process) and return the exit code."""
    try:
        entry = import_module("hinge.cli.entry")  # not imported by the commands of LIBSVM
    except KeyboardInterrupt:
        print("hinge: interrupted", file=sys.stderr)
        return 130
    return int(entry.main(argv))


def run_process() -> None:
    """Run the command line of this process; does not return."""
    code = main()
    import_module("hinge.cli.startup").leave(code)
