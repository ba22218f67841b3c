"""What linear machines share: validation at the door, training, the certificate, decision values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.control import RunControl
from hinge.estimators.common.memory_map import block_bytes, check_finite, mapped_parts
from hinge.estimators.common.progress import progress_callback
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.validation import FLOATS, LIMIT_RULES, TrainingData, check_parameters, is_plain, take
from hinge.estimators.linear.batch import one_by_one, side_by_side
from hinge.kernels.samples import all_finite
from hinge.losses import Form, loss_names
from hinge.model import LinearModel
from hinge.problems import Array, Bias, Certificate, LinearProblem, LinearSolution, combine
from hinge.solvers import CoordinateDescent, Monitor
from hinge.validation import check_choice, check_flag, check_number, check_sample_weight

METHODS = ("auto", "descent", "newton")

#: More than these are looked at on several threads.
MANY_VALUES = 4_000_000


class LinearMachine(BaseEstimator):
    """Base of `LinearSVC`, `LinearSVR` and `LinearOneClassSVM`."""

    #: Form of the losses that the estimator accepts; None if it has no choice of losses.
    _loss_form: ClassVar[Form | None] = None
    _n_seen: int
    classes_: NDArray[Any]
    coef_: Any
    dual_coef_: Array

    # ---- validation ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self, LIMIT_RULES)
        check_flag("warm_start", self.warm_start)
        check_number("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0.0)
        if self._loss_form is not None and isinstance(self.loss, str):
            check_choice("loss", self.loss, loss_names(self._loss_form, quadratic=True))
        if not isinstance(self.solver, CoordinateDescent):
            check_choice("solver", self.solver, METHODS)

    def _check_bias(self) -> None:
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("penalize_intercept", self.penalize_intercept)
        check_number("intercept_scaling", self.intercept_scaling, 0.0, open_low=True)
        if self.dual != "auto" or not isinstance(self.dual, str):
            check_flag("dual", self.dual)

    def _bias(self) -> Bias:
        if not self.fit_intercept:
            return Bias.NONE
        return Bias.PENALISED if self.penalize_intercept else Bias.FREE

    def _method(self) -> str:
        """`dual` is scikit-learn's name for the choice that `solver` makes."""
        dual = getattr(self, "dual", "auto")
        if self.solver != "auto" or (isinstance(dual, str) and dual == "auto"):
            return self.solver
        return "descent" if dual else "newton"

    def _solver(self, X: Any, threads: int) -> CoordinateDescent:
        if isinstance(self.solver, CoordinateDescent):
            return self.solver
        held = block_bytes(X, self.cache_size)
        method = self._method()
        if held and method == "newton":
            asked = "solver='newton'" if self.solver == "newton" else f"dual={self.dual!r}"
            raise ValueError(
                f"{asked} is Newton's method, which needs all samples at hand, and X is a memory map of a file that is "
                "held in parts; use solver='auto' or 'descent', a cache_size of more than twice the file, or load it "
                "with np.array(X) or X.copy()"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0
        return CoordinateDescent(
            tol=float(self.tol),
            method=method,
            max_iter=int(self.max_iter),
            threads=threads,
            seed=seed,
            block_bytes=held,
        )

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        self._check_parameters()
        X = self._validate_X(X, reset)
        y = self._validate_y(y, X.shape[0], reset)
        check_consistent_length(X, y)
        n = X.shape[0]  # where all weights are one, they need no memory
        weight = np.broadcast_to(1.0, n) if sample_weight is None else check_sample_weight(sample_weight, n)
        if not reset and X.shape[0] != self._n_seen:
            raise ValueError(f"X has {X.shape[0]} samples, but fit was given {self._n_seen}; pass the training data")
        self._n_seen = X.shape[0]
        rows = np.arange(n) if sample_weight is None else np.flatnonzero(weight > 0)
        if len(rows) == n:
            return TrainingData(X, y, weight, rows)
        return TrainingData(take(X, rows), y[rows], weight[rows], rows)

    def _validate_X(self, X: Any, reset: bool) -> Any:
        parts = mapped_parts(X)
        if parts is not None and min(X.shape) > 0:  # larger than memory, perhaps: the core checks the indices
            check_finite(parts[0])
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        threads = effective_n_jobs(self.n_jobs) if getattr(X, "size", 0) > MANY_VALUES else 1
        if sp.issparse(X) and X.format in ("csr", "csc"):  # a damaged matrix must not reach compiled code
            rows = reset and _has_rows(X)
            X.check_format(full_check=not rows)
            plain = rows and min(X.shape) > 0 and all_finite(X, threads)
        else:
            plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > 0 and is_plain(X, threads)
        if plain and reset:  # no names of features, and a shape that is right
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
            return X
        if plain:
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        return validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=reset)

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    # ---- training -----------------------------------------------------------------------------------------------

    def _train(
        self, data: TrainingData, problems: Sequence[LinearProblem], callback: Monitor | None = None
    ) -> tuple[list[LinearSolution], FitReport]:
        """Solve every machine, several at a time; certificates, statuses and histories become attributes."""
        control = RunControl(self.max_time)
        threads = effective_n_jobs(self.n_jobs)
        starts = self._warm_starts(data, len(problems))

        def solve(k: int, share: int, control: RunControl) -> LinearSolution:
            return self._solver(data.X, share).solve_linear(problems[k], starts[k], control)

        with nullcontext(callback) if callback is not None else progress_callback(self) as show:
            if len(problems) == 1 or threads == 1:
                solutions = one_by_one(solve, problems, threads, control.with_callback(show))
            else:
                solutions = side_by_side(solve, problems, threads, control.with_callback(show))
        solutions = [self._settled(p, s) for s, p in zip(solutions, problems, strict=True)]
        report = FitReport.of(solutions, [s.certificate(p) for s, p in zip(solutions, problems, strict=True)])
        report.store(self)
        betas = [solution.beta for solution in solutions]
        self._keep(data, betas[0][None, :] if len(betas) == 1 else np.array(betas))
        return solutions, report

    def _settled(self, problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
        """The solution as the model is to have it."""
        return solution

    def _keep(self, data: TrainingData, dual: Array) -> None:
        """The dual point, of all samples that `fit` was given; what `certify` and a warm start need."""
        if data.n == self._n_seen:
            self.dual_coef_ = np.ascontiguousarray(dual)
        else:
            self.dual_coef_ = np.zeros((len(dual), self._n_seen))
            self.dual_coef_[:, data.rows] = dual
        self._fit_cost = float(getattr(self, "C", 1.0))

    def _warm_starts(self, data: TrainingData, machines: int) -> list[Array | None]:
        """The last dual point, scaled to the new C, where `warm_start` asks for it and it still fits."""
        before = getattr(self, "dual_coef_", None) if self.warm_start else None
        if before is None or before.shape != (machines, self._n_seen):
            return [None] * machines
        factor = float(getattr(self, "C", 1.0)) / self._fit_cost
        with np.errstate(over="ignore", invalid="ignore"):
            starts = factor * before[:, data.rows]
        return list(starts) if np.isfinite(starts).all() else [None] * machines

    def _set_function(self, weights: Array, offset: Array) -> None:
        if not (np.isfinite(weights).all() and np.isfinite(offset).all()):
            raise ValueError(
                "The weights or intercepts are not finite. The input data may contain large values and need to be "
                "preprocessed."
            )
        self.intercept_ = np.asarray(offset, dtype=np.float64)

    # ---- the function -------------------------------------------------------------------------------------------

    def _model(self) -> LinearModel:
        weights = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return LinearModel(np.atleast_2d(np.asarray(weights, dtype=np.float64)), np.atleast_1d(self.intercept_))

    def _decide(self, X: Any) -> Array:
        """Decision values of all machines, (n_rows × n_machines)."""
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return self._model().decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate of this model from its training data.

        Everything is computed anew in float64 with NumPy from `X`, `y`, `coef_`, `intercept_` and `dual_coef_`; no
        solver code takes part.

        Parameters
        ----------
        X, y, sample_weight
            What `fit` was given.

        Returns
        -------
        Certificate
            For several machines the sum over all of them; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        data = self._validate(X, y, sample_weight, reset=False)
        left_out = np.setdiff1d(np.arange(self._n_seen), data.rows)
        if np.any(self.dual_coef_[:, left_out]):
            raise ValueError("sample_weight is zero for a support vector; pass the weights that fit was given")
        return combine(self._certify(data))

    def _certify(self, data: TrainingData) -> list[Certificate]:
        raise NotImplementedError

    def _check_loaded(self) -> None:
        """The fitted attributes belong together (they may come from a file, or have been written to)."""
        model, dual = self._model(), self.dual_coef_
        fits = (
            model.weights.shape[1] == self.n_features_in_
            and model.intercept.shape == (len(model.weights),)
            and np.ndim(dual) == 2
            and dual.dtype == np.float64
            and dual.shape[1] == self._n_seen
        )
        if not fits:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _has_rows(X: Any) -> bool:
    """CSR with rows that do not overlap: as far as its column indices go, training begins with a look at them."""
    return X.format == "csr" and X.ndim == 2 and X.dtype in FLOATS and bool(np.all(X.indptr[1:] >= X.indptr[:-1]))
