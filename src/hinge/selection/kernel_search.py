"""The search over kernel machines."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from hinge.estimators.common.validation import TrainingData
from hinge.kernels import Kernel, cache_bytes, make_kernel
from hinge.problems import Status
from hinge.selection.cost_sequence import Ladder, Limits
from hinge.selection.folds import Fold, PairFold, RegressionFold
from hinge.selection.matrix import SharedMatrix
from hinge.selection.scores import classification_scores, regression_scores
from hinge.selection.tables import Search
from hinge.solvers.blas_threads import single_thread


class KernelSearch(Search):
    """Kernel machines: one kernel matrix for all problems of a gamma, one ladder of costs for each of them."""

    def validated(self, estimator: Any, X: Any, y: Any) -> TrainingData:
        """The training data as `fit` of the estimator validates them, without sample weights."""
        return estimator._validate(X, y, None, estimator._settings().kernel)

    def prepare(self) -> None:
        """Samples in the order in which they are best read."""
        if self.classifies and not self.template._is_precomputed():
            self._sort()
        self.costs = np.array(sorted({float(C) for C in self.axes["C"]}, reverse=True))
        self.budget = cache_bytes(self.template.cache_size)

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
        cost = float(max(self.axes.get("C", [self.template.C]))) * float(np.max(self.weight, initial=1.0))
        matrix = SharedMatrix(self.X, self.template.tol, cost, self.budget, self.threads)
        ladders: dict[Any, Ladder] = {}
        with single_thread(), ThreadPoolExecutor(self.threads) as pool:
            for gamma in dict.fromkeys(self.axes.get("gamma", [self.template.gamma])):
                for kernel, splits in self._kernels(gamma).items():
                    if self.left() == 0.0:
                        return
                    access = matrix.open(kernel)
                    for epsilon in dict.fromkeys(self.axes.get("epsilon", [getattr(self.template, "epsilon", None)])):
                        key = (epsilon, tuple(splits))
                        if key not in ladders:
                            ladders[key] = self._ladder(splits, epsilon)
                        ladder = ladders[key]
                        ladder.climb(access, self.left(), matrix.double)
                        for at, k in enumerate(splits):
                            self._score(ladder, at, k, gamma, epsilon, matrix, pool)
                self.say(f"gamma={gamma}")

    def _kernels(self, gamma: Any) -> dict[Kernel, list[int]]:
        """The kernel of every split that can be trained: gamma="scale" differs from split to split."""
        template = self.template
        kernel = make_kernel(template.kernel, degree=template.degree, gamma=gamma, coef0=template.coef0)
        found: dict[Kernel, list[int]] = {}
        for k in range(len(self.splits)):
            train = self.train(k)
            if not self.can_train(k):
                continue
            if self.template._is_precomputed():
                found.setdefault(kernel, []).append(k)
            else:
                found.setdefault(kernel.resolve(self.X[train], self.weight[train]), []).append(k)
        return found

    def _ladder(self, splits: list[int], epsilon: float | None) -> Ladder:
        limits = Limits(self.template.tol, self.template.max_iter, self.budget, self.threads)
        return Ladder([self._fold(k, epsilon) for k in splits], self.costs, limits)

    def _fold(self, k: int, epsilon: float | None) -> Fold:
        train, test = self.train(k), self.splits[k][1]
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
        scorer = None if self.scorer is None else self.score
        if isinstance(fold, PairFold):
            classes = np.array([self.y[members[0]] for members in fold.members])
            shape, ties = self.template.decision_function_shape, bool(self.template.break_ties)
            scores = classification_scores(values, classes, X, y, scorer, shape, ties)
        else:
            scores = regression_scores(values, X, y, scorer)
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
