"""Ranking: preferences within queries, as pairs of samples with costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hinge.formulations.base import Formulation
from hinge.formulations.convex_loss import ConvexLoss
from hinge.kernels import Access, PairAccess, sum_over_pairs
from hinge.losses import Hinge, Loss
from hinge.model import Expansion
from hinge.problems import Array, Dual, Problem

#: Samples per part of a long query: a block of pairs has the samples of at most two parts.
PART_SIZE = 512

#: Queries that are compared at once, if none of them has more samples than this.
COMPARED_QUERIES, MAX_PADDED_SAMPLES = 1024, 64

#: Samples of a higher and a lower relevance, and the numbers of pairs of the blocks.
Pairs = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]

#: Weightings of the pairs of a query.
WEIGHTINGS = ("uniform", "gain")


@dataclass(frozen=True)
class Ranking(Formulation):
    """min ½‖w‖² + Σ C_ij φ(f(xᵢ) − f(xⱼ)) over the pairs with yᵢ > yⱼ of one query.                docs/math (430)

    There is no offset, because it cancels in differences. Pairs are sorted by blocks that have few samples. φ is a loss
    of the margin.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    block_starts: NDArray[np.int64]
    cost: Array
    n: int
    loss: Loss = field(default_factory=Hinge)

    @property
    def differences(self) -> ConvexLoss:
        """The problem over pairs: classification of the differences Φ(xᵢ) − Φ(xⱼ), which are all positive."""
        return ConvexLoss(np.ones(len(self.first)), self.cost, self.loss, bias=False)

    def dual(self) -> Dual:
        """Dual problem in the form (1); hinge loss: min ½αᵀDKDᵀα − 1ᵀα,  0 ≤ α ≤ C.       docs/math (431), (467)"""
        return self.differences.dual()

    def build(self, access: Access) -> Problem:
        """Return the kernel form over pairs; `access` is access to the kernel matrix of the samples."""
        return self.differences.build(PairAccess(access, self.first, self.second, self.block_starts))

    def pair_coefficients(self, alpha: Array) -> Array:
        """Return the coefficient of every difference."""
        return self.differences.recover(alpha, np.empty(0)).coefficients

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = Dᵀα over the n samples."""
        return self.of_pairs(self.pair_coefficients(alpha))

    def of_pairs(self, coefficients: Array) -> Expansion:
        """Return the function of the samples for given coefficients of the differences."""
        return Expansion(sum_over_pairs(self.first, self.second, coefficients, self.n), 0.0)

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Not available: many α have the same β, so the estimator stores α."""
        raise TypeError("the variables of pairs are not determined by the coefficients of samples")


def preferences(
    relevance: Array, query: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return (first, second, block starts) of all pairs whose first sample has the higher relevance.  docs/math (430)

    Queries with more than 2 · PART_SIZE samples are divided into parts, and every two parts make a block.
    """
    first, second, counts = [], [], [np.zeros(1, dtype=np.int64)]
    order = np.argsort(query, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(query[order])) + 1, [len(order)]])
    for begin in range(0, len(starts) - 1 if len(order) else 0, COMPARED_QUERIES):
        bounds = starts[begin : begin + COMPARED_QUERIES + 1]
        if np.max(np.diff(bounds)) <= min(MAX_PADDED_SAMPLES, 2 * PART_SIZE):
            found = [_small_queries(relevance, order, bounds)]
        else:
            found = [
                block
                for low, high in itertools.pairwise(bounds.tolist())
                for block in _blocks_of_query(relevance, order[low:high])
            ]
        for left, right, sizes in found:
            first.append(left)
            second.append(right)
            counts.append(sizes[sizes > 0])
    empty = [np.empty(0, dtype=np.intp)]
    left, right = np.concatenate(first or empty), np.concatenate(second or empty)
    return left.astype(np.int32), right.astype(np.int32), np.cumsum(np.concatenate(counts)).astype(np.int64)


def _small_queries(relevance: Array, order: NDArray[np.intp], starts: NDArray[np.intp]) -> Pairs:
    """Return (first, second, sizes) of consecutive queries, compared at once after padding to the same size."""
    sizes = np.diff(starts)
    slots = np.arange(max(1, int(np.max(sizes))))
    position = np.minimum(starts[:-1, None] + slots, len(order) - 1)
    members = order[position]
    grades = np.where(slots < sizes[:, None], relevance[members], np.nan)  # comparisons with NaN are false
    block, i, j = np.nonzero(grades[:, :, None] > grades[:, None, :])
    return members[block, i], members[block, j], np.bincount(block, minlength=len(sizes))


def _blocks_of_query(relevance: Array, members: NDArray[np.intp]) -> Iterator[Pairs]:
    """Yield (first, second, [size]) of the blocks of a query."""
    parts = np.array_split(members, -(-len(members) // PART_SIZE)) if len(members) > 2 * PART_SIZE else [members]
    for a in range(len(parts)):
        for b in range(a, len(parts)):
            block = parts[a] if a == b else np.concatenate([parts[a], parts[b]])
            better = relevance[block][:, None] > relevance[block][None, :]
            if a != b:  # pairs within a part belong to another block
                better[: len(parts[a]), : len(parts[a])] = better[len(parts[a]) :, len(parts[a]) :] = False
            i, j = np.nonzero(better)
            yield block[i], block[j], np.array([len(i)])


def pair_weights(
    relevance: Array, first: NDArray[np.int32], second: NDArray[np.int32], weighting: str | float
) -> Array:
    """Return 1, or 2^yᵢ − 2^yⱼ, or for a number θ their interpolation (Karasuyama (4.32)–(4.34)).   docs/math (434)"""
    if weighting == "uniform":
        return np.ones(len(first))
    if not isinstance(weighting, str):
        return (1 - weighting) + weighting * pair_weights(relevance, first, second, "gain")
    with np.errstate(over="ignore"):
        gain = np.exp2(relevance)
    if not np.isfinite(gain).all():
        raise ValueError(
            f"relevance has the value {np.max(relevance):g}: 2 to this power overflows. Use weighting='uniform', or "
            "smaller grades such as 0, 1, 2"
        )
    return gain[first] - gain[second]
