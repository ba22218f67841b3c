"""Queries, relevance and the pairs they make: looked at once, at the door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from hinge.formulations import Ranking, pair_weights, preferences
from hinge.kernels import available_bytes
from hinge.problems import Array

#: More pairs than this are refused, and more than memory is free for: every one of them takes about 120 bytes.
MOST_PAIRS, PAIR_BYTES = 200_000_000, 120


def check_relevance(relevance: Any, name: str = "relevance") -> Array:
    """Grades as finite numbers."""
    if relevance is None:
        raise ValueError(
            f"ranking requires y to be passed, but the target y is None; {name} holds a grade for every sample"
        )
    grades = column_or_1d(relevance, warn=True)
    try:
        grades = grades.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, higher for better: {error}") from None
    if not np.isfinite(grades).all():
        raise ValueError(f"Input {name} contains NaN or infinity; every sample needs a finite grade")
    return grades


def _missing(name: Any) -> bool:
    """None, NaN, or pandas's NA, which does not even say whether it is itself."""
    try:
        return name is None or bool(name != name)
    except TypeError:
        return True


def check_queries(qid: Any, n: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """(number of its query for every sample, the names of the queries, sorted); one query for all when qid is None."""
    if qid is None:
        return np.zeros(n, dtype=np.intp), np.zeros(1, dtype=np.intp)
    names = np.asarray(qid)
    if names.ndim == 2 and names.shape[1] == 1:
        names = names[:, 0]
    if names.ndim != 1 or len(names) != n:
        raise ValueError(f"qid has shape {np.shape(qid)}, but X has {n} samples; pass the query of every sample")
    if names.dtype.kind == "f" and not np.isfinite(names).all():
        raise ValueError("qid contains NaN or infinity; every sample belongs to a query")
    if names.dtype.kind in "mM" and np.isnat(names).any():
        raise ValueError("qid contains NaT; every sample belongs to a query")
    if names.dtype == object and any(map(_missing, names)):
        raise ValueError("qid contains missing values; every sample belongs to a query")
    try:
        queries, number = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"qid must hold numbers or strings that can be sorted: {error}") from None
    return number.astype(np.intp), queries


def check_query_weight(query_weight: Any, queries: NDArray[Any]) -> Array:
    """One weight per query: from a mapping {query: weight}, or from as many numbers as there are queries, sorted."""
    if query_weight is None:
        return np.ones(len(queries))
    if isinstance(query_weight, Mapping):
        absent = [q for q in queries.tolist() if q not in query_weight]
        if absent:
            raise ValueError(f"query_weight has no weight for query {absent[0]!r} (and {len(absent) - 1} more)")
        query_weight = [query_weight[q] for q in queries.tolist()]
    weight = np.asarray(query_weight, dtype=np.float64)
    if weight.shape != (len(queries),):
        raise ValueError(
            f"query_weight has shape {weight.shape}, but there are {len(queries)} queries; pass one weight per query "
            "in the order of np.unique(qid), or a mapping"
        )
    if not np.isfinite(weight).all() or np.any(weight < 0):
        raise ValueError("query_weight must hold finite numbers, zero or positive")
    return weight


def make_pairs(
    relevance: Array,
    query: NDArray[np.intp],
    C: float,
    weighting: str | float,
    weight: Array,
    query_weight: Array,
    squared: bool = False,
) -> Ranking:
    """All preferences within queries with their costs C w_q wᵢ wⱼ (times 2^yᵢ − 2^yⱼ).   docs/math (430), (434)

    Pairs whose cost is zero are left out.
    """
    sizes = np.bincount(query).astype(np.float64)
    most = min(MOST_PAIRS, available_bytes() // PAIR_BYTES)
    if np.sum(sizes * (sizes - 1) / 2) > most:
        count = _count(relevance, query)
        if count > most:
            raise ValueError(
                f"these samples make {count:.3g} pairs, more than the {most:.3g} there is memory for; pass qid so that "
                "only samples of one query are compared, or fewer samples"
            )
    first, second, starts = preferences(relevance, query)
    cost = C * pair_weights(relevance, first, second, weighting)
    cost = cost * weight[first] * weight[second] * query_weight[query[first]]
    if not np.all(cost > 0):
        keep = cost > 0
        starts = np.concatenate([[0], np.cumsum(keep)])[starts].astype(np.int64)
        first, second, cost = first[keep], second[keep], cost[keep]
    if len(first) == 0:
        raise ValueError(
            f"there is nothing to learn from: none of the {len(sizes)} queries has two samples of different relevance "
            "(and positive weight). Queries with one sample or one grade hold no preference; check qid and relevance"
        )
    return Ranking(first, second, starts, cost, len(relevance), squared)


def _count(relevance: Array, query: NDArray[np.intp]) -> float:
    """Number of pairs, without making them."""
    total = 0.0
    order = np.argsort(query, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        _, counts = np.unique(relevance[members], return_counts=True)
        total += (float(len(members)) ** 2 - float(np.sum(counts.astype(float) ** 2))) / 2
    return total
