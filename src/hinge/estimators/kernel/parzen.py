"""`ParzenClassifier`: the nearest class mean in feature space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import effective_n_jobs
from hinge.estimators.common.description.forecast import data_shape
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, Flag, Rule, Threads
from hinge.estimators.common.validation import ClassificationData, check_parameters, validate_classification
from hinge.estimators.kernel.base import KernelEstimator
from hinge.kernels import Kernel, Precomputed, expand, make_kernel
from hinge.kernels.access import check_kernel_values
from hinge.lowrank.source import Source
from hinge.model import KernelModel
from hinge.problems import Array


class ParzenClassifier(ClassifierMixin, KernelEstimator):
    """Parzen window classifier: the class whose mean in feature space is nearest.    ν tutorial (8)–(14)

    For two classes f(x) = 1/m₊ Σ k(x, xᵢ) − 1/m₋ Σ k(x, xᵢ) + b, where the sums are over the classes and
    b = ½ (‖c₋‖² − ‖c₊‖²) for their means c. With ``offset=False``, b = 0: for a kernel that is a density, these are the
    Parzen window estimates of the densities of the classes. Nothing is optimized: every sample is part of the
    expansion. It is the simplest kernel classifier, and a reference for the others.

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As in `SVC`.
    offset : bool, default=True
        Whether the norms of the class means enter the decision.
    n_jobs : int, optional
        Threads for kernel values.

    Attributes
    ----------
    classes_ : ndarray
    dual_coef_ : ndarray of shape (1 or n_classes, n_samples)
        Coefficients of the samples; one row for two classes.
    intercept_ : ndarray
        b, or −½‖c‖² of each class.
    support_, support_vectors_
        All training samples with a positive weight.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import ParzenClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ParzenClassifier(gamma=1.0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**KERNEL_RULES, "offset": Flag(), "n_jobs": Threads()}

    def __init__(self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, offset=True, n_jobs=None):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.offset = offset
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the class means.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the mean of their class; zero leaves a sample out.
        """
        check_parameters(self, self._rules)
        made = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        with rollback(self):
            data = self._validate(X, y, sample_weight, made)
            kernel = made if isinstance(made, Precomputed) else made.resolve(data.X, data.weight)
            if not isinstance(kernel, Precomputed):
                check_kernel_values(Source(kernel, data.X))
            self._store(data, kernel)
        return self

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the method for `hinge.solvers.explain`. The estimator is not changed."""
        check_parameters(self, self._rules)
        make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)  # checks the parameters
        n, _ = data_shape(X, y)
        reasons = (f"{n} samples: the class means are sums over all kernel values, and no problem is solved",)
        return solvers.explain_method("class_means", reasons, n, 1, "there is no optimization problem")

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> ClassificationData:
        return validate_classification(self, X, y, sample_weight, kernel, None, reset)

    def _store(self, data: ClassificationData, kernel: Kernel) -> None:
        member = data.y[:, None] == data.classes[None, :]
        means = np.where(member, data.weight[:, None], 0.0)
        means /= np.sum(means, axis=0)
        norms = np.sum(means * _products(kernel, data.X, means, effective_n_jobs(self.n_jobs)), axis=0)
        intercept = -0.5 * norms if self.offset else np.zeros(len(data.classes))
        if len(data.classes) == 2:
            means, intercept = means[:, 1:] - means[:, :1], intercept[1:] - intercept[:1]
        precomputed = isinstance(kernel, Precomputed)
        self.classes_ = data.classes
        self.kernel_ = kernel
        self.model_ = KernelModel(kernel, None if precomputed else data.X, means, intercept)
        self.support_ = data.rows.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if precomputed else data.X
        self.dual_coef_, self.intercept_ = means.T, intercept
        self._n_support = np.sum(member, axis=0).astype(np.int32)
        self._sparse = sp.issparse(data.X)

    def _n_functions(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def decision_function(self, X: Any) -> Array:
        """Return f for two classes, otherwise ⟨x, c⟩ − ½‖c‖² for each class."""
        check_is_fitted(self)
        values = decision_values(self, X, self._n_functions())
        return values.ravel() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the nearest mean."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)]


def _products(kernel: Kernel, X: Any, coefficients: Array, threads: int) -> Array:
    """K times the coefficients, without storing K."""
    if isinstance(kernel, Precomputed):
        return np.asarray(X, dtype=np.float64) @ coefficients
    return expand(kernel, X, X, coefficients, threads=threads)
