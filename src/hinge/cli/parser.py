"""The argparse parser, built from the declarations of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from hinge.cli.catalog import BY_NAME, COMMANDS, DESCRIPTION, VERSION
from hinge.cli.declaration import Argument, Command
from hinge.cli.failures import UsageError

FLAG_HELP = "show this help and exit"


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of leaving the process."""

    def print_help(self, file: Any = None) -> None:
        """Print the help; unlike the method of argparse, report a full disk or a closed pipe."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """Raise the error of invalid arguments."""
        raise UsageError(message)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of the process; `command` is the name of the command, or None.

    Only the parser of the given command is built: the others would take longer than everything else.
    """
    first = next((word for word in argv if not word.startswith("-")), None)
    if first is None:
        return _top_parser().parse_args(argv)
    position = list(argv).index(first)
    arguments = _top_parser().parse_args(argv[:position])
    if first not in BY_NAME:
        near = get_close_matches(first, BY_NAME, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise UsageError(f"{first!r} is not a command{hint}; the commands are {', '.join(BY_NAME)}")
    if arguments.version:
        return arguments
    return command_parser(BY_NAME[first]).parse_args(argv[position + 1 :])


def _top_parser() -> Parser:
    parser = Parser(
        prog="hinge",
        description=DESCRIPTION,
        usage="hinge [-h] [--version] COMMAND ...",
        epilog=top_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("-h", "--help", action="help", help=FLAG_HELP)
    parser.add_argument(*VERSION.names, action="store_true", help=VERSION.help)
    parser.set_defaults(command=None)
    return parser


def top_help() -> str:
    """Return the help text of `hinge` without a command."""
    return _top_parser().format_help()


def top_epilog() -> str:
    """Return the list of commands."""
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {command.name:<{width}}  {command.summary}" for command in COMMANDS]
    return "\n".join(["commands:", *lines, "", "Use `hinge COMMAND --help` for the options of a command."])


def command_parser(command: Command) -> Parser:
    """Return the parser of one command."""
    parser = Parser(
        prog=f"hinge {command.name}",
        description=command.description,
        epilog=_examples(command),
        formatter_class=_Formatter,
        add_help=False,
        allow_abbrev=False,
    )
    for group in command.groups:
        section = parser.add_argument_group(group.title)
        for argument in group.arguments:
            section.add_argument(*argument.names, **_settings(argument))
    parser.add_argument_group("help").add_argument("-h", "--help", action="help", help=FLAG_HELP)
    parser.set_defaults(command=command.name)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs of the description, and keeps the lines of the examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        wrap = argparse.HelpFormatter._fill_text
        return "\n\n".join(wrap(self, paragraph, width, indent) for paragraph in text.split("\n\n"))


def _examples(command: Command) -> str | None:
    if not command.examples:
        return None
    lines = ["examples:"]
    for line, explanation in command.examples:
        lines += [f"  # {explanation}"] if explanation else []
        lines.append(f"  {line}")
    return "\n".join(lines)


def _settings(argument: Argument) -> dict[str, Any]:
    """Return the arguments of `add_argument`."""
    settings: dict[str, Any] = {"help": argument.help}
    if argument.is_flag:
        return {**settings, "action": "store_true", "dest": argument.key}
    if argument.metavar:
        settings["metavar"] = argument.metavar
    if argument.choices:
        settings["choices"] = argument.choices
    settings["type"] = _converter(argument)
    if argument.is_positional:
        if argument.optional:
            settings["nargs"] = "?"
        return settings
    settings["dest"] = argument.key
    if argument.repeated:
        return {**settings, "action": "append", "default": []}
    return {**settings, "default": argument.default}


def _converter(argument: Argument) -> Any:
    """Return a converter whose message argparse shows unchanged."""

    def convert(text: str) -> Any:
        try:
            return argument.convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert
