"""Fold a diagonal term into the kernel matrix, so that solvers of quadratic programs with bounds accept it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hinge.kernels import GramAccess, PairAccess, SubsetAccess, with_ridge
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems import Array, Problem, Quadratic, Solution, Status, optimal_offset

#: After a time limit the multipliers are computed again for at most this many variables: it takes about 100 passes.
MAX_OFFSET_SIZE = 20_000


def fold_diagonal(problems: Sequence[Problem]) -> list[Problem]:
    """The problems without a term: ½ Σ dᵥαᵥ² is added to the diagonal of K.  docs/math (319)

    Problems over subsets of the samples of one matrix still share a matrix if their diagonals agree.
    """
    diagonals = [None if problem.term is None else problem.sample_diagonal() for problem in problems]
    shared: dict[int, GramAccess | None] = {}
    for problem, diagonal in zip(problems, diagonals, strict=True):
        access = problem.Q.access
        if diagonal is not None and isinstance(access, SubsetAccess) and id(access.whole) not in shared:
            shared[id(access.whole)] = _whole_with_diagonal(access.whole, problems, diagonals)
    return [
        problem if diagonal is None else _folded(problem, diagonal, shared)
        for problem, diagonal in zip(problems, diagonals, strict=True)
    ]


def _folded(problem: Problem, diagonal: Array, shared: dict[int, GramAccess | None]) -> Problem:
    access = problem.Q.access
    if isinstance(access, PairAccess):
        access = access.as_matrix()
    if not isinstance(access, GramAccess | SubsetAccess):
        raise TypeError(f"a squared loss needs access through a kernel matrix, not {type(access).__name__}")
    whole = shared.get(id(access.whole)) if isinstance(access, SubsetAccess) else None
    if whole is not None and isinstance(access, SubsetAccess):
        folded: GramAccess | SubsetAccess = whole.subset(access.index)
    else:
        folded = with_ridge(access, diagonal)
    return replace(problem, Q=Quadratic(folded, problem.Q.sign), term=None)


def _whole_with_diagonal(
    whole: GramAccess, problems: Sequence[Problem], diagonals: Sequence[Array | None]
) -> GramAccess | None:
    """The matrix of all samples with the diagonals of all its problems; None if the diagonals differ."""
    merged = np.full(whole.n, np.nan)
    for problem, diagonal in zip(problems, diagonals, strict=True):
        access = problem.Q.access
        if not isinstance(access, SubsetAccess) or access.whole is not whole or diagonal is None:
            continue
        known = merged[access.index]
        if np.any(~np.isnan(known) & (known != diagonal)):
            return None
        merged[access.index] = diagonal
    return with_ridge(whole, np.where(np.isnan(merged), 0.0, merged))


def unfold_diagonal(problem: Problem, solution: Solution) -> Solution:
    """Convert the solution of a folded problem to `problem`: the same point, with its gradient and multipliers."""
    if problem.term is None:
        return solution
    Q, alpha = problem.Q, solution.alpha.copy()
    beta = Q.coefficients(alpha)
    if Q.slots == 2 and np.all(Q.sign[: Q.n] == -Q.sign[Q.n :]):
        # decreasing α and α* of a sample by the same amount does not change f and decreases the objective
        common = np.minimum(alpha[: Q.n] - problem.lower[: Q.n], alpha[Q.n :] - problem.lower[Q.n :])
        alpha -= np.tile(np.maximum(common, 0.0), 2)
    gradient = solution.gradient - Q.spread(problem.sample_diagonal() * beta)
    slow = solution.status is Status.TIME_LIMIT and problem.size > MAX_OFFSET_SIZE
    mu = solution.mu if slow else optimal_offset(problem, alpha, gradient)
    error = solution.gradient_error
    if error is not None:  # of the subtraction
        error += 4 * UNIT_ROUNDOFF * float(np.max(np.abs(solution.gradient) + np.abs(gradient) + np.abs(problem.p)))
    return replace(solution, alpha=alpha, gradient=gradient, mu=mu, remainder=None, gradient_error=error)
