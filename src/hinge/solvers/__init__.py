"""Solvers of problem (1) and of the linear, pairwise and reduced-basis problems derived from it.

A solver is a frozen dataclass of options with the method `solve(problem, start, control) -> Solution`. It declares its
`capabilities` and uses neither labels nor samples.

A solver is imported when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hinge.control import Monitor, RunControl
from hinge.solvers.base import Capabilities, Solver, choose

if TYPE_CHECKING:
    from hinge.solvers.auto import Auto
    from hinge.solvers.basis.newton import ReducedBasisNewton
    from hinge.solvers.decomposition.chunking import Chunking
    from hinge.solvers.decomposition.smo import SMO
    from hinge.solvers.decomposition.working_set import WorkingSet
    from hinge.solvers.explanation import Explanation, decide, explain, explain_method
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

#: The modules of the names that are not imported above.
_MODULE_OF = {
    "Auto": "auto",
    "ReducedBasisNewton": "basis.newton",
    "Chunking": "decomposition.chunking",
    "SMO": "decomposition.smo",
    "WorkingSet": "decomposition.working_set",
    "Explanation": "explanation",
    "decide": "explanation",
    "explain": "explanation",
    "explain_method": "explanation",
    "InteriorPoint": "interior_point.dense",
    "LowRankInteriorPoint": "interior_point.low_rank",
    "CoordinateDescent": "linear.coordinate_descent",
    "LinearProgramming": "linear.programming",
    "PairDescent": "ranking.pair_descent",
    "AdaTron": "textbook.adatron",
    "GradientDescent": "textbook.gradient_descent",
    "Lagrangian": "textbook.lagrangian",
    "Newton": "textbook.newton",
    "RegularizedRisk": "textbook.regularized_risk",
    "Descent": "textbook.risk_descent",
    "descend": "textbook.risk_descent",
}


def __getattr__(name: str) -> Any:
    """Import the module of `name` on first use and keep the name as an attribute."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hinge.solvers' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"hinge.solvers.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
