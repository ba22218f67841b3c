"""A search: the splits, the tables that are filled, and what is said about them in the end."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid, check_cv

from hinge.estimators.common.validation import TrainingData
from hinge.problems import Array
from hinge.selection.folds import Index
from hinge.selection.result import GridResult, tabulate
from hinge.selection.scores import scorer_of
from hinge.validation import check_sample_weight


class Search:
    """What searches share.  `run` fills `scores`, `known` and the times, (candidates × splits) each."""

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
        self.began = time.monotonic()
        self.max_time = max_time
        self.scorer, self.error_score, self.unscored = scorer_of(scoring), error_score, list[str]()
        data = self.validated(clone(template), X, y)
        self.classifies = is_classifier(template)
        if self.classifies and len(np.unique(data.y)) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: every sample is labelled "
                f"{data.y[0]!r}"
            )
        splits = [
            (np.arange(data.n)[train], np.arange(data.n)[test])
            for train, test in check_cv(cv, data.y, classifier=self.classifies).split(data.X, data.y, groups)
        ]
        if not splits:
            raise ValueError(f"cv={cv!r} gives no split; pass at least one (train, test)")
        weight = check_sample_weight(sample_weight, data.n)
        self.X, self.y, self.weight, self.splits = data.X, data.y, weight, splits
        self.candidates = list(ParameterGrid(axes))
        shape = (len(self.candidates), len(splits))
        self.scores, self.fit_time, self.score_time = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
        self.known, self.failed, self.unsolved = np.zeros(shape, dtype=bool), set[str](), 0
        self.threads = effective_n_jobs(template.n_jobs)
        self.prepare()

    def validated(self, estimator: Any, X: Any, y: Any) -> TrainingData:
        """The training data as `fit` of the estimator validates them, without sample weights."""
        return estimator._validate(X, y, None)

    def prepare(self) -> None:
        """What else a search needs before it runs."""

    def run(self) -> None:
        """Fill the tables."""
        raise NotImplementedError

    def left(self) -> float | None:
        """Seconds until `max_time`."""
        return None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - self.began))

    def say(self, what: str) -> None:
        """A line on standard error, where `verbose`."""
        if self.verbose and sys.stderr is not None:
            sys.stderr.write(f"grid  {what}  {time.monotonic() - self.began:.1f} s\n")

    def train(self, k: int) -> Index:
        """The training part of a split, in the order of the samples; without those of weight zero."""
        train = np.sort(self.splits[k][0])
        return train[self.weight[train] > 0]

    def can_train(self, k: int) -> bool:
        """Whether there is something to train on; if not, the scores of the split are `error_score`."""
        train = self.train(k)
        if self.classifies and len(np.unique(self.y[train])) < 2:
            reason = f"split {k} has fewer than two classes to train on"
        elif len(train) == 0:
            reason = f"split {k} has nothing to train on"
        else:
            return True
        if isinstance(self.error_score, str):
            raise ValueError(f"{reason}. Use fewer folds, or stratified ones")
        self.failed.add(reason)
        self.scores[:, k], self.known[:, k] = self.error_score, True
        return False

    def score(self, model: Any, X: Any, y: Any) -> float:
        """What the scorer says, or `error_score` where it raises an error."""
        assert self.scorer is not None
        try:
            found = self.scorer(model, X, y)
        except Exception as error:
            if isinstance(self.error_score, str):
                raise
            self.unscored.append(f"{type(error).__name__}: {error}")
            return float(self.error_score)
        if isinstance(found, Real | np.generic):
            return float(found)
        raise ValueError(f"scoring must return a number, got {found!r} of type {type(found).__name__}")

    def result(self) -> GridResult:
        """The tables so far."""
        table = tabulate(self.candidates, self.scores, self.fit_time, self.score_time)
        mean: Array = table["mean_test_score"]
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
        """What did not go as it should."""
        if self.failed:
            warnings.warn(
                f"{'; '.join(sorted(self.failed))}: the scores there are {self.error_score}. Use fewer folds, or "
                "stratified ones",
                FitFailedWarning,
                stacklevel=3,
            )
        for reason, count in Counter(self.unscored).items():
            warnings.warn(
                f"scoring failed {count} times ({reason}): the scores there are {self.error_score}. Pass "
                "error_score='raise' to see where",
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
