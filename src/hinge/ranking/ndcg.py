"""NDCG@k, Karasuyama (4.35), of scores and along paths of scores.                          docs/math (445)–(448)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.paths import StepFunction
from hinge.problems import Array
from hinge.ranking.queries import check_queries, check_relevance

#: Difference of two scores, relative to the largest score, up to which they are equal.
TIE_TOL = 1e-10


def ndcg(relevance: Any, scores: Any, qid: Any = None, k: int | None = 10) -> float:
    """Return the normalized discounted cumulative gain at k, averaged over queries.        Karasuyama (4.35)

    The gain of an item is 2^y − 1, its discount 1 at rank 1 and 1 / log₂(j) at rank j > 1, as in LETOR.

    Parameters
    ----------
    relevance : array-like of shape (n_samples,)
        Grades y, zero or positive.
    scores : array-like of shape (n_samples,)
        Higher for better.
    qid : array-like of shape (n_samples,), optional
        The query of every sample; by default all samples belong to one query.
    k : int or None
        Number of ranks that count; None for all.

    Returns
    -------
    float
        In [0, 1]. Samples with equal scores (up to 1e-10 of the largest) get the mean of their discounts, which is the
        expectation over all orders. Queries without any gain are not included in the mean.

    Examples
    --------
    >>> from hinge.ranking import ndcg
    >>> ndcg([2, 1, 0], scores=[3.0, 2.0, 1.0]), round(ndcg([2, 1, 0], scores=[1.0, 2.0, 3.0]), 3)
    (1.0, 0.723)
    """
    grades = check_relevance(relevance)
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != grades.shape:
        raise ValueError(f"scores has shape {values.shape}, but there are {len(grades)} grades; pass one per sample")
    if not np.isfinite(values).all():
        raise ValueError("scores contains NaN or infinity")
    ndcgs = []
    for rows, gain, best in each_query(grades, qid, k):
        scored = values[rows][None, :]
        ndcgs.append(float(_ndcg_rows(scored, gain[None, :], best, k, _tie_width(scored))[0]))
    return float(np.mean(ndcgs))


def check_k(k: Any) -> int | None:
    """Return the number of ranks that count."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k={k!r} must be a positive integer, or None for all ranks")
    return None if k is None else int(k)


def each_query(grades: Array, qid: Any, k: int | None) -> Iterator[tuple[NDArray[np.intp], Array, float]]:
    """Yield (samples, gains, largest discounted gain) of every query with a positive gain."""
    k = check_k(k)
    if np.any(grades < 0):
        raise ValueError(f"relevance has the value {np.min(grades):g}; NDCG needs grades of zero or more: shift them")
    with np.errstate(over="ignore"):
        gains = np.exp2(grades) - 1
    if not np.isfinite(gains).all():
        raise ValueError(f"relevance has the value {np.max(grades):g}: 2 to this power overflows; use smaller grades")
    query, names = check_queries(qid, len(grades))
    order = np.argsort(query, kind="stable")
    has_gain = False
    for members in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        gain = gains[members]
        best = float(np.sort(gain)[::-1] @ discounts(len(gain), k))
        if best > 0:
            has_gain = True
            yield members, gain, best
    if not has_gain:
        raise ValueError(
            f"NDCG is not defined: no sample of the {len(names)} queries has a relevance above zero; check relevance"
        )


def discounts(n: int, k: int | None) -> Array:
    """Return the discounts of n ranks: 1, 1, 1/log₂3, 1/log₂4, … and zero after rank k."""
    ranks = np.arange(1, n + 1, dtype=np.float64)
    values = 1 / np.log2(np.maximum(ranks, 2.0))
    if k is not None:
        values[k:] = 0.0
    return values


def _ndcg_rows(values: Array, gain: Array, best: float, k: int | None, tie: Array) -> Array:
    """Return NDCG of every row of scores; rows may be padded with −∞ (gain zero). Scores within `tie` are equal."""
    order = np.argsort(-values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    gained = np.take_along_axis(np.broadcast_to(gain, values.shape), order, axis=1)
    weight = discounts(values.shape[1], k)
    total = gained @ weight
    with np.errstate(invalid="ignore"):
        differ = ranked[:, :-1] - ranked[:, 1:] > tie[:, None]
    tied = np.flatnonzero(np.any(~differ & np.isfinite(ranked[:, 1:]), axis=1))
    for row in tied:
        group = np.concatenate([[0], np.cumsum(differ[row] | ~np.isfinite(ranked[row, 1:]))])
        counts = np.bincount(group)
        mean_weight = np.bincount(group, weight) / counts
        total[row] = gained[row] @ mean_weight[group]
    return total / best


def _tie_width(values: Array) -> Array:
    """Return the difference up to which scores of a row are equal. Ties are frequent: many pairs lie on the margin."""
    return TIE_TOL * np.max(np.abs(values), axis=1)


def ndcg_path(
    chunks: Iterable[tuple[Array, Array, Array, Array]],
    relevance: Any,
    qid: Any,
    k: int | None,
    low: float,
    high: float,
) -> StepFunction:
    """Return NDCG@k as an exact function of θ, from chunks (starts, stops, scores at the starts, scores at the stops).

    Scores are linear within a segment. NDCG changes only where the scores of two items of different relevance among the
    first k cross. Between these crossings it is evaluated once.                              docs/math (447)
    """
    grades = check_relevance(relevance)
    queries = list(each_query(grades, qid, k))
    knots: list[list[Array]] = [[] for _ in queries]
    values: list[list[Array]] = [[] for _ in queries]
    for start, stop, at_start, at_stop in chunks:
        for query, (members, gain, best) in enumerate(queries):
            theta, ndcgs = _steps(start, stop, at_start[:, members], at_stop[:, members], gain, best, k)
            knots[query].append(theta)
            values[query].append(ndcgs)
    functions = []
    for thetas, pieces in zip(knots, values, strict=True):
        starts, steps = np.concatenate(thetas), np.concatenate(pieces)
        changes = np.concatenate([[True], np.diff(steps) != 0])
        functions.append(StepFunction(np.append(np.concatenate([[low], starts[changes][1:]]), high), steps[changes]))
    return functions[0] if len(functions) == 1 else StepFunction.mean(functions)


def _steps(
    start: Array, stop: Array, a: Array, b: Array, gain: Array, best: float, k: int | None
) -> tuple[Array, Array]:
    """Return the starts of the pieces of one query, and its NDCG on each piece."""
    tie = np.maximum(_tie_width(a), _tie_width(b))
    gains, at_start, at_stop = _candidates(a, b, gain, k, tie)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞) of the padding: no crossing
        before, after = (x[:, :, None] - x[:, None, :] for x in (at_start, at_stop))
        crosses = (before > 0) & (after < 0) & (before - after > tie[:, None, None])
        crosses &= gains[:, :, None] != gains[:, None, :]
    row, i, j = np.nonzero(crosses)
    share = before[row, i, j] / (before[row, i, j] - after[row, i, j])
    rows = np.concatenate([np.arange(len(start)), row])
    shares = np.concatenate([np.zeros(len(start)), share])
    order = np.lexsort((shares, rows))
    rows, shares = rows[order], shares[order]
    ends = np.append(shares[1:], 1.0)
    ends[np.append(rows[1:] != rows[:-1], True)] = 1.0
    nonempty = ends > shares
    rows, shares, ends = rows[nonempty], shares[nonempty], ends[nonempty]
    middle = 0.5 * (shares + ends)[:, None]
    with np.errstate(invalid="ignore"):
        scores = np.where(np.isfinite(at_start[rows]), (1 - middle) * at_start[rows] + middle * at_stop[rows], -np.inf)
    ndcgs = _ndcg_rows(scores, gains[rows], best, k, tie[rows])
    return start[rows] + shares * (stop - start)[rows], ndcgs


def _candidates(a: Array, b: Array, gain: Array, k: int | None, tie: Array) -> tuple[Array, Array, Array]:
    """Return (gains, starts, stops) of the items that can be among the first k of a segment, or equal to the last one.

    Rows are padded with −∞.                                                                        docs/math (448)
    """
    n = a.shape[1]
    if k is None or k >= n:
        return np.broadcast_to(gain, a.shape), a, b
    smallest, largest = np.minimum(a, b), np.maximum(a, b)
    threshold = np.partition(smallest, n - k, axis=1)[:, n - k]  # k items are above it on all of the segment
    is_candidate = largest >= (threshold - tie)[:, None]
    width = int(np.max(np.sum(is_candidate, axis=1)))
    top = np.argsort(~is_candidate, axis=1, kind="stable")[:, :width]
    is_item = np.take_along_axis(is_candidate, top, axis=1)
    starts, stops = (np.where(is_item, np.take_along_axis(x, top, axis=1), -np.inf) for x in (a, b))
    return np.where(is_item, gain[top], 0.0), starts, stops
