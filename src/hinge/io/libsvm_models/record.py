"""Content of a LIBSVM model file, and prediction with it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.calibration import PlattSigmoid, couple_iteratively, inlier_probability
from hinge.calibration.coupling import MIN_PROBABILITY
from hinge.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from hinge.model import KernelModel

Array = NDArray[np.float64]

#: Names of the types of models and kernels, in the order of the options -s and -t.
SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
CLASSIFIERS = ("c_svc", "nu_svc")
REGRESSORS = ("epsilon_svr", "nu_svr")


@dataclass(frozen=True)
class LibsvmModel:
    """The values of a LIBSVM model file.

    Attributes
    ----------
    svm_type : {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"}
    kernel : Kernel
        Linear, Polynomial, RBF, Sigmoid or Precomputed.
    vectors : array or CSR matrix of shape (n_sv, n_features)
        The support vectors, ordered by class. Column k is the feature with index k + 1. With a precomputed kernel, the
        serial numbers of the samples, an array of shape (n_sv,).
    coefficients : ndarray of shape (n_classes - 1, n_sv)
        In the layout of LIBSVM: row r holds the coefficients of a support vector in the functions against the r-th of
        the other classes. One row for the other types.
    rho : ndarray of shape (n_functions,)
        The functions are Σ coefficient · k(vector, x) − ρ.
    labels : ndarray of int or None
        The classes in the order of the file; the first class of a pair has positive values. None unless classifier.
    n_sv : ndarray of int or None
        Number of support vectors of each class.
    prob_a, prob_b : ndarray or None
        Coefficients of Platt's sigmoid, one per pair; `prob_a` of a regressor is the scale of its noise.
    density_marks : ndarray or None
        Marks of the probabilities of a one-class model.
    """

    svm_type: str
    kernel: Kernel
    vectors: Any
    coefficients: Array
    rho: Array
    labels: NDArray[np.int64] | None = None
    n_sv: NDArray[np.int64] | None = None
    prob_a: Array | None = None
    prob_b: Array | None = None
    density_marks: Array | None = None

    @property
    def n_classes(self) -> int:
        """`nr_class` of the file: 2 for models with one function."""
        return 2 if self.labels is None else len(self.labels)

    @property
    def is_precomputed(self) -> bool:
        """Whether the support vectors are serial numbers."""
        return isinstance(self.kernel, Precomputed)

    @property
    def has_probabilities(self) -> bool:
        """Whether the file contains what probabilities need."""
        if self.svm_type == "one_class":
            return self.density_marks is not None
        return self.prob_a is not None and (self.svm_type in REGRESSORS or self.prob_b is not None)

    def decision_values(self, X: Any, n_threads: int = 1) -> Array:
        """Values of all functions, (n_rows × n_functions).

        With a precomputed kernel, X holds kernel values and column k those with the sample of serial number k + 1.
        """
        pairs = pair_coefficients(self.coefficients, self.n_sv)
        if pairs.shape[0] == 0 or pairs.shape[1] == 0:
            return np.tile(-self.rho, (X.shape[0], 1))
        if self.is_precomputed:
            columns = X[:, np.asarray(self.vectors) - 1]
            dense = columns.toarray() if sp.issparse(columns) else columns
            return np.asarray(np.asarray(dense, dtype=np.float64) @ pairs - self.rho)
        return KernelModel(self.kernel, self.vectors, pairs, -self.rho).decide(X, n_threads)

    def predict(self, values: Array) -> Array:
        """Labels or function values for the given decision values."""
        if self.svm_type in REGRESSORS:
            return values[:, 0]
        if self.labels is None:
            return np.where(values[:, 0] > 0, 1.0, -1.0)
        return self.labels[_winners(values, len(self.labels))].astype(np.float64)

    def probabilities(self, values: Array) -> Array:
        """Probabilities of the classes, in the order of `labels`; of inlier and outlier for a one-class model."""
        if self.svm_type == "one_class":
            assert self.density_marks is not None
            inlier = inlier_probability(values[:, 0], self.density_marks)
            return np.column_stack([inlier, 1.0 - inlier])
        assert self.labels is not None
        assert self.prob_a is not None
        assert self.prob_b is not None
        if len(self.labels) == 1:
            return np.ones((len(values), 1))
        pairwise = np.empty_like(values)
        for k, (a, b) in enumerate(zip(self.prob_a, self.prob_b, strict=True)):
            pairwise[:, k] = PlattSigmoid(float(a), float(b)).probability(values[:, k])
        return couple_iteratively(np.clip(pairwise, MIN_PROBABILITY, 1 - MIN_PROBABILITY), len(self.labels))


def _winners(values: Array, n_classes: int) -> NDArray[np.intp]:
    """Positions of the classes with most votes, the first of them if several have as many."""
    votes = np.zeros((len(values), n_classes), dtype=np.intp)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first = values[:, k] > 0
        votes[:, i] += first
        votes[:, j] += ~first
    return np.argmax(votes, axis=1)


def pair_coefficients(coefficients: Array, n_sv: NDArray[np.int64] | None) -> Array:
    """Coefficients of every function, (n_sv × n_functions), from the layout of LIBSVM."""
    if n_sv is None:
        return np.ascontiguousarray(coefficients.T)
    ends = np.cumsum(n_sv)
    pairs = list(combinations(range(len(n_sv)), 2))
    out = np.zeros((coefficients.shape[1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        first, second = slice(ends[i] - n_sv[i], ends[i]), slice(ends[j] - n_sv[j], ends[j])
        out[first, k], out[second, k] = coefficients[j - 1, first], coefficients[i, second]
    return out


def libsvm_coefficients(pairs: Array, n_sv: NDArray[np.int64]) -> Array:
    """The inverse of `pair_coefficients`: the layout of LIBSVM from the coefficients of every pair of classes."""
    ends = np.cumsum(n_sv)
    out = np.zeros((len(n_sv) - 1, len(pairs)))
    for k, (i, j) in enumerate(combinations(range(len(n_sv)), 2)):
        first, second = slice(ends[i] - n_sv[i], ends[i]), slice(ends[j] - n_sv[j], ends[j])
        out[j - 1, first], out[i, second] = pairs[first, k], pairs[second, k]
    return out


def make_libsvm_kernel(kernel_type: str, degree: int, gamma: float, coef0: float) -> Kernel:
    """The kernel for a name of `KERNEL_TYPES`."""
    if kernel_type == "linear":
        return Linear()
    if kernel_type == "polynomial":
        return Polynomial(degree, gamma, coef0)
    if kernel_type == "rbf":
        return RBF(gamma)
    return Sigmoid(gamma, coef0) if kernel_type == "sigmoid" else Precomputed()
