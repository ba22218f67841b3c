"""What all paths of one parameter share: where they turn, how exact they are, and where they end."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_array

from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.paths.breakpoints import Pieces
from hinge.paths.engine import Counts
from hinge.problems import Array


def check_rows(kernel: Kernel, X: Any, width: int) -> Any:
    """Samples to be judged, looked at as those of training were: in a kernel value a NaN may pass for a number.

    `width`: features of the training samples, or their number for a precomputed kernel. What a Python function compares
    is its own affair.
    """
    if isinstance(kernel, FunctionKernel):
        return X
    sparse = False if isinstance(kernel, Precomputed) else "csr"
    X = check_array(X, dtype=np.float64, order="C", accept_sparse=sparse, ensure_min_samples=0)
    if X.shape[1] != width:
        raise ValueError(f"X has {X.shape[1]} features, but the path was made with {width}")
    return X


class PiecewisePath:
    """A path that was followed from `low` to `high`, in pieces."""

    parameter: str
    pieces: Pieces
    counts: Counts
    low: float
    high: float

    @cached_property
    def breakpoints(self) -> Array:
        """Every value of the parameter at which the solution turns."""
        return np.unique(np.concatenate([self.pieces.start, [self.high]]))

    @property
    def kkt_violation(self) -> float:
        """Largest over all breakpoints, relative to the scale of the problem there."""
        return max(float(np.max(self.pieces.violation, initial=0.0)), self.counts.violation)

    def _check(self, theta: float) -> float:
        """θ, which may be outside the path by rounding only."""
        theta = float(theta)
        slack = 1e-12 * max(abs(self.low), abs(self.high))
        if not self.low - slack <= theta <= self.high + slack:
            raise ValueError(
                f"{self.parameter}={theta!r} is outside the path, which runs from {self.low!r} to {self.high!r}; "
                "follow a longer one"
            )
        return min(max(theta, self.low), self.high)
