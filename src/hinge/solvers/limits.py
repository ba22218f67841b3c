"""What every solver checks of its options before any work."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_limits(solver: Any) -> None:
    """A ValueError that names the option unless `tol`, `max_iter` and `max_time` of `solver` mean something."""
    tol, max_iter, max_time = solver.tol, solver.max_iter, solver.max_time
    if not isinstance(tol, Real) or not 0 < float(tol) < np.inf:
        raise ValueError(f"tol={tol!r} must be a positive number")
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number, -1 for no limit")
    if max_time is not None and not (isinstance(max_time, Real) and float(max_time) >= 0):
        raise ValueError(f"max_time={max_time!r} must be None or a number of seconds")
