"""Base classes of the estimators that choose their parameters by cross-validation.

`fit` runs `hinge.selection.grid` on a grid that is given or scaled to the data, and keeps its result. In a pipeline,
the outer cross-validation therefore includes the scaling of the features and the choice of the parameters.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.estimators import SVC, SVR
from hinge.estimators.common.description.forecast import ForecastMixin
from hinge.estimators.common.description.summary import Summary, SummaryMixin
from hinge.problems import Array
from hinge.selection.grid import MIN_REFIT_SECONDS, grid
from hinge.selection.result import GridResult
from hinge.validation import as_number, check_flag, check_integer

#: Largest number of values of a parameter that are chosen by the estimator.
MAX_VALUES = 1000


def _has_probability(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError(f"predict_proba needs {type(estimator).__name__}(probability=True)")
    return True


class CrossValidatedEstimator(SummaryMixin, ForecastMixin, BaseEstimator):
    """Base class: the search, its result as attributes, and predictions by the best estimator."""

    result_: GridResult

    @abstractmethod
    def _template(self) -> Any:
        """The estimator whose parameters are searched, with all other parameters set."""

    @abstractmethod
    def _axes(self, template: Any, X: Any, y: Any) -> dict[str, Any]:
        """The values of every parameter of the grid."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the parameters by cross-validation, and train on all samples with the best ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the costs in training. Scores are not weighted.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups of samples together, such as `GroupKFold`.

        Returns
        -------
        self
        """
        check_flag("verbose", self.verbose)
        template = self._template()
        is_kernel = isinstance(template, SVC | SVR)
        data = template._validate(X, y, None, *([template._settings().kernel] if is_kernel else []))
        axes = self._axes(template, data.X, data.y)
        result = grid(
            X, y, estimator=template, cv=self.cv, scoring=self.scoring, sample_weight=sample_weight, groups=groups,
            n_jobs=self.n_jobs, max_time=self.max_time, verbose=bool(self.verbose), **axes,
        )  # fmt: skip
        if result.best_estimator_ is None:
            result = self._middle(template, axes, result, X, y, sample_weight)
        self.result_ = result
        return self

    def _middle(
        self, template: Any, axes: dict[str, Any], result: GridResult, X: Any, y: Any, sample_weight: Any
    ) -> GridResult:
        """The result with the estimator in the middle of the grid, if no candidate has a score."""
        middle = {name: values[len(values) // 2] for name, values in axes.items()}
        warnings.warn(
            f"no candidate has a score: the parameters {middle} are the middle of the grid. "
            + ("Use fewer folds" if self.max_time is None else f"Allow more time than max_time={self.max_time} s"),
            ConvergenceWarning,
            stacklevel=3,
        )
        best = template.set_params(**middle, max_time=MIN_REFIT_SECONDS if self.max_time is not None else None)
        best.fit(X, y, sample_weight=sample_weight)
        object.__setattr__(result, "best_estimator_", best)
        object.__setattr__(result, "best_params_", middle)
        return result

    def summary(self, X: Any = None, y: Any = None) -> Summary:
        """Return the report about the best estimator, and its score in cross-validation."""
        check_is_fitted(self, "result_")
        report = self.best_estimator_.summary(X, y)
        best = {name: f"{value:.6g}" for name, value in self.best_params_.items()}
        search = {"best parameters": str(best), "mean score in cross-validation": f"{self.best_score_:.4g}"}
        return replace(report, title=type(self).__name__, sections={**report.sections, "search": search})

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the solver of a candidate for `hinge.solvers.explain`. The estimator is not changed."""
        template = self._template()
        explanation: solvers.Explanation = template._explain(X, y, sample_weight)
        limit = "no time limit" if self.max_time is None else f"max_time={self.max_time} s"
        reasons = (f"every candidate of the grid is a {type(template).__name__}; {limit}", *explanation.reasons)
        return replace(explanation, reasons=reasons)

    def _check_loaded(self) -> None:
        """Raise a ValueError if the result that was read from a file belongs to another kind of estimator."""
        best, expected = self.result_.best_estimator_, type(self._template())
        if type(best) is not expected:
            raise ValueError(f"best_estimator_ must be a {expected.__name__}, but it is a {type(best).__name__}")

    # ---- result -------------------------------------------------------------------------------------------------

    def _found(self, name: str) -> GridResult:
        if "result_" not in vars(self):
            raise AttributeError(f"{name} is set by fit; this {type(self).__name__} is not fitted yet")
        return self.result_

    @property
    def best_estimator_(self) -> Any:
        """The estimator with the best parameters, trained on all samples."""
        return self._found("best_estimator_").best_estimator_

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best parameters."""
        found = self._found("best_params_").best_params_
        assert found is not None
        return found

    @property
    def best_score_(self) -> float:
        """Mean score of the best parameters in cross-validation."""
        return self._found("best_score_").best_score_

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The table of all candidates, as in `GridSearchCV`."""
        return self._found("cv_results_").cv_results_

    @property
    def C_(self) -> float:
        """The best C."""
        return float(self.best_params_["C"])

    @property
    def n_iter_(self) -> Any:
        """Iterations of the final fit."""
        return self._found("n_iter_").best_estimator_.n_iter_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self._found("n_features_in_").best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if X had names."""
        return self._found("feature_names_in_").best_estimator_.feature_names_in_

    # ---- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Recompute the certificate of the best estimator from its training data."""
        check_is_fitted(self)
        return self.best_estimator_.certify(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_template = self._template().__sklearn_tags__()
        tags.input_tags.sparse = of_template.input_tags.sparse
        tags.input_tags.pairwise = of_template.input_tags.pairwise
        return tags


class CrossValidatedClassifier(ClassifierMixin, CrossValidatedEstimator):
    """Base class of the classifiers."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in sorted order."""
        return self._found("classes_").best_estimator_.classes_

    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class; see `SVC.predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)


def grid_values(name: str, values: Any, powers: tuple[float, float], scale: float) -> list[float]:
    """The given values, or as many as asked for, logarithmically spaced around `scale`."""
    if isinstance(values, int | np.integer):
        check_integer(name, values, 1)
        if values > MAX_VALUES:
            raise ValueError(f"{name} asks for more than {MAX_VALUES} values; use a smaller number, or pass the values")
        return [float(v) for v in scale * np.logspace(*powers, int(values))] if values > 1 else [float(scale)]
    return given_values(name, values)


def given_values(name: str, values: Any) -> list[float]:
    """A number or a sequence of numbers as a list."""
    return [as_number(name, value) for value in ([values] if np.ndim(values) == 0 else values)]
