"""Data in LIBSVM's text format as arrays on disk that are mapped into memory: `map_libsvm`.

The directory contains `map.json` and a subdirectory `arrays-…` with the arrays. A conversion writes a new subdirectory
and replaces `map.json` at its end. Files that an earlier result has mapped are therefore never written again: they are
unlinked, and exist until they are no longer mapped. A conversion holds a lock on the directory, so that what `map.json`
does not mention is left over from a process that was killed, and is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path as Folder
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hinge.io.libsvm import Block, check_dtype, check_n_features, csr_of, read_blocks
from hinge.io.replacement import Path, replacing, sync_folder

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

HEADER_BYTES = 128  # size of the header of the .npy files written here
VERSION = 2  # of map.json; other versions are converted again
ARRAYS = ("values", "indices", "starts", "labels")


def map_libsvm(
    path: Path,
    folder: Path,
    *,
    n_features: int | None = None,
    dtype: Any = np.float32,
    zero_based: bool = False,
    strict: bool = False,
    n_jobs: int | None = None,
) -> tuple[Any, NDArray[np.float64]]:
    """Convert a text file, which may be larger than memory, to arrays on disk and map them into memory.

    The text is read in blocks of 32 MB. The result is a CSR matrix whose arrays are read-only memory maps of files in
    `folder`; linear estimators train on it with only a part in memory at a time. If `folder` already holds the arrays
    of the same file (same path, inode, size, times of modification and change, and options), they are opened without
    conversion. Otherwise, and if they are damaged, they are replaced; arrays that are still mapped do not change.

    Parameters
    ----------
    path : str or path
    folder : str or path
        Directory for ``map.json`` and the arrays ``values.npy``, ``indices.npy``, ``starts.npy`` and ``labels.npy`` in
        a subdirectory; created if it does not exist.
    n_features, dtype, zero_based, strict, n_jobs
        As in `load_libsvm`.

    Returns
    -------
    X : csr_matrix
    y : ndarray of float64

    Raises
    ------
    ValueError
        If a line is malformed, or if the file changes while it is read.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.io import dump_libsvm, map_libsvm
    >>> dump_libsvm(np.array([[0.0, 1.5], [2.0, 0.0]]), [1, -1], "data.svm")
    >>> X, y = map_libsvm("data.svm", "data.arrays")
    >>> X.shape, y
    ((2, 2), array([ 1., -1.]))
    """
    n_features = check_n_features(n_features)
    place, name, dtype = Folder(folder), os.fspath(path), check_dtype(dtype)
    options = [n_features, dtype.str, bool(zero_based), bool(strict)]
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place) as locked:
        source = {**_identity(name), "options": options}
        found = _open(place, source)
        if found is None:
            blocks = read_blocks(path, n_features, dtype, zero_based, strict, n_jobs)
            _convert(place, name, source, blocks, dtype, n_features)
            found = _open(place, source)
        elif locked:
            _remove_others(place)
        if found is None:
            raise ValueError(f"{os.fspath(folder)}: the arrays changed while they were opened; use another directory")
    return found


def _identity(name: str) -> dict[str, Any]:
    """What distinguishes a file from another one and from an earlier state of itself."""
    status = os.stat(name)
    return {
        "source": os.path.realpath(name),
        "inode": status.st_ino,
        "bytes": status.st_size,
        "time": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
    }


@contextlib.contextmanager
def _locked(place: Folder) -> Iterator[bool]:
    """Hold a lock on the directory; False on systems without locks, and in directories that are read-only."""
    if fcntl is None:
        yield False
        return
    try:
        descriptor = os.open(place / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield False
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield True
    finally:
        os.close(descriptor)


# ---- opening --------------------------------------------------------------------------------------------------------


def _open(place: Folder, source: dict[str, Any]) -> tuple[Any, NDArray[np.float64]] | None:
    """Open the arrays; None if they belong to another source or are damaged."""
    try:
        description = json.loads((place / "map.json").read_bytes())
        rows, features, count = description["shape"]
        arrays = description["arrays"]
        if description["version"] != VERSION or description["source"] != source or not _is_generation(arrays):
            return None
        dtype = np.dtype(source["options"][1])
        values = _mapped(place / arrays / "values.npy", dtype, count)
        indices = _mapped(place / arrays / "indices.npy", np.dtype(np.int32), count)
        starts = np.array(_mapped(place / arrays / "starts.npy", np.dtype(np.int64), rows + 1))
        labels = np.array(_mapped(place / arrays / "labels.npy", np.dtype(np.float64), rows))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError):
        return None  # missing or damaged: the text is converted again
    if type(features) is not int or features < 0 or starts[0] != 0 or starts[-1] != count:
        return None
    if np.any(starts[1:] < starts[:-1]):
        return None
    return csr_of(values, indices, starts, features), labels


def _is_generation(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch(r"arrays-[0-9a-f]{16}", name) is not None


def _mapped(path: Folder, dtype: np.dtype[Any], length: int) -> Any:
    """Map a vector of this type and length; raise a ValueError if the file contains anything else."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != dtype or array.shape != (length,):
        raise ValueError(f"{path} has type {array.dtype} and shape {array.shape}")
    return array


# ---- conversion -----------------------------------------------------------------------------------------------------


def _convert(
    place: Folder,
    name: str,
    source: dict[str, Any],
    blocks: Iterator[Block],
    dtype: np.dtype[Any],
    n_features: int | None,
) -> None:
    """Write new arrays, then `map.json`, then remove all others."""
    generation = f"arrays-{secrets.token_hex(8)}"
    target = place / generation
    target.mkdir()
    try:
        shape = _write_arrays(target, blocks, dtype, n_features)
        if _identity(name) != {key: value for key, value in source.items() if key != "options"}:
            raise ValueError(f"{name} changed while it was read; try again when it is complete")
        sync_folder(str(target))
        text = json.dumps({"version": VERSION, "source": source, "shape": shape, "arrays": generation})
        with replacing(place / "map.json") as file:
            file.write(text.encode())
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    _remove_others(place)


def _remove_others(place: Folder) -> None:
    """Remove arrays of earlier conversions, of conversions that were killed, and of earlier versions of hinge."""
    generation = json.loads((place / "map.json").read_bytes())["arrays"]
    for entry in place.iterdir():
        if _is_generation(entry.name) and entry.name != generation:
            shutil.rmtree(entry, ignore_errors=True)
    for name in ARRAYS:
        with contextlib.suppress(OSError):
            (place / f"{name}.npy").unlink(missing_ok=True)


def _write_arrays(
    target: Folder, blocks: Iterator[Block], dtype: np.dtype[Any], n_features: int | None
) -> tuple[int, int, int]:
    """Write the arrays of all blocks; return the numbers of rows, features and values."""
    labels, starts, count, largest = [], [np.zeros(1, dtype=np.int64)], 0, -1
    with open(target / "values.npy", "wb") as values, open(target / "indices.npy", "wb") as indices:
        for file in (values, indices):
            file.write(bytes(HEADER_BYTES))
        for block in blocks:
            values.write(block.value.data)
            indices.write(block.index.data)
            labels.append(block.label)
            starts.append(count + np.cumsum(block.length))
            count += len(block.value)
            largest = max(largest, int(block.index.max(initial=-1)))
        _finish(values, dtype, count)
        _finish(indices, np.dtype(np.int32), count)
    y = np.concatenate([np.empty(0), *labels])
    for name, array in (("labels", y), ("starts", np.concatenate(starts))):
        with open(target / f"{name}.npy", "wb") as file:
            file.write(bytes(HEADER_BYTES))
            file.write(array.data)
            _finish(file, array.dtype, len(array))
    return len(y), largest + 1 if n_features is None else n_features, count


def _finish(file: IO[bytes], dtype: np.dtype[Any], count: int) -> None:
    """Write the header of an .npy file, whose length is known only after all numbers, and make the file durable."""
    text = str({"descr": dtype.str, "fortran_order": False, "shape": (count,)}).encode("ascii")
    magic = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
    file.seek(0)
    file.write(magic + text.ljust(HEADER_BYTES - 11) + b"\n")
    file.flush()
    os.fsync(file.fileno())
