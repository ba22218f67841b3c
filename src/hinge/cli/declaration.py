"""Declaration of commands and their arguments: the source of the parser, the shell completion and the manual pages.

Nothing here imports NumPy: the declarations are needed for `hinge --help` and for every completion of a shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

#: What an argument refers to; shells complete files and directories.
Refers = Literal["file", "directory", "text"]


@dataclass(frozen=True)
class Argument:
    """A positional argument or an option.

    Attributes
    ----------
    names : tuple of str
        ``("data",)`` for a positional argument, ``("-o", "--output")`` for an option.
    help : str
        One sentence without a full stop.
    metavar : str
        Name of the value in the usage; a flag without a value has an empty one.
    default : object
        Value of an option that is not given. `help` may refer to it as ``%(default)s``.
    choices : tuple of str
        Allowed values.
    convert : callable
        Converts the text of the value; raises ValueError with the reason.
    refers : {"file", "directory", "text"}
        What the value is.
    repeated : bool
        Whether an option may be given several times, or a positional argument has any number of values.
    optional : bool
        Whether a positional argument may be missing.
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    convert: Callable[[str], Any] = str
    refers: Refers = "text"
    repeated: bool = False
    optional: bool = False

    @property
    def is_positional(self) -> bool:
        """Whether the argument is given by its position."""
        return not self.names[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """Whether the argument is an option without a value."""
        return not self.is_positional and not self.metavar and not self.choices

    @property
    def key(self) -> str:
        """Name of the attribute with the value, and of the key in a TOML file: the first long name."""
        long = next((name for name in self.names if name.startswith("--")), self.names[0])
        return long.lstrip("-").replace("-", "_")

    @property
    def value_name(self) -> str:
        """Name of the value in the usage."""
        return self.metavar or "{" + ",".join(self.choices) + "}"

    def described(self) -> str:
        """Return the help text with the default value filled in."""
        return self.help.replace("%(default)s", str(self.default)).replace("%%", "%")


@dataclass(frozen=True)
class Group:
    """Arguments under one heading."""

    title: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Command:
    """A command of `hinge`.

    Attributes
    ----------
    name : str
    summary : str
        One line for the list of commands.
    description : str
        Paragraphs, separated by empty lines.
    groups : tuple of Group
    examples : tuple of (command line, explanation)
    """

    name: str
    summary: str
    description: str
    groups: tuple[Group, ...]
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        """Module with the function ``run(arguments) -> int``; imported when the command runs."""
        return f"hinge.cli.commands.{self.name}"

    def arguments(self) -> Iterator[Argument]:
        """Iterate over the arguments of all groups."""
        for group in self.groups:
            yield from group.arguments
