"""Choosing hyper-parameters."""

from hinge.selection.grid import grid
from hinge.selection.result import GridResult

__all__ = ["GridResult", "grid"]
