"""From the `solver` argument of an estimator to a solver object."""

from __future__ import annotations

from typing import Any

from hinge.solvers.auto import Auto
from hinge.solvers.base import Solver
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

#: Solvers by name; "auto" is the best general choice.
BY_NAME: dict[str, type[Solver]] = {
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


def choose(solver: str | Solver, threads: int = 1, **options: Any) -> Solver:
    """The solver with this name and the options of an estimator, or `solver` itself if it is an object.

    A solver selected by name takes `max_iter`, `max_time` and the options that its capabilities declare. An object
    keeps its own options; the time limit of an estimator reaches it through the run control.
    """
    if isinstance(solver, Solver):
        return solver
    names = ", ".join(map(repr, sorted(BY_NAME)))
    if not isinstance(solver, str):
        raise TypeError(f"solver={solver!r} must be one of {names} or an object of hinge.solvers")
    if solver not in BY_NAME:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {names} or an object of hinge.solvers")
    kind = BY_NAME[solver]
    accepted = (*kind.capabilities.options, "max_iter", "max_time")
    return kind(**{name: value for name, value in {**options, "threads": threads}.items() if name in accepted})
