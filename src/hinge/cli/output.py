"""Output of the commands: text or one JSON object on standard output, and files that are complete or absent."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import IO, Any

import numpy as np

from hinge.cli.failures import CommandError, UsageError
from hinge.io.replacement import writing

#: Width of the names in front of values.
NAME_WIDTH = 18


def show(arguments: Namespace, result: dict[str, Any], lines: Iterable[str]) -> None:
    """Print the result of a command: as JSON with --json, as text without, nothing with --quiet."""
    if arguments.json:
        print(json.dumps({"command": arguments.command, **plain(result)}, allow_nan=False, ensure_ascii=False))
    elif not arguments.quiet:
        for line in lines:
            print(line)


def note(arguments: Namespace, text: str) -> None:
    """Print a line on standard error, unless --quiet is given."""
    if not arguments.quiet and sys.stderr is not None:
        sys.stderr.write(f"hinge: {text}\n")


def shows_progress(arguments: Namespace) -> bool:
    """Whether a progress line is shown: on a terminal, without --quiet."""
    return not arguments.quiet and sys.stderr is not None and sys.stderr.isatty()


def field(name: str, value: str) -> str:
    """Return a line with a name and a value."""
    return f"{name:<{NAME_WIDTH}}{value}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)).rstrip() for row in (header, *rows)]


def number(value: float, digits: int = 6) -> str:
    """Return a number as short text: integers without a fraction."""
    return f"{value:.{digits}g}"


def label_text(value: Any) -> str:
    """Return a label or target as text; numbers are exact, and integers have no fraction."""
    if isinstance(value, float | np.floating):
        value = float(value)
        return str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else repr(value)
    return str(value)


def plain(value: Any) -> Any:
    """Return a value that strict JSON can hold: NaN and infinities become null."""
    if isinstance(value, np.ndarray):
        value = value.filled(np.nan) if hasattr(value, "filled") else value  # a masked array
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """Open a file that appears when it is complete; None and "-" are standard output."""
    if path is None or path == "-":
        if hasattr(sys.stdout, "buffer"):
            yield sys.stdout.buffer
        else:
            with io.BufferedWriter(_TextOutput()) as stream:
                yield stream
        return
    with writing(path) as file:
        yield file


def check_outputs(
    *paths: str | None, inputs: Sequence[str | None], devices: bool = False, standard_output: bool = False
) -> None:
    """Raise an error before any work if an output file cannot be written, or is one of the inputs.

    Model files are replaced when they are complete, and must be regular files; other output may go to `devices`.
    """
    existing = [source for source in inputs if source is not None and os.path.exists(source)]
    for path in paths:
        if path is None or (standard_output and path == "-"):
            continue
        if path == "-":
            raise UsageError("`-` is not supported for this output: pass the name of a file")
        if os.path.isfile(path) and any(os.path.samefile(path, source) for source in existing):
            raise CommandError(f"{path} is an input, which the output would replace: pass another name")
        folder = os.path.dirname(os.path.realpath(path))
        if os.path.isdir(path):
            raise CommandError(f"{path} is a directory: pass the name of a file")
        if not devices and os.path.exists(path) and not os.path.isfile(path):
            raise CommandError(f"{path} is not a regular file: pass the name of a file")
        if not os.path.isdir(folder):
            raise CommandError(f"{path}: the directory {folder} does not exist: create it, or pass another name")
        if not os.access(folder, os.W_OK) and not (devices and os.path.exists(path)):
            raise CommandError(f"{path}: the directory {folder} is not writable: pass another name")


class _TextOutput(io.RawIOBase):
    """Writes bytes to a standard output that accepts text only, such as that of a notebook."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(bytes(data).decode("utf-8"))
        return len(data)


def size_text(count: int) -> str:
    """Return a number of bytes as text."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"
