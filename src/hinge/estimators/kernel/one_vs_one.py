"""One-vs-one classification: subproblems of pairs of classes, support vectors in the layout of LIBSVM, votes.

The first class of a pair is positive in its subproblem. With two classes the decision function is minus the function of
the subproblem, so that positive values mean ``classes_[1]``: the label sign is −1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.training import Subproblem, Trained, store_expansion
from hinge.estimators.common.validation import (
    Choice,
    ClassificationData,
    ClassWeight,
    Flag,
    Rule,
    TrainingData,
    row_index,
    validate_classification,
)
from hinge.estimators.kernel.base import DualEstimator
from hinge.estimators.low_rank.reduced_model import basis_coefficients
from hinge.formulations import Formulation
from hinge.kernels import Kernel
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array

CLASSIFIER_RULES: dict[str, Rule] = {
    "decision_function_shape": Choice(("ovr", "ovo")),
    "break_ties": Flag(),
    "class_weight": ClassWeight(),
}


# ---- building -------------------------------------------------------------------------------------------------------


def pair_subproblems(
    data: ClassificationData, cost: Array, formulation: Callable[[Array, Array], Formulation]
) -> list[Subproblem]:
    """The subproblem of every pair of classes.

    Parameters
    ----------
    data : ClassificationData
    cost : ndarray
        One value per sample.
    formulation : callable
        (signs of the samples, their costs) → formulation.
    """
    subproblems = []
    for rows, sign in class_pairs(data.y, data.classes):
        subproblems.append(Subproblem(rows, formulation(sign, cost if rows is None else cost[rows])))
    return subproblems


def class_pairs(y: NDArray[Any], classes: NDArray[Any]) -> list[tuple[NDArray[np.intp] | None, Array]]:
    """Samples and signs of every pair of classes; with two classes all samples in their order, without a copy."""
    if len(classes) == 2:
        return [(None, np.where(y == classes[0], 1.0, -1.0))]
    return [
        (np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)]))
        for first, second in combinations(class_members(y, classes), 2)
    ]


def class_members(y: NDArray[Any], classes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Positions of the samples of every class."""
    return [np.flatnonzero(y == label) for label in classes]


def label_sign(classes: NDArray[Any]) -> float:
    """−1 for two classes, whose decision function is minus the function of the subproblem; 1 otherwise."""
    return -1.0 if len(classes) == 2 else 1.0


# ---- fitted attributes ----------------------------------------------------------------------------------------------


def store_one_vs_one(estimator: Any, data: ClassificationData, trained: Trained) -> None:
    """Set the fitted attributes of a one-vs-one classifier."""
    rows, classes = [subproblem.rows for subproblem in trained.subproblems], data.classes
    if trained.basis is not None:
        store_basis_pairs(estimator, data, classes, trained.kernel, rows, trained.expansions, trained.basis)
        estimator.approximation_ = trained.approximation
        return
    store_pairs(estimator, data, classes, trained.kernel, rows, trained.expansions)
    vars(estimator).pop("approximation_", None)


def store_pairs(
    estimator: Any,
    data: TrainingData,
    classes: NDArray[Any],
    kernel: Kernel,
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
) -> None:
    """Set the fitted attributes from the function of every pair of classes, in the layout of LIBSVM.

    Support vectors are ordered by class. Row r of `dual_coef_` holds the coefficients of the functions against the r-th
    of the other classes.
    """
    sign = label_sign(classes)
    if len(classes) == 2:
        beta = expansions[0].coefficients
        inside = np.flatnonzero(beta)
        first = data.y[inside] == classes[0]
        support = np.concatenate([inside[first], inside[~first]])
        n_first = int(np.count_nonzero(first))
        counts = [n_first, len(inside) - n_first]
        coefficients = sign * beta[support][:, None]
        layout = coefficients.T.copy()
    else:
        support, counts, coefficients, layout = _libsvm_layout(data, classes, rows, expansions)
    intercept = sign * np.array([expansion.intercept for expansion in expansions])
    store_expansion(estimator, data, kernel, support, counts, coefficients, intercept, layout)
    estimator._margins = np.array([expansion.margin for expansion in expansions])
    vars(estimator).pop("_dual_points", None)


def _libsvm_layout(
    data: TrainingData,
    classes: NDArray[Any],
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
) -> tuple[NDArray[np.intp], list[int], Array, Array]:
    """Support vectors by class, their numbers, one column of coefficients per pair, and these columns by class."""
    members, n_classes = class_members(data.y, classes), len(classes)
    used = np.zeros(data.n, dtype=bool)
    of_pair: list[tuple[NDArray[np.intp], Array]] = []  # of every pair: support vectors, coefficients
    for index, expansion in zip(rows, expansions, strict=True):
        inside = np.flatnonzero(expansion.coefficients)
        positions = inside if index is None else index[inside]
        of_pair.append((positions, expansion.coefficients[inside]))
        used[positions] = True
    counts = [int(used[positions].sum()) for positions in members]
    support = np.concatenate([positions[used[positions]] for positions in members])
    place = np.empty(data.n, dtype=np.intp)
    place[support] = np.arange(len(support))
    class_of = np.repeat(np.arange(n_classes), counts)
    coefficients = np.zeros((len(support), len(rows)))
    layout = np.zeros((n_classes - 1, len(support)))
    for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
        at, values = place[of_pair[column][0]], of_pair[column][1]
        coefficients[at, column] = values
        layout[np.where(class_of[at] == first, second - 1, first), at] = values
    return support, counts, coefficients, layout


def store_basis_pairs(
    estimator: Any,
    data: TrainingData,
    classes: NDArray[Any],
    kernel: Kernel,
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
    basis: LowRankAccess,
) -> None:
    """Set the fitted attributes if the functions are expansions in the basis of a factor LLᵀ.

    All pairs share the basis functions: `dual_coef_` has one row per pair.
    """
    sign = label_sign(classes)
    labels = np.searchsorted(classes, data.y[basis.origin.basis])
    order = np.argsort(labels, kind="stable")
    coefficients = sign * basis_coefficients(basis, rows, expansions)[order]
    intercept = sign * np.array([expansion.intercept for expansion in expansions])
    counts = np.bincount(labels, minlength=len(classes))
    layout = np.ascontiguousarray(coefficients.T)
    store_expansion(estimator, data, kernel, basis.origin.basis[order], counts, coefficients, intercept, layout)
    estimator._margins = np.array([expansion.margin for expansion in expansions])
    estimator._dual_points = [expansion.coefficients for expansion in expansions]


# ---- the estimators -------------------------------------------------------------------------------------------------


class KernelClassifier(ClassifierMixin, DualEstimator):
    """Base class of the one-vs-one classifiers: a binary subproblem for every pair of classes."""

    classes_: NDArray[Any]
    class_weight_: Array
    _margins: Array

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True
    ) -> ClassificationData:
        return validate_classification(self, X, y, sample_weight, kernel, self.class_weight, reset)

    def _expansions(self, data: TrainingData, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        sign = self._label_sign()
        if self._dual_points is None:
            beta = np.zeros((data.n, len(subproblems)))
            beta[np.searchsorted(data.rows, self.support_)] = sign * self.model_.coefficients
            parts = [beta[row_index(subproblem.rows), k] for k, subproblem in enumerate(subproblems)]
        else:
            parts = self._dual_points
        values = zip(parts, sign * self.intercept_, self._margins, strict=True)
        return [Expansion(part, float(intercept), float(margin)) for part, intercept, margin in values]

    def _label_sign(self) -> float:
        return label_sign(self.classes_)

    def _n_functions(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def decision_function(self, X: Any) -> Array:
        """Decision values: positive values mean ``classes_[1]`` with two classes.

        With more classes, one column per class (``decision_function_shape="ovr"``: votes and a confidence below ½) or
        one per pair of classes ("ovo", positive for the first of the pair).
        """
        check_is_fitted(self)
        values = decision_values(self, X, self._n_functions())
        if len(self.classes_) == 2:
            return values.ravel()
        return class_values(values, self.classes_) if self.decision_function_shape == "ovr" else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with most votes, ties to the first (by confidence with ``break_ties``)."""
        if "classes_" not in vars(self):
            check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        n_classes = len(self.classes_)
        values = decision_values(self, X, n_classes * (n_classes - 1) // 2)
        if n_classes == 2:
            return self.classes_[(values.ravel() > 0).astype(np.intp)]
        by_class = class_values(values, self.classes_) if self.break_ties else votes(values, n_classes)
        return self.classes_[np.argmax(by_class, axis=1)]


def class_values(values: Array, classes: NDArray[Any]) -> Array:
    """Votes of every class plus a confidence below ½, from the decision values of all pairs."""
    return _ovr_decision_function(values < 0, -values, len(classes))


def votes(values: Array, n_classes: int) -> NDArray[np.floating]:
    """Number of pairs that every class wins, as a matrix product of integers that are exact in float32."""
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(len(first))
    gains = np.zeros((len(pairs), n_classes), dtype=np.float32)  # change of the votes by a positive value
    gains[pairs, first], gains[pairs, second] = 1.0, -1.0
    return (values > 0).astype(np.float32) @ gains + np.arange(n_classes)  # class k is the second of k pairs
