"""Rigorous bounds on the optima of fitted models, in ball arithmetic with 190 digits.

`subproblems` builds the convex programs of an estimator from its public parameters and its training data. `enclose`
bounds the optimum of a program. Both use python-flint and share no numerical code with hinge.
"""

from .active_set import enclose
from .checks import Optima, false_bounds, optima
from .models import subproblems
from .programs import Program

__all__ = ["Optima", "Program", "enclose", "false_bounds", "optima", "subproblems"]
