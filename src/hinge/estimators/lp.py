"""`LPSVC` and `LPSVR`: ℓ1 in the coefficients, several kernels at once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from hinge.estimators import parameters
from hinge.estimators.data import Data, check_symmetric, check_weight, one_for_each, take
from hinge.estimators.fitted import FLOATS
from hinge.estimators.transaction import all_or_nothing
from hinge.formulations import lp_classification, lp_regression
from hinge.kernels import FunctionKernel, Kernel, Precomputed, cross, make_kernel
from hinge.model import DictionaryModel, KernelModel
from hinge.problems import Array, Certificate, LPProblem, Status, certify_lp, combine
from hinge.solvers import LinearProgramming

#: Coefficients below this fraction of the largest are what the solver's tolerance has left of zero.
NEGLIGIBLE = 1e-9


class LPMachine(BaseEstimator):
    """Base of `LPSVC` and `LPSVR`: one linear program for every output."""

    # ---- validation -------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        parameters.number("C", self.C, 0.0, open_low=True)
        parameters.number("tol", self.tol, 0.0, open_low=True)
        parameters.integer("max_iter", self.max_iter, -1)
        if self.max_time is not None:
            parameters.number("max_time", self.max_time, 0.0, open_low=True)
        parameters.number("degree", self.degree, 0.0)
        parameters.number("coef0", self.coef0, -np.inf)
        if self.n_jobs is not None:
            parameters.integer("n_jobs", self.n_jobs, -(2**31))
        if any(isinstance(kernel, FunctionKernel) for kernel in self._kernels()):
            raise ValueError(
                f"kernel={self.kernel!r} is a function; the ℓ1 machines take names and objects of hinge.kernels, or a "
                "matrix with kernel='precomputed'"
            )

    def _kernels(self) -> list[Kernel]:
        """One for every kernel and every gamma; kernels without a gamma are there once."""
        kernels = self.kernel if isinstance(self.kernel, list | tuple) else [self.kernel]
        gammas = self.gamma if isinstance(self.gamma, list | tuple | np.ndarray) else [self.gamma]
        if len(kernels) == 0 or len(gammas) == 0:
            raise ValueError("kernel and gamma must not be empty: give a name or a number, or a list with at least one")
        found: list[Kernel] = []
        for kernel in kernels:
            for each in gammas:
                gamma: Any = each if isinstance(each, str) else float(each)
                made = make_kernel(kernel, degree=self.degree, gamma=gamma, coef0=self.coef0)
                if made not in found:
                    found.append(made)
        if len(found) > 1 and any(isinstance(kernel, Precomputed) for kernel in found):
            raise ValueError("kernel='precomputed' cannot be one of several; pass the sum of your matrices")
        return found

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Data:
        self._check_parameters()
        if sp.issparse(X):
            if self._is_precomputed():
                raise TypeError("Sparse precomputed kernels are not supported; pass K.toarray()")
            if X.format in ("csr", "csc"):
                X.check_format(full_check=True)
        X = validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=reset)
        y = self._validate_y(y, reset)
        check_consistent_length(X, y)
        if self._is_precomputed():
            check_symmetric(X)
        weight = check_weight(sample_weight, X.shape[0])
        if reset:
            self.shape_fit_ = X.shape
        elif X.shape[0] != self.shape_fit_[0]:
            told = f"X has {X.shape[0]} samples, but fit was given {self.shape_fit_[0]}"
            raise ValueError(f"{told}; pass the training data")
        rows = np.flatnonzero(weight > 0)
        X = X[np.ix_(rows, rows)] if self._is_precomputed() else take(X, None if len(rows) == len(weight) else rows)
        return Data(X, y[rows], weight[rows], rows)

    def _validate_y(self, y: Any, reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _problems(self, data: Data, design: Array) -> list[LPProblem]:
        raise NotImplementedError

    # ---- training ---------------------------------------------------------------------------------------------

    def _train(self, data: Data) -> None:
        began = time.monotonic()
        kernels = [kernel.resolve(data.X, data.weight) for kernel in self._kernels()]
        threads = effective_n_jobs(self.n_jobs)
        design = np.hstack([self._matrix(kernel, data.X, threads) for kernel in kernels])
        if not np.isfinite(design).all():
            raise ValueError("kernel values of these data are not finite; scale the data, e.g. with StandardScaler")
        problems = self._problems(data, design)
        solutions = []
        for problem in problems:
            left = None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - began))
            solutions.append(LinearProgramming(tol=self.tol, max_iter=self.max_iter, max_time=left).solve_lp(problem))
        a = np.column_stack([_cleaned(solution.coefficients) for solution in solutions])
        offsets = np.array([solution.offset for solution in solutions])
        found = zip(problems, a.T, offsets, solutions, strict=True)
        self.certificates_ = [certify_lp(problem, column, b, s.beta) for problem, column, b, s in found]
        self.certificate_ = combine(self.certificates_)
        self.status_ = max(solution.status for solution in solutions)
        self.n_iter_ = sum(solution.iterations for solution in solutions)
        histories = [solution.history for solution in solutions]
        self.history_ = histories[0] if len(histories) == 1 else histories
        self._beta = np.column_stack([solution.beta for solution in solutions])
        self._assemble(data, kernels, a.reshape(len(kernels), data.n, -1), offsets)

    @staticmethod
    def _matrix(kernel: Kernel, X: Any, threads: int) -> Array:
        return np.asarray(X, dtype=np.float64) if isinstance(kernel, Precomputed) else cross(kernel, X, threads=threads)

    def _assemble(self, data: Data, kernels: Sequence[Kernel], a: Array, offsets: Array) -> None:
        """`a` is kernels × samples × outputs."""
        used = np.flatnonzero(np.any(a != 0, axis=(0, 2)))
        parts = []
        for kernel, block in zip(kernels, a, strict=True):
            precomputed = isinstance(kernel, Precomputed)
            rows = used if precomputed else np.flatnonzero(np.any(block != 0, axis=1))
            vectors = None if precomputed else take(data.X, rows)
            parts.append(KernelModel(kernel, vectors, block[rows], np.zeros(len(offsets))))
        self.model_ = DictionaryModel(tuple(parts), offsets)
        self.support_ = data.rows[used].astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._is_precomputed() else take(data.X, used)
        self.n_terms_ = int(np.count_nonzero(a))
        self.dual_coef_ = a[:, used, :].transpose(2, 0, 1).reshape(a.shape[2], -1)
        self.intercept_ = offsets
        self._terms = a

    def _finish(self) -> Self:
        if self.status_ is not Status.SOLVED:
            reason = {
                Status.TIME_LIMIT: f"max_time={self.max_time} s", Status.MAX_ITER: f"max_iter={self.max_iter}"
            }.get(self.status_, "numerical difficulties")  # fmt: skip
            warnings.warn(
                f"Solver terminated early ({reason}).  The model is kept; the relative duality gap reached is "
                f"{self.certificate_.relative_gap:.2g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    # ---- afterwards -------------------------------------------------------------------------------------------

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from the training data, in float64 with NumPy.

        The coefficients are those of the model; the dual point was kept at `fit` and is checked here, not believed.

        Parameters
        ----------
        X, y, sample_weight
            What `fit` was given.
        """
        check_is_fitted(self)
        data = self._validate(X, y, sample_weight, reset=False)
        if self._terms.shape[1] != data.n:
            raise ValueError("sample_weight is zero for other samples than at fit; pass the weights that fit was given")
        kernels = [part.kernel for part in self.model_.parts]
        design = np.hstack([data.X if isinstance(k, Precomputed) else np.asarray(k(data.X, data.X)) for k in kernels])
        a = self._terms.reshape(-1, self._terms.shape[2])
        problems = self._problems(data, np.asarray(design, dtype=np.float64))
        pairs = zip(problems, a.T, self.intercept_, self._beta.T, strict=True)
        return combine([certify_lp(problem, column, float(b), beta) for problem, column, b, beta in pairs])

    def _decide(self, X: Any) -> Array:
        check_is_fitted(self)
        if sp.issparse(X) and X.format in ("csr", "csc"):
            X.check_format(full_check=True)
        if self._is_precomputed() and getattr(X, "shape", (0, 0))[-1] == len(self.support_) != self.shape_fit_[0]:
            X = np.ascontiguousarray(X, dtype=np.float64)
        else:
            X = validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=False)
            X = np.ascontiguousarray(X[:, self.support_]) if self._is_precomputed() else X
        return self.model_.decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


def _cleaned(a: Array) -> Array:
    return np.where(np.abs(a) > NEGLIGIBLE * np.max(np.abs(a), initial=0.0), a, 0.0)


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

    def _validate_y(self, y: Any, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if not reset and not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that fit was not given; the classes are {list(self.classes_)}")
        return y

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
        with all_or_nothing(self):
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

    def _problems(self, data: Data, design: Array) -> list[LPProblem]:
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
            parameters.number("epsilon", self.epsilon, 0.0)

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
        with all_or_nothing(self):
            self._train(self._validate(X, y, sample_weight))
        return self._finish()

    def _problems(self, data: Data, design: Array) -> list[LPProblem]:
        epsilon = self.epsilon
        if np.ndim(epsilon):
            epsilon = one_for_each("epsilon", epsilon, self.shape_fit_[0])[data.rows]
        return [lp_regression(design, data.y, self.C * data.weight, epsilon)]

    def predict(self, X: Any) -> Array:
        """The value of f at each row of X."""
        return self._decide(X).ravel()
