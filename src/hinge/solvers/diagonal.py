"""A quadratic term becomes part of the kernel matrix, so that every solver of boxes solves quadratic losses as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hinge.kernels import GramAccess, PairAccess, SubsetAccess, with_ridge
from hinge.problems import Array, Problem, Quadratic, Solution, optimal_offset


def fold_diagonal(problems: Sequence[Problem]) -> list[Problem]:
    """The same problems without a term: ½ Σ dᵥαᵥ² goes to the diagonal of K.                     docs/math (319)

    Problems over parts of one matrix still share it where they agree about the diagonal.
    """
    ridges = [None if problem.term is None else diagonal_of(problem) for problem in problems]
    shared: dict[int, GramAccess | None] = {}
    for k, problem in enumerate(problems):
        access = problem.Q.access
        if ridges[k] is not None and isinstance(access, SubsetAccess) and id(access.whole) not in shared:
            shared[id(access.whole)] = _ridged_whole(access.whole, problems, ridges)
    found = []
    for problem, ridge in zip(problems, ridges, strict=True):
        found.append(problem if ridge is None else _with(problem, ridge, shared))
    return found


def _with(problem: Problem, ridge: Array, shared: dict[int, GramAccess | None]) -> Problem:
    access = problem.Q.access
    if isinstance(access, PairAccess):
        access = access.as_matrix()
    if not isinstance(access, GramAccess | SubsetAccess):
        raise TypeError(f"a quadratic term needs access through a kernel matrix, not {type(access).__name__}")
    whole = shared.get(id(access.whole)) if isinstance(access, SubsetAccess) else None
    if whole is not None and isinstance(access, SubsetAccess):
        ridged: GramAccess | SubsetAccess = whole.subset(access.index)
    else:
        ridged = with_ridge(access, ridge)
    return replace(problem, Q=Quadratic(ridged, problem.Q.sign), term=None)


def diagonal_of(problem: Problem) -> Array:
    """dᵥ, which all slots of a sample share."""
    return problem.sample_diagonal()


def _ridged_whole(
    whole: GramAccess, problems: Sequence[Problem], ridges: Sequence[Array | None]
) -> GramAccess | None:
    """The whole matrix with the ridges of all its parts; None where they contradict each other."""
    ridge = np.full(whole.n, np.nan)
    for problem, part in zip(problems, ridges, strict=True):
        access = problem.Q.access
        if not isinstance(access, SubsetAccess) or access.whole is not whole or part is None:
            continue
        before = ridge[access.index]
        if np.any(~np.isnan(before) & (before != part)):
            return None
        ridge[access.index] = part
    return with_ridge(whole, np.where(np.isnan(ridge), 0.0, ridge))


def unfold_diagonal(problem: Problem, solution: Solution) -> Solution:
    """A solution without the term as one with it: the same point, another gradient and other multipliers."""
    if problem.term is None:
        return solution
    Q, alpha = problem.Q, solution.alpha.copy()
    beta = Q.coefficients(alpha)
    if Q.slots == 2 and np.all(Q.sign[: Q.n] == -Q.sign[Q.n :]):  # both slots at once cost, and gain nothing
        both = np.minimum(alpha[: Q.n] - problem.lower[: Q.n], alpha[Q.n :] - problem.lower[Q.n :])
        alpha -= np.tile(np.maximum(both, 0.0), 2)
    gradient = solution.gradient - Q.spread(diagonal_of(problem) * beta)
    mu = optimal_offset(problem, alpha, gradient)
    return replace(solution, alpha=alpha, gradient=gradient, mu=mu, remainder=None)
