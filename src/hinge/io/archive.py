"""The container of a model file: `hinge.json` and one `.npy` entry per array in an uncompressed ZIP archive.

Nothing is ever extracted.  An archive that `write` could not have made is a `Flaw`, found before anything
large is read: what is allocated is never more than the file itself.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any

from numpy.typing import NDArray

from hinge.io.arrays import read_array, write_array
from hinge.io.errors import FOREIGN, Flaw

MANIFEST = "hinge.json"
#: Most bytes of `hinge.json`: parameters, a few numbers, the names of labels and features.
MAX_MANIFEST = 1 << 26
#: From this size on an entry gets 64-bit sizes.
LARGE = 1 << 30


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """The text of `hinge.json`: strict JSON, keys in order."""
    text = json.dumps(manifest, allow_nan=False, sort_keys=True, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_MANIFEST:
        raise ValueError(
            f"the model has {len(text)} bytes of text and numbers beside its arrays, at most {MAX_MANIFEST} "
            "can be saved: use arrays of numbers or fixed-length text as labels"
        )
    return text


def write(file: IO[bytes], manifest: bytes, arrays: Sequence[NDArray[Any]]) -> None:
    """Write the archive; the same contents give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(_entry(MANIFEST), "w") as stream:
            stream.write(manifest)
        for i, array in enumerate(arrays):
            with archive.open(_entry(f"{i}.npy"), "w", force_zip64=array.nbytes >= LARGE) as stream:
                write_array(stream, array)


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry without traces of the time or the machine."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry


class Archive:
    """An archive opened for reading.

    `manifest` can be asked for first, whatever else is in the file; `check_entries` comes before `array`.
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
        """What `hinge.json` says."""
        entry = self._by_name.get(MANIFEST)
        if entry is None:
            raise Flaw(f"this is not a model file (it has no {MANIFEST})", FOREIGN)
        self._check(entry, min(self._size, MAX_MANIFEST))
        text = self._zip.read(entry)
        try:
            manifest = json.loads(
                text, object_pairs_hook=_no_repeats, parse_constant=_no_number, parse_float=_no_number
            )
        except RecursionError as error:
            raise Flaw(f"{MANIFEST} is nested too deeply") from error
        if type(manifest) is not dict:
            raise Flaw(f"{MANIFEST} does not say that this is a model", FOREIGN)
        return manifest

    def check_entries(self) -> None:
        """Refuse names, sizes and ways of storing that `write` does not use."""
        for entry in self._entries:
            name = entry.orig_filename
            if name != MANIFEST and not re.fullmatch(r"(0|[1-9][0-9]{0,8})\.npy", name):
                raise Flaw(f"it has an entry that hinge does not write: {name[:60]!r}", FOREIGN)
            if self._by_name[name] is not entry:
                raise Flaw(f"it has the entry {name!r} twice", FOREIGN)
            self._check(entry, self._size)
        if sum(entry.file_size for entry in self._entries) > self._size:
            raise Flaw("its entries claim more bytes than the file has")

    def array(self, number: int) -> NDArray[Any]:
        """The array of a number, read when it is first asked for; later the same object."""
        if number not in self._arrays:
            entry = self._by_name.get(f"{number}.npy")
            if entry is None:
                raise Flaw(f"the array {number} is missing")
            with self._zip.open(entry) as stream:
                self._arrays[number] = read_array(stream, entry.file_size)
        return self._arrays[number]

    def check_all_used(self) -> None:
        """Refuse arrays that nobody asked for."""
        if len(self._arrays) != len(self._entries) - 1:
            raise Flaw("it has arrays that belong to nothing", FOREIGN)

    @staticmethod
    def _check(entry: zipfile.ZipInfo, limit: int) -> None:
        name = entry.filename[:60]
        if entry.flag_bits & 0x1:
            raise Flaw(f"its entry {name!r} is encrypted", FOREIGN)
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise Flaw(f"its entry {name!r} is compressed", FOREIGN)
        if entry.file_size > limit:
            raise Flaw(f"its entry {name!r} claims {entry.file_size} bytes; at most {limit} are possible")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise Flaw(f"{MANIFEST} has the same key twice")
    return values


def _no_number(text: str) -> None:
    raise Flaw(f"{MANIFEST} has a number that hinge does not write: {text[:40]}")
