"""Parameters are checked once, at the door, and a bad one is told what would be right."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np


def number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False, finite: bool = True
) -> None:
    """`value` is a number in [low, high], or (low, high] where `open_low`; infinity only where not `finite`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    value = float(value)
    inside = (value > low if open_low else value >= low) and value <= high and (np.isfinite(value) or not finite)
    if not inside:
        left, right = "(" if open_low else "[", "inf)" if finite and np.isinf(high) else f"{high:g}]"
        raise ValueError(f"{name}={value!r} must lie in {left}{low:g}, {right}")


def integer(name: str, value: Any, low: int) -> None:
    """`value` is an integer of at least `low`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be an integer, not {type(value).__name__}")
    if value < low:
        raise ValueError(f"{name}={value!r} must be at least {low}")


def choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """`value` is one of a few."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in allowed):
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")


def flag(name: str, value: Any) -> None:
    """`value` is a truth value (0 and 1 are accepted)."""
    if not isinstance(value, bool | np.bool_ | Integral):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}")
    if value not in (0, 1):
        raise ValueError(f"{name}={value!r} must be True or False")
