"""Regularization networks, whose penalty is not the norm of the kernel: `RegularizationNetwork`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg

from hinge import solvers
from hinge.control import RunControl
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.rules import Rule
from hinge.estimators.common.training import Settings, Subproblem, store_expansion, train
from hinge.estimators.common.validation import TrainingData, real_targets, validate_training_data
from hinge.estimators.semiparametric.functions import (
    function_values,
    semiparametric_subproblems,
    store_function_coef,
)
from hinge.estimators.semiparametric.regression import REGRESSION_RULES, SemiparametricRegressor
from hinge.formulations import Semiparametric, SemiparametricExpansion, independent_functions
from hinge.kernels import FunctionKernel, Kernel, Precomputed, make_kernel, open_access
from hinge.kernels.access import check_kernel_values
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.kernels.direct import bounded_product
from hinge.matrices import check_symmetric
from hinge.problems import Array, Certificate
from hinge.problems.reduced import ReducedFunction, certify_reduced
from hinge.validation import as_floats

#: Eigenvalues of D below this multiple of n times the largest one count as zero: their functions have no penalty.
NULL_EIGENVALUE = 8 * float(np.finfo(np.float64).eps)

#: Functions of the null space whose values are below this multiple of the largest kernel value are left out, and so are
#: eigenvalues of K for the regularizer "values": their coefficients would be larger than the values by its reciprocal.
NEGLIGIBLE = 1e-8

REGULARIZERS = ("identity", "values")


@dataclass(frozen=True)
class Regularizer:
    """Rule of the parameter `regularizer`."""

    def check(self, name: str, value: Any) -> None:
        if value is None or isinstance(value, Kernel) or callable(value) or np.ndim(value) == 2:
            return
        if isinstance(value, str) and value in REGULARIZERS:
            return
        choices = ", ".join(map(repr, REGULARIZERS))
        raise ValueError(
            f"{name}={value!r} must be one of {choices}, a hinge.kernels.Kernel, a function (X, Z) -> matrix, a square "
            "matrix, or None for the norm of the kernel"
        )


@dataclass(frozen=True)
class PenalizedExpansion:
    """Matrices of f = Kα with the penalty ½αᵀDα.                                              docs/math (852), (853)

    `matrix` is KD⁺K, `functions` are K times the null space of D, and α = to_alpha β + null_space c.
    """

    K: Array
    D: Array
    matrix: Array
    functions: Array
    to_alpha: Array
    null_space: Array


def penalized_expansion(K: Array, D: Array) -> PenalizedExpansion:
    """Return KD⁺K and the unpenalized functions from the eigenvalues of D."""
    n = len(D)
    value, vector = scipy.linalg.eigh(D)
    largest = float(np.max(np.abs(value), initial=0.0))
    zero = NULL_EIGENVALUE * n * largest
    if n and value[0] < -max(zero, 1e-8 * largest):
        raise ValueError(
            f"the regularizer is not positive semidefinite: the smallest eigenvalue of its matrix is {value[0]:.3g}, "
            f"the largest one {largest:.3g}"
        )
    positive = value > zero
    root = vector[:, positive] / np.sqrt(value[positive])
    factor, null_space = K @ root, vector[:, ~positive]
    functions = K @ null_space
    seen = np.max(np.abs(functions), axis=0, initial=0.0) > NEGLIGIBLE * float(np.max(np.abs(K), initial=0.0))
    return PenalizedExpansion(K, D, factor @ factor.T, functions[:, seen], root @ factor.T, null_space[:, seen])


def penalized_values(K: Array) -> PenalizedExpansion:
    """Return the matrices for D = K²: KD⁺K is the projection onto the range of K."""
    value, vector = scipy.linalg.eigh(0.5 * (K + K.T))
    kept = np.abs(value) > NEGLIGIBLE * float(np.max(np.abs(value), initial=0.0))
    basis, none = vector[:, kept], np.empty((len(K), 0))
    return PenalizedExpansion(K, K @ K, basis @ basis.T, none, (basis / value[kept]) @ basis.T, none)


class RegularizationNetwork(SemiparametricRegressor):
    r"""Kernel expansion with a penalty that is not the norm of the kernel.     SVR tutorial (64)–(67); docs/math (852)

    Minimizes ½αᵀDα + Σ Cᵢ max(0, \|yᵢ − f(xᵢ)\| − ε) over f(x) = Σᵢ αᵢ k(xᵢ, x) + Σⱼ cⱼ ψⱼ(x), where
    Dᵢⱼ = ⟨(Pk)(xᵢ, ·), (Pk)(xⱼ, ·)⟩ for a regularization operator P. `SVR` is the case D = K.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, loss, sigma, p
        As in `SVR`.
    regularizer : str, Kernel, callable, matrix of shape (n_samples, n_samples) or None, default="identity"
        The matrix D: "identity", ½‖α‖²; "values", D = K², the sum of the squared values of the expansion at the
        training samples (LwK Table 10.3), where eigenvalues of K below 1e-8 of the largest one are left out: if there
        are any, the fit can end with the status NUMERICAL, and `certificate_` has the gap; a kernel or a function of
        two sets of samples, ⟨(Pk)(x, ·), (Pk)(z, ·)⟩; the matrix itself, for the samples given to `fit`; None for
        D = K. It must be positive semidefinite. Functions of its null space have no penalty.
    functions : {"constant", "linear", "quadratic"} or callable, default="constant"
        The unpenalized functions ψⱼ, as in `SemiparametricSVR`.
    solver, tol, max_iter, max_time, n_jobs, verbose
        As in `SemiparametricSVR`. With one function, all solvers of `SVR` apply.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1, n_samples)
        The coefficients α. In general none is zero; `n_active_` samples have a dual variable β that is not zero.
    n_active_ : int
    function_coef_ : ndarray of shape (1, n_functions)
        The coefficients cⱼ.
    certificate_ : Certificate
        The upper bound is the objective of the model, with all rounding errors. The lower bound is the value of the
        dual problem (67) with the matrix KD⁻¹K as it is computed in double precision: rounding errors of this matrix,
        which grow with the condition number of D, are not included. Neither are functions that are left out because
        their values are smaller than those of the kernel by a factor of 1e-8.
    support_, support_vectors_, status_, history_, n_iter_
        As in `SVR`. `intercept_` is zero: the constant is one of the functions.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import RegularizationNetwork
    >>> x = np.linspace(-3, 3, 50)[:, None]
    >>> model = RegularizationNetwork(C=100, gamma=2.0, epsilon=0.01).fit(x, np.sinc(x.ravel()))
    >>> bool(model.score(x, np.sinc(x.ravel())) > 0.99)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**REGRESSION_RULES, "regularizer": Regularizer()}

    _beta: Array
    n_active_: int

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        regularizer="identity",
        functions="constant",
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
        self.regularizer = regularizer
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
            kernel = settings.kernel.resolve(data.X, data.weight)
            expansion = self._matrices(data, kernel)
            matrix = replace(data, X=expansion.matrix)
            subproblems = self._problems(data, kernel, expansion)
            trained = train(self, matrix, subproblems, replace(settings, kernel=Precomputed()), control)
            self._store(data, kernel, expansion, trained.expansions[0])
            certificate = self._certificate(data, expansion, subproblems[0])
            report = FitReport.of(trained.solutions, [certificate], settings.confirmed_tol)
            report.store(self)
        report.conclude(self, settings.solver.max_iter)
        return self

    def _matrices(self, data: TrainingData, kernel: Kernel) -> PenalizedExpansion:
        """KD⁻¹K and the functions without a penalty."""
        K = _kernel_matrix(kernel, data.X)
        regularizer = self.regularizer
        if regularizer is None:
            return PenalizedExpansion(K, K, K, np.empty((data.n, 0)), np.eye(data.n), np.empty((data.n, 0)))
        if isinstance(regularizer, str) and regularizer == "identity":
            none = np.empty((data.n, 0))
            return PenalizedExpansion(K, np.eye(data.n), K @ K.T, none, K, none)
        if isinstance(regularizer, str):
            return penalized_values(K)
        if isinstance(regularizer, Kernel) or callable(regularizer):
            if isinstance(kernel, Precomputed):
                raise ValueError(
                    "regularizer is a kernel, which needs the samples, but kernel='precomputed' passes kernel values; "
                    "pass the matrix of the regularizer"
                )
            D = _kernel_matrix(make_kernel(regularizer).resolve(data.X, data.weight), data.X)
        else:
            D = as_floats(regularizer, "regularizer")
            n = self.shape_fit_[0]
            if D.shape != (n, n):
                raise ValueError(f"regularizer has shape {D.shape}, but fit was given {n} samples; pass ({n}, {n})")
            D = D[np.ix_(data.rows, data.rows)]
        if not np.isfinite(D).all():
            raise ValueError("the matrix of the regularizer contains NaN or infinity")
        check_symmetric(D)
        return penalized_expansion(K, 0.5 * (D + D.T))

    def _problems(self, data: TrainingData, kernel: Kernel, expansion: PenalizedExpansion) -> list[Subproblem]:
        values = np.hstack([function_values(self.functions, data.X, kernel), expansion.functions])
        return semiparametric_subproblems(super()._subproblems(data), values)[0]

    def _store(self, data: TrainingData, kernel: Kernel, expansion: PenalizedExpansion, found: Any) -> None:
        assert isinstance(found, SemiparametricExpansion)
        own = function_values(self.functions, data.X, kernel)
        used = independent_functions(np.hstack([own, expansion.functions]))
        weights = np.zeros(len(used))
        weights[used] = found.weights
        alpha = expansion.to_alpha @ found.coefficients if self.regularizer is not None else found.coefficients
        alpha = alpha + expansion.null_space @ weights[own.shape[1] :]
        support = np.flatnonzero(alpha)
        coefficients = np.ascontiguousarray(alpha[support][:, None])
        store_expansion(self, data, kernel, support, [len(support)], coefficients, np.zeros(1), coefficients.T)
        shown = replace(found, weights=weights[: own.shape[1]])
        store_function_coef(self, [shown], np.ones(own.shape[1], dtype=bool))
        self._beta = found.coefficients
        self.n_active_ = int(np.count_nonzero(found.coefficients))

    def _certify(self, data: TrainingData) -> Certificate:
        kernel = self.model_.kernel
        expansion = self._matrices(data, kernel)
        (subproblem,) = self._problems(data, kernel, expansion)
        return self._certificate(data, expansion, subproblem)

    def _certificate(self, data: TrainingData, expansion: PenalizedExpansion, subproblem: Subproblem) -> Certificate:
        """Upper bound: the objective of α and c. Lower bound: the dual problem with KD⁺K at β.    docs/math (854)"""
        if self._beta.shape != (data.n,):
            raise ValueError("sample_weight is zero for other samples than at fit; pass the weights that fit was given")
        formulation = subproblem.formulation
        assert isinstance(formulation, Semiparametric)
        problem = formulation.certified_problem(open_access(Precomputed(), expansion.matrix))
        own = self.function_coef_.shape[1]
        values = np.hstack([function_values(self.functions, data.X, self.model_.kernel), expansion.functions])
        used = independent_functions(values)
        weights = np.concatenate([self.function_coef_[0], np.zeros(values.shape[1] - own)])[used]
        alpha = np.zeros(data.n)
        alpha[np.searchsorted(data.rows, self.support_)] = self.model_.coefficients[:, 0]
        f, error = bounded_product(expansion.K, np.zeros_like(expansion.K), alpha)
        penalty, slack = bounded_product(expansion.D, np.zeros_like(expansion.D), alpha)
        norm = float(alpha @ penalty)
        radius = float(np.abs(alpha) @ slack) + 2 * data.n * UNIT_ROUNDOFF * float(np.abs(alpha) @ np.abs(penalty))
        function = ReducedFunction(f, error, max(0.0, norm - radius), max(0.0, norm + radius))
        point, mu = formulation.dual_point(SemiparametricExpansion(self._beta, 0.0, weights=weights))
        return certify_reduced(problem, point, mu, function, convex=True)

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the choice of the solver for `hinge.solvers.explain`. The estimator is not changed."""
        unfitted = type(self)(**self.get_params(deep=False))
        settings = unfitted._settings()
        data = unfitted._validate(X, y, sample_weight, settings.kernel)
        kernel = settings.kernel.resolve(data.X, data.weight)
        expansion = unfitted._matrices(data, kernel)
        access = open_access(Precomputed(), expansion.matrix)
        problems = [part.build(access) for part in unfitted._problems(data, kernel, expansion)]
        return solvers.decide(settings.solver, problems)

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        resolved = kernel.resolve(data.X, data.weight)
        return self._problems(data, resolved, self._matrices(data, resolved))


def _kernel_matrix(kernel: Kernel, X: Any) -> Array:
    """All kernel values in double precision."""
    if isinstance(kernel, Precomputed):
        return np.asarray(X, dtype=np.float64)
    access = open_access(kernel, X)
    check_kernel_values(access)
    n = access.n
    matrix = access.block(np.arange(n), np.arange(n))
    if isinstance(kernel, FunctionKernel):
        check_symmetric(matrix)
    return np.asarray(matrix, dtype=np.float64)
