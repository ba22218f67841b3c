"""Costs and tubes of regression paths that differ above and below the function.                  docs/math (11)"""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.formulations import SVR
from hinge.problems import Array
from hinge.problems.parametric import between
from hinge.validation import check_sides


def check_columns(name: str, value: Any, n: int, default: float | None = None) -> tuple[Array, Array | None]:
    """Return one value per sample for targets above and below f; the second is None if both are equal."""
    if value is None:
        assert default is not None
        return np.full(n, default), None
    above, below = check_sides(name, value, n)
    return np.array(np.broadcast_to(above, n)), None if below is None else np.array(np.broadcast_to(below, n))


def weighted_regression(
    y: Array, start: Any, end: Any, C: float, epsilon: Any, epsilon_end: Any, fit_intercept: bool
) -> SVR:
    """Return regression whose costs and tube change from their values at θ = 0 to those at θ = 1."""
    n = len(y)
    first, last = check_columns("start", start, n), check_columns("end", end, n)
    tube = check_columns("epsilon", epsilon, n)
    tube_end = tube if epsilon_end is None else check_columns("epsilon_end", epsilon_end, n)
    cost, cost_star = _between_columns(
        (C * first[0], scaled_column(first[1], C)), (C * last[0], scaled_column(last[1], C))
    )
    width, width_star = _between_columns(tube, tube_end)
    return SVR(y, cost, width, cost_star, fit_intercept, width_star)


def scaled_column(values: Array | None, factor: float) -> Array | None:
    """Return factor · values; None remains None."""
    return None if values is None else factor * values


def _between_columns(start: tuple[Array, Array | None], end: tuple[Array, Array | None]) -> tuple[Array, Array | None]:
    """Return the two rows of values above and below f; the second is None if they are equal at both ends."""
    above = between(start[0], end[0])
    if start[1] is None and end[1] is None:
        return above, None
    first, last = (part[0] if part[1] is None else part[1] for part in (start, end))
    return above, between(first, last)
