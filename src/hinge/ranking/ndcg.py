"""NDCG@k, Karasuyama (4.35), of scores and along paths of scores.                          docs/math (445)–(448)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.paths import StepFunction
from hinge.problems import Array
from hinge.ranking.queries import check_queries, check_relevance

#: Scores that differ by no more than this share of the largest are equal.
TIE = 1e-10


def ndcg(relevance: Any, scores: Any, qid: Any = None, k: int | None = 10) -> float:
    """Normalised discounted cumulative gain at k, averaged over queries.                Karasuyama (4.35)

    The gain of an item is 2^y − 1, its discount 1 at the first place and 1 / log₂(j) at place j > 1, as in LETOR.

    Parameters
    ----------
    relevance : array-like of shape (n_samples,)
        Grades y, zero or positive.
    scores : array-like of shape (n_samples,)
        Higher for better.
    qid : array-like of shape (n_samples,), optional
        The query of every sample; all belong to one when left out.
    k : int or None
        Places that count; None for all.

    Returns
    -------
    float
        In [0, 1]. Samples with equal scores (to 1e-10 of the largest) share their places: each gets the mean of their
        discounts, which is the expectation over all orders. Queries without any gain say nothing about a ranking and
        are left out of the mean.
    """
    grades = check_relevance(relevance)
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != grades.shape:
        raise ValueError(f"scores has shape {values.shape}, but there are {len(grades)} grades; pass one per sample")
    if not np.isfinite(values).all():
        raise ValueError("scores contains NaN or infinity")
    found = []
    for rows, gain, best in each_query(grades, qid, k):
        scored = values[rows][None, :]
        found.append(float(_ndcg_rows(scored, gain[None, :], best, k, _tie(scored))[0]))
    return float(np.mean(found))


def check_k(k: Any) -> int | None:
    """A number of places."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k={k!r} must be a positive integer, or None for all places")
    return None if k is None else int(k)


def each_query(grades: Array, qid: Any, k: int | None) -> Iterator[tuple[NDArray[np.intp], Array, float]]:
    """(members, gains, best possible gain) of every query that has any gain."""
    k = check_k(k)
    if np.any(grades < 0):
        raise ValueError(f"relevance has the value {np.min(grades):g}; NDCG needs grades of zero or more: shift them")
    with np.errstate(over="ignore"):
        gains = np.exp2(grades) - 1
    if not np.isfinite(gains).all():
        raise ValueError(f"relevance has the value {np.max(grades):g}: 2 to this power overflows; use smaller grades")
    query, names = check_queries(qid, len(grades))
    order = np.argsort(query, kind="stable")
    any_gain = False
    for members in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        gain = gains[members]
        best = float(np.sort(gain)[::-1] @ discounts(len(gain), k))
        if best > 0:
            any_gain = True
            yield members, gain, best
    if not any_gain:
        raise ValueError(
            f"NDCG is not defined: no sample of the {len(names)} queries has a relevance above zero; check relevance"
        )


def discounts(n: int, k: int | None) -> Array:
    """1, 1, 1/log₂3, 1/log₂4, … and zero after place k."""
    places = np.arange(1, n + 1, dtype=np.float64)
    found = 1 / np.log2(np.maximum(places, 2.0))
    if k is not None:
        found[k:] = 0.0
    return found


def _ndcg_rows(values: Array, gain: Array, best: float, k: int | None, tie: Array) -> Array:
    """NDCG of every row of scores; rows may be padded with −∞ (gain zero).  Scores within `tie` share their places."""
    order = np.argsort(-values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    gained = np.take_along_axis(np.broadcast_to(gain, values.shape), order, axis=1)
    weight = discounts(values.shape[1], k)
    found = gained @ weight
    with np.errstate(invalid="ignore"):
        apart = ranked[:, :-1] - ranked[:, 1:] > tie[:, None]
    tied = np.flatnonzero(np.any(~apart & np.isfinite(ranked[:, 1:]), axis=1))
    for row in tied:
        group = np.concatenate([[0], np.cumsum(apart[row] | ~np.isfinite(ranked[row, 1:]))])
        counts = np.bincount(group)
        shared = np.bincount(group, weight) / counts
        found[row] = gained[row] @ shared[group]
    return found / best


def _tie(values: Array) -> Array:
    """Scores of a row that are no further apart are equal: machines put many pairs exactly on their margin."""
    return TIE * np.max(np.abs(values), axis=1)


def ndcg_path(
    chunks: Iterable[tuple[Array, Array, Array, Array]],
    relevance: Any,
    qid: Any,
    k: int | None,
    low: float,
    high: float,
) -> StepFunction:
    """NDCG@k as an exact function of θ, from chunks (starts, stops, scores at the starts, scores at the stops).

    Within a segment scores are straight lines. NDCG changes only where two items of a query that differ in relevance
    cross among the first k; between such places it is evaluated once.                              docs/math (447)
    """
    grades = check_relevance(relevance)
    queries = list(each_query(grades, qid, k))
    knots: list[list[Array]] = [[] for _ in queries]
    values: list[list[Array]] = [[] for _ in queries]
    for start, stop, at_start, at_stop in chunks:
        for place, (members, gain, best) in enumerate(queries):
            where, found = _steps(start, stop, at_start[:, members], at_stop[:, members], gain, best, k)
            knots[place].append(where)
            values[place].append(found)
    functions = []
    for places, heights in zip(knots, values, strict=True):
        starts, steps = np.concatenate(places), np.concatenate(heights)
        turns = np.concatenate([[True], np.diff(steps) != 0])
        functions.append(StepFunction(np.append(np.concatenate([[low], starts[turns][1:]]), high), steps[turns]))
    return functions[0] if len(functions) == 1 else StepFunction.mean(functions)


def _steps(
    start: Array, stop: Array, a: Array, b: Array, gain: Array, best: float, k: int | None
) -> tuple[Array, Array]:
    """Where the pieces of one query begin, and its NDCG on each."""
    tie = np.maximum(_tie(a), _tie(b))
    gains, at_start, at_stop = _contenders(a, b, gain, k, tie)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞) of places that hold nothing: no crossing
        ahead, later = (x[:, :, None] - x[:, None, :] for x in (at_start, at_stop))
        crosses = (ahead > 0) & (later < 0) & (ahead - later > tie[:, None, None])
        crosses &= gains[:, :, None] != gains[:, None, :]
    row, i, j = np.nonzero(crosses)
    share = ahead[row, i, j] / (ahead[row, i, j] - later[row, i, j])
    rows = np.concatenate([np.arange(len(start)), row])
    shares = np.concatenate([np.zeros(len(start)), share])
    order = np.lexsort((shares, rows))
    rows, shares = rows[order], shares[order]
    ends = np.append(shares[1:], 1.0)
    ends[np.append(rows[1:] != rows[:-1], True)] = 1.0
    wide = ends > shares
    rows, shares, ends = rows[wide], shares[wide], ends[wide]
    middle = 0.5 * (shares + ends)[:, None]
    with np.errstate(invalid="ignore"):
        scores = np.where(np.isfinite(at_start[rows]), (1 - middle) * at_start[rows] + middle * at_stop[rows], -np.inf)
    found = _ndcg_rows(scores, gains[rows], best, k, tie[rows])
    return start[rows] + shares * (stop - start)[rows], found


def _contenders(a: Array, b: Array, gain: Array, k: int | None, tie: Array) -> tuple[Array, Array, Array]:
    """The items of every segment that can be among the first k, or equal to the last of them: (gains, starts, stops).

    Padded with −∞.                                                                                 docs/math (448)
    """
    n = a.shape[1]
    if k is None or k >= n:
        return np.broadcast_to(gain, a.shape), a, b
    least, most = np.minimum(a, b), np.maximum(a, b)
    floor = np.partition(least, n - k, axis=1)[:, n - k]  # k items are never below
    inside = most >= (floor - tie)[:, None]
    width = int(np.max(np.sum(inside, axis=1)))
    top = np.argsort(~inside, axis=1, kind="stable")[:, :width]
    real = np.take_along_axis(inside, top, axis=1)
    starts, stops = (np.where(real, np.take_along_axis(x, top, axis=1), -np.inf) for x in (a, b))
    return np.where(real, gain[top], 0.0), starts, stops
