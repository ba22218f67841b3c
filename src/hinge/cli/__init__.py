"""The command line: `hinge`, or `python -m hinge`.

Exit codes: 0 done, 1 it could not be done (said on stderr), 2 the command was not understood, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hinge import __version__
from hinge.cli.demo import demo

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (by default those of the process)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if "run" not in arguments:
        parser.print_help()
        return 0
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        print("hinge: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"hinge: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hinge",
        description="Support vector machines with a proof in every answer.",
        epilog="`hinge COMMAND --help` says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"hinge {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    text = "train a machine on a real data set, print its certificate, draw its boundary and convergence"
    command = commands.add_parser("demo", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument(
        "--out", type=Path, default=Path("demo-output"), metavar="DIR",
        help="folder for the pictures; made if it is missing (default: %(default)s)",
    )  # fmt: skip
    command.set_defaults(run=lambda arguments: demo(arguments.out))
    return parser
