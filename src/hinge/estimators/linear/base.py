"""Parameter rules and methods that the linear estimators share: decision values, certificates, loading from files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import effective_n_jobs
from hinge.estimators.common.description.forecast import ForecastMixin, data_shape
from hinge.estimators.common.description.summary import SummaryMixin
from hinge.estimators.common.rules import LIMIT_RULES, POSITIVE, Flag, Rule
from hinge.estimators.common.validation import TrainingData, check_parameters
from hinge.estimators.linear.training import validate_samples
from hinge.losses import Form, loss_names
from hinge.model import LinearModel
from hinge.problems import Array, Certificate, LinearProblem, certify_linear, combine
from hinge.solvers import CoordinateDescent
from hinge.validation import check_choice, check_flag, check_number

METHODS = ("auto", "descent", "newton")


@dataclass(frozen=True)
class AutoOrFlag:
    """ "auto", True or False."""

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, str) or value != "auto":
            check_flag(name, value)


@dataclass(frozen=True)
class Verbosity:
    """True, False, or a number that is not negative, as in scikit-learn."""

    def check(self, name: str, value: Any) -> None:
        check_number(name, int(value) if isinstance(value, bool) else value, 0.0)


@dataclass(frozen=True)
class LinearLoss:
    """A loss object, or the name of a registered loss whose conjugate is quadratic."""

    form: Form

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            check_choice(name, value, loss_names(self.form, quadratic=True))


@dataclass(frozen=True)
class LinearSolver:
    """A `CoordinateDescent` object, or the name of a method."""

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, CoordinateDescent):
            check_choice(name, value, METHODS)


#: Rules of the parameters of all linear estimators, and of those with an intercept.
LINEAR_RULES: dict[str, Rule] = {**LIMIT_RULES, "warm_start": Flag(), "verbose": Verbosity(), "solver": LinearSolver()}
INTERCEPT_RULES: dict[str, Rule] = {
    "fit_intercept": Flag(),
    "penalize_intercept": Flag(),
    "intercept_scaling": POSITIVE,
    "dual": AutoOrFlag(),
}


class LinearEstimator(SummaryMixin, ForecastMixin, BaseEstimator):
    """Base class of `LinearSVC`, `LinearSVR` and `LinearOneClassSVM`.

    `fit` sets `coef_`, `intercept_` and `dual_coef_`, the number of samples that it was given, `_n_seen`, and the C to
    which the dual point belongs, `_fit_cost`. See `hinge.estimators.linear.training`.
    """

    #: Rules of the parameters, by name.
    _rules: ClassVar[Mapping[str, Rule]]

    coef_: Any
    intercept_: Array
    dual_coef_: Array
    classes_: NDArray[Any]
    _n_seen: int
    _fit_cost: float

    def _check_parameters(self) -> None:
        """Raise a TypeError or ValueError if a parameter is not valid."""
        check_parameters(self, self._rules)

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the choice of the method for `hinge.solvers.explain`. The estimator is not changed."""
        self._check_parameters()
        n, features = data_shape(X, y)
        statement = f"{n} samples with {features} features: w has {features} entries, and an epoch costs a pass over X"
        name, reason = self._explained_method()
        difference = "the function is linear: w replaces the kernel expansion, and no kernel value is stored"
        return solvers.explain_method(name, (statement, reason), n, 1, difference)

    def _explained_method(self) -> tuple[str, str]:
        """The name of the method, and the reason for it."""
        if getattr(self, "penalty", "l2") == "l1":
            return "l1_coordinate_descent", "penalty='l1' selects coordinate descent on the weights"
        method = self.solver if isinstance(self.solver, str) else self.solver.method
        reason = f"method={method!r} was requested"
        dual = getattr(self, "dual", "auto")
        if self.solver == "auto" and not isinstance(dual, str):
            method, reason = "descent" if dual else "newton", f"dual={dual!r} selects the method"
        if method == "auto":
            reason = "descent or Newton's method, whichever is estimated to be cheaper while the run proceeds"
        return "newton" if method == "newton" else "coordinate_descent", reason

    # ---- what differs between the estimators --------------------------------------------------------------------

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        """Validate training data, of a fitted estimator if `reset` is False."""

    @abstractmethod
    def _problems(self, data: Any) -> list[LinearProblem]:
        """Build the problem of every function."""

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def _model(self) -> LinearModel:
        return LinearModel(np.atleast_2d(dense_weights(self.coef_)), np.atleast_1d(self.intercept_))

    def _decide(self, X: Any) -> Array:
        """Decision values of all functions, (n_rows × n_functions)."""
        check_is_fitted(self)
        X = validate_samples(self, X, reset=False)
        return self._model().decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate of this model from its training data.

        Everything is computed in float64 with NumPy, from `X`, `y`, `coef_`, `intercept_` and `dual_coef_`, without any
        code of the solvers.

        Parameters
        ----------
        X, y, sample_weight
            The arguments of `fit`.

        Returns
        -------
        Certificate
            For several classes the sum over all of them; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        self._check_parameters()
        data = self._validate(X, y, sample_weight, reset=False)
        left_out = np.setdiff1d(np.arange(self._n_seen), data.rows)
        if np.any(self.dual_coef_[:, left_out]):
            raise ValueError("sample_weight is zero for a support vector; pass the weights that fit was given")
        return combine(self._certificates(data))

    def _certificates(self, data: Any) -> list[Certificate]:
        """The certificate of every function on validated training data."""
        weights, dual = np.atleast_2d(dense_weights(self.coef_)), self.dual_coef_[:, data.rows]
        functions = zip(self._problems(data), weights, self.intercept_, dual, strict=True)
        return [certify_linear(problem, w, float(b), beta) for problem, w, b, beta in functions]

    def _check_loaded(self) -> None:
        """Raise a ValueError if the attributes that were read from a file do not belong together."""
        model, dual = self._model(), self.dual_coef_
        consistent = (
            model.weights.shape[1] == self.n_features_in_
            and model.intercept.shape == (len(model.weights),)
            and np.ndim(dual) == 2
            and dual.dtype == np.float64
            and dual.shape[1] == self._n_seen
        )
        if not consistent:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def dense_weights(weights: Any) -> Array:
    """Return `coef_` as an array of float64; it is a sparse matrix after `sparsify`."""
    return np.asarray(weights.toarray() if sp.issparse(weights) else weights, dtype=np.float64)
