"""Numbers, arrays and text as C source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE_WIDTH = 110
#: Arrays with fewer nonzero entries than this share are stored as lists of positions and values.
SPARSE_DENSITY = 0.5


def number(value: float, dtype: np.dtype[Any]) -> str:
    """Return a constant that the compiler converts to exactly this value."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(value)
    if not np.isfinite(rounded):
        raise ValueError(
            f"the model contains the number {value!r}, which is not a finite number of type {dtype.name}: use "
            "dtype='float64', or scale the data before training"
        )
    text = str(rounded) if any(mark in str(rounded) for mark in ".e") else f"{rounded}.0"
    return text + ("f" if dtype == np.float32 else "")


def array(declaration: str, items: Iterable[str]) -> str:
    """Return the definition of an array, with lines of limited width."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + 2 > LINE_WIDTH:
            lines.append(line)
            line = ""
        line += f"{', ' if line else '  '}{item}"
    return f"{declaration} = {{\n" + ",\n".join([*lines, line]) + "\n};\n"


def numbers(declaration: str, values: NDArray[Any], dtype: np.dtype[Any]) -> str:
    """Return the definition of an array of real numbers."""
    return array(declaration, (number(value, dtype) for value in np.ravel(values).tolist()))


def integers(name: str, values: NDArray[Any]) -> str:
    """Return the definition of an array of nonnegative integers in the smallest type that holds them."""
    largest = int(np.max(values, initial=0))
    kind = next(kind for kind, limit in INTEGER_TYPES if largest <= limit)
    return array(f"static const {kind} {name}[]", map(str, np.ravel(values).tolist()))


#: Types and the largest values that they have on every platform.
INTEGER_TYPES = (("unsigned char", 255), ("unsigned short", 65535), ("unsigned long", 2**32 - 1))


def text(value: str) -> str:
    """Return a string constant of UTF-8 bytes in portable characters."""
    parts = []
    for byte in value.encode("utf-8"):
        character = chr(byte)
        plain = 32 <= byte < 127 and character not in '"\\?'
        parts.append(character if plain else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def is_sparse(values: NDArray[Any]) -> bool:
    """Whether lists of positions and values are smaller than the array."""
    return bool(np.count_nonzero(values) < SPARSE_DENSITY * values.size)
