"""Rank of a kernel matrix: known for linear and polynomial kernels, estimated on a subsample for others."""

from __future__ import annotations

from math import comb

import numpy as np
import scipy.linalg

from hinge.kernels import GramAccess, Linear, Polynomial, SubsetAccess
from hinge.lowrank import PivotedCholesky
from hinge.problems import Diagonal, Problem

#: A rank above this is not low.
MAX_RANK = 300

#: A rank r is low only if the matrix has at least ROWS_PER_RANK · r rows.
ROWS_PER_RANK = 10

#: Samples whose kernel matrix is factorized to estimate the rank.
SUBSAMPLE_SIZE = 600

#: Pivots below this share of the largest diagonal entry count as zero.
ZERO_PIVOT = 1e-12

#: Steps of the working-set method, per sample, that take as long as an interior-point solution on a factor with r
#: columns: the first number plus r² times the second.   docs/decisions/low-rank.md
FACTOR_STEPS = 100
FACTOR_STEPS_PER_SQUARED_RANK = 0.04

#: Steps per sample after which the cost of estimating the rank is negligible.
STEPS_BEFORE_ESTIMATE = 500


def known_rank(problem: Problem) -> int | None:
    """Rank of a linear or polynomial kernel, without computation; None if it is unknown or not low."""
    bound = _rank_bound(problem)
    return None if bound is None else _if_low(problem, bound)


def estimated_rank(problem: Problem) -> int | None:
    """Rank of the kernel matrix of a subsample; None if it is not low.

    If the rank of the whole matrix is larger, its factorization detects this: the residual of the trace is known.
    """
    if _rank_bound(problem) is not None:
        return known_rank(problem)
    if not isinstance(problem.Q.access, GramAccess | SubsetAccess):
        return None
    n = problem.Q.n
    subsample = np.sort(np.random.default_rng(0).permutation(n)[:SUBSAMPLE_SIZE])
    K = problem.Q.access.block(subsample, subsample)
    scale = float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    if not np.isfinite(K).all() or scale == 0.0:
        return None
    _, _, rank, info = scipy.linalg.lapack.dpstrf(K, tol=ZERO_PIVOT * scale)
    return _if_low(problem, int(rank)) if info >= 0 and rank < len(subsample) else None


def is_factorable(problem: Problem) -> bool:
    """Whether the low-rank interior-point method accepts the problem.

    Every variable needs finite bounds or a curved term, and no two rows may share a variable.
    """
    bounded = np.isfinite(problem.upper - problem.lower)
    if isinstance(problem.term, Diagonal):
        bounded |= problem.term.d > 0
    elif problem.term is not None:
        bounded[:] = True
    return bool(bounded.all()) and not np.any(np.count_nonzero(problem.A, axis=0) > 1)


def exact_factorization(problem: Problem) -> PivotedCholesky:
    """Method that factorizes a kernel matrix of low rank without residual."""
    return PivotedCholesky(rank=min(MAX_RANK, problem.Q.n), tol=1e-13)


def steps_before_factor(problem: Problem) -> float:
    """Steps of the working-set method after which a low rank is worth using, or estimating if it is unknown.

    Infinite if the rank is known not to be low.
    """
    rank, n = known_rank(problem), problem.Q.n
    if rank is None:
        return STEPS_BEFORE_ESTIMATE * n if _rank_bound(problem) is None else np.inf
    return int(n * (FACTOR_STEPS + FACTOR_STEPS_PER_SQUARED_RANK * rank**2))


def _if_low(problem: Problem, rank: int) -> int | None:
    return rank if rank <= MAX_RANK and problem.Q.n >= ROWS_PER_RANK * rank else None


def _rank_bound(problem: Problem) -> int | None:
    """Upper bound on the rank: the number of features, or of their monomials; None for other kernels."""
    access = problem.Q.access
    whole = access.whole if isinstance(access, SubsetAccess) else access
    if not isinstance(whole, GramAccess):
        return None
    kernel = whole.kernel
    if isinstance(kernel, Linear):
        return int(whole.data.shape[1])
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer() and kernel.degree >= 1:
        features, degree = int(whole.data.shape[1]), int(kernel.degree)
        return comb(features + degree - (kernel.coef0 == 0), degree)
    return None
