"""From the `solver` argument of an estimator to a solver object."""

from __future__ import annotations

from typing import Any, Protocol

from hinge.problems import Array, Problem, Solution
from hinge.solvers.auto import Auto
from hinge.solvers.callback import Monitor
from hinge.solvers.decomposition.chunking import Chunking
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.interior_point.dense import InteriorPoint
from hinge.solvers.interior_point.low_rank import LowRankInteriorPoint
from hinge.solvers.linear.coordinate_descent import CoordinateDescent
from hinge.solvers.textbook.adatron import AdaTron
from hinge.solvers.textbook.gradient_descent import GradientDescent
from hinge.solvers.textbook.lagrangian import Lagrangian
from hinge.solvers.textbook.newton import Newton


class Solver(Protocol):
    """Frozen options and one verb."""

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve the problem."""
        ...


#: Solvers by name; "auto" is the best general choice.
BY_NAME: dict[str, Any] = {
    "auto": Auto,
    "smo": SMO,
    "working_set": WorkingSet,
    "chunking": Chunking,
    "interior_point": InteriorPoint,
    "coordinate_descent": CoordinateDescent,
    "low_rank_interior_point": LowRankInteriorPoint,
    "newton": Newton,
    "lagrangian": Lagrangian,
    "gradient_descent": GradientDescent,
    "adatron": AdaTron,
}

#: Options that these solvers take from the estimator: their tolerance is a relative gap, not a KKT violation.
OWN_OPTIONS: dict[Any, tuple[str, ...]] = {
    LowRankInteriorPoint: ("max_iter", "max_time", "cache_size"),
    Newton: ("max_iter", "max_time"),
    Lagrangian: ("max_iter", "max_time"),
    GradientDescent: ("max_iter", "max_time"),
    AdaTron: ("max_iter", "max_time"),
}


def choose(solver: str | Solver, threads: int = 1, **options: Any) -> Solver:
    """The solver called `solver` with these options, or `solver` itself if it is an object with options of its own."""
    if isinstance(solver, str):
        if solver not in BY_NAME:
            names = ", ".join(map(repr, sorted(BY_NAME)))
            raise ValueError(f"solver={solver!r} is unknown; choose one of {names} or an object of hinge.solvers")
        kind = BY_NAME[solver]
        if kind is InteriorPoint:  # its tolerance is a relative gap, and it needs no cache
            options = {name: options[name] for name in ("max_iter", "max_time") if name in options}
        if kind is CoordinateDescent:  # its tolerance is a relative gap as well
            options = {name: options[name] for name in ("max_iter", "max_time") if name in options}
        if kind in OWN_OPTIONS:
            options = {name: options[name] for name in OWN_OPTIONS[kind] if name in options} | {"threads": threads}
        if issubclass(kind, WorkingSet) or kind is CoordinateDescent:
            options["threads"] = threads
        return kind(**options)
    if not hasattr(solver, "solve"):
        raise TypeError(f"solver={solver!r} must be one of {sorted(BY_NAME)} or an object of hinge.solvers")
    return solver
