"""Choosing parameters: grids that share kernels, exact search along paths, leave-one-out by removal, and its bounds."""

from hinge.selection.bounds import LooBounds, loo_bounds
from hinge.selection.grid import grid
from hinge.selection.leave_one_out import LeaveOneOut, leave_one_out
from hinge.selection.noise import nu_for_noise
from hinge.selection.result import GridResult
from hinge.selection.search import PathSearch, path_search

__all__ = [
    "GridResult",
    "LeaveOneOut",
    "LooBounds",
    "PathSearch",
    "grid",
    "leave_one_out",
    "loo_bounds",
    "nu_for_noise",
    "path_search",
]
