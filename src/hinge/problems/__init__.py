"""Problem (1), its linear, parametric and other forms, solutions and certificates."""

from hinge.problems.certificate import Certificate, certify, certify_all, combine, optimal_offset
from hinge.problems.crammer_singer import CrammerSingerProblem, CrammerSingerSolution, certify_crammer_singer
from hinge.problems.dual import (
    ParametricProblem,
    kernel_form,
    kernel_variables,
    linear_form,
    linear_problem,
    parametric_problem,
)
from hinge.problems.linear import (
    Bias,
    LinearProblem,
    LinearSolution,
    broadcast_ratio,
    certify_linear,
    constant_function,
    distinct,
    scaled,
    scaled_cost,
)
from hinge.problems.lp import LPProblem, LPSolution, certify_lp
from hinge.problems.problem import Dual, Problem, Quadratic, dot
from hinge.problems.separable import Array, Diagonal, LossTerm, Separable
from hinge.problems.solution import History, Solution
from hinge.problems.status import Status

__all__ = [
    "Array",
    "Bias",
    "Certificate",
    "CrammerSingerProblem",
    "CrammerSingerSolution",
    "Diagonal",
    "Dual",
    "History",
    "LPProblem",
    "LPSolution",
    "LinearProblem",
    "LinearSolution",
    "LossTerm",
    "ParametricProblem",
    "Problem",
    "Quadratic",
    "Separable",
    "Solution",
    "Status",
    "broadcast_ratio",
    "certify",
    "certify_all",
    "certify_crammer_singer",
    "certify_linear",
    "certify_lp",
    "combine",
    "constant_function",
    "distinct",
    "dot",
    "kernel_form",
    "kernel_variables",
    "linear_form",
    "linear_problem",
    "optimal_offset",
    "parametric_problem",
    "scaled",
    "scaled_cost",
]
