"""`hinge completion`: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from hinge.cli.completion import completion_script
from hinge.cli.failures import ExitCode


def run(arguments: Namespace) -> int:
    """Print the script."""
    print(completion_script(arguments.shell), end="")
    return ExitCode.SUCCESS
