"""Solvers: frozen options and one verb, `solve(problem) -> Solution`.  They know no labels and no data."""

from hinge.solvers.choose import Solver, choose
from hinge.solvers.smo import SMO, Monitor

__all__ = ["SMO", "Monitor", "Solver", "choose"]
