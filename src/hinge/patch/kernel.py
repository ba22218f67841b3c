"""`SVC`, `NuSVC`, `SVR`, `NuSVR` and `OneClassSVM` of scikit-learn, trained by hinge in place of LIBSVM.

The classes derive from those of scikit-learn, which validate parameters and data, encode the labels and set the public
attributes. `LibSVMReplacement` overrides the methods that call LIBSVM. scikit-learn stores two-class models with the
signs of LIBSVM in `_dual_coef_` and `_intercept_`: positive values mean ``classes_[0]``.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm._base import BaseLibSVM

from hinge import estimators
from hinge.estimators.common.prediction import decision_values
from hinge.matrices import is_symmetric
from hinge.problems import Array, Certificate, Status

#: Error of scikit-learn for sample weights that leave no samples.
NO_SAMPLES = "Invalid input - all samples have zero or negative weights."

#: Beginning of the error of scikit-learn for models that cannot be computed.
NOT_FINITE = "The dual coefficients or intercepts are not finite."


class LibSVMReplacement(BaseLibSVM):
    """Methods that call hinge in place of LIBSVM.

    Attributes
    ----------
    hinge_ : estimator
        The fitted estimator of hinge, trained on the labels 0, 1, ...
    certificate_ : Certificate
    status_ : Status
    """

    #: The estimator of hinge, and the parameters that it has besides those of all kernel estimators.
    _estimator: ClassVar[type]
    _own_parameters: ClassVar[tuple[str, ...]] = ()

    hinge_: Any
    certificate_: Certificate
    status_: Status

    # ---- training -----------------------------------------------------------------------------------------------

    def _dense_fit(
        self, X: Any, y: Array, sample_weight: Array, solver_type: int, kernel: str, random_seed: int
    ) -> None:
        if callable(self.kernel):
            self._kernel_samples = X
            X = self._compute_kernel(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError("X.shape[0] should be equal to X.shape[1]")
        if kernel == "precomputed" and not is_symmetric(X):
            X = 0.5 * (X + X.T)  # the objective depends on the symmetric part only
        self._train(X, y, sample_weight, kernel)

    def _sparse_fit(
        self, X: Any, y: Array, sample_weight: Array, solver_type: int, kernel: str, random_seed: int
    ) -> None:
        X.sort_indices()
        self._train(X, y, sample_weight, kernel)

    def _train(self, X: Any, y: Array, sample_weight: Array, kernel: str) -> None:
        """Fit the estimator of hinge, and set the attributes that LIBSVM returns."""
        chosen = isinstance(self.gamma, str) and kernel != "precomputed"  # by the variance, which may overflow
        if not np.isfinite(self._gamma) or (chosen and self._gamma == 0):
            raise ValueError(
                f"gamma={self.gamma!r} is {self._gamma} for these data: {NOT_FINITE} The input data may contain large "
                "values and need to be preprocessed."
            )
        model = self._estimator(
            kernel=kernel,
            degree=self.degree,
            gamma="scale" if kernel == "precomputed" else self._gamma,
            coef0=self.coef0,
            tol=self.tol,
            shrinking=bool(self.shrinking),
            cache_size=self.cache_size,
            max_iter=self.max_iter,
            verbose=bool(self.verbose),
            **self._particular_parameters(),
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(X, y, sample_weight=self._weights(y, sample_weight))
        self.hinge_, self.certificate_, self.status_ = model, model.certificate_, model.status_
        self._store(model)
        self._repeat_warnings(caught)

    def _particular_parameters(self) -> dict[str, Any]:
        """Parameters of the estimator that not all kernel estimators have."""
        return {name: getattr(self, name) for name in self._own_parameters}

    def _weights(self, y: Array, sample_weight: Array) -> Array | None:
        """Weights of the samples: those that are not positive leave samples out, as in LIBSVM."""
        if not len(sample_weight):
            return None
        if not np.any(sample_weight > 0):
            raise ValueError(NO_SAMPLES)
        return np.maximum(sample_weight, 0.0)

    def _store(self, model: Any) -> None:
        sign = self._sign()
        self.support_, self._n_support = model.support_, model.n_support_
        self.support_vectors_ = _same_interface(model.support_vectors_)
        self.dual_coef_ = _same_interface(sign * model.dual_coef_)
        self.intercept_ = sign * model.intercept_
        self.fit_status_ = model.fit_status_
        self._num_iter = np.asarray(model.n_iter_)
        self._probA, self._probB = np.empty(0), np.empty(0)

    def _sign(self) -> float:
        """−1 if LIBSVM's decision function is the negative of that of hinge."""
        return 1.0

    def _repeat_warnings(self, caught: list[warnings.WarningMessage]) -> None:
        """Issue the warning of scikit-learn for a fit that the iteration limit ended.

        Fits that end before the tolerance is reached for another reason keep the warning of hinge. A solved fit issues
        no ConvergenceWarning.
        """
        limited = self.status_ is Status.MAX_ITER and self.max_iter >= 0
        for warning in caught:
            if not issubclass(warning.category, ConvergenceWarning) or (self.fit_status_ and not limited):
                warnings.warn(warning.message, warning.category, stacklevel=6)
        if limited:
            self._warn_from_fit_status()

    # ---- prediction ---------------------------------------------------------------------------------------------

    def _compute_kernel(self, X: Any) -> Any:
        """Kernel values with the training samples, if the kernel is a function; otherwise X."""
        if not callable(self.kernel):
            return X
        values = self.kernel(X, self._kernel_samples)
        return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64, order="C")

    def _checked_kernel(self, X: Any) -> Any:
        X = self._compute_kernel(X)
        if callable(self.kernel) and X.shape[1:] != (self.shape_fit_[0],):
            raise ValueError(
                f"X.shape[1] = {X.shape[-1]} should be equal to {self.shape_fit_[0]}, the number of samples at "
                "training time"
            )
        return X

    def _dense_predict(self, X: Any) -> NDArray[Any]:
        return self.hinge_.predict(self._checked_kernel(X))

    def _sparse_predict(self, X: Any) -> NDArray[Any]:
        return self.hinge_.predict(X)

    def _dense_decision_function(self, X: Any) -> Array:
        return self._sign() * self.hinge_.decision_function(X).reshape(len(X), -1)

    def _sparse_decision_function(self, X: Any) -> Array:
        return self._sign() * self.hinge_.decision_function(X).reshape(X.shape[0], -1)


def _same_interface(matrix: Any) -> Any:
    """Return a sparse matrix in the type that scikit-learn is configured to return."""
    if not sp.issparse(matrix):
        return matrix
    from sklearn import get_config  # local: only for sparse data

    return sp.csr_array(matrix) if get_config().get("sparse_interface") == "sparray" else sp.csr_matrix(matrix)


class ClassifierReplacement(LibSVMReplacement):
    """Methods of classifiers: class weights, probabilities, pairs of classes."""

    classes_: NDArray[Any]
    class_weight_: Array

    def _particular_parameters(self) -> dict[str, Any]:
        probability = getattr(self, "_effective_probability", self.probability)
        return {**super()._particular_parameters(), "probability": bool(probability), "decision_function_shape": "ovo"}

    def _store(self, model: Any) -> None:
        if len(model.classes_) < len(self.classes_):  # classes without samples of positive weight
            kept = model.classes_.astype(np.intp)
            self.classes_, self.class_weight_ = self.classes_[kept], self.class_weight_[kept]
        super()._store(model)
        if model.probability:
            self._probA, self._probB = model.probA_, model.probB_

    def _sign(self) -> float:
        return -1.0 if len(self.hinge_.classes_) == 2 else 1.0

    def _dense_predict(self, X: Any) -> NDArray[Any]:
        return np.searchsorted(self.hinge_.classes_, super()._dense_predict(X))

    def _sparse_predict(self, X: Any) -> NDArray[Any]:
        return np.searchsorted(self.hinge_.classes_, super()._sparse_predict(X))

    def _dense_predict_proba(self, X: Any) -> Array:
        return self.hinge_.predict_proba(self._checked_kernel(X))

    def _sparse_predict_proba(self, X: Any) -> Array:
        return self.hinge_.predict_proba(X)


class RegressorReplacement(LibSVMReplacement):
    """Methods of regressors."""

    def _dense_decision_function(self, X: Any) -> Array:
        return decision_values(self.hinge_, X, 1)

    _sparse_decision_function = _dense_decision_function


class SVC(ClassifierReplacement, svm.SVC):
    __doc__ = svm.SVC.__doc__
    _estimator = estimators.SVC
    _own_parameters = ("C",)

    def _weights(self, y: Array, sample_weight: Array) -> Array | None:
        weights, by_class = super()._weights(y, sample_weight), self.class_weight_
        if np.all(by_class == 1):
            return weights
        if not np.all(by_class > 0):
            label = self.classes_[np.argmin(by_class)]
            raise ValueError(
                f"class_weight={self.class_weight!r} has a weight that is not positive for class {label}: {NOT_FINITE} "
                "Leave out the samples of the class instead."
            )
        factors = by_class[y.astype(np.intp)]
        return factors if weights is None else weights * factors


class NuSVC(ClassifierReplacement, svm.NuSVC):
    # `class_weight` has no effect in LIBSVM's ν-classification, and none here.
    __doc__ = svm.NuSVC.__doc__
    _estimator = estimators.NuSVC
    _own_parameters = ("nu",)


class SVR(RegressorReplacement, svm.SVR):
    __doc__ = svm.SVR.__doc__
    _estimator = estimators.SVR
    _own_parameters = ("C", "epsilon")


class NuSVR(RegressorReplacement, svm.NuSVR):
    __doc__ = svm.NuSVR.__doc__
    _estimator = estimators.NuSVR
    _own_parameters = ("C", "nu")


class OneClassSVM(LibSVMReplacement, svm.OneClassSVM):
    __doc__ = svm.OneClassSVM.__doc__
    _estimator = estimators.OneClassSVM
    _own_parameters = ("nu",)
