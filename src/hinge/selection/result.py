"""Result of a grid search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hinge.problems import Array


class SearchResult:
    """Methods that all results of a search have: predictions of the best estimator.

    Every result has `best_params_`, `best_score_` (larger is better) and `best_estimator_`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.selection import SearchResult
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = hinge.selection.grid(X, y, C=[0.1, 1.0], gamma=[0.1])
    >>> isinstance(result, SearchResult), result.predict(X[:3])
    (True, array([0, 0, 0]))
    """

    best_estimator_: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the best estimator."""
        return self._best("predict").predict(X)

    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the best estimator."""
        return self._best("decision_function").decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the best estimator: accuracy or R²."""
        return float(self._best("score").score(X, y))

    def _best(self, method: str) -> Any:
        if self.best_estimator_ is None:
            raise AttributeError(
                f"{method} needs best_estimator_, which was not fitted: search with refit=True, and with enough time "
                "for one candidate"
            )
        return self.best_estimator_


@dataclass(frozen=True)
class GridResult(SearchResult):
    """Result of `hinge.selection.grid`, with the attributes of scikit-learn's `GridSearchCV`.

    Attributes
    ----------
    cv_results_ : dict of arrays
        ``pandas.DataFrame(result.cv_results_)`` is a table with one row per candidate: ``param_C``, ``param_gamma``,
        ``params``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score``, ``rank_test_score``, and the
        times. ``mean_fit_time`` is the time of one thread for solving, without the kernel values, which are shared.
    best_index_, best_params_, best_score_
        The candidate with the best mean score; None if no candidate was finished.
    best_estimator_ : estimator or None
        Fitted to all data with the best parameters, unless ``refit=False``.
    n_splits_ : int
    complete_ : bool
        False if the time limit or Ctrl-C ended the search; the missing scores are NaN.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = hinge.selection.grid(X, y, C=[0.1, 1.0], gamma=[0.1, 1.0])
    >>> sorted(result.best_params_), result.complete_, len(result.cv_results_["params"])
    (['C', 'gamma'], True, 4)
    """

    cv_results_: dict[str, Any] = field(repr=False)
    n_splits_: int
    best_index_: int | None
    best_params_: dict[str, Any] | None
    best_score_: float
    complete_: bool
    best_estimator_: Any = None


def tabulate(candidates: list[dict[str, Any]], scores: Array, fit_time: Array, score_time: Array) -> dict[str, Any]:
    """Return `cv_results_` for tables of (candidates × splits)."""
    results: dict[str, Any] = {}
    for name, times in (("fit_time", fit_time), ("score_time", score_time)):
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
    for name in candidates[0]:
        values = [candidate[name] for candidate in candidates]
        numeric = all(not isinstance(value, str | tuple) for value in values)
        column = np.empty(len(values), dtype=np.asarray(values).dtype if numeric else object)
        column[:] = values
        results[f"param_{name}"] = np.ma.MaskedArray(column, mask=False)
    results["params"] = candidates
    for k in range(scores.shape[1]):
        results[f"split{k}_test_score"] = scores[:, k]
    mean = scores.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1)
    worst = np.nanmin(mean) - 1 if np.isfinite(mean).any() else 0.0
    ranked = rankdata(-np.where(np.isnan(mean), worst, mean), method="min")
    results["rank_test_score"] = ranked.astype(np.int32)
    return results
