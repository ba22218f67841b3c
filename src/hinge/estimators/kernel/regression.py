"""Kernel regressors `SVR` and `NuSVR`, and the base class of estimators with one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl
from hinge.estimators.common.prediction import decision_values, prediction_samples
from hinge.estimators.common.reduced_model import basis_coefficients
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, SOLVER_RULES, Flag, Number, Rule, Sides
from hinge.estimators.common.training import (
    Settings,
    Subproblem,
    Trained,
    check_separable,
    resolve_loss,
    store_expansion,
    train,
)
from hinge.estimators.common.validation import TrainingData, n_rows, real_targets, validate_training_data
from hinge.estimators.kernel.base import DualEstimator
from hinge.formulations import SVR as SVRFormulation
from hinge.formulations import ConvexLoss
from hinge.formulations import NuSVR as NuSVRFormulation
from hinge.kernels import Kernel
from hinge.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from hinge.model import Expansion
from hinge.problems import Array
from hinge.validation import as_shown, check_both_sides, check_per_sample, check_sides, is_pair


def store_function(estimator: Any, data: TrainingData, trained: Trained) -> None:
    """Set the fitted attributes of an estimator with one function."""
    (expansion,) = trained.expansions
    if trained.basis is None:
        store_single(estimator, data, trained.kernel, expansion)
        vars(estimator).pop("approximation_", None)
        return
    coefficients = basis_coefficients(trained.basis, [None], [expansion])
    _store(estimator, data, trained.kernel, trained.basis.origin.basis, coefficients, expansion)
    estimator._dual_points = [expansion.coefficients]
    estimator.approximation_ = trained.approximation


def store_single(estimator: Any, data: TrainingData, kernel: Kernel, expansion: Expansion) -> None:
    """Set the fitted attributes from an expansion in the training samples."""
    support = np.flatnonzero(expansion.coefficients)
    _store(estimator, data, kernel, support, expansion.coefficients[support][:, None], expansion)
    vars(estimator).pop("_dual_points", None)


def _store(
    estimator: Any, data: TrainingData, kernel: Kernel, support: Any, coefficients: Array, expansion: Expansion
) -> None:
    intercept = np.array([expansion.intercept])
    store_expansion(estimator, data, kernel, support, [len(support)], coefficients, intercept, coefficients.T)
    estimator._margin, estimator._tube = expansion.margin, expansion.tube


class SingleFunctionEstimator(DualEstimator):
    """Base class of the estimators with one function f(x) = Σ βᵢ k(xᵢ, x) + b."""

    _margin: float
    _tube: float

    def _expansions(self, data: TrainingData, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        if self._dual_points is None:
            beta = np.zeros(data.n)
            beta[np.searchsorted(data.rows, self.support_)] = self.model_.coefficients[:, 0]
        else:
            beta = self._dual_points[0]
        return [Expansion(beta, float(self.intercept_[0]), self._margin, self._tube)]


class KernelRegressor(RegressorMixin, SingleFunctionEstimator):
    """Base class of the kernel regressors: real targets, predictions f(x)."""

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        return validate_training_data(self, X, y, sample_weight, kernel, real_targets, reset)

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return decision_values(self, X, 1).ravel()


class ResidualLossRegressor(KernelRegressor):
    """Base class of the regressors with costs, tubes and losses of residuals: their subproblem."""

    _loss_form = ("residual", "epsilon_insensitive")

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        loss, (C, C_star) = resolve_loss(self, *self._loss_form), self._sides("C", self.C, data)
        cost, bias = C * data.weight, bool(self.fit_intercept)
        if loss is None:
            epsilon = self.loss.epsilon if type(self.loss) is EpsilonInsensitive else self.epsilon
            above, below = self._sides("epsilon", epsilon, data)
            cost_star = None if C_star is None else C_star * data.weight
            if C_star is not None or isinstance(C, np.ndarray):
                check_both_sides(cost, cost_star)
            return [Subproblem(None, SVRFormulation(data.y, cost, above, cost_star, bias, below))]
        if C_star is not None:
            raise ValueError(
                f"{as_shown('C', self.C)} has different values above and below the function, which "
                f"loss={self.loss!r} does not support; use loss='epsilon_insensitive'"
            )
        if not np.all(cost > 0):
            raise ValueError(
                f"C is zero for {int(np.sum(cost == 0))} samples, which loss={self.loss!r} does not support; use "
                "sample_weight=0 to leave samples out"
            )
        if isinstance(loss, SquaredEpsilonInsensitive):
            above, below = self._sides("epsilon", loss.epsilon, data)
            if below is not None:
                raise ValueError(
                    f"{as_shown('epsilon', loss.epsilon)} has different values above and below the function, which "
                    f"loss={self.loss!r} does not support; use loss='epsilon_insensitive'"
                )
            loss = SquaredEpsilonInsensitive(above)
        return [Subproblem(None, ConvexLoss(data.y, cost, loss, bias))]

    def _sides(self, name: str, value: Any, data: TrainingData) -> tuple[Any, Any]:
        """Return C or ε of targets above and below f, or their values at the training samples; None if equal."""
        if np.ndim(value) == 0:
            return float(value), None
        if is_pair(value):
            return float(value[0]), float(value[1])
        sides = check_sides(name, value, self.shape_fit_[0], finite=name != "C")
        above, below = (part[data.rows] if isinstance(part, np.ndarray) else part for part in sides)
        return above, below


class SVR(ResidualLossRegressor):
    r"""ε-support vector regression.

    Minimizes ½‖w‖² + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε), f = ⟨w, Φ⟩ + b, or the same with another loss of the residuals.
    The costs and the tube may differ above and below f (LwK (10.78); docs/math (11)): the loss is then
    Cᵢ max(0, yᵢ − f(xᵢ) − εᵢ) + Cᵢ* max(0, f(xᵢ) − yᵢ − εᵢ*). `certificate_` bounds the distance of the solution from
    the minimum.

    Parameters
    ----------
    C : float, tuple (C, C*), or array-like of shape (n_samples,) or (n_samples, 2), default=1.0
        Cost of a residual outside the tube. Multiplied by sample weights. A tuple of two numbers, or two columns,
        contain the costs of targets above the tube, y − f > ε, and of targets below it, f − y > ε*. One of the two may
        be zero for single samples, for example those whose target is only a bound (censored data).
    epsilon : float, tuple (ε, ε*), or array-like of shape (n_samples,) or (n_samples, 2), default=0.1
        Half the width of the tube in which residuals have no cost, for "epsilon_insensitive" and
        "squared_epsilon_insensitive": one value for all samples, or one for each sample given to `fit`. A tuple of two
        numbers, or two columns, contain the width above f and below f; for "epsilon_insensitive" only.
    loss : str or hinge.losses.Loss, default="epsilon_insensitive"
        Loss as a function of the residual r (SVR tutorial, Table 1): "epsilon_insensitive", max(0, \|r\| − ε);
        "squared_epsilon_insensitive", its square; "laplace", \|r\|; "gaussian", r²/2; "huber", r²/(2σ) up to σ and
        \|r\| − σ/2 beyond; "polynomial", \|r\|ᵖ/p; "piecewise_polynomial", \|r\|ᵖ/(pσᵖ⁻¹) up to σ and a line beyond; an
        object of `hinge.losses`, or any object with the methods ``value``, ``derivative`` and ``conjugate``.
    sigma : float, default=1.0
        σ of "huber" and "piecewise_polynomial".
    p : float, default=2.0
        Exponent of "polynomial" and "piecewise_polynomial", above 1.
    fit_intercept : bool, default=True
        Whether the function has an offset b.

    Notes
    -----
    All other parameters and attributes are those of `SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hinge import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(C=100, epsilon=10).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": Sides(positive=True, finite=False, per_sample=True),
        "fit_intercept": Flag(),
        "epsilon": Sides(per_sample=True),
        "sigma": POSITIVE,
        "p": Number(1.0, open_low=True),
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
    }

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        loss="epsilon_insensitive",
        solver="auto",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=False,
        sigma=1.0,
        p=2.0,
        fit_intercept=True,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.sigma = sigma
        self.p = p
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            float32 and float64 arrays and CSR matrices are used as they are, without a copy. Kernel values for
            ``kernel="precomputed"``.
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
            if np.isinf(self.C).any():
                check_separable(trained.report.status)
            store_function(self, data, trained)
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self


class NuSVR(KernelRegressor):
    """ν-support vector regression: the width of the tube is optimized, ν bounds the fraction of samples outside it.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the fraction of samples outside the tube, and lower bound on the fraction of support vectors.
    C : float, default=1.0
        Cost of a residual outside the tube. Multiplied by sample weights.
    tube : callable or array-like of shape (n_samples,), optional
        The shape ζ(x) > 0 of a tube of half width ε ζ(x): a function of X that returns one value for each row, or the
        values at the training samples. The sum of Cᵢζᵢ over the samples outside the tube is at most ν times the sum
        over all samples. By default the tube has the same width everywhere. Requires ``solver="auto"`` or
        "interior_point".

    Attributes
    ----------
    epsilon_ : float
        The optimal half width: ``SVR(C=C, epsilon=epsilon_)`` gives the same function (with a `tube`,
        ``epsilon=epsilon_ * shape``).

    Notes
    -----
    All other parameters and attributes are those of `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> model = hinge.NuSVR(nu=0.3, C=10.0).fit(X, y)
    >>> outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-9
    >>> bool(outside.mean() <= 0.3)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": POSITIVE,
        "nu": Number(0.0, 1.0, open_low=True),
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
    }

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
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
        tube=None,
    ):
        self.nu = nu
        self.C = C
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
        self.tube = tube

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            float32 and float64 arrays and CSR matrices are used as they are, without a copy. Kernel values for
            ``kernel="precomputed"``.
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
            self.epsilon_ = trained.expansions[0].tube
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        formulation = NuSVRFormulation(data.y, self.C * data.weight, float(self.nu), self._shape(data))
        return [Subproblem(None, formulation)]

    def _shape(self, data: TrainingData) -> Array | None:
        """ζ at the training samples."""
        if self.tube is None:
            return None
        if callable(self.tube):
            shape = check_per_sample("tube(X)", self.tube(data.X), data.n)
        else:
            shape = check_per_sample("tube", self.tube, self.shape_fit_[0])[data.rows]
        if not np.all(shape > 0):
            raise ValueError("tube has values that are not positive; it must be positive at every sample")
        return shape

    def tube_width(self, X: Any) -> Array:
        """Return half the width of the tube at the rows of X. `tube` must be a function of X or None."""
        check_is_fitted(self)
        X = prediction_samples(self, X)
        if self.tube is None:
            return np.full(n_rows(X), self.epsilon_)
        if not callable(self.tube):
            raise ValueError(
                "tube was given as values at the training samples; pass a function of X to evaluate it at other samples"
            )
        return self.epsilon_ * check_per_sample("tube(X)", self.tube(X), n_rows(X))
