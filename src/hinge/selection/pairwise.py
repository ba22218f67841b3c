"""Separate parameters for every pair of classes.                                     ν tutorial §8, Table 2"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score

from hinge.control import RunControl
from hinge.estimators import SVC, NuSVC
from hinge.selection.grid import grid
from hinge.selection.nu.search import nu_grid
from hinge.selection.result import GridResult
from hinge.validation import as_labels, as_rows, check_same_length, check_sample_weight


@dataclass(frozen=True)
class PairwiseResult:
    """Result of `hinge.selection.pairwise_grid`: one search and one fitted classifier for every pair of classes.

    Attributes
    ----------
    classes_ : ndarray
    searches_ : dict
        The `GridResult` of each pair (a, b) of classes.
    params_ : dict
        The best parameters of each pair.
    best_score_ : float
        Mean of the best scores of the pairs. The parameters of a pair are chosen by its own samples only, so this is
        not an estimate of the accuracy over all classes; cross-validate `pairwise_grid` for one.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = hinge.selection.pairwise_grid(X, y, C=[0.1, 1.0], gamma=[0.1, 1.0])
    >>> len(result.searches_), bool(result.score(X, y) > 0.9)
    (3, True)
    """

    classes_: NDArray[Any]
    searches_: dict[tuple[Any, Any], GridResult] = field(repr=False)

    @property
    def params_(self) -> dict[tuple[Any, Any], dict[str, Any]]:
        return {pair: dict(search.best_params_ or {}) for pair, search in self.searches_.items()}

    @property
    def best_score_(self) -> float:
        return float(np.mean([search.best_score_ for search in self.searches_.values()]))

    def votes(self, X: Any) -> NDArray[np.intp]:
        """Return the number of pairs that vote for each class, an array of shape (n_samples, n_classes)."""
        ballots = [search.predict(X) for search in self.searches_.values()]
        return np.stack([np.sum([b == label for b in ballots], axis=0) for label in self.classes_], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes, the first one if several have as many."""
        return self.classes_[np.argmax(self.votes(X), axis=1)]

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy."""
        return float(accuracy_score(y, self.predict(X)))


def pairwise_grid(
    X: Any,
    y: Any,
    *,
    C: Any = None,
    nu: Any = None,
    gamma: Any = None,
    estimator: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    error_score: Any = np.nan,
    max_time: float | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> PairwiseResult:
    """Choose (C, γ) or (ν, γ) separately for every pair of classes by cross-validation, and fit the pairs.

    The prediction is the class with the most votes, as in `SVC`. Each pair is searched on its own samples, which takes
    about as long as a search with common parameters: the number of problems is the same.

    Parameters
    ----------
    X, y
        As for the estimator's `fit`; a precomputed kernel matrix is not supported.
    C, nu : float or sequence of floats
        Exactly one of them: C for `SVC`, ν for `NuSVC`. A ν that is infeasible for a pair is not chosen. An integer ν
        stands for a number of values in the admissible interval of each pair, as in `nu_grid`.
    gamma : float, "scale", "auto", or a sequence of them, optional
        "scale" is computed from the samples of the pair.
    estimator : SVC or NuSVC, optional
        The estimator whose other parameters are used.
    cv : int or splitter
        Applied to the samples of each pair.
    scoring, sample_weight, error_score, verbose
        As in `grid`.
    max_time : float, optional
        Seconds for all searches; each pair gets an equal share of the remaining time.
    **parameters
        Any other parameter of the estimator.

    Returns
    -------
    PairwiseResult

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.selection import pairwise_grid
    >>> X, y = load_iris(return_X_y=True)
    >>> search = pairwise_grid(X, y, C=[0.1, 1, 10], gamma=[0.1, 1.0])
    >>> len(search.params_), bool(search.score(X, y) > 0.95)
    (3, True)
    """
    if (C is None) == (nu is None):
        raise ValueError("pass exactly one of C (for SVC) and nu (for NuSVC)")
    kind: Any = SVC if nu is None else NuSVC
    if estimator is not None and type(estimator) is not kind:
        raise TypeError(
            f"estimator={estimator!r} must be a hinge.{kind.__name__} if {'C' if nu is None else 'nu'} is given"
        )
    template = (kind() if estimator is None else clone(estimator)).set_params(**parameters)
    if template._is_precomputed():
        raise ValueError("kernel='precomputed' is not supported by pairwise_grid, which selects rows: pass samples")
    labels, rows_of = as_labels(y), as_rows(X)
    check_same_length(rows_of, labels)
    weight = check_sample_weight(sample_weight, len(labels))
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"y has {len(classes)} class, but pairwise_grid needs at least two")
    rows_of = rows_of.tocsr() if hasattr(rows_of, "tocsr") else rows_of
    search: Any = grid if nu is None else nu_grid
    axis = {"C": C} if nu is None else {"nu": nu}
    control, pairs = RunControl(max_time), list(combinations(classes, 2))
    results = {}
    for k, (first, second) in enumerate(pairs):
        rows = np.flatnonzero((labels == first) | (labels == second))
        remaining = control.remaining()
        share = None if remaining is None else max(remaining, 1e-3) / (len(pairs) - k)
        key = tuple(label.item() if isinstance(label, np.generic) else label for label in (first, second))
        results[key] = search(
            rows_of[rows], labels[rows], **axis, gamma=gamma, estimator=template, cv=cv, scoring=scoring,
            sample_weight=None if sample_weight is None else weight[rows], error_score=error_score, max_time=share,
            verbose=verbose,
        )  # fmt: skip
    return PairwiseResult(classes, results)
