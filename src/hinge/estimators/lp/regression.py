"""ℓ1-regularized regression with several kernels: `LPSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Number, Rule
from hinge.estimators.common.validation import TrainingData, check_parameters, real_targets, validate_training_data
from hinge.estimators.lp.base import LP_RULES, LPEstimator
from hinge.estimators.lp.training import dictionary_kernels, train_lp
from hinge.formulations import lp_regression
from hinge.kernels import Kernel
from hinge.problems import Array, LPProblem
from hinge.validation import check_per_sample


class LPSVR(RegressorMixin, LPEstimator):
    """Regression with a penalty on the sum of absolute coefficients.        SVR tutorial §6.1

    Minimizes Σⱼ \\|aⱼ\\| + Σ Cᵢ max(0, \\|yᵢ − f(xᵢ)\\| − ε): fewer terms than `SVR`, and several kernels at once.

    Parameters
    ----------
    C : float, default=1.0
    epsilon : float or array-like of shape (n_samples,), default=0.1

    Notes
    -----
    All other parameters and attributes are those of `LPSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import LPSVR
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> model = LPSVR(C=10, epsilon=0.05, gamma=[0.3, 3.0]).fit(X, np.sinc(X.ravel()))
    >>> model.n_terms_ < 25
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**LP_RULES, "epsilon": Number(0.0, per_sample=True)}

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-9,
        max_iter=-1,
        max_time=None,
        n_jobs=None,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        kernels, control = dictionary_kernels(self), RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, kernels[0])
            report = train_lp(self, data, kernels, self._problems, control)
        report.conclude(self, tol_bounds_gap=True)
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        return validate_training_data(self, X, y, sample_weight, kernel, real_targets, reset)

    def _problems(self, data: TrainingData, design: Array) -> list[LPProblem]:
        epsilon = self.epsilon
        if np.ndim(epsilon):
            epsilon = check_per_sample("epsilon", epsilon, self.shape_fit_[0])[data.rows]
        return [lp_regression(design, data.y, self.C * data.weight, epsilon)]

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return self._decide(X).ravel()
