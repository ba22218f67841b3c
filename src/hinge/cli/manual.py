"""Manual pages in the format of man(7), generated from the declarations of the commands."""

from __future__ import annotations

from importlib import import_module

from hinge.cli.catalog import COMMANDS, DESCRIPTION, EXIT_CODES, VERSION
from hinge.cli.declaration import Argument, Command


def manual_pages() -> dict[str, str]:
    """Return {name of the file: source} for all pages."""
    return {"hinge.1": top_page()} | {f"hinge-{command.name}.1": command_page(command) for command in COMMANDS}


def top_page() -> str:
    """Return the page of `hinge`."""
    lines = [_title("hinge"), ".SH NAME", f"hinge \\- {_roff(DESCRIPTION.rstrip('.').lower())}", ".SH SYNOPSIS"]
    lines += [".B hinge", "[\\fB\\-\\-version\\fR] [\\fB\\-\\-help\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"]
    lines += [".SH COMMANDS"]
    for command in COMMANDS:
        lines += [".TP", f".BR hinge\\-{command.name} (1)", _sentence(command.summary)]
    lines += [".SH OPTIONS", *_option(VERSION), *_exit_status()]
    return "\n".join(lines) + "\n"


def command_page(command: Command) -> str:
    """Return the page of one command."""
    lines = [_title(f"hinge-{command.name}"), ".SH NAME", f"hinge\\-{command.name} \\- {_roff(command.summary)}"]
    lines += [".SH SYNOPSIS", f".B hinge {command.name}", _synopsis(command), ".SH DESCRIPTION"]
    lines += [_roff(command.description).replace("\n\n", "\n.PP\n")]
    for group in command.groups:
        lines.append(f".SH {group.title.upper()}")
        for argument in group.arguments:
            lines += _option(argument)
    lines += _exit_status()
    if command.examples:
        lines.append(".SH EXAMPLES")
        for line, explanation in command.examples:
            lines += [".TP", _roff(explanation) or "\\&", f".EX\n{_roff(line)}\n.EE"]
    lines += [".SH SEE ALSO", ".BR hinge (1)"]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    version = import_module("hinge").__version__
    return f'.TH "{name.upper()}" "1" "" "hinge {version}" "Commands of hinge"'


def _synopsis(command: Command) -> str:
    words = [f"\\fI{_roff(a.value_name)}\\fR" for a in command.arguments() if a.is_positional and not a.optional]
    words += [f"[\\fI{_roff(a.value_name)}\\fR]" for a in command.arguments() if a.is_positional and a.optional]
    return " ".join([*words, "[\\fIOPTIONS\\fR]"])


def _option(argument: Argument) -> list[str]:
    if argument.is_positional:
        head = f"\\fI{_roff(argument.value_name)}\\fR"
    else:
        head = ", ".join(f"\\fB{_roff(name)}\\fR" for name in argument.names)
        head += "" if argument.is_flag else f" \\fI{_roff(argument.value_name)}\\fR"
    text = argument.described()
    choices = f" One of {', '.join(argument.choices)}." if argument.choices and argument.metavar else ""
    return [".TP", head, _sentence(text) + _roff(choices)]


def _exit_status() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", f".B {code}", _sentence(meaning)]
    return lines


def _sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    return _roff(text[0].upper() + text[1:].rstrip(".") + ".")


def _roff(text: str) -> str:
    """Escape the characters that have a meaning in man(7)."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))
