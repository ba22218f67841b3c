"""Regression with unpenalized functions: `SemiparametricSVR`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, Flag, Number, Rule, Sides
from hinge.estimators.common.training import Settings, Subproblem, train
from hinge.estimators.common.validation import TrainingData, real_targets, validate_training_data
from hinge.estimators.kernel.regression import ResidualLossRegressor, store_function
from hinge.estimators.semiparametric.functions import (
    FUNCTION_RULES,
    function_values,
    independent_coef,
    semiparametric_subproblems,
    semiparametric_values,
    store_function_coef,
)
from hinge.formulations import SemiparametricExpansion, independent_functions
from hinge.kernels import make_kernel
from hinge.model import Expansion
from hinge.problems import Array

#: Rules of the parameters of both regressors of this package.
REGRESSION_RULES: dict[str, Rule] = {
    "C": Sides(positive=True, per_sample=True),
    "epsilon": Sides(per_sample=True),
    "sigma": POSITIVE,
    "p": Number(1.0, open_low=True),
    **{name: rule for name, rule in LIMIT_RULES.items() if name != "cache_size"},
    **KERNEL_RULES,
    **FUNCTION_RULES,
    "verbose": Flag(),
}


class SemiparametricRegressor(ResidualLossRegressor):
    """Base class of the regressors with unpenalized functions. They have no separate intercept."""

    # parameters of other kernel estimators that have no effect on interior-point methods
    fit_intercept: ClassVar[bool] = False
    shrinking: ClassVar[bool] = True
    cache_size: ClassVar[str] = "auto"

    function_coef_: Array

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return semiparametric_values(self, X, 1).ravel()


class SemiparametricSVR(SemiparametricRegressor):
    r"""Support vector regression with unpenalized functions.     docs/math (851); LwK 10.3.1

    Minimizes ½‖w‖² + Σ Cᵢ max(0, \|yᵢ − f(xᵢ)\| − ε) over f(x) = Σᵢ βᵢ k(xᵢ, x) + Σⱼ cⱼ ψⱼ(x). Only the kernel
    expansion is penalized: a trend that is known to be linear, for example, is not shrunk towards zero.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, loss, sigma, p
        As in `SVR`.
    functions : {"constant", "linear", "quadratic"} or callable, default="linear"
        The functions ψⱼ: 1; 1 and every feature; these and all products of two features; or a Python function of X that
        returns one column for each function. A constant is not added to the latter. A model with a Python function
        cannot be saved.
    solver : str or solver object, default="auto"
        "auto", "interior_point" or an object of `hinge.solvers`. Decomposition methods do not accept the equality rows
        of several functions.
    tol : float, default=1e-3
        Relative gap; interior-point methods reach at least 1e-10.
    max_iter, max_time, n_jobs, verbose
        As in `SVR`.

    Attributes
    ----------
    function_coef_ : ndarray of shape (1, n_functions)
        The coefficients cⱼ. Functions that depend linearly on those before them have the coefficient zero.
    certificate_ : Certificate
        Its bounds include rounding errors.
    support_, support_vectors_, n_support_, dual_coef_, status_, history_, n_iter_
        As in `SVR`. `intercept_` is zero: the constant is one of the functions.

    Notes
    -----
    The solver needs the kernel matrix in memory and O(n³) time, unless the matrix has a small rank.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SemiparametricSVR
    >>> x = np.linspace(0, 10, 60)[:, None]
    >>> y = 3 * x.ravel() + np.sin(x.ravel())
    >>> model = SemiparametricSVR(C=10, epsilon=0.01, gamma=1.0).fit(x, y)
    >>> [round(float(c)) for c in model.function_coef_[0]]
    [0, 3]
    """

    _rules: ClassVar[Mapping[str, Rule]] = REGRESSION_RULES

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        functions="linear",
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        loss="epsilon_insensitive",
        solver="auto",
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        n_jobs=None,
        verbose=False,
        sigma=1.0,
        p=2.0,
    ):
        self.C = C
        self.epsilon = epsilon
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
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.sigma = sigma
        self.p = p

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
        settings = Settings.of(self)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = validate_training_data(self, X, y, sample_weight, settings.kernel, real_targets)
            trained = train(self, data, self._subproblems(data), settings, control)
            store_function(self, data, trained)
            store_function_coef(self, trained.expansions, independent_functions(self._values(data)))
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _values(self, data: TrainingData) -> Array:
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        return function_values(self.functions, data.X, kernel)

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        return semiparametric_subproblems(super()._subproblems(data), self._values(data))[0]

    def _expansions(self, data: TrainingData, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        (part,) = super()._expansions(data, subproblems)
        (weights,) = independent_coef(self, self._values(data))
        return [SemiparametricExpansion(part.coefficients, 0.0, part.margin, part.tube, weights=weights)]
