"""The quadratic program every machine becomes, its solution, and the certificate of how good it is."""

from hinge.problems.certificate import Certificate, certify, certify_all, combine
from hinge.problems.crammer_singer import CrammerSingerProblem, CrammerSingerSolution, certify_crammer_singer
from hinge.problems.linear import Bias, LinearProblem, LinearSolution, certify_linear, constant_function
from hinge.problems.lp import LPProblem, LPSolution, certify_lp
from hinge.problems.offset import optimal_offset
from hinge.problems.problem import Problem, dot
from hinge.problems.quadratic import Array, Quadratic
from hinge.problems.separable import Diagonal, LossTerm, Separable
from hinge.problems.solution import History, Solution
from hinge.problems.status import Status

__all__ = [
    "Array",
    "Bias",
    "Certificate",
    "CrammerSingerProblem",
    "CrammerSingerSolution",
    "Diagonal",
    "History",
    "LPProblem",
    "LPSolution",
    "LinearProblem",
    "LinearSolution",
    "LossTerm",
    "Problem",
    "Quadratic",
    "Separable",
    "Solution",
    "Status",
    "certify",
    "certify_all",
    "certify_crammer_singer",
    "certify_linear",
    "certify_lp",
    "combine",
    "constant_function",
    "dot",
    "optimal_offset",
]
