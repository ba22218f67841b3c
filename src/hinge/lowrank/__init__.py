"""Low-rank approximations of kernel matrices by few basis functions, with their residual."""

from hinge.lowrank.access import LowRankAccess, low_rank_access
from hinge.lowrank.factor import Factor
from hinge.lowrank.methods import SGMA, Approximation, Nystrom, PivotedCholesky
from hinge.lowrank.row_blocks import RowBlocks
from hinge.lowrank.values import ValueExpansion, expand_values

__all__ = [
    "SGMA",
    "Approximation",
    "Factor",
    "LowRankAccess",
    "Nystrom",
    "PivotedCholesky",
    "RowBlocks",
    "ValueExpansion",
    "expand_values",
    "low_rank_access",
]
