"""One machine for all samples, and the two regressors that are one: `SVR` and `NuSVR`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import captures_signals
from hinge.estimators.common.data import Data, one_column
from hinge.estimators.common.rollback import rollback
from hinge.estimators.kernel.base import KernelMachine, Subproblem
from hinge.estimators.low_rank.reduced_model import basis_coefficients
from hinge.formulations import SVR as SVRFormulation
from hinge.formulations import ConvexLoss, Formulation
from hinge.formulations import NuSVR as NuSVRFormulation
from hinge.kernels import Kernel
from hinge.losses import RESIDUAL_LOSSES, EpsilonInsensitive, Loss, SquaredEpsilonInsensitive
from hinge.model import Expansion
from hinge.problems import Array
from hinge.validation import check_flag, check_number, check_per_sample


class SingleMachine(KernelMachine):
    """One function f(x) = Σ βᵢ k(xᵢ, x) + b."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            kernel, (expansion,) = self._train(data, self._machines(data), self._control())
            self._assemble_single(data, kernel, expansion)
        return self

    def _machines(self, data: Data) -> list[Subproblem]:
        return [Subproblem(None, self._formulation(data))]

    def _formulation(self, data: Data) -> Formulation:
        raise NotImplementedError

    def _assemble_single(self, data: Data, kernel: Kernel, expansion: Expansion) -> None:
        if self._low_rank is None:
            support = np.flatnonzero(expansion.coefficients)
            coefficients = expansion.coefficients[support][:, None]
        else:
            support = self._low_rank.origin.basis
            coefficients = basis_coefficients(self._low_rank, [None], [expansion])
            self._dual_points = [expansion.coefficients]
            del self._low_rank
        self._n_support = np.array([len(support)], dtype=np.int32)
        self.intercept_ = np.array([expansion.intercept])
        self._assemble(data, kernel, support, coefficients, self.intercept_)
        self.dual_coef_ = self._as_dual(coefficients.T)
        self._margin, self._tube = expansion.margin, expansion.tube

    def _dual_expansions(self) -> list[Expansion]:
        assert self._dual_points is not None
        return [Expansion(self._dual_points[0], float(self.intercept_[0]), self._margin, self._tube)]

    def _expansions(self, data: Data, machines: Sequence[Subproblem]) -> list[Expansion]:
        coefficients = np.zeros(data.n)
        coefficients[np.searchsorted(data.rows, self.support_)] = self.model_.coefficients[:, 0]
        return [Expansion(coefficients, float(self.intercept_[0]), self._margin, self._tube)]


class Regressor(RegressorMixin, SingleMachine):
    """Regression: fit on real targets, predict f."""

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = one_column(y)
        try:
            y = y.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}") from None
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
        return y

    @captures_signals
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
        return self._fit(X, y, sample_weight)._finish()

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return self._decide(X).ravel()


class SVR(Regressor):
    r"""ε-support vector regression.

    Minimises ½‖w‖² + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε), f = ⟨w, Φ⟩ + b, or with another loss of the residuals; the
    certificate says how far from the minimum the answer can be at most.

    Parameters
    ----------
    C : float, default=1.0
        Price of leaving the tube. Multiplied by sample weights.
    epsilon : float or array-like of shape (n_samples,), default=0.1
        Half the width of the tube in which errors are free, for "epsilon_insensitive" and
        "squared_epsilon_insensitive"; one for all samples, or one for each sample given to `fit`.
    loss : str or hinge.losses.Loss, default="epsilon_insensitive"
        What a residual r costs (SVR tutorial, Table 1): "epsilon_insensitive", max(0, \|r\| − ε);
        "squared_epsilon_insensitive", its square; "laplace", \|r\|; "gaussian", r²/2; "huber", r²/(2σ) up to σ and
        \|r\| − σ/2 beyond; "polynomial", \|r\|ᵖ/p; "piecewise_polynomial", \|r\|ᵖ/(pσᵖ⁻¹) up to σ and a line beyond; an
        object of `hinge.losses`, or any object with the methods ``value``, ``derivative`` and ``conjugate``.
    sigma : float, default=1.0
        σ of "huber" and "piecewise_polynomial".
    p : float, default=2.0
        Power of "polynomial" and "piecewise_polynomial", above 1.
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

    _losses: ClassVar[dict[str, type[Loss]]] = RESIDUAL_LOSSES

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

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True, finite=False)
        check_flag("fit_intercept", self.fit_intercept)
        if np.ndim(self.epsilon) == 0:
            check_number("epsilon", self.epsilon, 0.0)
        check_number("sigma", self.sigma, 0.0, open_low=True)
        check_number("p", self.p, 1.0, open_low=True)
        super()._check_parameters()

    def _formulation(self, data: Data) -> Formulation:
        bias = bool(self.fit_intercept)
        if type(self.loss) is EpsilonInsensitive:
            return SVRFormulation(data.y, self.C * data.weight, self._tubes(self.loss.epsilon, data), bias=bias)
        if self._has_own_loss():
            return SVRFormulation(data.y, self.C * data.weight, self._tubes(self.epsilon, data), bias=bias)
        loss = self._make_loss()
        if isinstance(loss, SquaredEpsilonInsensitive):
            loss = SquaredEpsilonInsensitive(self._tubes(loss.epsilon, data))
        return ConvexLoss(data.y, self.C * data.weight, loss, bias)

    def _tubes(self, epsilon: Any, data: Data) -> float | Array:
        """ε, or those of the samples kept."""
        if np.ndim(epsilon) == 0:
            return float(epsilon)
        return check_per_sample("epsilon", epsilon, self.shape_fit_[0])[data.rows]


class NuSVR(Regressor):
    """ν-support vector regression: the tube is found, ν bounds the fraction of samples outside it.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of samples outside the tube and a lower bound on that of support vectors.
    C : float, default=1.0
        Price of leaving the tube. Multiplied by sample weights.
    tube : callable or array-like of shape (n_samples,), optional
        The shape ζ(x) > 0 of a tube that is ε ζ(x) wide: a function of X that returns one value for each row, or the
        values for the training samples. ε is found such that samples outside hold at most the share ν of Σ Cᵢζᵢ. By
        default the tube has the same width everywhere. Needs ``solver="auto"`` or "interior_point".

    Attributes
    ----------
    epsilon_ : float
        The half width found; ``SVR(C=C, epsilon=epsilon_)`` gives the same function (with a shape,
        ``epsilon=epsilon_ * shape``).

    Notes
    -----
    All other parameters and attributes are those of `SVC`.
    """

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

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True)
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        super()._check_parameters()

    def _formulation(self, data: Data) -> NuSVRFormulation:
        return NuSVRFormulation(data.y, self.C * data.weight, float(self.nu), self._shape(data))

    def _shape(self, data: Data) -> Array | None:
        """ζ at the samples kept."""
        if self.tube is None:
            return None
        if callable(self.tube):
            shape = check_per_sample("tube(X)", self.tube(data.X), data.n)
        else:
            shape = check_per_sample("tube", self.tube, self.shape_fit_[0])[data.rows]
        if not np.all(shape > 0):
            raise ValueError("tube must be positive at every sample: it is the shape of the tube's width")
        return shape

    def tube_width(self, X: Any) -> Array:
        """Half the width of the tube at the rows of X; a `tube` of values is known at the training samples only."""
        check_is_fitted(self)
        X = self._validate_for_prediction(X)
        if self.tube is None:
            return np.full(X.shape[0], self.epsilon_)
        if not callable(self.tube):
            raise ValueError("tube was given as values at the training samples; give a function to know it elsewhere")
        return self.epsilon_ * check_per_sample("tube(X)", self.tube(X), X.shape[0])

    def _assemble_single(self, data: Data, kernel: Kernel, expansion: Expansion) -> None:
        super()._assemble_single(data, kernel, expansion)
        self.epsilon_ = expansion.tube
