"""ℓ1-regularized classification with several kernels: `LPSVC`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import ClassWeight, Rule
from hinge.estimators.common.validation import ClassificationData, check_parameters, validate_classification
from hinge.estimators.lp.base import LP_RULES, LPEstimator
from hinge.estimators.lp.training import dictionary_kernels, train_lp
from hinge.formulations import lp_classification
from hinge.kernels import Kernel
from hinge.problems import Array, LPProblem


class LPSVC(ClassifierMixin, LPEstimator):
    """Classification with a penalty on the sum of absolute coefficients: few terms, and several kernels at once.

    Minimizes Σⱼ \\|aⱼ\\| + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)) over f(x) = Σⱼ aⱼ kⱼ(xⱼ, x) + b, where j runs over all kernels and
    training samples: a linear program. With more than two classes, one linear program per class against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin error. Multiplied by class and sample weights.
    kernel : str, hinge.kernels.Kernel, or list of them, default="rbf"
        As in `SVC`, except functions. It need not be positive definite. All kernels of a list are used at once.
    degree, coef0
        As in `SVC`.
    gamma : {"scale", "auto"}, float, or list of them, default="scale"
        With a list, every kernel is used with every value.
    tol : float, default=1e-9
        Feasibility tolerance of HiGHS, at least 1e-10.
    max_iter : int, default=-1
        Limit of iterations of HiGHS; −1 for no limit.
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
        Number of coefficients that are not zero.
    support_, support_vectors_, dual_coef_, intercept_, classes_, n_iter_, status_, history_
        As in `SVC`; a row of `dual_coef_` holds the coefficients of one output for all kernels, one after the other.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(80, noise=0.1, random_state=0)
    >>> model = hinge.LPSVC(C=1.0, gamma=2.0).fit(X, y)
    >>> model.score(X, y), len(model.support_)
    (1.0, 11)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**LP_RULES, "class_weight": ClassWeight()}

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

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
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            report = train_lp(self, data, kernels, self._problems, control)
        report.conclude(self, tol_bounds_gap=True)
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> ClassificationData:
        return validate_classification(self, X, y, sample_weight, kernel, self.class_weight, reset)

    def _problems(self, data: ClassificationData, design: Array) -> list[LPProblem]:
        cost = self.C * data.weight * data.class_weight[np.searchsorted(data.classes, data.y)]
        positive = data.classes[1:] if len(data.classes) == 2 else data.classes
        return [lp_classification(design, np.where(data.y == label, 1.0, -1.0), cost) for label in positive]

    def decision_function(self, X: Any) -> Array:
        """f at each row of X: positive for ``classes_[1]`` if there are two classes; otherwise one column per class."""
        values = self._decide(X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        values = self.decision_function(X)
        index = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[index]
