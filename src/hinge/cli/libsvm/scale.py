"""`hinge-svm-scale`: scale features and targets linearly to an interval, and save or restore the ranges."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from hinge.cli.libsvm.command import CommandError, UsageError, load, run
from hinge.cli.libsvm.options import number
from hinge.cli.startup import leave

USAGE = """\
Usage: hinge-svm-scale [options] data_filename
options:
-l lower : lower limit of scaled features (default -1)
-u upper : upper limit of scaled features (default +1)
-y y_lower y_upper : limits of scaled targets (default: targets are not scaled)
-s save_filename : save the ranges to save_filename
-r restore_filename : use the ranges in restore_filename
"""


@dataclass
class ScaleOptions:
    """Arguments of `hinge-svm-scale`; `target` are the limits of scaled targets, or None."""

    lower: float = -1.0
    upper: float = 1.0
    target: tuple[float, float] | None = None
    save_file: str = ""
    restore_file: str = ""
    data_file: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    return run("hinge-svm-scale", USAGE, _work, argv)


def run_process() -> None:
    """Run the command of this process; does not return."""
    leave(main())


def _work(argv: Sequence[str]) -> None:
    options = parse_scale(argv)  # before the numerical libraries are imported: errors appear at once
    load("scaling").run_scaling(options)


def parse_scale(argv: Sequence[str]) -> ScaleOptions:
    """Parse and check the arguments of `hinge-svm-scale`."""
    options, i = ScaleOptions(), 0
    while i < len(argv) and argv[i].startswith("-") and len(argv[i]) > 1:
        letter = argv[i][1]
        needed = 2 if letter == "y" else 1
        if letter not in "luysr":
            raise UsageError("unknown option")
        if i + needed >= len(argv):
            raise UsageError("")
        value = argv[i + 1]
        if letter == "l":
            options.lower = number("-l", value, float)
        elif letter == "u":
            options.upper = number("-u", value, float)
        elif letter == "y":
            options.target = number("-y", value, float), number("-y", argv[i + 2], float)
        elif letter == "s":
            options.save_file = value
        else:
            options.restore_file = value
        i += 1 + needed
    if not options.upper > options.lower or (options.target and not options.target[1] > options.target[0]):
        raise CommandError("inconsistent lower/upper specification")
    if options.save_file and options.restore_file:
        raise CommandError("cannot use -r and -s simultaneously")
    files = list(argv[i:])
    if len(files) != 1:
        raise UsageError("")
    options.data_file = files[0]
    return options


if __name__ == "__main__":
    sys.exit(main())
