"""What `LPSVC` and `LPSVR` share: a dictionary of kernels, a linear program, and its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.control import RunControl
from hinge.estimators.common.report import proven_status
from hinge.estimators.common.validation import FLOATS, TrainingData, take
from hinge.kernels import FunctionKernel, Kernel, Precomputed, cross, make_kernel
from hinge.model import DictionaryModel, KernelModel
from hinge.problems import Array, Certificate, LPProblem, Status, certify_lp, combine
from hinge.solvers import LinearProgramming
from hinge.validation import check_integer, check_number, check_sample_weight, check_symmetric

#: Coefficients below this fraction of the largest are what the solver's tolerance has left of zero.
NEGLIGIBLE = 1e-9


class LPMachine(BaseEstimator):
    """Base of `LPSVC` and `LPSVR`: one linear program for every output."""

    # ---- validation -------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True)
        check_number("tol", self.tol, 0.0, open_low=True)
        check_integer("max_iter", self.max_iter, -1)
        if self.max_time is not None:
            check_number("max_time", self.max_time, 0.0, open_low=True)
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31))
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

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
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
        weight = check_sample_weight(sample_weight, X.shape[0])
        if reset:
            self.shape_fit_ = X.shape
        elif X.shape[0] != self.shape_fit_[0]:
            told = f"X has {X.shape[0]} samples, but fit was given {self.shape_fit_[0]}"
            raise ValueError(f"{told}; pass the training data")
        rows = np.flatnonzero(weight > 0)
        X = X[np.ix_(rows, rows)] if self._is_precomputed() else take(X, None if len(rows) == len(weight) else rows)
        return TrainingData(X, y[rows], weight[rows], rows)

    def _validate_y(self, y: Any, reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _problems(self, data: TrainingData, design: Array) -> list[LPProblem]:
        raise NotImplementedError

    # ---- training ---------------------------------------------------------------------------------------------

    def _train(self, data: TrainingData) -> None:
        control = RunControl(self.max_time)
        kernels = [kernel.resolve(data.X, data.weight) for kernel in self._kernels()]
        threads = effective_n_jobs(self.n_jobs)
        design = np.hstack([self._matrix(kernel, data.X, threads) for kernel in kernels])
        if not np.isfinite(design).all():
            raise ValueError("kernel values of these data are not finite; scale the data, e.g. with StandardScaler")
        problems = self._problems(data, design)
        solver = LinearProgramming(tol=self.tol, max_iter=self.max_iter)
        solutions = [solver.solve_lp(problem, control) for problem in problems]
        a = np.column_stack([_cleaned(solution.coefficients) for solution in solutions])
        offsets = np.array([solution.offset for solution in solutions])
        found = zip(problems, a.T, offsets, solutions, strict=True)
        self.certificates_ = [certify_lp(problem, column, b, s.beta) for problem, column, b, s in found]
        self.certificate_ = combine(self.certificates_)
        self.status_ = proven_status(max(solution.status for solution in solutions), self.certificates_)
        self.n_iter_ = sum(solution.iterations for solution in solutions)
        histories = [solution.history for solution in solutions]
        self.history_ = histories[0] if len(histories) == 1 else histories
        self._beta = np.column_stack([solution.beta for solution in solutions])
        self._assemble(data, kernels, a.reshape(len(kernels), data.n, -1), offsets)

    @staticmethod
    def _matrix(kernel: Kernel, X: Any, threads: int) -> Array:
        return np.asarray(X, dtype=np.float64) if isinstance(kernel, Precomputed) else cross(kernel, X, threads=threads)

    def _assemble(self, data: TrainingData, kernels: Sequence[Kernel], a: Array, offsets: Array) -> None:
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
                stacklevel=4,
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
