"""The rank of a kernel matrix, where it decides: known for linear kernels, probed on a few samples for others."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.linalg import lapack

from hinge.kernels import GramAccess, Linear, Polynomial, SubsetAccess
from hinge.lowrank import PivotedCholesky
from hinge.problems import Diagonal, Problem

#: A kernel matrix with so few columns in its factor, and so many times more rows, is of low rank.
LOW_RANK, ROWS_PER_COLUMN = 300, 10

#: Samples whose kernel matrix is factorised to learn its rank, and the pivot, relative to the largest, that is zero.
PROBED, ZERO_PIVOT = 600, 1e-12

#: An interior point method on a factor with r columns takes as long as so many steps for every sample, and r² times the
#: second number: docs/decisions/0314-rank-decides.md.
FACTOR_STEPS, FACTOR_STEPS_PER_SQUARE = 100, 0.04

#: Steps for every sample after which the rank is worth a probe.
PROBE_STEPS = 500


def known_rank(problem: Problem) -> int | None:
    """The columns of the factor, if they are few, where nothing has to be computed: linear and polynomial kernels."""
    most = _most(problem)
    return None if most is None else _low(problem, most)


def probed_rank(problem: Problem) -> int | None:
    """The rank of the kernel matrix of some of the samples, if it is low; None if it is not.

    Where all are more, the factor of all of them says so: what it leaves of the trace is known.
    """
    if _most(problem) is not None:
        return known_rank(problem)
    if not isinstance(problem.Q.access, GramAccess | SubsetAccess):
        return None
    n = problem.Q.n
    some = np.sort(np.random.default_rng(0).permutation(n)[:PROBED])
    K = problem.Q.access.block(some, some)
    scale = float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    if not np.isfinite(K).all() or scale == 0.0:
        return None
    _, _, rank, info = lapack.dpstrf(K, tol=ZERO_PIVOT * scale)
    return _low(problem, int(rank)) if info >= 0 and rank < len(some) else None


def may_be_factored(problem: Problem) -> bool:
    """Whether an interior point method on a factor is for this problem: variables are held, and rows share none."""
    held = np.isfinite(problem.upper - problem.lower)
    if isinstance(problem.term, Diagonal):
        held |= problem.term.d > 0
    elif problem.term is not None:
        held[:] = True
    return bool(held.all()) and not np.any(np.count_nonzero(problem.A, axis=0) > 1)


def approximation(problem: Problem) -> PivotedCholesky:
    """A factor that leaves nothing, if there is one of low rank."""
    return PivotedCholesky(rank=min(LOW_RANK, problem.Q.n), tol=1e-13)


def steps_before_factor(problem: Problem) -> float:
    """Steps that take about as long as an interior point method on the factor, or make a probe of the rank cheap;
    infinitely many where the rank is known to be too high."""
    rank, n = known_rank(problem), problem.Q.n
    if rank is None:
        return PROBE_STEPS * n if _most(problem) is None else np.inf
    return int(n * (FACTOR_STEPS + FACTOR_STEPS_PER_SQUARE * rank**2))


def _low(problem: Problem, columns: int) -> int | None:
    return columns if columns <= LOW_RANK and problem.Q.n >= ROWS_PER_COLUMN * columns else None


def _most(problem: Problem) -> int | None:
    """What the rank is at most: the features, or their products up to a degree; None for other kernels."""
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
