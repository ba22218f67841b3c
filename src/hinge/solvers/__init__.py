"""Solvers of problem (1) and of the linear, pairwise and reduced-basis problems derived from it.

A solver is a frozen dataclass of options with the method `solve(problem, start, control) -> Solution`. It declares its
`capabilities` and uses neither labels nor samples.
"""

from hinge.control import Monitor, RunControl
from hinge.solvers.auto import Auto
from hinge.solvers.base import Capabilities, Solver, choose
from hinge.solvers.basis.newton import ReducedBasisNewton
from hinge.solvers.decomposition.chunking import Chunking
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.explain import Explanation, decide, explain, explain_method
from hinge.solvers.interior_point.dense import InteriorPoint
from hinge.solvers.interior_point.low_rank import LowRankInteriorPoint
from hinge.solvers.linear.coordinate_descent import CoordinateDescent
from hinge.solvers.linear.programming import LinearProgramming
from hinge.solvers.ranking.pair_descent import PairDescent
from hinge.solvers.textbook.adatron import AdaTron
from hinge.solvers.textbook.gradient_descent import GradientDescent
from hinge.solvers.textbook.lagrangian import Lagrangian
from hinge.solvers.textbook.newton import Newton
from hinge.solvers.textbook.regularized_risk import RegularizedRisk
from hinge.solvers.textbook.risk_descent import Descent, descend

__all__ = [
    "SMO",
    "AdaTron",
    "Auto",
    "Capabilities",
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
    "ReducedBasisNewton",
    "RegularizedRisk",
    "RunControl",
    "Solver",
    "WorkingSet",
    "choose",
    "decide",
    "descend",
    "explain",
    "explain_method",
]
