"""Validation of queries and relevance, and the pairs of samples that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.formulations import Ranking, pair_weights, preferences
from hinge.kernels import available_bytes
from hinge.losses import Hinge, Loss
from hinge.problems import Array
from hinge.validation import as_vector

#: Largest number of pairs, and memory per pair. Larger problems, and those that do not fit into memory, raise an error.
MAX_PAIRS, BYTES_PER_PAIR = 200_000_000, 120


def check_relevance(relevance: Any, name: str = "relevance") -> Array:
    """Return grades as a 1-D array of finite numbers."""
    if relevance is None:
        raise ValueError(
            f"ranking requires y to be passed, but the target y is None; {name} holds a grade for every sample"
        )
    grades = as_vector(relevance, name)
    try:
        grades = grades.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, higher for better: {error}") from None
    if not np.isfinite(grades).all():
        raise ValueError(f"Input {name} contains NaN or infinity; every sample needs a finite grade")
    return grades


def _is_missing(name: Any) -> bool:
    """Whether a value is None, NaN or NA of pandas, whose comparison raises a TypeError."""
    try:
        return name is None or bool(name != name)
    except TypeError:
        return True


def check_queries(qid: Any, n: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return (index of the query of every sample, sorted names of the queries); one query for all if qid is None."""
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
    if names.dtype == object and any(map(_is_missing, names)):
        raise ValueError("qid contains missing values; every sample belongs to a query")
    try:
        queries, index = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"qid must hold numbers or strings that can be sorted: {error}") from None
    return index.astype(np.intp), queries


def check_query_weight(query_weight: Any, queries: NDArray[Any]) -> Array:
    """Return one weight per query, from a mapping {query: weight} or from one number per query in sorted order."""
    if query_weight is None:
        return np.ones(len(queries))
    if isinstance(query_weight, Mapping):
        missing = [q for q in queries.tolist() if q not in query_weight]
        if missing:
            raise ValueError(f"query_weight has no weight for query {missing[0]!r} (and {len(missing) - 1} others)")
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
    loss: Loss | None = None,
) -> Ranking:
    """Return all pairs within queries with their costs C w_q wᵢ wⱼ (times 2^yᵢ − 2^yⱼ).   docs/math (430), (434)

    Pairs with cost zero are omitted. `loss` is a loss of the margin, by default the hinge loss.
    """
    sizes = np.bincount(query).astype(np.float64)
    max_pairs = min(MAX_PAIRS, available_bytes() // BYTES_PER_PAIR)
    if np.sum(sizes * (sizes - 1) / 2) > max_pairs:
        count = count_pairs(relevance, query)
        if count > max_pairs:
            raise ValueError(
                f"the samples have {count:.3g} pairs, but there is memory for {max_pairs:.3g}; pass qid so that only "
                "samples of one query are compared, or pass fewer samples"
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
            f"there are no pairs: none of the {len(sizes)} queries has two samples of different relevance (and "
            "positive weight). Queries with one sample or one grade define no preference; check qid and relevance"
        )
    return Ranking(first, second, starts, cost, len(relevance), loss or Hinge())


def count_pairs(relevance: Array, query: NDArray[np.intp]) -> float:
    """Return the number of pairs without constructing them: (Σ n_q² − Σ n_qg²) / 2 for the grades g of a query."""
    order = np.lexsort((relevance, query))
    changes = np.diff(query[order]) != 0, np.diff(relevance[order]) != 0
    ends = np.flatnonzero(np.concatenate([changes[0] | changes[1], [True]]))
    grades = np.diff(ends, prepend=-1).astype(np.float64)
    return float(np.sum(np.bincount(query).astype(np.float64) ** 2) - np.sum(grades**2)) / 2
