"""Classification with unpenalized functions: `SemiparametricSVC`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, ClassWeight, Flag, Rule
from hinge.estimators.common.training import Settings, Subproblem, Trained, resolve_loss, store_expansion, train
from hinge.estimators.common.validation import ClassificationData, signs_of, validate_classification
from hinge.estimators.kernel.base import DualEstimator
from hinge.estimators.semiparametric.functions import (
    FUNCTION_RULES,
    function_values,
    independent_coef,
    semiparametric_subproblems,
    semiparametric_values,
    store_function_coef,
)
from hinge.formulations import CSVC, ConvexLoss, SemiparametricExpansion, independent_functions
from hinge.kernels import Kernel, make_kernel
from hinge.model import Expansion
from hinge.problems import Array


class SemiparametricSVC(ClassifierMixin, DualEstimator):
    """Support vector classification with unpenalized functions.     docs/math (851); LwK 10.3.1

    Minimizes ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)) over f(x) = Σᵢ βᵢ k(xᵢ, x) + Σⱼ cⱼ ψⱼ(x). Only the kernel expansion is
    penalized. With more than two classes, there is one function for each class against the others.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, loss, class_weight
        As in `SVC`.
    functions, solver, tol, max_iter, max_time, n_jobs, verbose
        As in `SemiparametricSVR`.

    Attributes
    ----------
    function_coef_ : ndarray of shape (1 or n_classes, n_functions)
        The coefficients cⱼ. Functions that depend linearly on those before them have the coefficient zero.
    classes_, certificate_, support_, support_vectors_, n_support_, dual_coef_, status_, history_, n_iter_
        As in `SVC`; `dual_coef_` has one row for each function, and `n_support_` counts the support vectors of each
        class. `intercept_` is zero: the constant is one of the functions.

    Notes
    -----
    If the functions alone separate the classes without errors, every scaling of them does, and w = 0 is a solution.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import SemiparametricSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SemiparametricSVC(gamma=1.0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _loss_form = ("margin", "hinge")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": POSITIVE,
        "class_weight": ClassWeight(),
        **{name: rule for name, rule in LIMIT_RULES.items() if name != "cache_size"},
        **KERNEL_RULES,
        **FUNCTION_RULES,
        "verbose": Flag(),
    }

    # parameters of other kernel estimators that have no effect on interior-point methods
    shrinking: ClassVar[bool] = True
    cache_size: ClassVar[str] = "auto"

    classes_: NDArray[Any]
    function_coef_: Array

    def __init__(
        self,
        *,
        C=1.0,
        functions="linear",
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        loss="hinge",
        solver="auto",
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        class_weight=None,
        n_jobs=None,
        verbose=False,
    ):
        self.C = C
        self.functions = functions
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        settings = Settings.of(self)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, settings.kernel)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            trained = train(self, data, self._subproblems(data), settings, control)
            self._store(data, trained)
            trained.report.store(self, n_iter=np.array(trained.report.iterations, dtype=np.int32))
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> ClassificationData:
        return validate_classification(self, X, y, sample_weight, kernel, self.class_weight, reset)

    def _values(self, data: ClassificationData) -> Array:
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        return function_values(self.functions, data.X, kernel)

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        loss, cost = resolve_loss(self, *self._loss_form), self.C * data.cost()
        inner = []
        for label in data.classes[1:] if len(data.classes) == 2 else data.classes:
            sign = signs_of(data.y, label, data.classes)
            formulation = CSVC(sign, cost, False) if loss is None else ConvexLoss(sign, cost, loss, False)
            inner.append(Subproblem(None, formulation))
        return semiparametric_subproblems(inner, self._values(data))[0]

    def _store(self, data: ClassificationData, trained: Trained) -> None:
        coefficients = np.stack([expansion.coefficients for expansion in trained.expansions], axis=1)
        support = np.flatnonzero(np.any(coefficients != 0, axis=1))
        n_support = [np.count_nonzero(data.y[support] == label) for label in data.classes]
        kept = np.ascontiguousarray(coefficients[support])
        store_expansion(self, data, trained.kernel, support, n_support, kept, np.zeros(kept.shape[1]), kept.T)
        store_function_coef(self, trained.expansions, independent_functions(self._values(data)))

    def _n_functions(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _expansions(self, data: ClassificationData, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        beta = np.zeros((data.n, len(subproblems)))
        beta[np.searchsorted(data.rows, self.support_)] = self.model_.coefficients
        pairs = zip(beta.T, independent_coef(self, self._values(data)), strict=True)
        return [SemiparametricExpansion(np.ascontiguousarray(column), 0.0, weights=row) for column, row in pairs]

    def decision_function(self, X: Any) -> Array:
        """f at each row of X: positive for ``classes_[1]`` if there are two classes; otherwise one column per class."""
        values = semiparametric_values(self, X, self._n_functions() if hasattr(self, "classes_") else 1)
        return values.ravel() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        values = self.decision_function(X)
        index = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[index]
