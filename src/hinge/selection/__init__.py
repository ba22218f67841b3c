"""Parameter selection: grid search with shared kernels, exact search along paths, leave-one-out values and bounds."""

from hinge.selection.bounds import LooBounds, loo_bounds
from hinge.selection.estimators.kernel import SVCCV, SVRCV
from hinge.selection.estimators.linear import LinearSVCCV, LinearSVRCV
from hinge.selection.grid import grid
from hinge.selection.leave_one_out import LeaveOneOut, leave_one_out
from hinge.selection.noise import nu_for_noise
from hinge.selection.path_search import PathSearch, path_search
from hinge.selection.result import GridResult, SearchResult

__all__ = [
    "SVCCV",
    "SVRCV",
    "GridResult",
    "LeaveOneOut",
    "LinearSVCCV",
    "LinearSVRCV",
    "LooBounds",
    "PathSearch",
    "SearchResult",
    "grid",
    "leave_one_out",
    "loo_bounds",
    "nu_for_noise",
    "path_search",
]
