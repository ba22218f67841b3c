"""Command line: `hinge`, or `python -m hinge`.

`catalog` declares all commands and their arguments; the parser, the shell completion and the manual pages are built
from these declarations. A module of `commands` with a function ``run(arguments) -> int`` is imported when its command
runs, so that `hinge --version` and `hinge --help` load neither NumPy nor scikit-learn.

Exit codes are those of `failures.ExitCode`.
"""

from hinge.cli.entry import main

__all__ = ["main"]
