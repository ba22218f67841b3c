"""Container of a model file: an uncompressed ZIP archive with `hinge.json` and one `.npy` entry per array.

Nothing is extracted to disk. An archive that `write` cannot have produced raises `Flaw` before its arrays are read, so
that reading never allocates more memory than the size of the file.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

from numpy.typing import NDArray

from hinge.io.arrays import read_array, write_array
from hinge.io.errors import FOREIGN, Flaw

MANIFEST = "hinge.json"
#: Largest size of `hinge.json` in bytes: parameters, a few numbers, the names of labels and features.
MAX_MANIFEST = 1 << 26
#: Entries of at least this many bytes are written with 64-bit sizes.
ZIP64_BYTES = 1 << 30


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """Return the text of `hinge.json`: strict JSON with sorted keys."""
    text = json.dumps(manifest, allow_nan=False, sort_keys=True, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_MANIFEST:
        raise ValueError(
            f"the model has {len(text)} bytes of text and numbers outside its arrays; at most {MAX_MANIFEST} "
            "can be saved: use arrays of numbers or fixed-length text as labels"
        )
    return text


def write(file: IO[bytes], manifest: bytes, arrays: Sequence[NDArray[Any]]) -> None:
    """Write the archive. Equal contents give equal bytes."""
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        with archive.open(_entry(MANIFEST), "w") as stream:
            stream.write(manifest)
        for i, array in enumerate(arrays):
            with archive.open(_entry(f"{i}.npy"), "w", force_zip64=array.nbytes >= ZIP64_BYTES) as stream:
                write_array(stream, array)
        archive.close()
    except BaseException:
        archive.fp = None  # an interrupted entry is open, and closing the archive would raise another error
        raise


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry that records neither the time nor the operating system."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry


class Archive:
    """An archive opened for reading.

    `manifest` may be called first, whatever else the file contains. `check_entries` must be called before `array`.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._size = os.fstat(file.fileno()).st_size
        self._arrays: dict[int, NDArray[Any]] = {}
        if self._size == 0:
            raise Flaw("the file is empty")
        if file.read(4) != b"PK\x03\x04":
            raise Flaw("this is not a model file", FOREIGN)
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise Flaw(f"the file is cut off or damaged ({error})") from error
        self._entries = self._zip.infolist()
        self._by_name = {entry.orig_filename: entry for entry in self._entries}

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def manifest(self) -> dict[str, Any]:
        """Return the contents of `hinge.json`."""
        entry = self._by_name.get(MANIFEST)
        if entry is None:
            raise Flaw(f"this is not a model file (it has no {MANIFEST})", FOREIGN)
        _check_storage([entry], min(self._size, MAX_MANIFEST))
        text = self._zip.read(entry)
        try:
            pairs = json.loads(
                text, object_pairs_hook=tuple, parse_constant=_refuse_number, parse_float=_refuse_number
            )
        except RecursionError as error:
            raise Flaw(f"{MANIFEST} is nested too deeply") from error
        manifest = _tree(pairs)
        if type(manifest) is not dict:
            raise Flaw(f"{MANIFEST} does not say that this is a model", FOREIGN)
        return manifest

    def check_entries(self) -> None:
        """Refuse names, sizes and storage methods that `write` does not use."""
        claimed = 0
        for entry in self._entries:
            name = entry.orig_filename
            claimed += entry.file_size
            if name != MANIFEST and not re.fullmatch(r"(0|[1-9][0-9]{0,8})\.npy", name):
                raise Flaw(f"it has an entry that hinge does not write: {name[:60]!r}", FOREIGN)
            if self._by_name[name] is not entry:
                raise Flaw(f"it has the entry {name!r} twice", FOREIGN)
        _check_storage(self._entries, self._size)
        if claimed > self._size:
            raise Flaw("its entries claim more bytes than the file has")

    def array(self, number: int) -> NDArray[Any]:
        """Return the array with this number. It is read once; later calls return the same object."""
        if number not in self._arrays:
            entry = self._by_name.get(f"{number}.npy")
            if entry is None:
                raise Flaw(f"the array {number} is missing")
            with self._zip.open(entry) as stream:
                self._arrays[number] = read_array(stream, entry.file_size)
        return self._arrays[number]

    def check_all_used(self) -> None:
        """Refuse arrays that the manifest does not refer to."""
        if len(self._arrays) != len(self._entries) - 1:
            raise Flaw("it has arrays that its description does not mention", FOREIGN)


def _check_storage(entries: Sequence[zipfile.ZipInfo], limit: int) -> None:
    """Refuse encrypted and compressed entries, and those that claim more than `limit` bytes."""
    for entry in entries:
        name = entry.filename[:60]
        if entry.flag_bits & 0x1:
            raise Flaw(f"its entry {name!r} is encrypted", FOREIGN)
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise Flaw(f"its entry {name!r} is compressed", FOREIGN)
        if entry.file_size > limit:
            raise Flaw(f"its entry {name!r} claims {entry.file_size} bytes; at most {limit} are possible")


def _tree(pairs: Any) -> Any:
    """Return a tree in which objects are tuples of pairs with dictionaries in their place, and numbers for hex floats.

    Without recursion and without a call for each node: most nodes are floats, ``{"float": "0x1.8p+1"}``.
    """
    root = [pairs]
    unfinished: list[Any] = [root]
    while unfinished:
        container = unfinished.pop()
        for key, value in enumerate(container) if type(container) is list else tuple(container.items()):
            if type(value) is tuple:
                values = container[key] = dict(value)
                if len(values) != len(value):
                    raise Flaw(f"{MANIFEST} has the same key twice")
                if len(values) == 1 and type(text := values.get("float")) is str:
                    with suppress(ValueError, OverflowError):  # `decode` raises it, after the check of the version
                        container[key] = float.fromhex(text)
                        continue
                unfinished.append(values)
            elif type(value) is list:
                unfinished.append(value)
    return root[0]


def _refuse_number(text: str) -> None:
    raise Flaw(f"{MANIFEST} has a number that hinge does not write: {text[:40]}")
