"""Choosing parameters exactly: cross-validation along paths, leave-one-out by removal, and its bounds."""

from hinge.selection.bounds import LooBounds, loo_bounds
from hinge.selection.leave_out import LeaveOneOut, leave_one_out
from hinge.selection.search import PathSearch, path_search

__all__ = ["LeaveOneOut", "LooBounds", "PathSearch", "leave_one_out", "loo_bounds", "path_search"]
