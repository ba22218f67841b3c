"""Low-rank approximations of kernel matrices by few basis functions, with their residual."""

from hinge.lowrank.access import LowRankAccess, low_rank_access
from hinge.lowrank.factor import Factor
from hinge.lowrank.methods import SGMA, Approximation, Nystrom, PivotedCholesky
from hinge.lowrank.row_blocks import RowBlocks

__all__ = [
    "SGMA",
    "Approximation",
    "Factor",
    "LowRankAccess",
    "Nystrom",
    "PivotedCholesky",
    "RowBlocks",
    "low_rank_access",
]
