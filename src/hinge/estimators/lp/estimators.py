"""`LPSVC` and `LPSVR`: ℓ1 in the coefficients, several kernels at once."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hinge.control import captures_signals
from hinge.estimators.common.report import rollback
from hinge.estimators.common.validation import TrainingData, check_known_labels
from hinge.estimators.lp.base import LPMachine
from hinge.formulations import lp_classification, lp_regression
from hinge.problems import Array, LPProblem
from hinge.validation import check_number, check_per_sample


class LPSVC(ClassifierMixin, LPMachine):
    """Classification with the sum of absolute coefficients in place of ‖w‖²: few terms, several kernel widths at once.

    Minimises Σⱼ \\|aⱼ\\| + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)) over f(x) = Σⱼ aⱼ kⱼ(xⱼ, x) + b, where j runs over all kernels and
    training samples: a linear program. For more than two classes, one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin error. Multiplied by class and sample weights.
    kernel : str, hinge.kernels.Kernel, or list of them, default="rbf"
        As for `SVC`, without functions; it need not be positive definite. All kernels of a list are used at once.
    degree, coef0
        As for `SVC`.
    gamma : {"scale", "auto"}, float, or list of them, default="scale"
        With a list, every kernel is there with every width.
    tol : float, default=1e-9
        Feasibility asked of HiGHS, at least 1e-10.
    max_iter : int, default=-1
    max_time : float, optional
        Seconds for the whole fit.
    class_weight : dict or "balanced", optional
    n_jobs : int, optional
        Threads for kernel values.

    Attributes
    ----------
    certificate_ : Certificate
        Of the linear program: primal and dual value, gap, KKT violation (LwK Problem 10.1).
    n_terms_ : int
        Coefficients that are not zero.
    support_, support_vectors_, dual_coef_, intercept_, classes_, n_iter_, status_, history_
        As for `SVC`; `dual_coef_` has the coefficients of all kernels one after the other, a row per output.
    """

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-9,
        max_iter=-1,
        max_time=None,
        class_weight=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        data = super()._validate(X, y, sample_weight, reset)
        if not reset:
            check_known_labels(data.y, self.classes_)
        return data

    def _validate_y(self, y: Any, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    @captures_signals
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y; a sample of weight zero is left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            self.classes_ = np.unique(data.y)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {len(self.classes_)} class: every sample "
                    f"is labelled {self.classes_[0]!r}"
                )
            self.class_weight_ = (
                np.ones(len(self.classes_))
                if self.class_weight is None
                else compute_class_weight(self.class_weight, classes=self.classes_, y=data.y)
            )
            self._train(data)
        return self._finish()

    def _problems(self, data: TrainingData, design: Array) -> list[LPProblem]:
        cost = self.C * data.weight * self.class_weight_[np.searchsorted(self.classes_, data.y)]
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [lp_classification(design, np.where(data.y == label, 1.0, -1.0), cost) for label in positive]

    def decision_function(self, X: Any) -> Array:
        """f at each row of X: positive means ``classes_[1]`` with two classes, else one column per class."""
        values = self._decide(X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        values = self.decision_function(X)
        index = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[index]


class LPSVR(RegressorMixin, LPMachine):
    """Regression with the sum of absolute coefficients in place of ‖w‖².        SVR tutorial §6.1

    Minimises Σⱼ \\|aⱼ\\| + Σ Cᵢ max(0, \\|yᵢ − f(xᵢ)\\| − ε): fewer terms than `SVR` needs, and several kernel widths
    at once.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.ndim(self.epsilon) == 0:
            check_number("epsilon", self.epsilon, 0.0)

    def _validate_y(self, y: Any, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        try:
            y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}") from None
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
        return y

    @captures_signals
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y; a sample of weight zero is left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with rollback(self):
            self._train(self._validate(X, y, sample_weight))
        return self._finish()

    def _problems(self, data: TrainingData, design: Array) -> list[LPProblem]:
        epsilon = self.epsilon
        if np.ndim(epsilon):
            epsilon = check_per_sample("epsilon", epsilon, self.shape_fit_[0])[data.rows]
        return [lp_regression(design, data.y, self.C * data.weight, epsilon)]

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return self._decide(X).ravel()
