"""Reading of files in LIBSVM's text format as Dask arrays, by byte ranges."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import compute, tokenize
from dask.delayed import Delayed, delayed
from dask.utils import parse_bytes

from hinge import _core

COPY_BYTES = 1 << 16  # bytes that are read at a time while the end of a line is searched


def read_libsvm(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    blocksize: int | str = "64MB",
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
) -> tuple[da.Array, da.Array]:
    """Read files in LIBSVM's (svmlight's) text format as partitions of about `blocksize` bytes.

    A partition contains the lines that start in its range of bytes, so that every line belongs to exactly one
    partition. The files must be accessible to all workers under the same name.

    Parameters
    ----------
    path : str, path or list of them
        Names of files; ``*`` and ``?`` are wildcards. Compressed files are not supported, because they cannot be read
        by ranges.
    blocksize : int or str, default="64MB"
    n_features : int, optional
        Number of features. By default all files are read once, now, to find the largest index.
    dtype : {float64, float32}
    zero_based : bool, default=False
        Whether indices start at 0; they start at 1 in LIBSVM's files.

    Returns
    -------
    X : dask Array of CSR blocks
        The number of rows of the partitions is not known; ``X.compute_chunk_sizes()`` is not necessary for training.
    y : dask Array of float64

    Examples
    --------
    >>> import os, tempfile, numpy as np, hinge
    >>> from hinge import dask as hd
    >>> path = os.path.join(tempfile.mkdtemp(), "data.txt")
    >>> hinge.io.dump_libsvm(np.array([[0.0, 1.5], [2.0, 0.0]]), [1, -1], path)
    >>> X, y = hd.read_libsvm(path, n_features=2)
    >>> y.compute().tolist()
    [1.0, -1.0]
    """
    size = parse_bytes(blocksize)
    if size < 1:
        raise ValueError(f"blocksize={blocksize!r} must be at least one byte")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} must be float32 or float64")
    ranges = [each for name in _file_names(path) for each in _ranges(name, size)]
    if n_features is None:
        tasks = [delayed(largest_index)(*each, zero_based, dask_key_name=_key("libsvm-index", each)) for each in ranges]
        n_features = max(compute(*tasks), default=-1) + 1
    blocks = [_block(each, n_features, dtype, zero_based) for each in ranges]
    meta = sp.csr_matrix((0, 0), dtype=dtype)
    X = [da.from_delayed(block[0], shape=(np.nan, n_features), meta=meta) for block in blocks]
    y = [da.from_delayed(block[1], shape=(np.nan,), dtype=np.float64) for block in blocks]
    return da.concatenate(X, allow_unknown_chunksizes=True), da.concatenate(y, allow_unknown_chunksizes=True)


#: (file, first byte, end of the range)
Range = tuple[str, int, int]


def _file_names(path: Any) -> list[str]:
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    names: list[str] = []
    for each in (os.fspath(name) for name in given):
        found = sorted(glob.glob(each)) if glob.has_magic(each) else [each]
        if not found:
            raise FileNotFoundError(f"no file matches {each!r}")
        names += found
    for name in names:
        if os.path.splitext(name)[1] in (".gz", ".bz2", ".xz", ".zst"):
            raise ValueError(f"{name} is compressed and cannot be read by byte ranges; decompress it first")
    return names


def _ranges(name: str, size: int) -> list[Range]:
    length = os.path.getsize(name)
    return [(name, first, min(length, first + size)) for first in range(0, max(1, length), size)]


def _key(prefix: str, place: Range) -> str:
    return f"{prefix}-{tokenize(*place, os.path.getmtime(place[0]))}"


def _block(place: Range, n_features: int, dtype: Any, zero_based: bool) -> tuple[Delayed, Delayed]:
    rows = delayed(read_range, nout=2)(*place, n_features, dtype, zero_based)
    return rows[0], rows[1]


# ---- tasks ----------------------------------------------------------------------------------------------------------


def read_range(name: str, first: int, end: int, n_features: int, dtype: Any, zero_based: bool) -> tuple[Any, Any]:
    """Read the lines that start in a range of bytes: a CSR matrix and labels."""
    block = _parse(name, first, end, n_features, dtype, zero_based)
    starts = np.concatenate([[0], np.cumsum(block.length)])
    X = sp.csr_matrix((block.value, block.index, starts), shape=(len(block.label), n_features))
    return X, np.asarray(block.label)


def largest_index(name: str, first: int, end: int, zero_based: bool) -> int:
    """Return the largest index, counted from zero, of the lines that start in a range; −1 without values."""
    return int(_parse(name, first, end, -1, np.dtype(np.float32), zero_based).index.max(initial=-1))


def _parse(name: str, first: int, end: int, n_features: int, dtype: Any, zero_based: bool) -> Any:
    read: Any = _core.read_libsvm32 if dtype == np.float32 else _core.read_libsvm64
    text = lines_of_range(name, first, end)
    try:
        return read(
            np.frombuffer(text, dtype=np.uint8), zero_based=zero_based, strict=False, features=n_features, first_line=1,
            threads=1,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{name}, lines counted from byte {first}: {error}") from None


def lines_of_range(name: str, first: int, end: int) -> bytes:
    """Return the complete lines whose first byte is in [first, end)."""
    with open(name, "rb") as file:
        start = 0 if first == 0 else _next_line(file, first - 1)
        if start >= end:
            return b""
        stop = _next_line(file, end - 1)
        file.seek(start)
        return file.read(stop - start)


def _next_line(file: Any, position: int) -> int:
    """Return the position after the first line end at or after `position`, or the length of the file."""
    file.seek(position)
    while part := file.read(COPY_BYTES):
        found = part.find(b"\n")
        if found >= 0:
            return int(position + found + 1)
        position += len(part)
    return int(position)
