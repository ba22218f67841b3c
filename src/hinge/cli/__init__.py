"""Command line: `hinge`, or `python -m hinge`.

Exit codes: 0 success, 1 failure (the reason is printed to stderr), 2 invalid arguments, 130 interrupted by Ctrl-C.
Commands are imported when they run, so that `hinge --version` and `hinge --help` load neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (by default those of the process) and return the exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        print(f"hinge {import_module('hinge').__version__}")
        return 0
    if "command" not in arguments:
        parser.print_help()
        return 0
    try:
        return int(import_module(arguments.command).run(arguments))
    except KeyboardInterrupt:
        print("hinge: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"hinge: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hinge",
        description="Support vector machines with a certificate of optimality for every solution.",
        epilog="Use `hinge COMMAND --help` for the options of a command.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    text = "train a classifier on a real data set, print its certificate and plot its decision boundary and convergence"
    command = commands.add_parser("demo", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument(
        "--out", type=Path, default=Path("demo-output"), metavar="DIR",
        help="directory for the plots; created if it does not exist (default: %(default)s)",
    )  # fmt: skip
    command.set_defaults(command="hinge.cli.demo")
    return parser
