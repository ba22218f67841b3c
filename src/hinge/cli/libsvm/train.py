"""`hinge-svm-train`: train a model and write a LIBSVM model file, or print the result of a cross-validation."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hinge.cli.libsvm.command import load, run
from hinge.cli.libsvm.options import USAGE, parse_train
from hinge.cli.startup import leave


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    return run("hinge-svm-train", USAGE, _work, argv)


def run_process() -> None:
    """Run the command of this process; does not return."""
    leave(main())


def _work(argv: Sequence[str]) -> None:
    options = parse_train(argv)  # before the numerical libraries are imported: errors appear at once
    load("fitting").run_training(options)


if __name__ == "__main__":
    sys.exit(main())
