"""Training of LIBSVM models: classifiers, models with one function, probabilities and cross-validation.

Every class plans the subproblems of a task when it is created, in the order in which svm-train draws random numbers.
After `Batch.solve` has solved the subproblems of all tasks together, `build` assembles the result and reports the
lines that svm-train prints, in its order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.calibration import density_marks, fit_sigmoid, laplace_scale
from hinge.cli.libsvm.batch import Batch, Solved, binary, single
from hinge.cli.libsvm.folds import CRandom, complement, group_classes, plain_folds, stratified_folds
from hinge.cli.libsvm.options import TrainOptions
from hinge.io.libsvm_models.record import CLASSIFIERS, REGRESSORS, LibsvmModel, libsvm_coefficients

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Receives the text that svm-train prints.
Report = Callable[[str], None]

CALIBRATION_FOLDS = 5  # of the cross-validation that fits probabilities


class Plan(Protocol):
    """The training of one model. The vectors of the model are positions of training samples."""

    def build(self, report: Report) -> LibsvmModel: ...


def plan_model(batch: Batch, rows: Rows, options: TrainOptions, random: CRandom) -> Plan:
    """Plan the training of a model on these samples."""
    kind = ClassifierPlan if options.svm_type in CLASSIFIERS else SingleFunctionPlan
    return kind(batch, rows, options, random)


class ClassifierPlan:
    """A subproblem for every pair of classes, and five more for each if probabilities are wanted."""

    def __init__(self, batch: Batch, rows: Rows, options: TrainOptions, random: CRandom) -> None:
        self.batch, self.options = batch, options
        self.labels, groups = group_classes(batch.samples.y[rows])
        self.groups = [rows[group] for group in groups]
        costs = class_costs(self.labels, options)
        self.calibrations: list[CalibrationPlan] = []
        self.subproblems: list[int] = []
        for i, j in combinations(range(len(self.labels)), 2):
            members = np.concatenate([self.groups[i], self.groups[j]])
            sizes = [len(self.groups[i]), len(self.groups[j])]
            sign, cost = np.repeat([1.0, -1.0], sizes), np.repeat([costs[i], costs[j]], sizes)
            if options.probability:
                self.calibrations.append(CalibrationPlan(batch, members, sign, cost, options, random))
            order = np.argsort(members)  # the order of the file: all samples of two classes need no copy
            self.subproblems.append(batch.add(members[order], binary(sign[order], options, cost[order])))

    def build(self, report: Report) -> LibsvmModel:
        """The model, with its support vectors ordered by class and position."""
        if len(self.labels) == 1:
            report("WARNING: training data in only one class. See README for details.\n")
        sigmoids, solved = [], []
        for k, number in enumerate(self.subproblems):
            if self.calibrations:
                sigmoids.append(self.calibrations[k].build(report))
            solved.append(self.batch.solved(number))
            report(solved[-1].text)
        support, n_sv, pairs = self._arrange(solved)
        report(f"Total nSV = {len(support)}\n")
        probabilities = np.array(sigmoids).reshape(-1, 2).T if self.options.probability else None
        return LibsvmModel(
            self.options.svm_type,
            self.batch.samples.kernel,
            support,
            libsvm_coefficients(pairs, n_sv),
            np.array([part.rho for part in solved]),
            np.array(self.labels, dtype=np.int64),
            n_sv,
            prob_a=None if probabilities is None else probabilities[0],
            prob_b=None if probabilities is None else probabilities[1],
        )

    def _arrange(self, solved: list[Solved]) -> tuple[Rows, NDArray[np.int64], Array]:
        """Support vectors by class, their numbers, and the coefficients of every pair."""
        used = np.zeros(len(self.batch.samples.y), dtype=bool)
        for part in solved:
            used[part.rows[part.coefficients != 0]] = True
        by_class = [group[used[group]] for group in self.groups]
        support = np.concatenate(by_class)
        place = np.full(len(used), -1)
        place[support] = np.arange(len(support))
        pairs = np.zeros((len(support), len(solved)))
        for k, part in enumerate(solved):
            inside = part.coefficients != 0
            pairs[place[part.rows[inside]], k] = part.coefficients[inside]
        return support, np.array([len(rows) for rows in by_class], dtype=np.int64), pairs


class CalibrationPlan:
    """Decision values of a pair of classes by five-fold cross-validation, and Platt's sigmoid for them."""

    def __init__(
        self, batch: Batch, rows: Rows, sign: Array, cost: Array, options: TrainOptions, random: CRandom
    ) -> None:
        self.batch, self.rows, self.sign = batch, rows, sign
        self.folds = plain_folds(len(rows), CALIBRATION_FOLDS, random)
        self.subproblems: list[int | None] = []  # None if the other folds have samples of one class only
        for k in range(CALIBRATION_FOLDS):
            part = complement(self.folds, k)
            if len(np.unique(sign[part])) == 2:
                self.subproblems.append(batch.add(rows[part], binary(sign[part], options, cost[part])))
            else:
                self.subproblems.append(None)

    def build(self, report: Report) -> tuple[float, float]:
        """A and B of the sigmoid."""
        values = np.zeros(len(self.rows))
        for k, (fold, number) in enumerate(zip(self.folds, self.subproblems, strict=True)):
            if number is None:
                rest = self.sign[complement(self.folds, k)]
                values[fold] = rest[0] if len(rest) else 0.0
                continue
            solved = self.batch.solved(number)
            report(f"{solved.text}Total nSV = {solved.n_sv}\n")
            inside = solved.coefficients != 0
            f = self.batch.expand(self.rows[fold], solved.rows[inside], solved.coefficients[inside][:, None])
            values[fold] = f[:, 0] - solved.rho
        sigmoid = fit_sigmoid(values, self.sign > 0)
        if sigmoid.status == "line search failed":
            report("Line search fails in two-class probability estimates\n")
        elif sigmoid.status == "iteration limit":
            report("Reaching maximal iterations in two-class probability estimates\n")
        return sigmoid.A, sigmoid.B


class SingleFunctionPlan:
    """Regression and one-class models; five more subproblems if the noise of a regression is wanted."""

    def __init__(self, batch: Batch, rows: Rows, options: TrainOptions, random: CRandom) -> None:
        self.batch, self.rows, self.options = batch, rows, options
        self.noise: CrossValidationPlan | None = None
        if options.probability and options.svm_type in REGRESSORS:
            plain = replace(options, probability=0)
            self.noise = CrossValidationPlan(batch, rows, plain, CALIBRATION_FOLDS, random)
        self.subproblem = batch.add(rows, single(batch.samples.y[rows], options))

    def build(self, report: Report) -> LibsvmModel:
        """The model, with its support vectors in the order of the samples."""
        scale = None
        if self.noise is not None:
            scale = laplace_scale(self.batch.samples.y[self.rows] - self.noise.build(report))
            report(
                "Prob. model for test data: target value = predicted value + z,\n"
                f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {scale:g}\n"
            )
        solved = self.batch.solved(self.subproblem)
        report(solved.text)
        inside = solved.coefficients != 0
        model = LibsvmModel(
            self.options.svm_type,
            self.batch.samples.kernel,
            solved.rows[inside],
            solved.coefficients[inside][None, :],
            np.array([solved.rho]),
            prob_a=None if scale is None else np.array([scale]),
        )
        if self.options.probability and self.options.svm_type == "one_class":
            marks = density_marks(self.batch.values(self.rows, model)[:, 0])
            if marks is None:
                print(
                    "WARNING: number of positive or negative decision values <5; too few to do a probability "
                    "estimation.",
                    file=sys.stderr,
                )
            model = replace(model, density_marks=marks)
        return model


class CrossValidationPlan:
    """The models of all folds."""

    def __init__(self, batch: Batch, rows: Rows, options: TrainOptions, n_folds: int, random: CRandom) -> None:
        self.batch, self.rows, self.options = batch, rows, options
        y = batch.samples.y[rows]
        if n_folds > len(rows):
            print(
                f"WARNING: # folds ({n_folds}) > # data ({len(rows)}). Will use # folds = # data instead "
                "(i.e., leave-one-out cross validation)",
                file=sys.stderr,
            )
            n_folds = len(rows)
        if options.svm_type in CLASSIFIERS and n_folds < len(rows):
            self.folds = stratified_folds(group_classes(y)[1], n_folds, random)
        else:
            self.folds = plain_folds(len(rows), n_folds, random)
        self.plans = [
            plan_model(batch, rows[complement(self.folds, k)], options, random) for k in range(n_folds)
        ]

    def build(self, report: Report) -> Array:
        """Predictions for all samples, each by the model that was trained without it."""
        predictions = np.zeros(len(self.rows))
        for fold, plan in zip(self.folds, self.plans, strict=True):
            model = plan.build(report)
            values = self.batch.values(self.rows[fold], model)
            if self.options.probability and model.labels is not None:
                predictions[fold] = model.labels[np.argmax(model.probabilities(values), axis=1)]
            else:
                predictions[fold] = model.predict(values)
        return predictions


def class_costs(labels: list[int], options: TrainOptions) -> list[float]:
    """C of every class, with the weights of -wi."""
    costs = [options.cost] * len(labels)
    for label, weight in options.weights:
        if label not in labels:
            print(f"WARNING: class label {label} specified in weight is not found", file=sys.stderr)
            continue
        costs[labels.index(label)] *= weight
    return costs
