"""Ranking: preferences within queries become the costs of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access, PairAccess, sum_over_pairs
from hinge.model import Expansion
from hinge.problems import Array, Diagonal, Problem, Quadratic

#: Blocks of pairs have at most about twice so many samples.
TILE = 512

#: How the pairs of a query are weighted against each other.
WEIGHTINGS = ("uniform", "gain")


@dataclass(frozen=True)
class Ranking:
    """min ½‖w‖² + Σ C_ij max(0, 1 − (f(xᵢ) − f(xⱼ))) over the pairs with yᵢ > yⱼ of one query.     docs/math (430)

    No offset: it would cancel. Pairs of one block, which have few samples, follow each other. `squared`: the loss is
    max(0, ·)² instead.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    block_starts: NDArray[np.int64]
    cost: Array
    n: int
    squared: bool = False

    @property
    def upper(self) -> Array:
        """C_ij, or infinity where errors are squared."""
        return np.full(len(self.cost), np.inf) if self.squared else self.cost

    def build(self, access: Access) -> Problem:
        """min ½αᵀDKDᵀα − 1ᵀα,  0 ≤ α ≤ C; `access` is to K over samples.                 docs/math (431), (467)"""
        m = len(self.first)
        Q = Quadratic(PairAccess(access, self.first, self.second, self.block_starts), np.ones(m))
        term = Diagonal(0.5 / self.cost) if self.squared else None
        return Problem(Q, -np.ones(m), np.empty((0, m)), np.empty(0), np.zeros(m), self.upper, term)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = Dᵀα over the n samples."""
        return Expansion(sum_over_pairs(self.first, self.second, alpha, self.n), 0.0)

    def unit(self, mu: Array) -> float:
        """The function is in the problem's units."""
        return 1.0

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Many α have the same β: they are kept with the model instead."""
        raise TypeError("the variables of pairs cannot be told from the coefficients of samples")


def preferences(
    relevance: Array, query: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """(first, second, block) of all pairs of a query whose first has the higher relevance.       docs/math (430)

    The samples of a query with more than TILE of them are divided, and every two of the parts are a block.
    """
    first, second, counts = [], [], [0]
    order = np.argsort(query, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        members = np.sort(members)
        parts = np.array_split(members, -(-len(members) // TILE)) if len(members) > 2 * TILE else [members]
        for a in range(len(parts)):
            for b in range(a, len(parts)):
                mine = parts[a] if a == b else np.concatenate([parts[a], parts[b]])
                better = relevance[mine][:, None] > relevance[mine][None, :]
                if a != b:  # only those across
                    better[: len(parts[a]), : len(parts[a])] = better[len(parts[a]) :, len(parts[a]) :] = False
                i, j = np.nonzero(better)
                if len(i):
                    first.append(mine[i])
                    second.append(mine[j])
                    counts.append(len(i))
    none = [np.empty(0, dtype=np.intp)]
    left, right = np.concatenate(first or none), np.concatenate(second or none)
    return left.astype(np.int32), right.astype(np.int32), np.cumsum(counts).astype(np.int64)


def pair_weights(
    relevance: Array, first: NDArray[np.int32], second: NDArray[np.int32], weighting: str | float
) -> Array:
    """1, or 2^yᵢ − 2^yⱼ, or for a number θ what lies between (Karasuyama (4.32)–(4.34)).          docs/math (434)"""
    if weighting == "uniform":
        return np.ones(len(first))
    if not isinstance(weighting, str):
        return (1 - weighting) + weighting * pair_weights(relevance, first, second, "gain")
    with np.errstate(over="ignore"):
        gain = np.exp2(relevance)
    if not np.isfinite(gain).all():
        raise ValueError(
            f"relevance has the value {np.max(relevance):g}: 2 to this power overflows. Use weighting='uniform', or "
            "grades as small as 0, 1, 2, …"
        )
    return gain[first] - gain[second]
