"""Classification with a reduced basis: `LowRankSVC`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.description.forecast import data_shape
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, Choice, ClassWeight, Flag, Integer, Rule
from hinge.estimators.common.training import store_expansion
from hinge.estimators.common.validation import ClassificationData, check_parameters, validate_classification
from hinge.estimators.kernel.base import KernelEstimator
from hinge.estimators.low_rank.training import (
    OneVsRest,
    ReducedBasisFit,
    check_finite_kernel,
    choose_basis,
    train_reduced_basis,
)
from hinge.kernels import Kernel, make_kernel
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.kernels.direct import bounded_product
from hinge.problems import Array, Certificate, combine
from hinge.problems.reduced import Basis
from hinge.solvers import ReducedBasisNewton
from hinge.solvers.basis.problem import (
    ReducedBasisPoint,
    RoundingErrors,
    cholesky_factor,
    default_ridge,
    reduced_basis_certificates,
    smallest_eigenvalue,
)

#: The solver stops at this share of `tol`: the dual point of the certificate is slightly worse than that of the last
#: step.
SOLVER_TOL_SHARE = 0.9

#: Kernel values of a block of rows in `certify`.
BLOCK_VALUES = 1 << 22

#: Number of kernel values up to which `fit` computes its certificate from values in float64.
MAX_CERTIFIED_VALUES = 1 << 21


class LowRankSVC(ClassifierMixin, KernelEstimator):
    """Classification with few basis functions and the squared hinge loss, for many samples.

    f = Σⱼ cⱼ k(zⱼ, ·) + b with `n_basis` of the samples as zⱼ, one function per class against the rest. Minimizes
    ½ cᵀ(K^nn + δI)c + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ))² over c and b, where δ is 1e-5 times the mean of the diagonal. All
    classes are trained together: they share each pass over the kernel values of the samples with the basis functions.

    Parameters
    ----------
    n_basis : int, default=1000
        Number of basis functions. Accuracy, memory (4 bytes · n_samples · n_basis, see `tol`) and time grow with it.
    basis : {"loss", "random"}, default="loss"
        "random" draws the basis functions uniformly from the samples. "loss" draws them from eight times as many
        samples, with probabilities proportional to their losses in a preliminary model with 300 basis functions.
    C : float, default=1.0
        Cost of a squared margin error. Multiplied by class and sample weights.
    kernel, degree, gamma, coef0, class_weight, n_jobs, verbose, fit_intercept
        As in `SVC`; the kernel must be positive semidefinite.
    tol : float, default=1e-2
        Relative duality gap, of all classes together, at which training stops. Predicted labels often stop changing
        long before this gap is proven. If only labels are needed, set `max_iter`, and `tol` to 0.1 or more. Kernel
        values are then stored in float16, which takes half the memory, unless rounding changes the losses by half.
        `certificate_` then includes a bound on the rounding errors and may be weak; `certify` computes the exact one.
    max_iter : int, default=-1
        Newton steps with all samples; −1 for 100.
    max_time : float, optional
        Seconds for the whole fit. If they do not suffice, the best model so far is kept, possibly with fewer basis
        functions.
    cache_size : float or "auto", default="auto"
        Megabytes for the kernel values; a larger matrix is stored in a temporary file.
    random_state : int, RandomState or None, default=None
        Seed of the random draws; None is a fixed seed.

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem above with these basis functions, summed over the classes; `certificates_` has one per class.
    dual_coef_ : ndarray of shape (1 or n_classes, n_basis)
        c of every class; with two classes one row, positive for ``classes_[1]``.
    support_, support_vectors_
        The basis functions.
    history_ : History
    classes_, n_support_, intercept_, status_, n_iter_
        As in `SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hinge import LowRankSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LowRankSVC(C=10, n_basis=200).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": POSITIVE,
        "n_basis": Integer(1),
        "basis": Choice(("loss", "random")),
        "verbose": Flag(),
        "fit_intercept": Flag(),
        "class_weight": ClassWeight(),
        **LIMIT_RULES,
        **KERNEL_RULES,
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        n_basis=1000,
        basis="loss",
        tol=1e-2,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        class_weight=None,
        n_jobs=None,
        verbose=False,
        random_state=None,
        fit_intercept=True,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.n_basis = n_basis
        self.basis = basis
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Kernel values of float32 samples are computed in float32. X holds kernel values for
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = validate_classification(self, X, y, sample_weight, kernel, self.class_weight)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            problem = self._problem(data, kernel.resolve(data.X, data.weight))
            random = check_random_state(0 if self.random_state is None else self.random_state)
            with control.interruptible():  # there is no model yet that could be lost
                check_finite_kernel(problem.kernel, data.X)
                basis = choose_basis(problem, int(self.n_basis), self.basis == "loss", random, control)
            solver = ReducedBasisNewton(tol=SOLVER_TOL_SHARE * float(self.tol), max_iter=self.max_iter)
            solver = replace(solver, seed=int(random.randint(2**31)))
            label = type(self).__name__ if self.verbose else None
            fit = train_reduced_basis(problem, basis, solver, float(self.tol), self.cache_size, label, control)
            self._store(data, problem.kernel, fit)
            if data.n * len(fit.basis) <= MAX_CERTIFIED_VALUES:
                fit = fit.with_certificates(self._certificates(data, problem), float(self.tol))
            fit.report.store(self)
        if len(fit.basis) < min(int(self.n_basis), data.n) and control.deadline is not None:
            warnings.warn(
                f"max_time={self.max_time} s limits the model to {len(fit.basis)} of {min(int(self.n_basis), data.n)} "
                "basis functions. Allow more time, or use a smaller n_basis",
                ConvergenceWarning,
                stacklevel=2,
            )
        fit.report.conclude(self, tol_bounds_gap=True)
        return self

    def _problem(self, data: ClassificationData, kernel: Kernel) -> OneVsRest:
        return OneVsRest.of(data, kernel, float(self.C), bool(self.fit_intercept), effective_n_jobs(self.n_jobs))

    def _store(self, data: ClassificationData, kernel: Kernel, fit: ReducedBasisFit) -> None:
        """Set the fitted attributes; basis functions are ordered by class, as support vectors are."""
        labels = np.searchsorted(data.classes, data.y[fit.basis])
        order = np.lexsort((fit.basis, labels))
        counts = np.bincount(labels, minlength=len(data.classes))
        coefficients, offsets = fit.solution.weights[order], fit.solution.offsets
        layout = np.ascontiguousarray(coefficients.T)
        store_expansion(self, data, kernel, fit.basis[order], counts, coefficients, offsets, layout)
        self._dual_points = list(fit.beta.T)

    def _n_functions(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    # ---- prediction ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Values of f: one column per class, or those of ``classes_[1]`` with two classes."""
        check_is_fitted(self)
        values = decision_values(self, X, self._n_functions())
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with the largest f."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[chosen]

    # ---- certificate --------------------------------------------------------------------------------------------

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from the training data, in float64 and with NumPy alone.        docs/math (387)

        Parameters
        ----------
        X, y, sample_weight
            The arguments of `fit`.

        Returns
        -------
        Certificate
            Sums over the classes; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        check_parameters(self, self._rules)
        model = self.model_
        data = validate_classification(self, X, y, sample_weight, model.kernel, reset=False)
        if self._dual_points is None or len(self._dual_points[0]) != data.n:
            raise ValueError("sample_weight leaves out other samples than in fit; pass the weights that fit was given")
        problem = self._problem(data, model.kernel)
        return combine(self._certificates(data, problem))

    def _certificates(self, data: ClassificationData, problem: OneVsRest) -> list[Certificate]:
        """The certificates of all functions, from kernel values in float64 with bounds on their errors.      (645)"""
        model, support = self.model_, np.searchsorted(data.rows, self.support_)
        basis = Basis(model.kernel, data.X, support)
        inner, inner_errors = basis.values(support)
        inner = 0.5 * (inner + inner.T)
        ridge = default_ridge(inner)
        inner[np.diag_indices_from(inner)] += ridge
        assert self._dual_points is not None
        beta = np.stack(self._dual_points, axis=1)
        outputs, outputs_error = np.empty_like(beta), np.empty_like(beta)
        product, product_error = np.zeros_like(model.coefficients), np.zeros_like(model.coefficients)
        step = max(1, BLOCK_VALUES // max(len(support), 1))
        for first in range(0, data.n, step):
            rows = np.arange(first, min(data.n, first + step))
            block, errors = basis.values(rows)
            size = np.abs(beta[rows])
            for k, weights in enumerate(model.coefficients.T):
                outputs[rows, k], outputs_error[rows, k] = bounded_product(block, errors, weights)
            product += block.T @ beta[rows]
            operations = (len(rows) + data.n // step + 4) * UNIT_ROUNDOFF
            product_error += 1.01 * (errors.T @ size + operations * (np.abs(block).T @ size))
        point = ReducedBasisPoint(model.coefficients, self.intercept_, outputs, beta, product)
        found = RoundingErrors(outputs_error, product_error, float(np.max(inner_errors, initial=0.0)))
        signs = problem.signs().astype(np.float64)
        least = ridge if model.kernel.psd else smallest_eigenvalue(inner)
        return reduced_basis_certificates(
            inner, cholesky_factor(inner), least, signs, problem.cost, problem.bias, point, found
        )

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        check_parameters(self, self._rules)
        n, _ = data_shape(X, y)
        reasons = (
            f"{n} samples: f has at most n_basis={self.n_basis} basis functions",
            "the squared hinge loss is smooth: Newton steps on the coefficients of the basis functions, all classes "
            "together",
        )
        difference = "a model with few basis functions was requested"
        return solvers.explain_method("reduced_basis_newton", reasons, n, 1, difference, few_functions=True)
