"""What all paths of one parameter share: where they turn, how exact they are, and where they end."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hinge.paths.engine import Counts
from hinge.paths.pieces import Pieces
from hinge.problems import Array


class Followed:
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
