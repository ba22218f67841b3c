"""Parts of a search: independent computations, each of which returns the scores of some candidates on some folds.

SVC, SVR, LinearSVC and LinearSVR are searched by `hinge.selection.grid`, which shares kernel matrices and starts each
fit from the previous solution: a part is one gamma with all values of C. For other estimators and parameters a part is
one candidate on one fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid, StratifiedKFold

from hinge.cli.datafile import Samples
from hinge.cli.failures import UsageError
from hinge.cli.models import fit_arguments, make_scaler
from hinge.cli.search.record import Cell, Scores
from hinge.estimators import SVC, SVR
from hinge.selection import grid
from hinge.selection.grid import unsupported
from hinge.threads import effective_n_jobs

#: Parameters that `hinge.selection.grid` searches.
SHARED = ("C", "gamma", "epsilon")

Split = tuple[Any, Any]


@dataclass(frozen=True)
class Part:
    """A part of the search: its candidates and folds, and a function of the time limit that returns their scores."""

    label: str
    cells: tuple[Cell, ...]
    compute: Callable[[float | None], Scores]


@dataclass(frozen=True)
class Search:
    """All candidates and folds of a search.

    Attributes
    ----------
    estimator : estimator
        With the fixed parameters and the resources of the run.
    axes : dict
        Values of the other parameters.
    samples : Samples
    scale : str
        Method of scaling, fitted to the training samples of every fold.
    splits : list of (train, test)
    scoring : str or None
    """

    estimator: Any
    axes: dict[str, list[Any]]
    samples: Samples
    scale: str
    splits: list[Split]
    scoring: str | None

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """All combinations of the values."""
        return list(ParameterGrid(self.axes))

    def parts(self) -> list[Part]:
        """Divide the search into parts."""
        is_shared = all(unsupported(clone(self.estimator).set_params(**outer)) is None for outer in self._outer())
        return list(self._shared_parts() if is_shared else self._single_parts())

    # ---- shared kernel matrices ----------------------------------------------------------------------------------

    def _outer(self) -> list[dict[str, Any]]:
        """Combinations of the parameters that `hinge.selection.grid` does not search."""
        return list(ParameterGrid({name: values for name, values in self.axes.items() if name not in SHARED}))

    def _shared_parts(self) -> Iterator[Part]:
        gammas = self.axes.get("gamma", [None]) if isinstance(self.estimator, SVC | SVR) else [None]
        for outer in self._outer():
            for gamma in gammas:
                for folds in self._fold_groups():
                    fixed = {**outer, **({} if gamma is None else {"gamma": gamma})}
                    label = ", ".join(f"{key}={value}" for key, value in fixed.items())
                    if len(folds) < len(self.splits):
                        label += f"{', ' if label else ''}fold {', '.join(str(k + 1) for k in folds)}"
                    members = [c for c, candidate in enumerate(self.candidates) if fixed.items() <= candidate.items()]
                    cells = tuple((c, k) for c in members for k in folds)
                    yield Part(label or "all", cells, self._shared(outer, gamma, folds))

    def _fold_groups(self) -> list[list[int]]:
        """Folds of a part: one if they are scaled separately, as many as threads for linear estimators, else all."""
        count = len(self.splits)
        size = count if isinstance(self.estimator, SVC | SVR) else effective_n_jobs(self.estimator.n_jobs)
        size = 1 if self.scale != "none" else size
        return [list(range(first, min(first + size, count))) for first in range(0, count, size)]

    def _shared(self, outer: dict[str, Any], gamma: Any, folds: list[int]) -> Any:
        def compute(seconds: float | None) -> Scores:
            X = self._scaled(folds[0])[1] if self.scale != "none" else self.samples.X
            values = {name: self.axes[name] for name in SHARED if name in self.axes and name != "gamma"}
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="max_time", category=ConvergenceWarning)
                result = grid(
                    X,
                    self.samples.labels,
                    **{"C": self.estimator.C, **values},
                    gamma=gamma,
                    estimator=clone(self.estimator).set_params(**outer),
                    cv=[self.splits[k] for k in folds],
                    scoring=self.scoring,
                    sample_weight=self.samples.sample_weight,
                    error_score="raise",
                    refit=False,
                    max_time=seconds,
                )
            found = {**outer, **({} if gamma is None else {"gamma": gamma})}
            return self._scores(result.cv_results_, found, folds)

        return compute

    def _scores(self, table: dict[str, Any], fixed: dict[str, Any], folds: list[int]) -> Scores:
        """Return the scores of a table of `hinge.selection.grid`, without those that the time limit left out."""
        position = {_key(candidate): c for c, candidate in enumerate(self.candidates)}
        scores: Scores = {}
        for row, parameters in enumerate(table["params"]):
            candidate = {**fixed, **{name: value for name, value in parameters.items() if name in self.axes}}
            for column, k in enumerate(folds):
                score = float(table[f"split{column}_test_score"][row])
                if np.isfinite(score):
                    scores[position[_key(candidate)], k] = (score, float(table["mean_fit_time"][row]))
        return scores

    # ---- one candidate on one fold ---------------------------------------------------------------------------------

    def _single_parts(self) -> Iterator[Part]:
        for c, candidate in enumerate(self.candidates):
            for k in range(len(self.splits)):
                label = ", ".join(f"{key}={value}" for key, value in candidate.items())
                yield Part(f"{label}, fold {k + 1}", ((c, k),), self._single(c, candidate, k))

    def _single(self, c: int, candidate: dict[str, Any], k: int) -> Any:
        def compute(seconds: float | None) -> Scores:
            estimator = clone(self.estimator).set_params(**candidate)
            if seconds is not None and "max_time" in estimator.get_params(deep=False):
                own = estimator.max_time
                estimator.set_params(max_time=seconds if own is None else min(own, seconds))
            train, test = self.splits[k]
            X = self._scaled(k)[1] if self.scale != "none" else self.samples.X
            start = time.monotonic()
            options = {name: value[train] for name, value in fit_arguments(estimator, self.samples).items()}
            estimator.fit(self._rows(X, train, train), self.samples.labels[train], **options)
            elapsed = time.monotonic() - start
            return {(c, k): (self._score(estimator, self._rows(X, test, train), test), elapsed)}

        return compute

    def _rows(self, X: Any, rows: Any, columns: Any) -> Any:
        """Return samples, or the part of a precomputed kernel matrix."""
        is_matrix = getattr(self.estimator, "kernel", None) == "precomputed"
        return X[np.ix_(rows, columns)] if is_matrix else X[rows]

    def _score(self, estimator: Any, X: Any, test: Any) -> float:
        y = self.samples.labels[test]
        if self.samples.query_id is not None and self.scoring is None:
            return float(estimator.score(X, y, qid=self.samples.query_id[test]))
        return float(check_scoring(estimator, self.scoring)(estimator, X, y))

    def _scaled(self, k: int) -> tuple[Any, Any]:
        """Fit the scaler to the training samples of a fold, and scale all samples."""
        scaler = make_scaler(self.scale, self.samples.X).fit(self.samples.X[self.splits[k][0]])
        return scaler, scaler.transform(self.samples.X)


def make_splits(estimator: Any, samples: Samples, folds: int, seed: int | None) -> list[Split]:
    """Return the folds: stratified for classifiers, whole queries for rankings; shuffled with a seed."""
    shuffled = {"shuffle": seed is not None, "random_state": seed}
    if samples.query_id is not None:
        splitter: Any = GroupKFold(folds)
    else:
        splitter = (StratifiedKFold if is_classifier(estimator) else KFold)(folds, **shuffled)
    return list(splitter.split(samples.X, samples.labels, samples.query_id))


def check_scoring_name(estimator: Any, scoring: str | None) -> None:
    """Raise if the name of the score is unknown, or missing for an estimator without a score."""
    try:
        check_scoring(estimator, scoring)
    except (ValueError, TypeError) as error:
        raise UsageError(f"--scoring {scoring or ''}: {error}") from None


def _key(candidate: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in candidate.items()))
