"""Fuzz `hinge.load` with mutated model files, and use every model that it returns.

    python fuzz/model_files.py --seconds 600 [--seed 0]
    python fuzz/model_files.py --case 1234

Half of the files are changed in their bytes. The others are changed in their structure: values, types and keys of the
description, and the values, types and shapes of arrays; their checksums are correct. Allowed: a `ModelFileError`, or a
model that predicts or raises a documented exception.
"""

from __future__ import annotations

import copy
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from campaign import Failure, limited_memory, main
from models import files, use

import hinge

NUMBERS = (0, 1, -1, 2, 3, 7, 100, 255, 10**6, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**63, -(2**63), 10**30)
FLOATS = ("0x0.0p+0", "-0x0.0p+0", "0x1.0p+0", "-0x1.8p+1", "0x1.0p-1074", "0x1.fp+1023", "inf", "-inf", "nan")
TEXTS = ("", "a", "rbf", "linear", "precomputed", "balanced", "scale", "SVC", "hinge", "RBF", "constant", "x" * 300)
DTYPES = ("<f8", "<f4", ">f8", "<i4", "<i8", "|b1", "<U3", "|S2", "<c16", "|u1", "<M8[s]")


def case(rng: np.random.Generator, folder: Path) -> str:
    """Mutate a file, load it, and use the model."""
    kinds = files()
    name = sorted(kinds)[rng.integers(len(kinds))]
    content, manifest, arrays = kinds[name]
    raw = rng.random() < 0.3
    content = change_bytes(rng, content) if raw else change_structure(rng, manifest, arrays)
    path = folder / "model.hinge"
    path.write_bytes(content)
    kind = "bytes" if raw else "structure"
    try:
        with limited_memory(len(content)):
            model = hinge.load(path)
    except hinge.ModelFileError:
        return f"{kind}: rejected"
    except Failure as failure:
        raise Failure(f"{name}: {failure}") from None
    try:
        with limited_memory(1 << 26):
            return f"{kind}: loaded, {use(model)}"
    except Failure as failure:
        raise Failure(f"{name}, use of the loaded model: {failure}") from None


def change_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Flip, remove, insert or repeat bytes."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data) + 1))
        choice = rng.integers(5)
        if choice == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif choice == 1:
            del data[at : at + int(rng.integers(1, 40))]
        elif choice == 2:
            data[at:at] = rng.bytes(int(rng.integers(1, 10)))
        elif choice == 3:
            del data[at:]
        elif at < len(data):
            data[at] = int(rng.integers(256))
        if not data:
            break
    return bytes(data)


def change_structure(rng: np.random.Generator, manifest: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    """Change the description and the arrays; write them with correct checksums."""
    manifest, arrays = json.loads(json.dumps(manifest)), list(arrays)
    for _ in range(rng.integers(1, 4)):
        if arrays and rng.random() < 0.5:
            index = int(rng.integers(len(arrays)))
            arrays[index] = change_array(rng, arrays[index], arrays)
        else:
            change_tree(rng, manifest)
    return write(manifest, arrays)


def write(manifest: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    """Return a model file with this description and these arrays."""
    contents = {"hinge.json": json.dumps(manifest).encode()}
    contents.update((f"{i}.npy", npy(array)) for i, array in enumerate(arrays))
    return zip_archive(contents)


def npy(array: np.ndarray) -> bytes:
    """Return an array in .npy format, version 1.0."""
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    header = f"{{'descr': '{array.dtype.str}', 'fortran_order': {fortran}, 'shape': {array.shape}, }}"
    text = header.encode("latin1").ljust((len(header) + 74) // 64 * 64 - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + array.tobytes("A")


def zip_archive(contents: dict[str, bytes]) -> bytes:
    """Return an uncompressed ZIP archive; `zipfile` takes several times as long."""
    body, directory = bytearray(), bytearray()
    for name, data in contents.items():
        entry = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(name), 0)
        directory += b"PK\x01\x02\x14\x03" + entry + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + entry + name.encode() + data
    count, start = len(contents), len(body)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory), start, 0)
    return bytes(body + directory + end)


def change_array(rng: np.random.Generator, array: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Change values, the type or the shape of an array, or replace it by another one."""
    choice = rng.integers(8)
    try:
        if choice <= 2 and array.size:
            array = array.copy()
            pool = (0, 1, -1, 5, 10**6, 2**31 - 1, -(2**31)) if array.dtype.kind in "iu" else (0, 1, -1, 1e300, np.nan)
            if array.dtype.kind == "f":
                pool = (*pool, np.inf, -np.inf, 1e-320)
            array.flat[int(rng.integers(array.size))] = pool[rng.integers(len(pool))]
        elif choice == 3:
            array = array.astype(DTYPES[rng.integers(len(DTYPES))])
        elif choice == 4:
            array = array.ravel()[: rng.integers(array.size + 1)]
        elif choice == 5:
            array = np.concatenate([array, array])
        elif choice == 6:
            shapes = [array.shape[::-1], (*array.shape, 1), (1, *array.shape), (-1,), (0, *array.shape)]
            array = np.resize(array, shapes[rng.integers(len(shapes))]) if array.size else array.T
        else:
            array = others[rng.integers(len(others))]
    except (ValueError, TypeError, OverflowError):
        pass
    return np.ascontiguousarray(array)


def change_tree(rng: np.random.Generator, tree: Any) -> None:
    """Change one value, key or item of a JSON tree."""
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                stack.append(node[key])
    node, key = places[rng.integers(len(places))]
    choice, value = rng.integers(7), node[key]
    if choice == 0:
        del node[key]
    elif choice == 1 and isinstance(node, dict):
        node[TEXTS[rng.integers(len(TEXTS))]] = value
    elif choice == 2:
        other, place = places[rng.integers(len(places))]
        node[key] = copy.deepcopy(other[place])
    elif choice == 3 and isinstance(node, list):
        node.append(copy.deepcopy(value))
    else:
        node[key] = random_value(rng, value)


def random_value(rng: np.random.Generator, value: Any) -> Any:
    """Return another value, mostly of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and rng.random() < 0.8:
        return value + int(rng.integers(-2, 3)) if rng.random() < 0.5 else NUMBERS[rng.integers(len(NUMBERS))]
    if isinstance(value, dict) and "float" in value:
        return {"float": FLOATS[rng.integers(len(FLOATS))]}
    if isinstance(value, str) and rng.random() < 0.8:
        if value.startswith(("0x", "-0x")):
            return FLOATS[rng.integers(len(FLOATS))]
        return TEXTS[rng.integers(len(TEXTS))]
    pool = [None, True, 0, -1, 2**40, "", "x", [], {}, {"float": "nan"}, {"tuple": []}, {"array": 0}, {"array": 1}]
    return copy.deepcopy(pool[rng.integers(len(pool))])


if __name__ == "__main__":
    files()
    main("mutated model files", case, __doc__.partition("\n")[0])
