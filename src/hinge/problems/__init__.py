"""Problem (1), its linear, parametric and other forms, solutions and certificates."""

from hinge.problems.certificate import Certificate, certify, combine, known_bounds
from hinge.problems.crammer_singer import (
    CrammerSingerProblem,
    CrammerSingerSolution,
    certify_crammer_singer,
    crammer_singer_optimality,
)
from hinge.problems.linear import (
    Bias,
    KnownProducts,
    LinearProblem,
    LinearSolution,
    broadcast_ratio,
    certify_linear,
    check_inverse_cost,
    kernel_form,
    kernel_variables,
    linear_form,
    linear_problem,
    scaled,
    scaled_cost,
)
from hinge.problems.linear_optimality import constant_function, linear_optimality
from hinge.problems.lp import LPProblem, LPSolution, certify_lp
from hinge.problems.offset import optimal_offset
from hinge.problems.optimality import Optimality, optimality
from hinge.problems.parametric import ParametricProblem, parametric_problem
from hinge.problems.problem import Dual, Problem, Quadratic, dot
from hinge.problems.separable import Array, Diagonal, LossTerm, Separable
from hinge.problems.solution import History, KnownBounds, Solution
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
    "KnownBounds",
    "KnownProducts",
    "LPProblem",
    "LPSolution",
    "LinearProblem",
    "LinearSolution",
    "LossTerm",
    "Optimality",
    "ParametricProblem",
    "Problem",
    "Quadratic",
    "Separable",
    "Solution",
    "Status",
    "broadcast_ratio",
    "certify",
    "certify_crammer_singer",
    "certify_linear",
    "certify_lp",
    "check_inverse_cost",
    "combine",
    "constant_function",
    "crammer_singer_optimality",
    "dot",
    "kernel_form",
    "kernel_variables",
    "known_bounds",
    "linear_form",
    "linear_optimality",
    "linear_problem",
    "optimal_offset",
    "optimality",
    "parametric_problem",
    "scaled",
    "scaled_cost",
]
