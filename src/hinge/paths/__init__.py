"""Paths: exact solutions as functions of C, weights, ε, ν or λ; addition and removal of samples."""

from hinge.paths.approximate import ApproximatePath, approximate_path
from hinge.paths.breakpoints import Pieces
from hinge.paths.engine import Counts, PathError
from hinge.paths.l1.lasso import ReweightedLasso, lasso_path, lasso_weight_path, reweighted_lasso
from hinge.paths.l1.lasso_path import LassoPath
from hinge.paths.l1.linear_program import LPPath, lp_path
from hinge.paths.one_vs_one import OneVsOnePaths, one_vs_one_paths
from hinge.paths.path import SolutionPath
from hinge.paths.path_model import PathModel
from hinge.paths.quadratic_loss.path import QuadraticLossPath
from hinge.paths.quadratic_loss.tracking import quadratic_loss_path
from hinge.paths.regularization import epsilon_path, nu_path, regularization_path, weight_path
from hinge.paths.validation_error import Best, PiecewiseQuadratic, StepFunction
from hinge.problems import ParametricProblem

Motion = ParametricProblem  # former name, still public

__all__ = [
    "ApproximatePath",
    "Best",
    "Counts",
    "LPPath",
    "LassoPath",
    "Motion",
    "OneVsOnePaths",
    "ParametricProblem",
    "PathError",
    "PathModel",
    "Pieces",
    "PiecewiseQuadratic",
    "QuadraticLossPath",
    "ReweightedLasso",
    "SolutionPath",
    "StepFunction",
    "approximate_path",
    "epsilon_path",
    "lasso_path",
    "lasso_weight_path",
    "lp_path",
    "nu_path",
    "one_vs_one_paths",
    "quadratic_loss_path",
    "regularization_path",
    "reweighted_lasso",
    "weight_path",
]
