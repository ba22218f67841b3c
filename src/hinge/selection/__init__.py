"""Parameter selection: grid search with shared kernels, exact search along paths, leave-one-out values and bounds."""

from hinge.losses.noise import epsilon_for_noise, nu_for_noise
from hinge.selection.bounds import LooBounds, loo_bounds
from hinge.selection.estimators.kernel import SVCCV, SVRCV
from hinge.selection.estimators.linear import LinearSVCCV, LinearSVRCV
from hinge.selection.grid import grid
from hinge.selection.learning_curve import LearningCurve, learning_curve
from hinge.selection.leave_one_out import LeaveOneOut, leave_one_out
from hinge.selection.nu.interval import NuRange, nu_range
from hinge.selection.nu.search import nu_grid
from hinge.selection.pairwise import PairwiseResult, pairwise_grid
from hinge.selection.path_search import PathSearch, path_search
from hinge.selection.result import GridResult, SearchResult

__all__ = [
    "SVCCV",
    "SVRCV",
    "GridResult",
    "LearningCurve",
    "LeaveOneOut",
    "LinearSVCCV",
    "LinearSVRCV",
    "LooBounds",
    "NuRange",
    "PairwiseResult",
    "PathSearch",
    "SearchResult",
    "epsilon_for_noise",
    "grid",
    "learning_curve",
    "leave_one_out",
    "loo_bounds",
    "nu_for_noise",
    "nu_grid",
    "nu_range",
    "pairwise_grid",
    "path_search",
]
