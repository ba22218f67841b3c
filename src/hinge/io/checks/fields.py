"""Declarations of what an attribute holds: type, shape and range.

A shape is a tuple of sizes. A size is a number, or a name: the first attribute with a name determines its value, and
the others must have the same. ``"segments+1"`` is one more than ``"segments"``, and
``"kernels*support"`` is a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

#: Values of the named sizes.
Sizes = dict[str, int]

#: Kinds of arrays of labels and names.
LABELS = "biufUSO"


class Field(Protocol):
    """What an attribute holds."""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is valid; `name` is its name in the message."""


def check_all(fields: Mapping[str, Field], values: Mapping[str, Any], sizes: Sizes) -> None:
    """Check the values with these names; all of them must exist."""
    for name, each in fields.items():
        if name not in values:
            raise ValueError(f"{name} is missing")
        each.check(name, values[name], sizes)


def _expected(name: str, value: Any, what: str) -> ValueError:
    if isinstance(value, np.ndarray):
        kind = f"an array of type {value.dtype} and shape {value.shape}"
    elif isinstance(value, bool | int | float | str | np.generic | None):
        kind = repr(value)[:80]
    else:
        kind = f"a {type(value).__name__}"
    return ValueError(f"{name} is {kind}, but it must be {what}")


def _size(size: int | str, sizes: Sizes) -> int | None:
    if isinstance(size, int):
        return size
    name, plus, _ = size.partition("+")
    return sizes[name] + bool(plus) if name in sizes else None


def check_shape(name: str, shape: tuple[int, ...], expected: tuple[int | str, ...], sizes: Sizes) -> None:
    """Compare a shape with the expected one; sizes without a value get one, except in products."""
    if len(shape) != len(expected):
        raise ValueError(f"{name} has {len(shape)} dimensions, but it must have {len(expected)}")
    for actual, size in zip(shape, expected, strict=True):
        if isinstance(size, int):
            known = size
        elif "*" in size:
            known = math.prod(sizes[factor] for factor in size.split("*"))
        else:
            base, plus, _ = size.partition("+")
            known = sizes.setdefault(base, actual - bool(plus)) + bool(plus)
        if actual != known or actual < 0:
            raise ValueError(f"{name} has the shape {shape}, but it must be {expected} with {sizes}")


@dataclass(frozen=True)
class Numbers:
    """An array of float64 values from `low` to `high`; NaN is not among them if `finite` or if there is a limit."""

    shape: tuple[int | str, ...]
    low: float = -np.inf
    high: float = np.inf
    finite: bool = False
    ascending: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            raise _expected(name, value, "an array of numbers of type float64")
        check_shape(name, value.shape, self.shape, sizes)
        if self.finite and not np.isfinite(value).all():
            raise ValueError(f"{name} holds values that are not finite")
        if (self.low > -np.inf or self.high < np.inf) and not np.all((value >= self.low) & (value <= self.high)):
            raise ValueError(f"{name} holds values outside [{self.low:g}, {self.high:g}]")
        if self.ascending and not np.all(value[1:] >= value[:-1]):
            raise ValueError(f"{name} is not ascending")


@dataclass(frozen=True)
class Integers:
    """An array of signed integers from `low` to below `below`, which may be the name of a size."""

    shape: tuple[int | str, ...]
    low: int | None = None
    below: int | str | None = None
    ascending: bool = False
    dtypes: tuple[str, ...] = ("int8", "int32", "int64")

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype not in tuple(map(np.dtype, self.dtypes)):
            raise _expected(name, value, f"an array of integers ({' or '.join(self.dtypes)})")
        check_shape(name, value.shape, self.shape, sizes)
        below = None if self.below is None else _size(self.below, sizes)
        outside = value.size > 0 and (
            (self.low is not None and value.min() < self.low) or (below is not None and value.max() >= below)
        )
        if outside:
            raise ValueError(f"{name} holds values that are not at least {self.low} and less than {below}")
        if self.ascending and np.any(value[1:] < value[:-1]):
            raise ValueError(f"{name} is not ascending")


@dataclass(frozen=True)
class Column:
    """A vector of float64 values or of signed integers."""

    size: str

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype not in (np.float64, np.int64, np.int32):
            raise _expected(name, value, "an array of numbers")
        check_shape(name, value.shape, (self.size,), sizes)


@dataclass(frozen=True)
class Labels:
    """An array of labels or names: numbers, booleans or text."""

    shape: tuple[int | str, ...]
    kinds: str = LABELS

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            raise _expected(name, value, "an array of labels")
        check_shape(name, value.shape, self.shape, sizes)


@dataclass(frozen=True)
class Names:
    """An array of text."""

    shape: tuple[int | str, ...]

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an array."""
        Labels(self.shape, "OU").check(name, value, sizes)
        if not all(isinstance(each, str) for each in value.flat):
            raise ValueError(f"{name} holds values that are not text")


@dataclass(frozen=True)
class Matrix:
    """A matrix of finite float32 or float64 values: an array, or a matrix in CSR format."""

    shape: tuple[int | str, int | str]

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such a matrix."""
        matrix = isinstance(value, np.ndarray) or sp.issparse(value)
        if not matrix or value.dtype not in (np.float64, np.float32):
            raise _expected(name, value, "a matrix of floating-point numbers")
        check_shape(name, value.shape, self.shape, sizes)
        if not np.isfinite(value.data if sp.issparse(value) else value).all():
            raise ValueError(f"{name} holds values that are not finite")


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`, as a Python or NumPy object; with `integer`, an integer."""

    low: float = -np.inf
    high: float = np.inf
    integer: bool = False
    nan: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such a number."""
        types = (int, np.integer) if self.integer else (int, float, np.integer, np.floating)
        if not isinstance(value, types) or isinstance(value, bool):
            raise _expected(name, value, "an integer" if self.integer else "a number")
        if not (self.low <= value <= self.high or (self.nan and value != value)):
            raise ValueError(f"{name}={value!r} must lie in [{self.low:g}, {self.high:g}]"[:200])


@dataclass(frozen=True)
class Size:
    """A size with a name: an integer of at least `low`."""

    name: str
    low: int = 0

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is this size."""
        if type(value) is not int or value < self.low:
            raise _expected(name, value, f"an integer of at least {self.low}")
        check_shape(name, (value,), (self.name,), sizes)


@dataclass(frozen=True)
class Shape:
    """A tuple of sizes."""

    shape: tuple[str, ...]

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such a tuple."""
        if type(value) is not tuple or not set(map(type, value)) <= {int} or min(value, default=0) < 0:
            raise _expected(name, value, "a tuple of sizes")
        check_shape(name, value, self.shape, sizes)


@dataclass(frozen=True)
class Instance:
    """An object whose class, or one of its base classes, has one of these names."""

    names: tuple[str, ...]

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an object."""
        for cls in type(value).__mro__:
            if cls.__name__ in self.names:
                return
        raise _expected(name, value, f"an object of class {' or '.join(self.names)}")


@dataclass(frozen=True)
class Part:
    """An object whose attributes are declared; they share the named sizes with the attributes around it."""

    cls: str
    fields: Mapping[str, Field] = field(repr=False)

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such an object."""
        Instance((self.cls,)).check(name, value, sizes)
        check_all({f"{name}.{key}": each for key, each in self.fields.items()},
                  {f"{name}.{key}": each for key, each in vars(value).items()}, sizes)  # fmt: skip


@dataclass(frozen=True)
class Items:
    """A list or tuple, as many as a size says. Named sizes in `fresh` may differ between the items."""

    kind: type[list[Any]] | type[tuple[Any, ...]]
    item: Field
    count: int | str | None = None
    fresh: tuple[str, ...] = ()

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such a list or tuple."""
        if type(value) is not self.kind:
            raise _expected(name, value, f"a {self.kind.__name__}")
        if self.count is not None:
            check_shape(name, (len(value),), (self.count,), sizes)
        for i, each in enumerate(value):
            own = {key: size for key, size in sizes.items() if key not in self.fresh}
            self.item.check(f"{name}[{i}]", each, own)
            sizes.update({key: size for key, size in own.items() if key not in self.fresh})


@dataclass(frozen=True)
class Table:
    """A dictionary; its values are checked, and its keys if `keys` is given."""

    item: Field
    keys: Callable[[Any], bool] | None = None
    fresh: tuple[str, ...] = ()

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is such a dictionary."""
        if type(value) is not dict or not (self.keys is None or all(map(self.keys, value))):
            raise _expected(name, value, "a dictionary with valid keys")
        Items(list, self.item, fresh=self.fresh).check(name, list(value.values()), sizes)


class _Anything:
    """Any value."""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Accept the value."""


ANYTHING = _Anything()


class Either:
    """A value that one of several declarations accepts."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise the error of the last declaration unless one accepts `value`."""
        for each in self.fields[:-1]:
            own = dict(sizes)
            try:
                each.check(name, value, own)
            except ValueError:
                continue
            sizes.update(own)
            return
        self.fields[-1].check(name, value, sizes)


@dataclass(frozen=True)
class OneOf:
    """One of these constants."""

    values: tuple[Any, ...]

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise a ValueError unless `value` is one of the constants."""
        for each in self.values:
            if type(value) is type(each) and value == each:
                return
        raise _expected(name, value, f"one of {', '.join(map(repr, self.values))}")


#: None.
NOTHING = OneOf((None,))
#: True or False.
FLAG = OneOf((True, False))
