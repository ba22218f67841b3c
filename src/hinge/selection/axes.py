"""Values of the parameters of a search: numbers, and pairs (above, below) of regression."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np


class CostScale(NamedTuple):
    """C as a multiple of fixed costs: (scale, scale · ratio) above and below f, or one number if `ratio` is None."""

    scale: float
    ratio: float | None

    @classmethod
    def of(cls, C: Any) -> CostScale:
        """Divide C into the cost above f and the ratio of both."""
        if isinstance(C, tuple):
            return cls(float(C[0]), float(C[1]) / float(C[0]))
        return cls(float(C), None)

    def value(self) -> Any:
        """Return C."""
        return self.scale if self.ratio is None else (self.scale, self.scale * self.ratio)


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
