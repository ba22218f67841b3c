"""`OneClassSVM`: where most of the samples are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from hinge.control import captures_signals
from hinge.estimators.common.data import Data
from hinge.estimators.kernel.regression import SingleMachine
from hinge.formulations import OneClass
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.problems import Array
from hinge.validation import check_number

#: Decision values below this fraction of the offset are zero.
ON_BOUNDARY = 1e-12


class OneClassSVM(OutlierMixin, SingleMachine):
    """The support of a distribution: f is positive on most of the data, negative far from it.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of training samples outside and a lower bound on that of support vectors.

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.

    Notes
    -----
    All other parameters and attributes are those of `SVC`.
    """

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        solver="auto",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=False,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        super()._check_parameters()

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        return np.ones(n)

    def _formulation(self, data: Data) -> OneClass:
        return OneClass(data.weight, float(self.nu))

    @captures_signals
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region where most of X lies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        return self._fit(X, None, sample_weight)._finish()

    def _assemble_single(self, data: Data, kernel: Kernel, expansion: Expansion) -> None:
        super()._assemble_single(data, kernel, expansion)
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> Array:
        """Signed distance: positive inside, negative outside, zero on the boundary.

        Values below the rounding error of their own sum are zero, so that support vectors on the boundary are inliers
        whatever the order of summation was.
        """
        values = self._decide(X).ravel()
        values[np.abs(values) <= ON_BOUNDARY * abs(self.offset_[0])] = 0.0
        return values

    def score_samples(self, X: Any) -> Array:
        """Σ αᵢ k(xᵢ, x), without the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
