"""`hinge batch`: run the commands listed in a TOML file."""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
import tomllib
from argparse import Namespace
from importlib import import_module
from typing import Any

from hinge.cli.catalog import BY_NAME
from hinge.cli.declaration import Argument, Command
from hinge.cli.failures import CommandError, ExitCode, UsageError, describe
from hinge.cli.output import note, show, table
from hinge.cli.parser import command_parser

#: Commands that are not run from a file.
EXCLUDED = frozenset({"batch", "completion", "man", "demo"})

#: Meaning of the exit codes in the summary.
OUTCOMES = {
    ExitCode.SUCCESS: "done",
    ExitCode.FAILURE: "failed",
    ExitCode.USAGE: "invalid",
    ExitCode.NOT_CONVERGED: "not converged",
}


def run(arguments: Namespace) -> int:
    """Run all commands of the file; return the exit code."""
    document = _read(arguments.file)
    folder = os.path.dirname(os.path.abspath(arguments.file))
    runs = [_parsed(arguments, document, number, folder) for number in range(len(document["run"]))]
    outcomes = []
    for name, parsed in runs:
        outcomes.append(_run_one(arguments, name, parsed))
        if arguments.stop and outcomes[-1]["exit_code"] in (ExitCode.FAILURE, ExitCode.USAGE):
            break
    rows = [[o["name"], o["run_command"], o["outcome"], f"{o['seconds']:.2f} s"] for o in outcomes]
    lines = ["", *table(["run", "command", "outcome", "time"], rows)]
    show(arguments, {"file": arguments.file, "runs": outcomes, "not_run": len(runs) - len(outcomes)}, lines)
    codes = {outcome["exit_code"] for outcome in outcomes}
    if codes & {ExitCode.FAILURE, ExitCode.USAGE}:
        return ExitCode.FAILURE
    return ExitCode.NOT_CONVERGED if ExitCode.NOT_CONVERGED in codes else ExitCode.SUCCESS


def _read(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        try:
            document = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: {error}") from None
    unknown = sorted(set(document) - {"run", "defaults"})
    if unknown:
        raise CommandError(f"{path}: unknown table {unknown[0]!r}; the file has [defaults] and [[run]]")
    runs = document.get("run")
    if not isinstance(runs, list) or not runs or not all(isinstance(item, dict) for item in runs):
        raise CommandError(f"{path}: there is no [[run]]")
    return {"defaults": {}, **document}


# ---- options of a run -----------------------------------------------------------------------------------------------


def _parsed(arguments: Namespace, document: dict[str, Any], number: int, folder: str) -> tuple[str, Namespace]:
    """Return the name and the parsed arguments of a run; the parser of its command checks them."""
    values = dict(document["run"][number])
    place = f"{arguments.file}, run {number + 1}"
    name = str(values.pop("name", number + 1))
    command = BY_NAME.get(str(values.pop("command", "train")))
    if command is None or command.name in EXCLUDED:
        allowed = ", ".join(sorted(set(BY_NAME) - EXCLUDED))
        raise CommandError(f"{place}: command must be one of {allowed}")
    known = {argument.key: argument for argument in command.arguments()}
    merged = {key: value for key, value in document["defaults"].items() if key in known} | values
    defaults, given = document["defaults"].get("parameter"), values.get("parameter")
    if isinstance(defaults, dict) and isinstance(given, dict):
        merged["parameter"] = defaults | given
    for key in merged:
        if key not in known:
            raise CommandError(f"{place}: {command.name} has no option {key!r}; its options are {', '.join(known)}")
    try:
        return name, command_parser(command).parse_args(_argv(command, merged, folder))
    except UsageError as error:
        raise CommandError(f"{place}: {error}") from None


def _argv(command: Command, values: dict[str, Any], folder: str) -> list[str]:
    """Return the values of a run as the words of a command line."""
    words, positional = [], []
    for argument in command.arguments():
        if argument.key not in values:
            continue
        value = values[argument.key]
        if argument.is_flag:
            if not isinstance(value, bool):
                raise UsageError(f"{argument.key}={value!r} must be true or false")
            words += [argument.names[-1]] if value else []
        elif argument.is_positional:
            positional.append(_word(argument, value, folder))
        else:
            for item in _items(argument, value):
                words.append(f"{_long(argument)}={_word(argument, item, folder)}")
    return [*words, "--", *positional]


def _items(argument: Argument, value: Any) -> list[Any]:
    """Return the values of an option: several for one that may be repeated, `NAME=VALUE` for a table."""
    if isinstance(value, dict) and argument.repeated:
        return [f"{name}={_text(item)}" for name, item in value.items()]
    if isinstance(value, list) and argument.repeated:
        return value
    return [value]


def _long(argument: Argument) -> str:
    return next(name for name in argument.names if name.startswith("--"))


def _text(value: Any) -> str:
    """Return a value of TOML as a user would type it on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return repr(value) if isinstance(value, dict | float) else str(value)


def _word(argument: Argument, value: Any, folder: str) -> str:
    text = _text(value)
    if argument.refers == "text" or text == "-":
        return text
    return os.path.join(folder, text)


# ---- running --------------------------------------------------------------------------------------------------------


def _run_one(arguments: Namespace, name: str, parsed: Namespace) -> dict[str, Any]:
    """Run a command, and return its outcome; its own output is part of the JSON object."""
    start, text = time.perf_counter(), io.StringIO()
    parsed.quiet = parsed.quiet or (arguments.quiet and not arguments.json)
    parsed.json = arguments.json
    if not arguments.json and not arguments.quiet:
        print(f"[{name}] hinge {parsed.command}")
    message = None
    try:
        with contextlib.redirect_stdout(text) if arguments.json else contextlib.nullcontext():
            code = ExitCode(import_module(BY_NAME[parsed.command].module).run(parsed))
    except Exception as error:
        code, message = describe(error, parsed.command)
        note(arguments, f"run {name}: {message}")
    return {
        "name": name,
        "run_command": parsed.command,
        "exit_code": int(code),
        "outcome": OUTCOMES[code],
        "seconds": time.perf_counter() - start,
        "error": message,
        "result": json.loads(text.getvalue()) if text.getvalue().startswith("{") else None,
    }
