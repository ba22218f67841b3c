"""The quadratic program every machine becomes, its solution, and the certificate of how good it is."""

from hinge.problems.certificate import Certificate, certify, combine
from hinge.problems.offset import optimal_offset
from hinge.problems.problem import Problem
from hinge.problems.quadratic import Array, Quadratic
from hinge.problems.solution import History, Solution
from hinge.problems.status import Status

__all__ = [
    "Array",
    "Certificate",
    "History",
    "Problem",
    "Quadratic",
    "Solution",
    "Status",
    "certify",
    "combine",
    "optimal_offset",
]
