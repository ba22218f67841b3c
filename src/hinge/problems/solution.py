"""What a solver returns: a point, how it got there, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.problems.quadratic import Array
from hinge.problems.status import Status


@dataclass(frozen=True)
class History:
    """Snapshots of a run, as columns.

    `exact` is False where the solver had set samples aside: primal and gap then speak of the others only.
    """

    iteration: Array
    seconds: Array
    violation: Array
    primal: Array
    dual: Array
    gap: Array
    active: Array
    exact: Array

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> History:
        """From the dictionary the compiled solvers fill."""
        values = {name: np.asarray(column) for name, column in columns.items()}
        return cls(**{**values, "exact": values["exact"].astype(bool)})

    def __len__(self) -> int:
        return len(self.iteration)

    @property
    def best_primal(self) -> float:
        """The smallest upper bound seen; LwK (10.21)."""
        return float(np.min(self.primal[self.exact], initial=np.inf))

    @property
    def best_dual(self) -> float:
        """The largest lower bound seen; LwK (10.21)."""
        return float(np.max(self.dual, initial=-np.inf))


@dataclass(frozen=True)
class Solution:
    """A point of problem (1) and its story.

    `exact`: the gradient is that of alpha (False when a run was cut off before all samples were looked at).
    `polished`: the optimality conditions hold to rounding, whatever the tolerance was.
    `error`: what interrupted the run, for the caller to raise.
    """

    alpha: Array
    mu: Array
    gradient: Array
    status: Status
    iterations: int
    history: History
    exact: bool = True
    polished: bool = False
    error: BaseException | None = None
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def point(self) -> tuple[Array, Array]:
        """What `certify` needs: (alpha, mu)."""
        return self.alpha, self.mu
