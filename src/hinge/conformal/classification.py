"""Conformal classification: p-values and prediction sets.      docs/math (528), (529)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_outlier_detector,
    is_regressor,
)
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hinge.conformal.label_addition import LabelAddition
from hinge.conformal.quantiles import check_levels, lower_rank
from hinge.conformal.samples import (
    check_calibration_size,
    check_folds,
    indexable,
    kernel_with_formula,
    sample_blocks,
    select_rows,
)
from hinge.conformal.scores import class_scores, count_at_least
from hinge.estimators import SVC, IncrementalSVC
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.validation import n_rows
from hinge.problems import Array
from hinge.validation import check_choice, check_flag


class ConformalClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Prediction sets of classes with finite-sample guarantees.                     Vovk et al. (2005), docs/math (528)

    Parameters
    ----------
    estimator : classifier, optional
        By default ``SVC()``. ``method="full"`` needs SVC with the hinge loss or IncrementalSVC; the other methods
        accept every classifier with `decision_function` or `predict_proba`.
    method : {"inductive", "cross", "full"}, default="inductive"
        "inductive" trains on one part of the samples and calibrates on the other; the guarantee is 1 − α. "cross" uses
        every sample for both, in folds; the guarantee is 1 − 2α (up to a term of order cv/n), typical coverage is 1 −
        α. "full" adds every new sample with each label to the exact solution; the guarantee is 1 − α, and all samples
        are used for training and calibration.
    class_conditional : bool, default=False
        Whether the guarantee holds within each class. Every class then needs at least 1/α − 1 calibration samples, or
        it is in all sets.
    calibration_size : float or int, default=0.25
        Share or number of calibration samples of "inductive".
    cv : int, default=5
        Number of folds of "cross".
    random_state : int, RandomState or None
        Random division into parts or folds. It is stratified by class only if ``class_conditional=True``: the guarantee
        for all classes together needs calibration samples that are chosen independently of their classes.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the training part ("inductive") or on all samples.
    classes_ : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVC
    >>> from hinge.conformal import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2)); y = X[:, 0] + 0.3 * rng.normal(size=80) > 0
    >>> model = ConformalClassifier(SVC(C=1.0, gamma=0.5), method="full").fit(X, y)
    >>> model.predict_set([[2.0, 0.0]], alpha=0.1)
    array([[False,  True]])
    """

    def __init__(
        self,
        estimator=None,
        *,
        method="inductive",
        class_conditional=False,
        calibration_size=0.25,
        cv=5,
        random_state=None,
    ):
        self.estimator = estimator
        self.method = method
        self.class_conditional = class_conditional
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return SVC() if self.estimator is None else self.estimator

    # ---- training -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Train the estimator and compute the scores of the calibration samples."""
        check_choice("method", self.method, ("inductive", "cross", "full"))
        check_flag("class_conditional", self.class_conditional)
        if is_regressor(self._estimator()) or is_outlier_detector(self._estimator()):
            raise TypeError(
                f"estimator is a {type(self._estimator()).__name__}, which is not a classifier; use JackknifePlus for "
                "regressors and ConformalDetector for novelty detectors"
            )
        X, y = indexable(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, self._label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            found = f"one class, {self.classes_.tolist()[0]!r}" if len(y) else "no samples"
            raise ValueError(f"y has {found}; at least two classes are needed")
        {"inductive": self._fit_inductive, "cross": self._fit_cross, "full": self._fit_full}[self.method](X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _fit_inductive(self, X: Any, y: NDArray[Any]) -> None:
        smallest = len(self.classes_) if self.class_conditional else 1
        size = check_calibration_size(self.calibration_size, len(y), smallest)
        if self.class_conditional:
            single = np.bincount(self._label) == 1
            if single.any():
                self._raise_missing("calibration_size", single)
        # Stratified parts are exchangeable with new samples only within each class.                            (528)
        make = StratifiedShuffleSplit if self.class_conditional else ShuffleSplit
        ((train, calibration),) = make(1, test_size=size, random_state=self.random_state).split(np.empty(len(y)), y)
        self._check_training_part("calibration_size", train)
        self.estimator_ = clone(self._estimator()).fit(select_rows(X, train), y[train])
        scores = class_scores(self.estimator_, select_rows(X, calibration))
        self._calibrated = [(self.estimator_, self._own(scores, calibration), self._label[calibration])]

    def _fit_cross(self, X: Any, y: NDArray[Any]) -> None:
        check_folds(self.cv, len(y))
        largest = int(np.bincount(self._label).max())
        if self.class_conditional and self.cv > largest:
            raise ValueError(f"cv={self.cv} exceeds the size of the largest class, {largest}; use fewer folds")
        self.estimator_ = clone(self._estimator()).fit(X, y)
        self._calibrated = []
        make = StratifiedKFold if self.class_conditional else KFold
        folds = make(self.cv, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(np.empty(len(y)), y):
            self._check_training_part("cv", train)
            model = clone(self._estimator()).fit(select_rows(X, train), y[train])
            scores = class_scores(model, select_rows(X, test))
            self._calibrated.append((model, self._own(scores, test), self._label[test]))

    def _own(self, scores: Array, rows: NDArray[np.intp]) -> Array:
        """Scores of the samples for their own labels."""
        return scores[np.arange(len(rows)), self._label[rows]]

    def _check_training_part(self, name: str, rows: NDArray[np.intp]) -> None:
        missing = np.bincount(self._label[rows], minlength=len(self.classes_)) == 0
        if missing.any():
            self._raise_missing(name, missing)

    def _raise_missing(self, name: str, missing: NDArray[np.bool_]) -> NoReturn:
        raise ValueError(
            f"{name}={getattr(self, name)!r} leaves no training or calibration sample of the classes "
            f"{self.classes_[missing].tolist()}; use method='full', or more samples of these classes"
        )

    def _fit_full(self, X: Any, y: NDArray[Any]) -> None:
        estimator = clone(self._estimator())
        if not isinstance(estimator, SVC | IncrementalSVC) or getattr(estimator, "loss", "hinge") != "hinge":
            raise TypeError(
                f"estimator={estimator!r} cannot be used with method='full', which needs SVC with the hinge loss or "
                "IncrementalSVC; use method='cross'"
            )
        kernel = kernel_with_formula(estimator)
        if not np.isfinite(estimator.C):
            raise ValueError("C=inf cannot be used with method='full'; use a finite C")
        self.estimator_ = estimator.fit(X, y)
        self._data = estimator._validate(X, y, None, kernel, reset=False)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels predicted by `estimator_`."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def p_values(self, X: Any) -> Array:
        """Return the p-value of each class, (n_samples × n_classes); for the true class it is uniform or larger."""
        check_is_fitted(self)
        if self.method == "full":
            return self._full_p_values(prediction_samples(self.estimator_, X))
        X = indexable(X)
        counts, sizes = np.zeros((n_rows(X), len(self.classes_))), np.zeros(len(self.classes_))
        for model, calibration, label in self._calibrated:
            scores = class_scores(model, X)
            for c in range(len(self.classes_)):
                chosen = calibration[label == c] if self.class_conditional else calibration
                counts[:, c] += count_at_least(chosen, scores[:, c])
                sizes[c] += len(chosen)
        return (1.0 + counts) / (1.0 + sizes)

    def _full_p_values(self, X: Any) -> Array:
        data, estimator = self._data, self.estimator_
        label = np.searchsorted(self.classes_, data.y)
        new_cost = estimator.C * estimator.class_weight_
        blocks = []
        for new in sample_blocks(X):
            addition = LabelAddition(
                estimator.model_.kernel, data.X, label, new_cost[label], new_cost, new, estimator.cache_size
            )
            columns = range(len(self.classes_))
            blocks.append(
                [[addition.p_value(t, c, self.class_conditional) for c in columns] for t in range(n_rows(new))]
            )
        return np.array([row for block in blocks for row in block]).reshape(-1, len(self.classes_))

    def predict_set(self, X: Any, alpha: float | Sequence[float] = 0.1) -> NDArray[np.bool_]:
        """Return whether each class is in the prediction set, (n_samples × n_classes[ × n_levels]).

        A class is in the set if its p-value is above α. Sets may be empty: such samples conform to no class.
        """
        levels, single = check_levels(alpha)
        p = self.p_values(X)
        sizes = self._calibration_sizes()
        # p > α ⇔ p (m + 1) > ⌊α (m + 1)⌋, because the left-hand side is an integer
        ranks = np.array([[lower_rank(level, int(size)) for level in levels] for size in sizes])
        sets = np.rint(p * (sizes + 1.0))[:, :, None] > ranks
        return sets[:, :, 0] if single else sets

    def _calibration_sizes(self) -> Array:
        """Number of calibration samples with which the score for each class is compared."""
        if self.method == "full":
            labels = np.searchsorted(self.classes_, self._data.y)
        else:
            labels = np.concatenate([label for _, _, label in self._calibrated])
        counts = np.bincount(labels, minlength=len(self.classes_)).astype(np.float64)
        return counts if self.class_conditional else np.full(len(counts), counts.sum())
