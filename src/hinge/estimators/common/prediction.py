"""A fitted kernel machine as a function: support vectors, coefficients, decision values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.estimators.common.data import Data, length, rows_of, take
from hinge.kernels import FunctionKernel, Kernel, Linear, Precomputed
from hinge.model import KernelModel
from hinge.problems import Array

FLOATS = [np.float64, np.float32]


class FittedFunction:
    """What is there after `fit`: attributes that belong together, and decision values from them."""

    n_jobs: int | None
    n_features_in_: int
    shape_fit_: tuple[int, ...]
    intercept_: Array

    def _assemble(
        self, data: Data, kernel: Kernel, support: NDArray[np.intp], coefficients: Array, offsets: Array
    ) -> None:
        """Fitted attributes; `support`: positions among the kept samples, `coefficients`: a column per machine."""
        precomputed = isinstance(kernel, Precomputed)
        vectors = None if precomputed else take(data.X, support)
        finite = math.isfinite(coefficients.sum() + offsets.sum())  # a sum may overflow, then look at each
        if not finite and not (np.isfinite(coefficients).all() and np.isfinite(offsets).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain large values and need "
                "to be preprocessed."
            )
        self.support_ = data.rows[support].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if precomputed else vectors
        self.model_ = KernelModel(kernel, vectors, coefficients, offsets)
        self._sparse = bool(sp.issparse(data.X))

    def _decide(self, X: Any) -> Array:
        """Decision values of all machines, (n_rows × n_machines)."""
        check_is_fitted(self)
        X = self._validate_for_prediction(X)
        return self.model_.decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def _validate_for_prediction(self, X: Any) -> Any:
        self._check_loaded()
        kernel = self.model_.kernel
        if isinstance(kernel, FunctionKernel):
            return rows_of(X)
        if isinstance(kernel, Precomputed):
            return self._support_columns(X)
        if sp.issparse(X) and X.format in ("csr", "csc"):
            X.check_format(full_check=True)
        X = validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=False)
        if sp.issparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        return X

    def _support_columns(self, K: Any) -> Array:
        """A precomputed kernel at prediction: columns for all training samples, or for the support vectors only."""
        K = check_array(K, dtype=FLOATS, order="C")
        if K.shape[1] == self.shape_fit_[0]:
            return np.ascontiguousarray(K[:, self.support_])
        if K.shape[1] == len(self.support_):
            return K
        raise ValueError(
            f"X.shape[1] = {K.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at training "
            f"time (or to {len(self.support_)}, one column per support vector)"
        )

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors: of each class for classifiers."""
        if not hasattr(self, "_n_support"):
            raise AttributeError(f"n_support_ is there after fit; this {type(self).__name__} is not fitted yet")
        return self._n_support

    def _check_loaded(self) -> None:
        """The fitted attributes belong together (they may come from a file, or have been written to)."""
        model, count = self.model_, len(self.support_)
        vectors = model.vectors
        fits = (
            count == length(model.coefficients) == int(np.sum(self.n_support_))
            and np.ndim(model.coefficients) == 2
            and model.coefficients.shape[1] == self._n_machines() == len(model.intercept) == len(self.intercept_)
            and model.coefficients.dtype == model.intercept.dtype == np.float64
            and np.ndim(model.intercept) == 1
            and self.support_.dtype.kind == "i"
            and (count == 0 or (int(self.support_.min()) >= 0 and int(self.support_.max()) < self.shape_fit_[0]))
            and (isinstance(model.kernel, Precomputed) or length(vectors) == length(self.support_vectors_) == count)
            and (model.kernel.nodes() is None or vectors.shape[1] == self.n_features_in_)
        )
        if not fits:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def _n_machines(self) -> int:
        return 1

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel; one row per machine."""
        check_is_fitted(self)
        if not isinstance(self.model_.kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self.model_.coefficients.T @ self.model_.vectors
        if sp.issparse(coef):
            coef.data.flags.writeable = False
        elif self._sparse:
            coef = sp.csr_matrix(coef)
            coef.data.flags.writeable = False
        else:
            coef.flags.writeable = False
        return coef

    def _as_dual(self, coefficients: Array) -> Any:
        """`dual_coef_` is sparse where the training data were, as in scikit-learn."""
        return sp.csr_matrix(coefficients) if self._sparse else coefficients
