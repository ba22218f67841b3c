"""Arrays in .npy format, read without trusting the file.

NumPy writes the arrays. It does not read them: its reader evaluates the header as a Python literal and allocates the
size stated there before it looks at the data. Here the header must match a pattern, and the stated size must equal the
number of bytes present.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hinge.io.errors import Flaw

#: Kinds of numbers, text and dates with a fixed size; they need no pickle.
KINDS = "biufcSUmM"
#: Kinds of which some bit patterns are not valid values.
CHECKED_KINDS = "bU"
CHUNK = 1 << 20  # bytes read at a time
_DTYPE = rf"[<>|][{KINDS}][0-9]{{1,10}}(?:\[[0-9a-zA-Z]{{1,16}}\])?"
_HEADER = re.compile(
    rf"\{{'descr': '(?P<dtype>{_DTYPE})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>|[0-9]{1,19},|(?:[0-9]{1,19}, )+[0-9]{1,19})\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"


def is_plain(array: NDArray[Any]) -> bool:
    """Whether the array can be written: numbers, booleans, text or dates."""
    return array.dtype.kind in KINDS and array.dtype.itemsize > 0


def write_array(stream: IO[bytes], array: NDArray[Any]) -> None:
    """Write `array` in .npy format, in chunks."""
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read the array in the `size` bytes of `stream`; raise `Flaw` unless they are exactly one plain array."""
    start = stream.read(len(_MAGIC) + 2)
    if not start.startswith(_MAGIC) or len(start) != len(_MAGIC) + 2:
        raise Flaw("an array does not start like a .npy file of version 1.0")
    length = int.from_bytes(start[-2:], "little")
    header = stream.read(length)
    match = _HEADER.fullmatch(header.decode("latin1"))
    if len(header) != length or match is None:
        raise Flaw(f"an array has a header that hinge does not write: {header[:80]!r}")
    dtype = read_dtype(match["dtype"])
    shape = tuple(map(int, match["shape"].replace(",", " ").split()))
    expected = len(start) + length + math.prod(shape) * dtype.itemsize
    if expected != size:
        raise Flaw(f"an array of shape {shape} and type {dtype} needs {expected} bytes but has {size}")
    array: NDArray[Any] = np.empty(shape, dtype, order="F" if match["fortran"] == "True" else "C")
    memory = array.ravel(order="K").view(np.uint8).data  # read directly into the memory of the array
    done = 0
    while done < len(memory):
        chunk = stream.read(min(CHUNK, len(memory) - done))
        if not chunk:
            raise Flaw("an array ends early")
        memory[done : done + len(chunk)] = chunk
        done += len(chunk)
    if stream.read(1):  # reading the end also makes zipfile compare the checksum
        raise Flaw("an array has bytes after its end")
    if dtype.kind in CHECKED_KINDS:
        check_values(array)
    return array


@lru_cache(maxsize=64)
def read_dtype(text: str) -> np.dtype[Any]:
    """Return the data type named in a header: numbers, booleans, text and dates only."""
    dtype = np.dtype(text) if re.fullmatch(_DTYPE, text) else None
    if dtype is None or dtype.kind not in KINDS or dtype.itemsize == 0:
        raise Flaw(f"{text[:40]!r} is not a type of array that hinge writes")
    return dtype


def check_values(array: NDArray[Any]) -> None:
    """Refuse bytes that are not a valid value of the type: NumPy and Python do not check them and could crash."""
    dtype = array.dtype
    flat = array.ravel(order="K")
    if dtype.kind == "b" and np.max(flat.view(np.uint8), initial=0) > 1:
        raise Flaw("an array of booleans holds other values")
    if dtype.kind == "U":
        points = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if np.max(points, initial=0) > 0x10FFFF:
            raise Flaw("an array of text holds a code point that is not a character")
