"""`hinge-svm-train`: train a model and write a LIBSVM model file, or print the result of a cross-validation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from hinge.cli.libsvm.command import run
from hinge.cli.libsvm.options import USAGE, parse_train


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    return run("hinge-svm-train", USAGE, _work, argv)


def _work(argv: Sequence[str]) -> None:
    options = parse_train(argv)  # before the numerical libraries are imported: errors appear at once
    import_module("hinge.cli.libsvm.fitting").run_training(options)


if __name__ == "__main__":
    sys.exit(main())
