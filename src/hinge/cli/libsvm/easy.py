"""`hinge-easy`: scale the data, choose C and gamma by cross-validation, train and predict, like easy.py of LIBSVM."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hinge.cli.libsvm.command import UsageError, load, run
from hinge.cli.startup import leave

USAGE = """\
Usage: hinge-easy training_file [testing_file]
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    return run("hinge-easy", USAGE, _work, argv)


def run_process() -> None:
    """Run the command of this process; does not return."""
    leave(main())


def _work(argv: Sequence[str]) -> None:
    if not 1 <= len(argv) <= 2 or argv[0].startswith("-"):
        raise UsageError("")
    load("procedure").run_easy(*argv)


if __name__ == "__main__":
    sys.exit(main())
