"""`hinge man`: print or write the manual pages."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from hinge.cli.catalog import BY_NAME
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.manual import command_page, manual_pages, top_page


def run(arguments: Namespace) -> int:
    """Print one page, or write all pages to a directory."""
    if arguments.out is not None:
        folder = Path(arguments.out)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in manual_pages().items():
            (folder / name).write_text(text, encoding="utf-8")
            print(folder / name)
        return ExitCode.SUCCESS
    if arguments.page is None or arguments.page == "hinge":
        print(top_page(), end="")
    elif arguments.page in BY_NAME:
        print(command_page(BY_NAME[arguments.page]), end="")
    else:
        raise UsageError(f"{arguments.page!r} is not a command; the commands are {', '.join(BY_NAME)}")
    return ExitCode.SUCCESS
