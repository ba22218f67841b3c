"""Result of a solver: point, status and history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from hinge.problems.separable import Array
from hinge.problems.status import Status


@dataclass(frozen=True)
class History:
    """Snapshots of a run as columns.

    `exact` is False for snapshots of a shrunk problem, whose primal value and gap refer to the active samples only.
    Primal value, dual value and gap of infeasible points are NaN.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> history = hinge.SVC(gamma=1.0).fit(X, y).history_
    >>> len(history) == len(history.primal), bool(history.gap[-1] >= 0)
    (True, True)
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
        """Build a history from arrays by name."""
        values = {name: np.asarray(column) for name, column in columns.items()}
        return cls(**{**values, "exact": values["exact"].astype(bool)})

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]]) -> History:
        """Build a history from one mapping of names to numbers for each snapshot."""
        return cls.from_columns({f.name: np.array([record[f.name] for record in records]) for f in fields(cls)})

    @classmethod
    def empty(cls) -> History:
        """Return a history without snapshots."""
        return cls.from_columns({f.name: np.empty(0) for f in fields(cls)})

    def __len__(self) -> int:
        return len(self.iteration)

    @property
    def best_primal(self) -> float:
        """The smallest upper bound of the run; LwK (10.21)."""
        return float(np.fmin.reduce(self.primal[self.exact], initial=np.inf))

    @property
    def best_dual(self) -> float:
        """The largest lower bound of the run."""
        return float(np.fmax.reduce(self.dual, initial=-np.inf))

    def last(self) -> dict[str, Any]:
        """Return the last snapshot."""
        return {f.name: getattr(self, f.name)[-1].item() for f in fields(self)}

    def without_bounds(self) -> History:
        """Return the history without its bounds, for use with another problem."""
        unknown = np.full(len(self), np.nan)
        return replace(self, primal=unknown, dual=unknown, gap=unknown)

    def then(self, later: History) -> History:
        """Append the history of a run that continued from the end of this one."""
        if len(self) == 0 or len(later) == 0:
            return self if len(later) == 0 else later
        shifts = {"iteration": self.iteration[-1], "seconds": self.seconds[-1]}
        columns = {f.name: (getattr(self, f.name), getattr(later, f.name)) for f in fields(self)}
        return History(
            **{name: np.concatenate([a, b + shifts[name] if name in shifts else b]) for name, (a, b) in columns.items()}
        )


#: The columns of the `RunHistory` of a compiled solver, in the order of the fields of `History`.
run_columns = attrgetter(*(f.name for f in fields(History)))


class KnownBounds(NamedTuple):
    """Bounds of a problem, and the objects for which they were computed: copies with changes have no bounds."""

    problem: Any
    alpha: Array
    mu: Array
    gradient: Array
    bounds: Any


@dataclass(frozen=True)
class Solution:
    """Point of problem (1), with status and history.

    `exact`: whether `gradient` is the gradient at alpha (False if a run stopped while samples were shrunk).
    `support_exact`: whether `gradient` is at least exact where alpha is not zero, so that it determines the dual value.
    `rounded`: whether the values of the history are no rigorous bounds, because they do not include rounding errors.
    `polished`: whether the optimality conditions hold to rounding, whatever the tolerance was.
    `error`: exception that interrupted the run; the caller raises it.
    `remainder`: rounding errors of (alpha, mu), if the solver knows them to more than double precision. The gap then
    refers to the sums, docs/math (379).
    `gradient_error`: bound on the errors of the gradient; None if it is not known.
    `known_bounds`: the bounds that the certificate consists of, if they were computed together with the solution.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.formulations import CSVC
    >>> from hinge.kernels import RBF, open_access
    >>> from hinge.solvers import SMO
    >>> X, sign = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> solution = SMO().solve(CSVC(sign, np.ones(3)).build(open_access(RBF(1.0), X)))
    >>> solution.status.name, bool(abs(sign @ solution.alpha) < 1e-12)
    ('SOLVED', True)
    """

    alpha: Array
    mu: Array
    gradient: Array
    status: Status
    iterations: int
    history: History
    exact: bool = True
    support_exact: bool = False
    rounded: bool = True
    polished: bool = False
    error: BaseException | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    remainder: tuple[Array, Array] | None = None
    gradient_error: float | None = None
    known_bounds: KnownBounds | None = None

    @property
    def point(self) -> tuple[Array, Array]:
        """The pair (alpha, mu)."""
        return self.alpha, self.mu

    def then(self, later: Solution) -> Solution:
        """Return the solution of a run that continued from this one, with the history of both.

        The point remains this one if the later run stopped before its gradient was known.
        """
        iterations, history = self.iterations + later.iterations, self.history.then(later.history)
        rounded = (self.rounded and len(self.history) > 0) or later.rounded
        if self.exact and not later.exact:
            later = replace(self, status=later.status, error=later.error)
        return replace(later, iterations=iterations, history=history, rounded=rounded)
