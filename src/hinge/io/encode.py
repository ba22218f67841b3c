"""Encoding of the values of an estimator as a JSON tree in which arrays are references.

None, booleans, integers, text and lists are JSON values. Every other value is an object with one key, its type:

    {"float": "0x1.8p+1"}                     exact, including NaN and infinities
    {"bytes": "6869"}                         hexadecimal
    {"tuple": [...]}
    {"dict": [[key, value], ...]}             keys of any scalar type, in insertion order
    {"array": 3}                              the entry 3.npy
    {"objects": [shape, [item, ...]]}         an object array of scalars
    {"scalar": ["<f8", "000000000000f03f"]}   a NumPy scalar: data type and bytes; or ["U", text], ["S", hex]
    {"csr": ["csr_matrix", shape, data, indices, indptr]}
    {"enum": ["Status", "SOLVED"]}
    {"record": ["RBF", {"gamma": ...}]}       a registered dataclass
    {"machine": ["SVC", {...}, {...}]}        an estimator inside a result or pipeline: parameters and state
    {"masked": [values, mask]}                a masked array
    {"slice": [start, stop, step]}
    {"type": "numpy.float64"}                 a type of Python or NumPy
    {"dtype": "<f8"}                          a data type of NumPy; "|O" for objects
    {"function": "f_classif"}                 a registered function of scikit-learn
    {"selector": [pattern, include, exclude]} a column selector of scikit-learn
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hinge.io.arrays import KINDS, is_plain
from hinge.io.errors import Flaw
from hinge.io.estimators import split
from hinge.io.registry import (
    ENUMS,
    RECORDS,
    TYPE_NAMES,
    estimator_name,
    fields_of,
    fits,
    function_name,
    name_of,
)
from hinge.io.steps.classes import STEPS

#: Deeper trees are refused: they are mistakes or attacks.
MAX_DEPTH: Final = 100
#: Larger integers are refused: Python does not read integers with more than 4300 digits.
MAX_BITS: Final = 4096
#: Sparse matrix types that a file may hold.
SPARSE: Final[dict[str, type]] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
#: Types of dictionary keys and of the items of object arrays.
SCALARS: Final = (str, bytes, bool, int, float, np.generic, type(None))


class Encoder:
    """Conversion of values to JSON trees. `arrays` collects the arrays, each of them once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._seen: dict[object, int] = {}

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return the tree of `value`; `where` is its name in error messages."""
        if depth > MAX_DEPTH:
            raise TypeError(f"{where[:60]}... is nested too deeply, or contains itself: it cannot be saved")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and value.bit_length() <= MAX_BITS:
            return value
        if kind is float:
            return {"float": value.hex()}
        if kind is bytes:
            return {"bytes": value.hex()}
        if kind is list or kind is tuple:
            named = kind is tuple and len(value) > 1 and type(value[0]) is str and hasattr(value[1], "get_params")
            place = f"step {value[0]!r} of {where}" if named else where
            items = [self.encode(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if kind is dict:
            return {"dict": [self._pair(key, item, where, depth) for key, item in value.items()]}
        if kind is np.ndarray or kind is np.memmap:
            return self._array(value, where)
        if kind in SPARSE.values() and value.ndim == 2:
            return self._csr(value, where)
        if isinstance(value, np.generic):
            return _scalar(value, where)
        if (name := name_of(kind, ENUMS)) is not None:
            return {"enum": [name, value.name]}
        if (name := name_of(kind, RECORDS)) is not None:
            return {"record": [name, self._fields(value, where, depth)]}
        if (name := estimator_name(kind)) is not None:
            parts = ({k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in part.items()} for part in split(value))
            return {"machine": [name, *parts]}
        if kind is np.ma.MaskedArray:
            pieces = (np.asarray(value.data), np.ma.getmaskarray(value))
            return {"masked": [self.encode(piece, where, depth + 1) for piece in pieces]}
        return self._option(value, where, depth)

    def _option(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        """Return the tree of a value that occurs in classes of scikit-learn only."""
        if isinstance(value, slice):
            return {"slice": [self.encode(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"type": TYPE_NAMES[value]}
        if isinstance(value, np.dtype) and (value.kind in KINDS or value.kind == "O") and value.names is None:
            return {"dtype": value.str}
        if (name := function_name(value)) is not None:
            return {"function": name}
        if type(value).__name__ == "make_column_selector" and type(value).__module__.startswith("sklearn."):
            parts = (value.pattern, value.dtype_include, value.dtype_exclude)
            return {"selector": [self.encode(part, where, depth + 1) for part in parts]}
        raise _cannot(value, where)

    def _pair(self, key: Any, value: Any, where: str, depth: int) -> list[Any]:
        if not isinstance(key, SCALARS):
            raise TypeError(
                f"{where} has the key {key!r} of type {type(key).__name__}, which cannot be saved: "
                "use keys that are text, numbers, True, False or None"
            )
        return [self.encode(key, f"a key of {where}"), self.encode(value, f"{where}[{key!r}]", depth + 1)]

    def _fields(self, record: Any, where: str, depth: int) -> dict[str, Any]:
        cls: type = type(record)
        fields = {}
        for name, (hint, kind, _) in fields_of(cls).items():
            value, place = getattr(record, name), f"{where}.{name}"
            fields[name] = self.encode(value, place, depth + 1)
            if type(value) is not kind and not fits(value, hint):
                raise TypeError(
                    f"{place} is a {type(value).__name__} and cannot be saved: it should be {hint}"
                )
        return fields

    def _array(self, value: NDArray[Any], where: str) -> dict[str, Any]:
        if value.dtype.kind == "O":
            if not all(isinstance(part, SCALARS) for item in value.flat for part in _parts(item)):
                raise TypeError(
                    f"{where} is an object array with items other than text, numbers, True, False, None and tuples of "
                    "them, which cannot be saved: use labels of these types"
                )
            items = [self.encode(item, f"an item of {where}") for item in value.flat]
            return {"objects": [list(value.shape), items]}
        if not is_plain(value):
            raise TypeError(
                f"{where} is an array of type {value.dtype}, which cannot be saved: convert it to numbers"
            )
        return {"array": self._reference(value)}

    def _reference(self, array: NDArray[Any]) -> int:
        """Return the number of an array; equal views of the same memory count as one array."""
        array = np.asarray(array)
        if array.size == 0:  # empty arrays may share an address by chance
            self.arrays.append(array)
            return len(self.arrays) - 1
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if key not in self._seen:
            self._seen[key] = len(self.arrays)
            self.arrays.append(array)
        return self._seen[key]

    def _csr(self, matrix: Any, where: str) -> dict[str, Any]:
        count = int(matrix.indptr[-1])
        pieces = (matrix.data[:count], matrix.indices[:count], matrix.indptr)
        try:
            check_csr(matrix.shape, *pieces)
        except Flaw as flaw:
            raise TypeError(f"{where} is not a valid sparse matrix: {flaw.what}") from None
        return {"csr": [type(matrix).__name__, list(map(int, matrix.shape)), *map(self._reference, pieces)]}


def _parts(item: Any) -> Any:
    """Return the parts of a tuple, or the item itself as its only part."""
    return item if type(item) is tuple else (item,)


def check_csr(
    shape: tuple[int, ...], data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]
) -> None:
    """Refuse arrays that do not form a CSR matrix: compiled code does not check the indices."""
    rows, columns = shape
    if not data.ndim == indices.ndim == indptr.ndim == 1 or data.dtype.kind not in "biufc":
        raise Flaw("a sparse matrix does not consist of three vectors of numbers")
    if indices.dtype not in (np.int32, np.int64) or indptr.dtype != indices.dtype:
        raise Flaw(f"a sparse matrix has indices of type {indices.dtype} and {indptr.dtype}")
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or len(indices) != len(data):
        raise Flaw(f"the arrays of a sparse matrix of shape {shape} have inconsistent lengths")
    if np.any(indptr[1:] < indptr[:-1]):
        raise Flaw("the row offsets of a sparse matrix decrease")
    if len(indices) and not 0 <= indices.min() <= indices.max() < columns:
        raise Flaw(f"a sparse matrix of shape {shape} has a column index outside its shape")


def _scalar(value: np.generic, where: str) -> dict[str, Any]:
    if type(value) is np.str_:
        return {"scalar": ["U", str.__str__(value)]}  # str(value) drops trailing NUL characters
    if type(value) is np.bytes_:
        return {"scalar": ["S", value.hex()]}
    array = np.asarray(value)
    if not is_plain(array):
        raise TypeError(f"{where} is of type {array.dtype}, which cannot be saved: use a Python number")
    return {"scalar": [array.dtype.str, array.tobytes().hex()]}


def _cannot(value: object, where: str) -> TypeError:
    """Return the error for a value that cannot be saved, with a remedy for its type."""
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator | np.random.BitGenerator):
        return TypeError(f"{where} is a {kind}, which cannot be saved: use None or an integer")
    if isinstance(value, BaseException):
        return TypeError(f"{where} is an exception ({value!r}), which cannot be saved: fit again without it")
    if hasattr(value, "get_params") and not isinstance(value, type):
        known = ", ".join(sorted(STEPS))
        return TypeError(
            f"{where} is a {kind} of {type(value).__module__}, which cannot be saved. A model file holds estimators of "
            f"hinge and {known}: replace the step, or save the steps after it alone"
        )
    if callable(value):  # a function, a class, hinge.kernels.FunctionKernel
        return TypeError(
            f"{where} is a Python function ({value!r}), and a model file holds no code: use an object of "
            "hinge.kernels (they add and multiply), or save the support vectors and rebuild the model"
        )
    if sparse.issparse(value):
        return TypeError(f"{where} is a {kind}, which cannot be saved: convert it with .tocsr()")
    if isinstance(value, np.ndarray):
        return TypeError(f"{where} is a {kind}, which cannot be saved: convert it with numpy.array(...)")
    return TypeError(
        f"{where} is a {kind}, which cannot be saved: a model file holds numbers, text, tuples, lists, "
        "dictionaries, arrays, CSR matrices, and the kernels and solvers of hinge"
    )
