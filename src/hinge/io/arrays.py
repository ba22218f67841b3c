"""One array as the bytes of a .npy file, read by a reader that trusts nothing.

Writing is NumPy's.  Reading is ours: NumPy evaluates the header as a Python literal and allocates what it
asks for before looking at the data; here the header must match a pattern, and its size that of the data.
"""

from __future__ import annotations

import math
import re
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hinge.io.errors import Flaw

#: Kinds of numbers and text with a fixed size: what needs no pickle.
KINDS = "biufcSUmM"
CHUNK = 1 << 20
_DTYPE = rf"[<>|][{KINDS}][0-9]{{1,10}}(?:\[[0-9a-zA-Z]{{1,16}}\])?"
_HEADER = re.compile(
    rf"\{{'descr': '(?P<dtype>{_DTYPE})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>|[0-9]{1,19},|(?:[0-9]{1,19}, )+[0-9]{1,19})\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"


def is_plain(array: NDArray[Any]) -> bool:
    """Whether the array can be written: numbers, truth values, text, dates."""
    return array.dtype.kind in KINDS and array.dtype.itemsize > 0


def write_array(stream: IO[bytes], array: NDArray[Any]) -> None:
    """Write `array` as .npy, a piece at a time."""
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """The array in the `size` bytes of `stream`; a `Flaw` unless they are exactly one plain array."""
    start = stream.read(len(_MAGIC) + 2)
    if not start.startswith(_MAGIC) or len(start) != len(_MAGIC) + 2:
        raise Flaw("an array does not start like a .npy file of version 1.0")
    length = int.from_bytes(start[-2:], "little")
    header = stream.read(length)
    match = _HEADER.fullmatch(header.decode("latin1"))
    if len(header) != length or match is None:
        raise Flaw(f"an array has a header that hinge does not write: {header[:80]!r}")
    dtype = read_dtype(match["dtype"])
    shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
    expected = len(start) + length + math.prod(shape) * dtype.itemsize
    if expected != size:
        raise Flaw(f"an array of shape {shape} and type {dtype} needs {expected} bytes but has {size}")
    array: NDArray[Any] = np.empty(shape, dtype, order="F" if match["fortran"] == "True" else "C")
    _fill(stream, array)
    check_values(array)
    return array


def read_dtype(text: str) -> np.dtype[Any]:
    """The type a header names; numbers, truth values, text and dates only."""
    if not re.fullmatch(_DTYPE, text):
        raise Flaw(f"{text[:40]!r} is not a type of array that hinge writes")
    dtype = np.dtype(text)
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise Flaw(f"{text[:40]!r} is not a type of array that hinge writes")
    return dtype


def check_values(array: NDArray[Any]) -> None:
    """Refuse bytes that no value of the type has: NumPy and Python trust them, and could crash."""
    dtype = array.dtype
    flat = array.ravel(order="K")
    if dtype.kind == "b" and np.max(flat.view(np.uint8), initial=0) > 1:
        raise Flaw("an array of truth values holds something else")
    if dtype.kind == "U":
        points = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if np.max(points, initial=0) > 0x10FFFF:
            raise Flaw("an array of text holds something that is not a character")


def _fill(stream: IO[bytes], array: NDArray[Any]) -> None:
    """Read straight into the array's own memory."""
    memory = array.ravel(order="K").view(np.uint8).data
    done = 0
    while done < len(memory):
        piece = stream.read(min(CHUNK, len(memory) - done))
        if not piece:
            raise Flaw("an array ends early")
        memory[done : done + len(piece)] = piece
        done += len(piece)
    if stream.read(1):  # also makes zipfile compare the checksum
        raise Flaw("an array has bytes after its end")
