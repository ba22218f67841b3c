"""Values of the parameters of a search."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np


def values_of(name: str, values: Any) -> list[Any]:
    """Return the values of one parameter as a list of Python objects."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if isinstance(values, str | Real) or not isinstance(values, Iterable):
        return [values]
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    if not values:
        raise ValueError(f"{name}={values!r} is empty; pass at least one value")
    return values
