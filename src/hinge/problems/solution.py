"""What a solver returns: a point, how it got there, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from hinge.problems.separable import Array
from hinge.problems.status import Status


@dataclass(frozen=True)
class History:
    """Snapshots of a run, as columns.

    `exact` is False where the solver had set samples aside: primal and gap then speak of the others only. Where a
    solver was at a point that is not feasible, primal, dual and gap are NaN.
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
        """From arrays by name."""
        values = {name: np.asarray(column) for name, column in columns.items()}
        return cls(**{**values, "exact": values["exact"].astype(bool)})

    @classmethod
    def from_run(cls, run: Any) -> History:
        """From the `RunHistory` of a compiled solver."""
        return cls(**{f.name: getattr(run, f.name) for f in fields(cls)})

    @classmethod
    def empty(cls) -> History:
        """Without iterations."""
        return cls.from_columns({f.name: np.empty(0) for f in fields(cls)})

    def __len__(self) -> int:
        return len(self.iteration)

    def best_bounds(self) -> tuple[float, float]:
        """Return the smallest upper bound and the largest lower bound of the run; LwK (10.21)."""
        upper = np.fmin.reduce(self.primal[self.exact], initial=np.inf)
        return float(upper), float(np.fmax.reduce(self.dual, initial=-np.inf))

    @property
    def best_primal(self) -> float:
        """The smallest upper bound of the run."""
        return self.best_bounds()[0]

    @property
    def best_dual(self) -> float:
        """The largest lower bound of the run."""
        return self.best_bounds()[1]

    def last(self) -> dict[str, Any]:
        """The last snapshot."""
        return {f.name: getattr(self, f.name)[-1].item() for f in fields(self)}

    def without_bounds(self) -> History:
        """The same story where its values are those of another problem: they bound nothing."""
        unknown = np.full(len(self), np.nan)
        return replace(self, primal=unknown, dual=unknown, gap=unknown)

    def then(self, later: History) -> History:
        """This run followed by another that went on from its end."""
        if len(self) == 0 or len(later) == 0:
            return self if len(later) == 0 else later
        shifts = {"iteration": self.iteration[-1], "seconds": self.seconds[-1]}
        columns = {f.name: (getattr(self, f.name), getattr(later, f.name)) for f in fields(self)}
        return History(
            **{name: np.concatenate([a, b + shifts[name] if name in shifts else b]) for name, (a, b) in columns.items()}
        )


@dataclass(frozen=True)
class Solution:
    """A point of problem (1) and its story.

    `exact`: the gradient is that of alpha (False when a run was cut off before all samples were looked at).
    `rounded`: its history was taken with kernel rows in single precision; its values are no bounds to the last digit.
    `polished`: the optimality conditions hold to rounding, whatever the tolerance was.
    `error`: what interrupted the run, for the caller to raise.
    `remainder`: what rounding to doubles left of (alpha, mu), where a solver knows them better than that: the gap of
    the sums is what it claims, docs/math (379).
    """

    alpha: Array
    mu: Array
    gradient: Array
    status: Status
    iterations: int
    history: History
    exact: bool = True
    rounded: bool = False
    polished: bool = False
    error: BaseException | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    remainder: tuple[Array, Array] | None = None

    @property
    def point(self) -> tuple[Array, Array]:
        """What `certify` needs: (alpha, mu)."""
        return self.alpha, self.mu

    def then(self, later: Solution) -> Solution:
        """A run that went on from this one, with the story of both.

        Where it was cut off before it knew its own point, this one is what is left.
        """
        iterations, story = self.iterations + later.iterations, self.history.then(later.history)
        rounded = self.rounded or later.rounded
        if self.exact and not later.exact:
            later = replace(self, status=later.status, error=later.error)
        return replace(later, iterations=iterations, history=story, rounded=rounded)
