"""Values from the JSON tree of a model file; the tree is described in `hinge.io.encode`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hinge.io.arrays import check_values, read_dtype
from hinge.io.checks.records import check_record
from hinge.io.encode import MAX_DEPTH, SCALARS, SPARSE, check_csr
from hinge.io.errors import NEWER, Flaw
from hinge.io.estimators import rebuild
from hinge.io.registry import (
    DECODED,
    ENUMS,
    FORMER_FIELDS,
    FORMER_NAMES,
    RECORDS,
    TYPES,
    fields_of,
    fits,
    function,
    required_fields,
)
from hinge.io.steps.classes import FUNCTIONS

T = TypeVar("T")


def expect(node: Any, kind: type[T], length: int | None = None) -> T:
    """Return `node`, which must be of exactly this JSON type and length."""
    value: Any = node  # mypy does not know the length of a T
    if type(node) is not kind or (length is not None and len(value) != length):
        raise _unknown(node)
    return node


def _unknown(node: Any) -> Flaw:
    return Flaw(f"a value is written in a way that hinge does not write: {str(node)[:60]}")


def _shape(node: Any, length: int | None = None) -> tuple[int, ...]:
    shape = tuple(expect(n, int) for n in expect(node, list, length))
    if not all(0 <= n < 2**63 for n in shape):
        raise Flaw(f"{str(shape)[:60]} is not the shape of an array")
    return shape


class Decoder:
    """Conversion of JSON trees to values. A tree that `Encoder` cannot have produced raises `Flaw`.

    Parameters
    ----------
    array : callable
        Returns the array with a given number, always the same object.
    """

    def __init__(self, array: Callable[[int], NDArray[Any]]) -> None:
        self._array = array

    def decode(self, node: Any, depth: int = 0) -> Any:
        """Return the value of a tree."""
        if depth > MAX_DEPTH:
            raise Flaw("its values are nested too deeply")
        if type(node) in DECODED:
            return node
        if type(node) is list:
            return [self.decode(item, depth + 1) for item in node]
        if type(node) is not dict or len(node) != 1:
            raise _unknown(node)
        ((tag, content),) = node.items()
        if tag == "array" and type(content) is int:  # the most common nodes
            return self._array(content)
        if tag == "float" and type(content) is str:  # an invalid one: the archive decodes the others
            return float.fromhex(content)
        read = self._READERS.get(tag)
        if read is None:
            raise Flaw(f"a value has the unknown type {tag[:40]!r}")
        return read(self, content, depth)

    def _bytes(self, content: Any, depth: int) -> bytes:
        return bytes.fromhex(expect(content, str))

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple([self.decode(item, depth + 1) for item in expect(content, list)])

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs = [expect(pair, list, 2) for pair in expect(content, list)]
        values = {self._scalar_of(key): self.decode(value, depth + 1) for key, value in pairs}
        if len(values) != len(pairs):
            raise Flaw("a dictionary has the same key twice")
        return values

    def _scalar_of(self, node: Any) -> Any:
        value = self.decode(node, MAX_DEPTH)
        if not isinstance(value, SCALARS):
            raise Flaw(f"it holds a {type(value).__name__} where text or a number is required")
        return value

    def _item(self, node: Any) -> Any:
        """Return an item of an object array: text, a number, or a tuple of them."""
        if isinstance(node, dict) and list(node) == ["tuple"]:
            return tuple(self._scalar_of(part) for part in expect(node["tuple"], list))
        return self._scalar_of(node)

    def _objects(self, content: Any, depth: int) -> NDArray[Any]:
        shape, items = expect(content, list, 2)
        shape = _shape(shape)
        if math.prod(shape) != len(expect(items, list)):
            raise Flaw(f"an object array of shape {shape} has {len(items)} items")
        flat = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            flat[i] = self._item(item)
        return flat.reshape(shape)

    def _scalar(self, content: Any, depth: int) -> np.generic:
        kind, text = (expect(part, str) for part in expect(content, list, 2))
        if kind == "U":
            return np.str_(text)
        data = bytes.fromhex(text)
        if kind == "S":
            return np.bytes_(data)
        dtype = read_dtype(kind)
        if dtype.kind in "US" or len(data) != dtype.itemsize:
            raise Flaw(f"a NumPy scalar of type {dtype} has {len(data)} bytes")
        array = np.frombuffer(data, dtype)
        check_values(array)
        return array[0]

    def _csr(self, content: Any, depth: int) -> Any:
        name, shape, *pieces = expect(content, list, 5)
        rows, columns = _shape(shape, 2)
        if expect(name, str) not in SPARSE:
            raise Flaw(f"a sparse matrix has the unknown type {name[:40]!r}")
        data, indices, indptr = (self._array(expect(piece, int)) for piece in pieces)
        check_csr((rows, columns), data, indices, indptr)
        matrix = SPARSE[name]((rows, columns), dtype=data.dtype)
        # the constructor would narrow 64-bit indices and copy
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix

    def _enum(self, content: Any, depth: int) -> Any:
        if type(content) is not list or tuple(map(type, content)) != (str, str):
            raise _unknown(content)
        cls, name = content
        if cls not in ENUMS or name not in ENUMS[cls].__members__:
            raise Flaw(f"it holds {cls[:40]}.{name[:40]}, which this hinge does not know")
        return ENUMS[cls][name]

    def _record(self, content: Any, depth: int) -> Any:
        if type(content) is not list or tuple(map(type, content)) != (str, dict):
            raise _unknown(content)
        name, nodes = content
        current: str = FORMER_NAMES.get(name) or name
        cls = RECORDS.get(current)
        if cls is None:
            raise Flaw(f"it holds an object of the unknown class {name[:40]!r}", NEWER)
        fields = fields_of(cls)
        if not FORMER_FIELDS.keys().isdisjoint(nodes):
            nodes = {FORMER_FIELDS.get(field, field): node for field, node in nodes.items()}
        if not required_fields(cls) <= set(nodes) <= set(fields):
            raise Flaw(f"an object of class {name} has the wrong fields")
        values = {}
        for field, node in nodes.items():
            value = node if type(node) in DECODED else self.decode(node, depth + 1)
            hint, kind, _ = fields[field]
            if type(value) is not kind and not fits(value, hint):
                raise Flaw(f"{name}.{field} is a {type(value).__name__}, but it must be {hint}")
            values[field] = value
        record = cls(**values)
        try:
            check_record(record)
        except ValueError as error:
            raise Flaw(f"the attributes of a {name} are inconsistent ({error})") from error
        return record

    def _machine(self, content: Any, depth: int) -> Any:
        name, parameters, state = expect(content, list, 3)
        decode = partial(self.decode, depth=depth + 1)
        return rebuild(expect(name, str), expect(parameters, dict), expect(state, dict), decode)

    def _masked(self, content: Any, depth: int) -> Any:
        values, mask = (self.decode(node, depth + 1) for node in expect(content, list, 2))
        whole = isinstance(values, np.ndarray) and isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not whole or values.shape != mask.shape:
            raise Flaw("a masked array does not consist of values and their mask")
        return np.ma.MaskedArray(values, mask)

    def _slice(self, content: Any, depth: int) -> slice:
        return slice(*[self.decode(node, depth + 1) for node in expect(content, list, 3)])

    def _type(self, content: Any, depth: int) -> type:
        if expect(content, str) not in TYPES:
            raise Flaw(f"it holds the unknown type {content[:40]!r}", NEWER)
        return TYPES[content]

    def _dtype(self, content: Any, depth: int) -> np.dtype[Any]:
        return np.dtype(object) if expect(content, str) == "|O" else read_dtype(content)

    def _function(self, content: Any, depth: int) -> Any:
        if expect(content, str) not in FUNCTIONS:
            raise Flaw(f"it holds the unknown function {content[:40]!r}", NEWER)
        return function(content)

    def _selector(self, content: Any, depth: int) -> Any:
        from sklearn.compose import make_column_selector  # local: it takes 0.1 s, and few models have one

        pattern, include, exclude = (self.decode(node, depth + 1) for node in expect(content, list, 3))
        return make_column_selector(pattern, dtype_include=include, dtype_exclude=exclude)

    _READERS: ClassVar[dict[str, Callable[[Decoder, Any, int], Any]]] = {
        "bytes": _bytes,
        "tuple": _tuple,
        "dict": _dict,
        "objects": _objects,
        "scalar": _scalar,
        "csr": _csr,
        "enum": _enum,
        "record": _record,
        "machine": _machine,
        "masked": _masked,
        "slice": _slice,
        "type": _type,
        "dtype": _dtype,
        "function": _function,
        "selector": _selector,
    }
