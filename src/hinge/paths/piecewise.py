"""Base of the piecewise linear paths: breakpoints, accuracy, and the interval of the parameter."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.paths.breakpoints import Pieces
from hinge.paths.engine import Counts
from hinge.paths.evaluation.weights import check_feature_names
from hinge.problems import Array
from hinge.validation import as_rows, as_samples


def check_rows(kernel: Kernel, X: Any, width: int, names: Any = None) -> Any:
    """Return samples for prediction as an array or a CSR matrix.

    `width`: the number of features, or of training samples for a precomputed kernel. `names`: names of the features,
    which the columns of a DataFrame must have. If the kernel calls a Python function, only the structure of sparse
    matrices is checked. Otherwise NaN raises an error here, because kernel values of NaN may be finite.
    """
    if isinstance(kernel, FunctionKernel):
        return as_rows(X)
    check_feature_names(names, X)
    X = as_samples(X, min_samples=0)
    if isinstance(kernel, Precomputed) and sp.issparse(X):
        raise TypeError("X is a sparse matrix, but kernel values must be an array: pass X.toarray()")
    if X.shape[1] != width:
        raise ValueError(f"X has {X.shape[1]} features, but the path was computed with {width}")
    return X


class PiecewisePath:
    """Piecewise linear solution for `low` ≤ θ ≤ `high`."""

    parameter: str
    pieces: Pieces
    counts: Counts
    low: float
    high: float

    @cached_property
    def breakpoints(self) -> Array:
        """Values of the parameter at which the derivative of the solution changes, and both ends."""
        return np.unique(np.concatenate([self.pieces.start, [self.high]]))

    @property
    def kkt_violation(self) -> float:
        """Largest KKT violation at the breakpoints, relative to the scale of the problem there."""
        return max(float(np.max(self.pieces.violation, initial=0.0)), self.counts.violation)

    def _check(self, theta: float) -> float:
        """Return θ, moved into the interval of the path if it is outside by rounding only."""
        theta = float(theta)
        slack = 1e-12 * max(abs(self.low), abs(self.high))
        if not self.low - slack <= theta <= self.high + slack:
            raise ValueError(
                f"{self.parameter}={theta!r} is outside the path, which runs from {self.low!r} to {self.high!r}; "
                "compute a path over a longer interval"
            )
        return min(max(theta, self.low), self.high)
