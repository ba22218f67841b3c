"""Comparison of reported bounds with rigorous ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from .active_set import enclose
from .models import subproblems
from .numbers import ZERO


@dataclass(frozen=True)
class Optima:
    """Rigorous bounds on the optimum of every subproblem, and on their sum."""

    parts: list

    @property
    def low(self):
        return sum((low for low, _ in self.parts), ZERO).lower()

    @property
    def high(self):
        return sum((high for _, high in self.parts), ZERO).upper()

    @property
    def width(self):
        """Relative distance of the bounds."""
        scale = float(abs(self.low) + abs(self.high))
        return float(self.high - self.low) / scale if scale > 0 else float(self.high - self.low)


def optima(model, X, y=None, sample_weight=None, **others):
    """Return the rigorous bounds of all subproblems of a fitted estimator."""
    return Optima([enclose(*pair) for pair in subproblems(model, X, y, sample_weight, **others)])


def false_bounds(lower, upper, low, high):
    """Return the names of the reported bounds that are false: `lower` above `high`, or `upper` below `low`."""
    found = []
    if np.isnan(lower) or np.isnan(upper):
        found.append("nan")
    if lower == np.inf or (np.isfinite(lower) and arb(lower) > high):
        found.append("dual")
    if upper == -np.inf or (np.isfinite(upper) and arb(upper) < low):
        found.append("primal")
    return found
