"""One against one: what `SVC` and `NuSVC` share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.control import captures_signals
from hinge.estimators.common.data import Data, check_known, everyone, one_column
from hinge.estimators.common.rollback import rollback
from hinge.estimators.kernel.base import KernelMachine, Subproblem
from hinge.estimators.low_rank.reduced_model import basis_coefficients
from hinge.formulations import Formulation
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.problems import Array
from hinge.validation import check_choice, check_flag, check_number


class PairwiseClassifier(ClassifierMixin, KernelMachine):
    """One against one: a binary machine for every pair of classes, the first of the pair positive."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_flag("break_ties", self.break_ties)
        self._check_class_weight()

    def _check_class_weight(self) -> None:
        if isinstance(self.class_weight, dict):
            for label, weight in self.class_weight.items():
                check_number(f"class_weight[{label!r}]", weight, 0.0, open_low=True)
        elif self.class_weight is not None:
            check_choice("class_weight", self.class_weight, ("balanced",))

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Data:
        data = super()._validate(X, y, sample_weight, reset)
        if not reset:
            check_known(data.y, self.classes_)
        return data

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = one_column(y)
        if y.dtype.kind not in "biuSU" and not (y.dtype.kind == "f" and np.all(y == np.rint(y))):
            check_classification_targets(y)  # whole numbers and text are labels; about others scikit-learn decides
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label")
        return y

    @captures_signals
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            float32 and float64 arrays and CSR matrices are used as they are, without a copy. Kernel values for
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        with rollback(self):
            data = self._prepared(X, y, sample_weight)
            machines = self._machines(data)
            kernel, expansions = self._train(data, machines, self._control())
            self._assemble_pairs(data, kernel, machines, expansions)
        return self._finish()

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> Data:
        data = self._validate(X, y, sample_weight)
        self.classes_ = self._classes(data, y)
        self.class_weight_ = (
            np.ones(len(self.classes_))
            if self.class_weight is None
            else compute_class_weight(self.class_weight, classes=self.classes_, y=data.y)
        )
        return data

    def _classes(self, data: Data, y: Any) -> NDArray[Any]:
        classes = np.unique(data.y)
        if len(classes) < 2:
            everyone = np.unique(column_or_1d(y))
            if len(everyone) >= 2:
                raise ValueError(self._one_class_left(len(everyone)))
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class: every sample is "
                f"labelled {classes[0]!r}"
            )
        return classes

    def _one_class_left(self, n_classes: int) -> str:
        return (
            "Invalid input - all samples with positive weights belong to the same class; give some samples of "
            f"another of the {n_classes} classes a positive sample_weight"
        )

    def _members(self, data: Data) -> list[NDArray[np.intp]]:
        """Positions of every class among the kept samples."""
        return [np.flatnonzero(data.y == label) for label in self.classes_]

    def _machines(self, data: Data) -> list[Subproblem]:
        cost = self._costs(data)
        return [Subproblem(rows, self._formulation(sign, cost[everyone(rows)])) for rows, sign in self._pairs(data)]

    def _pairs(self, data: Data) -> list[tuple[NDArray[np.intp] | None, Array]]:
        """Samples and signs of every pair of classes; with two classes all samples, in their order: no copy."""
        if len(self.classes_) == 2:
            return [(None, np.where(data.y == self.classes_[0], 1.0, -1.0))]
        return [
            (np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)]))
            for first, second in combinations(self._members(data), 2)
        ]

    def _costs(self, data: Data) -> Array:
        """Sample weight times class weight."""
        return data.weight * self.class_weight_[np.searchsorted(self.classes_, data.y)]

    def _formulation(self, sign: Array, cost: Array) -> Formulation:
        raise NotImplementedError

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Subproblem], expansions: Sequence[Expansion]
    ) -> None:
        """LIBSVM's layout: support vectors by class; in row r of `dual_coef_` the coefficients against the r-th of the
        other classes.  With two classes the signs are turned so that positive means `classes_[1]`."""
        if self._low_rank is not None:
            self._assemble_compact(data, kernel, machines, expansions)
            return
        self._lay_out(data, kernel, [machine.rows for machine in machines], expansions)

    def _lay_out(
        self,
        data: Data,
        kernel: Kernel,
        samples: Sequence[NDArray[np.intp] | None],
        expansions: Sequence[Expansion],
    ) -> None:
        """The same from the samples of every pair of classes; None stands for all."""
        if len(self.classes_) == 2:
            support, counts, coefficients = self._two_classes(data, expansions[0])
            layout = coefficients.T.copy()
        else:
            support, counts, coefficients, layout = self._many_classes(data, samples, expansions)
        offsets = self._turn() * np.array([expansion.intercept for expansion in expansions])
        self._n_support = np.array(counts, dtype=np.int32)
        self._assemble(data, kernel, support, coefficients, offsets)
        self.intercept_ = offsets
        self.dual_coef_ = self._as_dual(layout)
        self._margins = np.array([expansion.margin for expansion in expansions])

    def _two_classes(self, data: Data, expansion: Expansion) -> tuple[NDArray[np.intp], list[int], Array]:
        """Support vectors by class, how many of each, and their coefficients as a column."""
        inside = np.flatnonzero(expansion.coefficients)
        first = data.y[inside] == self.classes_[0]
        support = np.concatenate([inside[first], inside[~first]])
        count = int(np.count_nonzero(first))
        return support, [count, len(inside) - count], self._turn() * expansion.coefficients[support][:, None]

    def _many_classes(
        self, data: Data, samples: Sequence[NDArray[np.intp] | None], expansions: Sequence[Expansion]
    ) -> tuple[NDArray[np.intp], list[int], Array, Array]:
        """The same with a column for every pair, and these columns as LIBSVM lays them out."""
        members, n_classes = self._members(data), len(self.classes_)
        used = np.zeros(data.n, dtype=bool)
        touched: list[tuple[NDArray[np.intp], Array]] = []  # of every pair: samples, coefficients
        for mine, expansion in zip(samples, expansions, strict=True):
            inside = np.flatnonzero(expansion.coefficients)
            rows = inside if mine is None else mine[inside]
            touched.append((rows, expansion.coefficients[inside]))
            used[rows] = True
        counts = [int(used[rows].sum()) for rows in members]
        support = np.concatenate([rows[used[rows]] for rows in members])
        place = np.empty(data.n, dtype=np.intp)
        place[support] = np.arange(len(support))
        owner = np.repeat(np.arange(n_classes), counts)
        coefficients = np.zeros((len(support), len(samples)))
        layout = np.zeros((n_classes - 1, len(support)))
        for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
            at, values = place[touched[column][0]], touched[column][1]
            coefficients[at, column] = values
            layout[np.where(owner[at] == first, second - 1, first), at] = values
        return support, counts, coefficients, layout

    def _assemble_compact(
        self, data: Data, kernel: Kernel, machines: Sequence[Subproblem], expansions: Sequence[Expansion]
    ) -> None:
        """All pairs share the basis functions, so that `dual_coef_` has a row for every pair."""
        low, offsets = self._low_rank, self._turn() * np.array([expansion.intercept for expansion in expansions])
        assert low is not None
        coefficients = basis_coefficients(low, [machine.rows for machine in machines], expansions)
        labels = np.searchsorted(self.classes_, data.y[low.origin.basis])
        order = np.argsort(labels, kind="stable")
        self._n_support = np.bincount(labels, minlength=len(self.classes_)).astype(np.int32)
        self._assemble(data, kernel, low.origin.basis[order], self._turn() * coefficients[order], offsets)
        self.intercept_ = offsets
        self.dual_coef_ = self._as_dual(np.ascontiguousarray(self.model_.coefficients.T))
        self._margins = np.array([expansion.margin for expansion in expansions])
        self._dual_points = [expansion.coefficients for expansion in expansions]
        del self._low_rank

    def _dual_expansions(self) -> list[Expansion]:
        assert self._dual_points is not None
        parts = zip(self._dual_points, self._turn() * self.intercept_, self._margins, strict=True)
        return [Expansion(beta, float(offset), float(margin)) for beta, offset, margin in parts]

    def _turn(self) -> float:
        return -1.0 if len(self.classes_) == 2 else 1.0

    def _expansions(self, data: Data, machines: Sequence[Subproblem]) -> list[Expansion]:
        by_pair = np.zeros((data.n, len(machines)))
        flip = -1.0 if len(self.classes_) == 2 else 1.0
        by_pair[np.searchsorted(data.rows, self.support_)] = flip * self.model_.coefficients
        offsets = flip * self.intercept_
        return [
            Expansion(by_pair[everyone(machine.rows), column], float(offsets[column]), float(self._margins[column]))
            for column, machine in enumerate(machines)
        ]

    def _n_machines(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def _iterations(self, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        return counts

    def decision_function(self, X: Any) -> Array:
        """Signed distances: positive means ``classes_[1]`` with two classes.

        With more, one column per class (``decision_function_shape="ovr"``: votes and a confidence below ½) or one per
        pair of classes ("ovo", positive for the first of the pair).
        """
        values = self._decide(X)
        if len(self.classes_) == 2:
            return values.ravel()
        return self._per_class(values) if self.decision_function_shape == "ovr" else values

    def _per_class(self, values: Array) -> Array:
        return _ovr_decision_function(values < 0, -values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with most votes, ties to the first (by confidence with ``break_ties``)."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._decide(X)
        if len(self.classes_) == 2:
            return self.classes_[(values.ravel() > 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[np.argmax(self._per_class(values), axis=1)]
        return self.classes_[np.argmax(self._votes(values), axis=1)]

    def _votes(self, values: Array) -> NDArray[np.floating]:
        """How many pairs every class wins: as a product, of whole numbers that are exact in any precision."""
        first, second = np.triu_indices(len(self.classes_), 1)
        pairs = np.arange(len(first))
        turns = np.zeros((len(pairs), len(self.classes_)), dtype=np.float32)  # what a positive value changes
        turns[pairs, first], turns[pairs, second] = 1.0, -1.0
        return (values > 0).astype(np.float32) @ turns + np.arange(len(self.classes_))  # k is second in k pairs
