"""Methods that `LPSVC` and `LPSVR` share: certificates and decision values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import effective_n_jobs
from hinge.estimators.common.description.forecast import MANY_LP_SAMPLES, ForecastMixin, data_shape
from hinge.estimators.common.description.summary import SummaryMixin
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, Rule
from hinge.estimators.common.validation import TrainingData, check_parameters, validate_samples
from hinge.kernels import Kernel, Precomputed
from hinge.model import DictionaryModel
from hinge.problems import Array, Certificate, LPProblem, certify_lp, combine

#: Rules of the parameters of both estimators. They have no cache for kernel values.
LP_RULES: dict[str, Rule] = {
    "C": POSITIVE,
    **{name: rule for name, rule in LIMIT_RULES.items() if name != "cache_size"},
    **KERNEL_RULES,
}


def _bounded_matrix(kernel: Kernel, X: Any) -> tuple[Array, float]:
    """Return the kernel matrix of X, and a bound on the errors of its entries."""
    if isinstance(kernel, Precomputed):
        return X, 0.0
    values, errors = kernel.bounded(X, X)
    return values, float(np.max(errors, initial=0.0))


class LPEstimator(SummaryMixin, ForecastMixin, BaseEstimator):
    """Base class of `LPSVC` and `LPSVR`, which solve one linear program for every output.

    `fit` sets the coefficients of all kernels and samples, `_terms`, and the dual points, `_beta`, for `certify`. See
    `hinge.estimators.lp.training`.
    """

    #: Rules of the parameters, by name.
    _rules: ClassVar[Mapping[str, Rule]]

    model_: DictionaryModel
    _terms: Array
    _beta: Array

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        """Validate training data, of a fitted estimator if `reset` is False."""

    @abstractmethod
    def _problems(self, data: Any, design: Array) -> list[LPProblem]:
        """Build the linear program of every output from the values of the dictionary."""

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from the training data, in float64 with NumPy.

        The coefficients are those of the model. The dual point is stored by `fit`, and made feasible here.

        Parameters
        ----------
        X, y, sample_weight
            The arguments of `fit`.
        """
        check_is_fitted(self)
        check_parameters(self, self._rules)
        kernels = [part.kernel for part in self.model_.parts]
        data = self._validate(X, y, sample_weight, kernels[0], reset=False)
        if np.ndim(self._terms) != 3:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        if self._terms.shape[1] != data.n:
            raise ValueError("sample_weight is zero for other samples than at fit; pass the weights that fit was given")
        values, errors = zip(*(_bounded_matrix(kernel, data.X) for kernel in kernels), strict=True)
        problems = self._problems(data, np.asarray(np.hstack(values), dtype=np.float64))
        problems = [replace(problem, design_error=max(errors)) for problem in problems]
        coefficients = self._terms.reshape(-1, self._terms.shape[2])
        outputs = zip(problems, coefficients.T, self.intercept_, self._beta.T, strict=True)
        return combine([certify_lp(problem, a, float(b), beta) for problem, a, b, beta in outputs])

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the method for `hinge.solvers.explain`. The estimator is not changed."""
        check_parameters(self, self._rules)
        n, _ = data_shape(X, y)
        reasons = (f"{n} samples: a linear program with {n} rows and at least {2 * n} columns, solved by HiGHS",)
        difference = "the penalty is the sum of absolute coefficients: the problem is a linear program"
        return solvers.explain_method("linear_programming", reasons, n, 1, difference)

    def _alternative(self, n: int) -> str:
        if n <= MANY_LP_SAMPLES:
            return ""
        name = type(self).__name__.removeprefix("LP")
        return f"{name}: its quadratic program is solved faster than a linear program with {n} rows"

    def _decide(self, X: Any) -> Array:
        """Values of all outputs at the rows of X, (n_rows × n_outputs)."""
        check_is_fitted(self)
        kernel = self.model_.parts[0].kernel
        precomputed = isinstance(kernel, Precomputed)
        if precomputed and not sp.issparse(X) and self._has_support_columns(X):
            X = np.ascontiguousarray(X, dtype=np.float64)
        else:
            X = validate_samples(self, X, kernel, reset=False)
            X = np.ascontiguousarray(X[:, self.support_]) if precomputed else X
        return self.model_.decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def _has_support_columns(self, K: Any) -> bool:
        """Whether a kernel matrix has one column per support vector instead of one per training sample."""
        return bool(getattr(K, "shape", (0, 0))[-1] == len(self.support_) != self.shape_fit_[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        precomputed = isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags
