"""Solvers: frozen options and one verb, `solve(problem) -> Solution`.  They know no labels and no data."""

from hinge.solvers.adatron import AdaTron
from hinge.solvers.auto import Auto
from hinge.solvers.choose import Solver, choose
from hinge.solvers.chunking import Chunking
from hinge.solvers.coordinate_descent import CoordinateDescent
from hinge.solvers.explain import Explanation, decide, explain
from hinge.solvers.gradient_descent import GradientDescent
from hinge.solvers.interior_point import InteriorPoint
from hinge.solvers.lagrangian import Lagrangian
from hinge.solvers.linear_programming import LinearProgramming
from hinge.solvers.low_rank_interior_point import LowRankInteriorPoint
from hinge.solvers.monitor import Monitor
from hinge.solvers.newton import Newton
from hinge.solvers.pair_descent import PairDescent
from hinge.solvers.risk import Descent, RegularizedRisk, descend
from hinge.solvers.smo import SMO
from hinge.solvers.span_newton import SpanNewton
from hinge.solvers.working_set import WorkingSet

__all__ = [
    "SMO",
    "AdaTron",
    "Auto",
    "Chunking",
    "CoordinateDescent",
    "Descent",
    "Explanation",
    "GradientDescent",
    "InteriorPoint",
    "Lagrangian",
    "LinearProgramming",
    "LowRankInteriorPoint",
    "Monitor",
    "Newton",
    "PairDescent",
    "RegularizedRisk",
    "Solver",
    "SpanNewton",
    "WorkingSet",
    "choose",
    "decide",
    "descend",
    "explain",
]
