"""Solvers: frozen options and one verb, `solve(problem) -> Solution`.  They know no labels and no data."""

from hinge.solvers.auto import Auto
from hinge.solvers.choose import Solver, choose
from hinge.solvers.chunking import Chunking
from hinge.solvers.coordinate_descent import CoordinateDescent
from hinge.solvers.interior_point import InteriorPoint
from hinge.solvers.monitor import Monitor
from hinge.solvers.pair_descent import PairDescent
from hinge.solvers.smo import SMO
from hinge.solvers.working_set import WorkingSet

__all__ = [
    "SMO",
    "Auto",
    "Chunking",
    "CoordinateDescent",
    "InteriorPoint",
    "Monitor",
    "PairDescent",
    "Solver",
    "WorkingSet",
    "choose",
]
