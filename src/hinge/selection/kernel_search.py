"""Grid search over kernel estimators."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import compute_class_weight

from hinge.estimators.common.validation import ClassificationData, TrainingData
from hinge.formulations import Formulation
from hinge.kernels import Kernel, cache_bytes, make_kernel
from hinge.problems import Array, Status
from hinge.selection.axes import CostScale
from hinge.selection.cost_sequence import CostSequences, Limits, is_box_constrained
from hinge.selection.folds import Fold, Formulate, PairFold, RegressionFold
from hinge.selection.matrix import SharedMatrix
from hinge.selection.scores import classification_scores, regression_scores
from hinge.selection.search import Search
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.time_budget import fits, matrix_seconds

#: Label and cost of a problem of one sample.
_ONE = np.ones(1)


class Variant(NamedTuple):
    """What the problems of a cost sequence have in common: the ratio of the costs, and the tube of regression."""

    ratio: float | None
    epsilon: Any


class KernelSearch(Search):
    """Grid search with one kernel matrix for each gamma, and a cost sequence for each problem."""

    def validated(self, estimator: Any, X: Any, y: Any) -> TrainingData:
        """Return the training data as `fit` of the estimator validates them, without sample weights."""
        return estimator._validate(X, y, None, estimator._settings().kernel)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.classifies and not self.template._is_precomputed():
            self._sort()
        scales: dict[float | None, set[float]] = {}
        for C in self.axes["C"]:
            scale, ratio = CostScale.of(C)
            scales.setdefault(ratio, set()).add(scale)
        #: The values of C in descending order, for every ratio of the costs below and above f.
        self.costs = {ratio: np.array(sorted(values, reverse=True)) for ratio, values in scales.items()}
        self.budget = cache_bytes(self.template.cache_size)

    def _sort(self) -> None:
        """Sort samples by class, then by the split that tests them: a problem then reads consecutive rows."""
        tested = np.full(len(self.y), -1)
        for k, (_, test) in enumerate(self.splits):
            tested[test] = k
        _, label = np.unique(self.y, return_inverse=True)
        order = np.lexsort((tested, label))
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        self.X, self.y, self.weight = self.X[order], self.y[order], self.weight[order]
        self.splits = [(position[train], position[test]) for train, test in self.splits]

    def run(self) -> None:
        """Fill the tables, one gamma after the other."""
        cost = float(max(map(np.max, self.axes["C"]))) * float(np.max(self.weight, initial=1.0))
        tubes = list(dict.fromkeys(self.axes.get("epsilon", [getattr(self.template, "epsilon", None)])))
        variants = [Variant(ratio, epsilon) for epsilon in tubes for ratio in self.costs]
        if not all(is_box_constrained(self._formulate(variant)(_ONE, _ONE, 1.0)) for variant in variants):
            cost = math.inf  # coefficients are not bounded by C
        matrix = SharedMatrix(self.X, self.template.tol, cost, self.budget, self.threads)
        sequences: dict[tuple[Variant, tuple[int, ...]], CostSequences] = {}
        with single_thread(), ThreadPoolExecutor(self.threads) as pool:
            for gamma in self.preferred("gamma", self.axes.get("gamma", [self.template.gamma])):
                for kernel, splits in self._kernels(gamma).items():
                    if self.control.expired() or not fits(self.control, matrix_seconds(len(self.y)) / self.threads):
                        return
                    access = matrix.open(kernel)
                    for variant in variants:
                        key = (variant, tuple(splits))
                        if key not in sequences:
                            sequences[key] = self._cost_sequences(splits, variant)
                        sequences[key].solve(access, self.control, matrix.double)
                        for fold, k in enumerate(splits):
                            self._score(sequences[key], fold, k, gamma, variant, matrix, pool)
                            self.report()

    def _kernels(self, gamma: Any) -> dict[Kernel, list[int]]:
        """Return the kernels with the splits that use them: gamma="scale" differs between splits."""
        template = self.template
        kernel = make_kernel(template.kernel, degree=template.degree, gamma=gamma, coef0=template.coef0)
        kernels: dict[Kernel, list[int]] = {}
        for k in range(len(self.splits)):
            train = self.train(k)
            if not self.can_train(k):
                continue
            if self.template._is_precomputed():
                kernels.setdefault(kernel, []).append(k)
            else:
                kernels.setdefault(kernel.resolve(self.X[train], self.weight[train]), []).append(k)
        return kernels

    def _cost_sequences(self, splits: list[int], variant: Variant) -> CostSequences:
        limits = Limits(self.template.tol, self.template.max_iter, self.budget, self.threads)
        return CostSequences([self._fold(k, variant) for k in splits], self.costs[variant.ratio], limits)

    def _formulate(self, variant: Variant) -> Formulate:
        """Return (labels ±1 or targets, costs for C = 1, C) → formulation, as `fit` of the estimator builds it."""

        @cache
        def estimator_of(C: float) -> Any:
            estimator = copy(self.template)  # `clone` would inspect the signature for every C
            vars(estimator)["C"] = CostScale(C, variant.ratio).value()
            if variant.epsilon is not None:
                vars(estimator)["epsilon"] = variant.epsilon
            return estimator

        def formulate(y: Array, cost: Array, C: float) -> Formulation:
            rows = np.arange(len(y))
            if self.classifies:  # the first of the sorted classes is positive
                classes, weight = np.array([-1.0, 1.0]), np.ones(2)
                data: TrainingData = ClassificationData(None, -y, cost, rows, classes, weight)
            else:
                data = TrainingData(None, y, cost, rows)
            (subproblem,) = estimator_of(float(C))._subproblems(data)
            formulation: Formulation = subproblem.formulation
            return formulation

        return formulate

    def _fold(self, k: int, variant: Variant) -> Fold:
        train, test, formulate = self.train(k), self.splits[k][1], self._formulate(variant)
        if not self.classifies:
            return RegressionFold(test, train, self.y, self.weight, formulate)
        labels = self.y[train]
        classes = np.unique(labels)
        cost = self.weight.copy()
        if self.template.class_weight is not None:
            by_class = compute_class_weight(self.template.class_weight, classes=classes, y=labels)
            cost[train] *= by_class[np.searchsorted(classes, labels)]
        return PairFold(test, [train[labels == label] for label in classes], cost, formulate)

    def _score(
        self,
        sequences: CostSequences,
        fold_index: int,
        k: int,
        gamma: Any,
        variant: Variant,
        matrix: SharedMatrix,
        pool: ThreadPoolExecutor,
    ) -> None:
        """Compute the scores of split k for all costs with solutions."""
        start = time.monotonic()
        problems = sequences.of_fold(fold_index)
        fold, solutions = sequences.folds[fold_index], [sequences.solutions(p) for p in problems]
        finished = sequences.finished(problems)
        if not finished.any():
            return
        values = fold.decide(solutions, matrix.expand, pool.map)
        X, y = self.X[fold.test], self.y[fold.test]
        scorer = None if self.scorer is None else self.score
        if isinstance(fold, PairFold):
            classes = np.array([self.y[members[0]] for members in fold.members])
            shape, ties = self.template.decision_function_shape, bool(self.template.break_ties)
            scores = classification_scores(values, classes, X, y, scorer, shape, ties)
        else:
            scores = regression_scores(values, X, y, scorer)
        status, fit_time = sequences.status[problems], sequences.seconds[problems].sum(axis=0)
        self.unsolved += int(np.sum((status != Status.SOLVED)[:, finished]))
        costs = self.costs[variant.ratio]
        score_time = (time.monotonic() - start) / len(costs)
        column = {CostScale(float(cost), variant.ratio): c for c, cost in enumerate(costs)}
        for row, candidate in enumerate(self.candidates):
            c = column.get(CostScale.of(candidate["C"]))
            same = (
                candidate.get("gamma", gamma) == gamma and candidate.get("epsilon", variant.epsilon) == variant.epsilon
            )
            if c is not None and same and finished[c]:
                self.scores[row, k], self.known[row, k] = scores[c], True
                self.fit_time[row, k], self.score_time[row, k] = fit_time[c], score_time
