"""`hinge-svm-predict`: predict with a LIBSVM model file and print the scores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from hinge.cli.libsvm.command import CommandError, UsageError, load, run
from hinge.cli.libsvm.options import number
from hinge.cli.startup import leave

USAGE = """\
Usage: hinge-svm-predict [options] test_file model_file output_file
options:
-b probability_estimates : whether to predict probability estimates, 0 or 1 (default 0)
-q : no output
"""


@dataclass
class PredictOptions:
    """Arguments of `hinge-svm-predict`."""

    probability: bool = False
    quiet: bool = False
    data_file: str = ""
    model_file: str = ""
    output_file: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    return run("hinge-svm-predict", USAGE, _work, argv)


def run_process() -> None:
    """Run the command of this process; does not return."""
    leave(main())


def _work(argv: Sequence[str]) -> None:
    options = parse_predict(argv)  # before the numerical libraries are imported: errors appear at once
    load("prediction").run_prediction(options)


def parse_predict(argv: Sequence[str]) -> PredictOptions:
    """Parse the arguments of `hinge-svm-predict`."""
    options, i = PredictOptions(), 0
    while i < len(argv) and argv[i].startswith("-") and len(argv[i]) > 1:
        letter = argv[i][1]
        if letter == "q":
            options.quiet = True
            i += 1
        elif letter == "b":
            if i + 1 >= len(argv):
                raise UsageError("")
            value = number(argv[i], argv[i + 1], int)
            if value not in (0, 1):
                raise CommandError(f"ERROR: -b {argv[i + 1]}: must be 0 or 1")
            options.probability = bool(value)
            i += 2
        else:
            raise UsageError(f"Unknown option: {argv[i]}")
    files = list(argv[i:])
    if len(files) != 3:
        raise UsageError("")
    options.data_file, options.model_file, options.output_file = files
    return options


if __name__ == "__main__":
    sys.exit(main())
