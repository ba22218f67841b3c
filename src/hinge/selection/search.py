"""Base of the grid searches: splits, tables of scores, and warnings."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid, check_cv

from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.progress import ProgressLine
from hinge.estimators.common.validation import TrainingData
from hinge.problems import Array
from hinge.selection.folds import Index
from hinge.selection.result import GridResult, tabulate
from hinge.selection.scores import scorer_of
from hinge.validation import check_sample_weight


class Search(ABC):
    """Grid search. `run` fills the tables `scores`, `known`, `fit_time` and `score_time` (candidates × splits)."""

    def __init__(
        self,
        template: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        axes: dict[str, list[Any]],
        cv: Any,
        groups: Any,
        scoring: Any,
        error_score: Any,
        max_time: float | None,
        verbose: bool,
    ) -> None:
        self.template, self.axes, self.verbose = template, axes, verbose
        self.start = time.monotonic()
        self.max_time, self.control = max_time, RunControl(max_time)
        self.scorer, self.error_score, self.unscored = scorer_of(scoring), error_score, list[str]()
        data = self.validated(clone(template), X, y)
        self.classifies = is_classifier(template)
        if self.classifies and len(np.unique(data.y)) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: every sample is labeled "
                f"{data.y[:1].tolist()[0]!r}"
            )
        if isinstance(cv, Integral) and int(cv) > data.n:
            raise ValueError(f"cv asks for more folds than there are samples, {data.n}; use a smaller number")
        splits = [
            (np.arange(data.n)[train], np.arange(data.n)[test])
            for train, test in check_cv(cv, data.y, classifier=self.classifies).split(data.X, data.y, groups)
        ]
        if not splits:
            raise ValueError(f"cv={cv!r} returns no split; at least one (train, test) is needed")
        weight = check_sample_weight(sample_weight, data.n)
        self.X, self.y, self.weight, self.splits = data.X, data.y, weight, splits
        self.candidates = list(ParameterGrid(axes))
        shape = (len(self.candidates), len(splits))
        self.scores, self.fit_time, self.score_time = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
        self.known, self.failed, self.unsolved = np.zeros(shape, dtype=bool), set[str](), 0
        self.threads = effective_n_jobs(template.n_jobs)
        #: The finished search on the largest subset of the samples, if there is a time limit.
        self.preliminary: Search | None = None
        self.line = ProgressLine(self.label, verbose=False)

    def validated(self, estimator: Any, X: Any, y: Any) -> TrainingData:
        """Return the training data as `fit` of the estimator validates them, without sample weights."""
        return estimator._validate(X, y, None)

    #: First words of the progress line.
    label = "search"

    @abstractmethod
    def run(self) -> None:
        """Fill the tables."""

    def preferred(self, name: str, values: list[Any]) -> list[Any]:
        """Return the distinct values of a parameter, those with the best preliminary scores first."""
        values = list(dict.fromkeys(values))
        if self.preliminary is None:
            return values
        mean = np.nan_to_num(self.preliminary.scores.mean(axis=1), nan=-np.inf)

        def best(value: Any) -> float:
            return max((float(m) for m, c in zip(mean, self.candidates, strict=True) if c.get(name, value) == value))

        return sorted(values, key=best, reverse=True)

    def search(self) -> None:
        """Fill the tables, with a progress line if `verbose`."""
        with ProgressLine(self.label, verbose=self.verbose) as self.line:
            self.run()

    def report(self) -> None:
        """Show the number of known scores, the remaining time and the best candidate on the progress line."""
        if not self.verbose:
            return
        snapshot = {
            "done": int(self.known.sum()), "total": self.known.size, "unit": "fits",
            "seconds": time.monotonic() - self.start, "note": self._best_so_far(),
        }  # fmt: skip
        self.line.update(snapshot)

    def _best_so_far(self) -> str:
        """Return the candidate with the best mean of the scores that are known, as text."""
        counts = self.known.sum(axis=1)
        sums = np.where(self.known, np.nan_to_num(self.scores, nan=-np.inf), 0.0).sum(axis=1)
        means = np.divide(sums, counts, out=np.full(len(sums), -np.inf), where=counts > 0)
        best = int(np.argmax(means))
        if not np.isfinite(means[best]):
            return ""
        values = ", ".join(f"{name}={_short(value)}" for name, value in self.candidates[best].items())
        return f"best {means[best]:.4g} with {values}"

    def train(self, k: int) -> Index:
        """Return the training samples of a split with a positive weight, in ascending order."""
        train = np.sort(self.splits[k][0])
        return train[self.weight[train] > 0]

    def can_train(self, k: int) -> bool:
        """Whether a split can be trained on; otherwise its scores are set to `error_score`."""
        train = self.train(k)
        if self.classifies and len(np.unique(self.y[train])) < 2:
            reason = f"split {k} has training samples of fewer than two classes"
        elif len(train) == 0:
            reason = f"split {k} has no training samples"
        else:
            return True
        if isinstance(self.error_score, str):
            raise ValueError(f"{reason}. Use fewer folds, or stratified ones")
        self.failed.add(reason)
        self.scores[:, k], self.known[:, k] = self.error_score, True
        return False

    def score(self, model: Any, X: Any, y: Any) -> float:
        """Return the value of the scorer, or `error_score` if it raises an error."""
        assert self.scorer is not None
        try:
            value = self.scorer(model, X, y)
        except Exception as error:
            if isinstance(self.error_score, str):
                raise
            self.unscored.append(f"{type(error).__name__}: {error}")
            return float(self.error_score)
        if isinstance(value, Real | np.generic):
            return float(value)
        raise ValueError(f"scoring must return a number, got {value!r} of type {type(value).__name__}")

    def result(self) -> GridResult:
        """Return the current tables as a result."""
        table = tabulate(self.candidates, self.scores, self.fit_time, self.score_time)
        mean: Array = table["mean_test_score"]
        if not np.isfinite(mean).any() and self.preliminary is not None:
            mean = self.preliminary.scores.mean(axis=1)
        best = int(np.nanargmax(mean)) if np.isfinite(mean).any() else None
        return GridResult(
            cv_results_=table,
            n_splits_=len(self.splits),
            best_index_=best,
            best_params_=None if best is None else dict(self.candidates[best]),
            best_score_=float("nan") if best is None else float(mean[best]),
            complete_=bool(self.known.all()),
        )

    def warn(self) -> None:
        """Warn of splits without scores, of errors in scorers and of problems that were not solved."""
        if self.failed:
            warnings.warn(
                f"{'; '.join(sorted(self.failed))}: their scores are {self.error_score}. Use fewer folds, or "
                "stratified ones",
                FitFailedWarning,
                stacklevel=3,
            )
        for reason, count in Counter(self.unscored).items():
            warnings.warn(
                f"scoring failed {count} times ({reason}): the scores are {self.error_score}. Pass "
                "error_score='raise' to see the error",
                UserWarning,
                stacklevel=3,
            )
        missing = ~np.all(self.known, axis=1)
        if missing.any():
            warnings.warn(
                f"max_time={self.max_time} s ended the search: {int(missing.sum())} of {len(missing)} candidates have "
                "no score (NaN). Allow more time or fewer candidates",
                ConvergenceWarning,
                stacklevel=3,
            )
        limit = self.template.max_iter
        if self.unsolved:
            warnings.warn(
                f"{self.unsolved} problems of the search did not reach tol={self.template.tol:g}"
                f"{f' (max_iter={limit})' if limit >= 0 else ''}. Consider pre-processing your data with "
                "StandardScaler or MinMaxScaler",
                ConvergenceWarning,
                stacklevel=3,
            )


def _short(value: Any) -> str:
    """Return a parameter value as text with few digits."""
    return f"{value:.4g}" if isinstance(value, Real) and not isinstance(value, bool) else str(value)
