"""Solvers by name, and the options that they take from an estimator."""

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

#: The values of the parameter `solver` of estimators.
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
    """Return the solver with this name, with the options of an estimator; an object is returned as it is.

    A solver selected by name takes `tol`, `max_iter`, `max_time` and the options that its capabilities declare. The
    tolerance of an estimator limits the KKT violation. A solver that stops on the relative gap uses this number as the
    gap if it is smaller than its own default; a larger one does not reduce its accuracy.

    An object keeps its options. The time limit of the estimator reaches it through the run control.

    Parameters
    ----------
    solver : str or Solver
    threads : int
        Threads, if the solver uses more than one.
    **options
        `tol`, `max_iter`, `max_time`, `cache_size` and `shrinking`; those that the solver does not have are ignored.

    Examples
    --------
    >>> from hinge.solvers import choose
    >>> choose("smo", tol=1e-4).tol, choose("interior_point", tol=1e-4).tol, choose("interior_point", tol=1e-12).tol
    (0.0001, 1e-10, 1e-12)
    """
    if isinstance(solver, Solver):
        return solver
    names = ", ".join(map(repr, sorted(BY_NAME)))
    if not isinstance(solver, str):
        raise TypeError(f"solver={solver!r} must be one of {names} or an object of hinge.solvers")
    if solver not in BY_NAME:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {names} or an object of hinge.solvers")
    kind = BY_NAME[solver]
    accepted = ("tol", "max_iter", "max_time", *kind.capabilities.options)
    options = {name: value for name, value in {**options, "threads": threads}.items() if name in accepted}
    if "tol" in options and kind.capabilities.tol == "relative_gap":
        options["tol"] = min(options["tol"], kind.tol)
    return kind(**options)
