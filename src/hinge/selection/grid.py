"""Exhaustive search with cross-validation."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import type_of_target

from hinge.estimators import SVC, SVR
from hinge.estimators.data import check_weight
from hinge.kernels import Kernel, cache_bytes
from hinge.problems import Array, Status
from hinge.selection.folds import Fold, Index, PairFold, RegressionFold
from hinge.selection.ladder import Ladder, Limits
from hinge.selection.matrix import SharedMatrix
from hinge.selection.result import GridResult, tabulate
from hinge.selection.scores import classification_scores, regression_scores, scorer_of
from hinge.solvers.single_thread import single_thread


def grid(
    X: Any,
    y: Any,
    *,
    C: Any,
    gamma: Any = None,
    epsilon: Any = None,
    estimator: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    refit: bool = True,
    n_jobs: int | None = None,
    cache_size: float | str | None = None,
    max_time: float | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> GridResult:
    """Cross-validate every combination of C, gamma (and epsilon), and fit the best one.

    The same scores as ``GridSearchCV(SVC(), ...)``, sooner: the kernel matrix of each gamma is made once for all folds,
    values of C and pairs of classes, all problems run side by side, and each solution starts that of the next C
    (decreasing; LwK 10.1.2).

    Parameters
    ----------
    X, y
        As for `SVC.fit` and `SVR.fit`.
    C : float or sequence of floats
    gamma : float, "scale", "auto", or a sequence of them, optional
        The estimator's own when left out. "scale" is that of each training part.
    epsilon : float or sequence of floats, optional
        Regression only.
    estimator : SVC or SVR, optional
        What is tuned, with parameters of its own. When left out: `SVR` if y is continuous or epsilon
        is given, else `SVC`.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds for classifiers.
    scoring : str or callable, optional
        One name or one scorer of scikit-learn; accuracy or R² when left out. A callable sees an estimator that knows
        its `predict` and `decision_function` on the test part only.
    sample_weight : array-like of shape (n_samples,), optional
        Multiplies the costs in training. Scores are not weighted (scikit-learn from 1.9 on weighs them, too).
    refit : bool, default=True
        Fit the best candidate to all data.
    n_jobs : int, optional
        Threads.
    cache_size : float or "auto", optional
        Megabytes for the kernel matrix. Where it does not fit, rows are computed when they are needed.
    max_time : float, optional
        Seconds for the search, without the refit. Scores that are not known by then are NaN, and a warning says so.
    verbose : bool, default=False
        Say on standard error which gamma is done.
    **parameters
        Any other parameter of the estimator: `kernel`, `degree`, `coef0`, `class_weight`, `tol`, ...

    Returns
    -------
    GridResult

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt, with what is known by then as its attribute `result`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.selection import grid
    >>> X, y = load_iris(return_X_y=True)
    >>> search = grid(X, y, C=[0.1, 1, 10], gamma=[0.01, 0.1, 1])
    >>> bool(search.best_score_ > 0.97)
    True
    >>> search.predict(X[:2])
    array([0, 0])
    """
    given = {"n_jobs": n_jobs, "cache_size": cache_size}
    if estimator is None:
        real = epsilon is not None or type_of_target(y, input_name="y").startswith("continuous")
        estimator = SVR() if real else SVC()
    template = _template(estimator, {**parameters, **{k: v for k, v in given.items() if v is not None}})
    axes = _axes(template, C, gamma, epsilon)
    if max_time is not None and not (isinstance(max_time, Real) and max_time > 0):
        raise ValueError(f"max_time={max_time!r} must be None or a positive number of seconds")
    search = _Search(template, X, y, sample_weight, axes, cv, scoring, max_time, verbose)
    interrupted: KeyboardInterrupt | None = None
    try:
        search.run()
    except KeyboardInterrupt as error:
        interrupted = error
    result = search.result()
    if interrupted is not None:
        interrupted.result = result  # type: ignore[attr-defined]
        raise interrupted
    search.warn()
    if not refit or result.best_params_ is None:
        return result
    best = clone(template).set_params(**result.best_params_)
    best.fit(X, y) if sample_weight is None else best.fit(X, y, sample_weight=sample_weight)
    object.__setattr__(result, "best_estimator_", best)
    return result


def _template(estimator: Any, parameters: dict[str, Any]) -> Any:
    """The estimator that is tuned."""
    if type(estimator) not in (SVC, SVR):
        raise TypeError(
            f"estimator={estimator!r} must be a hinge.SVC or a hinge.SVR; for others use "
            "sklearn.model_selection.GridSearchCV"
        )
    template = clone(estimator).set_params(**parameters)
    losses = {SVC: "hinge", SVR: "epsilon_insensitive"}
    if template.loss != losses[type(template)]:
        raise ValueError(
            f"loss={template.loss!r} cannot be searched here, only {losses[type(template)]!r}; use "
            "sklearn.model_selection.GridSearchCV"
        )
    if template.solver not in ("auto", "working_set"):
        raise ValueError(
            f"solver={template.solver!r}: the search has a solver of its own; leave solver='auto', or use "
            "sklearn.model_selection.GridSearchCV"
        )
    return template


def _axes(template: Any, C: Any, gamma: Any, epsilon: Any) -> dict[str, list[Any]]:
    """The values of every parameter, each one checked."""
    axes = {"C": _values("C", C)}
    if gamma is not None:
        if isinstance(template.kernel, Kernel) or callable(template.kernel) or template.kernel == "precomputed":
            raise ValueError(f"gamma={gamma!r} has no meaning for kernel={template.kernel!r}; leave it out")
        axes["gamma"] = _values("gamma", gamma)
    if epsilon is not None:
        if not isinstance(template, SVR):
            raise ValueError(f"epsilon={epsilon!r} is for regression; leave it out, or pass estimator=SVR()")
        axes["epsilon"] = _values("epsilon", epsilon)
    for name, values in axes.items():
        for value in values:
            clone(template).set_params(**{name: value})._check_parameters()
    if not np.isfinite(axes["C"]).all():
        raise ValueError(f"C={C!r} must be finite here")
    return axes


def _values(name: str, given: Any) -> list[Any]:
    one = isinstance(given, str | Real) or not isinstance(given, Iterable)
    values = [given] if one else [v.item() if isinstance(v, np.generic) else v for v in given]
    if not values:
        raise ValueError(f"{name}={given!r} is empty; pass at least one value")
    return values


class _Search:
    """The data in the order in which they are best read, the splits, and the tables that are filled."""

    def __init__(
        self,
        template: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        axes: dict[str, list[Any]],
        cv: Any,
        scoring: Any,
        max_time: float | None,
        verbose: bool,
    ) -> None:
        self.template, self.axes, self.verbose = template, axes, verbose
        self.began = time.monotonic()
        self.max_time = max_time
        self.scorer = scorer_of(scoring)
        data = clone(template)._validate(X, y, None)
        self.classifies = isinstance(template, SVC)
        splits = [
            (np.arange(data.n)[train], np.arange(data.n)[test])
            for train, test in check_cv(cv, data.y, classifier=self.classifies).split(data.X, data.y)
        ]
        if not splits:
            raise ValueError(f"cv={cv!r} gives no split; pass at least one (train, test)")
        weight = check_weight(sample_weight, data.n)
        self.X, self.y, self.weight, self.splits = data.X, data.y, weight, splits
        if self.classifies and not template._is_precomputed():
            self._sort()
        self.candidates = list(ParameterGrid(axes))
        shape = (len(self.candidates), len(splits))
        self.scores, self.fit_time, self.score_time = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
        self.known, self.failed, self.unsolved = np.zeros(shape, dtype=bool), set[str](), 0
        self.costs = np.array(sorted({float(C) for C in axes["C"]}, reverse=True))
        self.threads = effective_n_jobs(template.n_jobs)
        self.budget = cache_bytes(template.cache_size)

    def _sort(self) -> None:
        """Samples by class, then by the split that tests them: what a problem reads lies together."""
        tested = np.full(len(self.y), -1)
        for k, (_, test) in enumerate(self.splits):
            tested[test] = k
        _, label = np.unique(self.y, return_inverse=True)
        order = np.lexsort((tested, label))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.X, self.y, self.weight = self.X[order], self.y[order], self.weight[order]
        self.splits = [(place[train], place[test]) for train, test in self.splits]

    # ---- running ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Fill the tables, gamma by gamma."""
        matrix = SharedMatrix(self.X, self.template.tol, self.budget, self.threads)
        ladders: dict[Any, Ladder] = {}
        with single_thread(), ThreadPoolExecutor(self.threads) as pool:
            for gamma in dict.fromkeys(self.axes.get("gamma", [self.template.gamma])):
                for kernel, splits in self._kernels(gamma).items():
                    if self._left() == 0.0:
                        return
                    access = matrix.open(kernel)
                    for epsilon in dict.fromkeys(self.axes.get("epsilon", [getattr(self.template, "epsilon", None)])):
                        key = (epsilon, tuple(splits))
                        if key not in ladders:
                            ladders[key] = self._ladder(splits, epsilon)
                        ladder = ladders[key]
                        ladder.climb(access, self._left())
                        for at, k in enumerate(splits):
                            self._score(ladder, at, k, gamma, epsilon, matrix, pool)
                if self.verbose and sys.stderr is not None:
                    sys.stderr.write(f"grid  gamma={gamma}  {time.monotonic() - self.began:.1f} s\n")

    def _left(self) -> float | None:
        return None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - self.began))

    def _kernels(self, gamma: Any) -> dict[Kernel, list[int]]:
        """The kernel of every split that can be trained: gamma="scale" differs from split to split."""
        kernel = clone(self.template).set_params(gamma=gamma)._make_kernel()
        found: dict[Kernel, list[int]] = {}
        for k in range(len(self.splits)):
            train = self._train(k)
            if self.classifies and len(np.unique(self.y[train])) < 2:
                self.failed.add(f"split {k} has fewer than two classes to train on")
                self.known[:, k] = True
            elif len(train) == 0:
                self.failed.add(f"split {k} has nothing to train on")
                self.known[:, k] = True
            elif self.template._is_precomputed():
                found.setdefault(kernel, []).append(k)
            else:
                found.setdefault(kernel.resolve(self.X[train], self.weight[train]), []).append(k)
        return found

    def _train(self, k: int) -> Index:
        train = np.sort(self.splits[k][0])
        return train[self.weight[train] > 0]

    def _ladder(self, splits: list[int], epsilon: float | None) -> Ladder:
        limits = Limits(self.template.tol, self.template.max_iter, self.budget, self.threads)
        return Ladder([self._fold(k, epsilon) for k in splits], self.costs, limits)

    def _fold(self, k: int, epsilon: float | None) -> Fold:
        train, test = self._train(k), self.splits[k][1]
        if not self.classifies:
            assert epsilon is not None
            return RegressionFold(test, train, self.y, self.weight, float(epsilon))
        labels = self.y[train]
        classes = np.unique(labels)
        cost = self.weight.copy()
        if self.template.class_weight is not None:
            by_class = compute_class_weight(self.template.class_weight, classes=classes, y=labels)
            cost[train] *= by_class[np.searchsorted(classes, labels)]
        return PairFold(test, [train[labels == label] for label in classes], cost)

    def _score(
        self, ladder: Ladder, at: int, k: int, gamma: Any, epsilon: Any, matrix: SharedMatrix, pool: ThreadPoolExecutor
    ) -> None:
        """Scores of split k for all costs that are solved."""
        began = time.monotonic()
        problems = ladder.of_fold(at)
        fold, solved = ladder.folds[at], [ladder.solved(p) for p in problems]
        finished = ladder.finished(problems)
        if not finished.any():
            return
        values = fold.decide(solved, matrix.expand, pool.map)
        X, y = self.X[fold.test], self.y[fold.test]
        if isinstance(fold, PairFold):
            classes = np.array([self.y[members[0]] for members in fold.members])
            shape, ties = self.template.decision_function_shape, bool(self.template.break_ties)
            scores = classification_scores(values, classes, X, y, self.scorer, shape, ties)
        else:
            scores = regression_scores(values, X, y, self.scorer)
        status, seconds = ladder.status[problems], ladder.seconds[problems].sum(axis=0)
        self.unsolved += int(np.sum((status != Status.SOLVED)[:, finished]))
        share = (time.monotonic() - began) / len(self.costs)
        place = {cost: c for c, cost in enumerate(self.costs)}
        for row, candidate in enumerate(self.candidates):
            same = candidate.get("gamma", gamma) == gamma and candidate.get("epsilon", epsilon) == epsilon
            c = place[float(candidate["C"])]
            if same and finished[c]:
                self.scores[row, k], self.known[row, k] = scores[c], True
                self.fit_time[row, k], self.score_time[row, k] = seconds[c], share

    # ---- what was found ---------------------------------------------------------------------------------------

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
                f"{'; '.join(sorted(self.failed))}: the scores there are NaN. Use fewer folds, or stratified ones",
                FitFailedWarning,
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
        if self.unsolved:
            warnings.warn(
                f"{self.unsolved} problems of the search did not reach tol={self.template.tol:g} (max_iter="
                f"{self.template.max_iter}). Consider pre-processing your data with StandardScaler or MinMaxScaler",
                ConvergenceWarning,
                stacklevel=3,
            )
