"""`LowRankSVC`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl
from hinge.estimators.common.data import Data, take
from hinge.estimators.common.report import proven_status
from hinge.estimators.common.rollback import rollback
from hinge.estimators.kernel.one_vs_one import PairwiseClassifier
from hinge.kernels import FunctionKernel, Kernel, cache_bytes
from hinge.lowrank.columns import Columns, make_columns
from hinge.lowrank.source import Source
from hinge.problems import Array, Certificate, Status, combine
from hinge.solvers import Explanation, ReducedBasisNewton
from hinge.solvers.basis.newton import ReducedBasisSolution
from hinge.solvers.basis.problem import (
    ReducedBasisProblem,
    cholesky_factor,
    default_ridge,
    dual_point,
    reduced_basis_certificates,
    with_zero_sum,
)
from hinge.validation import check_choice, check_flag, check_integer, check_number

#: Samples that are looked at for every basis function wanted, and basis functions of the machine that looks.
ROWS_PER_FUNCTION, FEW = 8, 300

#: Kernel values are float16 where no smaller gap is asked for and steps are limited; but not where losses are larger by
#: so much without their rounding, on so many samples.
HALF_TOL, HALF_HARM, TOLD = 0.1, 0.5, 200

#: Entries of a block of kernel values in `certify`.
BLOCK = 1 << 22


class LowRankSVC(PairwiseClassifier):
    """Classification with few basis functions and squared hinge losses, for many samples.

    f = Σⱼ cⱼ k(zⱼ, ·) + b with `n_basis` of the samples as zⱼ; every class against the rest.  Minimises
    ½ cᵀ(K^nn + δI)c + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ))² over c and b, δ being 1e-5 of the mean of the diagonal, for all
    classes together: a pass over the kernel values of all samples with the basis functions serves all of them.

    Parameters
    ----------
    n_basis : int, default=1000
        Basis functions.  Accuracy, memory (4 bytes · n_samples · n_basis, see `tol`) and time grow with them.
    basis : {"loss", "random"}, default="loss"
        Drawn from eight times as many samples, those more often that have a large loss with 300 of them as basis
        functions; or all alike.
    C : float, default=1.0
        Price of a squared margin error.  Multiplied by class and sample weights.
    kernel, degree, gamma, coef0, class_weight, n_jobs, verbose, fit_intercept
        As in `SVC`; the kernel must be positive semidefinite.
    tol : float, default=1e-2
        Stop at this relative duality gap, of all classes together.  Labels often stand long before it is proven: for
        these alone set `max_iter`, and `tol` to 0.1 or more: kernel values are float16 then, in half the memory, unless
        losses are found to be wrong by half for it. `certificate_` then allows for the worst that rounding can do, and
        may prove next to nothing; `certify` says how it is.
    max_iter : int, default=-1
        Newton steps with all samples; −1 for 100.
    max_time : float, optional
        Seconds for the whole fit; the best model so far is kept, of fewer basis functions where time is short.
    cache_size : float or "auto", default="auto"
        Megabytes for the kernel values; more of them go to a temporary file.
    random_state : int, RandomState or None, default=None
        Seed of what is drawn; None is always the same one.

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem above, with these basis functions: sums over the classes; `certificates_` has one per class.
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

    def _check_parameters(self) -> None:
        self._check_limits()
        check_number("C", self.C, 0.0, open_low=True)
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        check_integer("n_basis", self.n_basis, 1)
        check_choice("basis", self.basis, ("loss", "random"))
        check_flag("verbose", self.verbose)
        check_flag("fit_intercept", self.fit_intercept)
        self._check_class_weight()
        self._make_kernel()

    # ---- training ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            float32 is computed with in float32. Kernel values for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        control = self._control()
        with control.capture_signals():
            with rollback(self):
                data = self._prepared(X, y, sample_weight)
                kernel = self._make_kernel().resolve(data.X, data.weight)
                random = check_random_state(0 if self.random_state is None else self.random_state)
                with control.interruptible():  # there is no model yet that could be lost
                    self._check_values(kernel, data)
                    basis = self._chosen(data, kernel, random, control)
                self._train_span(data, kernel, basis, random, control)
            return self._finish()

    def _check_values(self, kernel: Kernel, data: Data) -> None:
        if not np.isfinite(Source(kernel, data.X).diagonal()).all():
            raise ValueError(
                "kernel values of these data are not finite: they overflow. Scale the data, for example with "
                "StandardScaler"
            )

    def _solver(self) -> ReducedBasisNewton:
        # the certificate's own dual point is a little behind that of the last step
        return ReducedBasisNewton(tol=0.9 * float(self.tol), max_iter=self.max_iter)

    def _columns(
        self, kernel: Kernel, data: Data, basis: NDArray[np.intp], half: bool, control: RunControl
    ) -> Columns:
        """Half of the time at most: fewer basis functions, if it is short."""
        budget, seconds = cache_bytes(self.cache_size), control.remaining()
        until = None if seconds is None else time.monotonic() + 0.5 * seconds
        return make_columns(kernel, data.X, basis, self._threads(kernel), budget, half=half, deadline=until)

    def _chosen(
        self, data: Data, kernel: Kernel, random: np.random.RandomState, control: RunControl
    ) -> NDArray[np.intp]:
        """Positions of the basis functions among the kept samples: in order, but drawn where time may cut them off."""
        order, n = random.permutation(data.n), min(int(self.n_basis), data.n)
        if self.basis == "loss" and n < data.n:
            some = order[: ROWS_PER_FUNCTION * n]
            if len(np.unique(data.y[some])) > 1:
                loss = self._losses_of_a_few(data, kernel, some, control)
                # drawn one after the other with these weights, none twice: the largest of log(uniform) / weight
                with np.errstate(divide="ignore"):
                    key = np.log(random.random_sample(len(some))) / loss
                drawn = some[np.argsort(-key, kind="stable")]
                order = np.concatenate([drawn, order[len(some) :]])
        return np.sort(order[:n]) if control.deadline is None else order[:n]

    def _losses_of_a_few(
        self, data: Data, kernel: Kernel, some: NDArray[np.intp], control: RunControl
    ) -> Array:
        """(Σ ξ)² of some samples, ξ being what each machine of the first few of them misses."""
        few, threads = np.arange(min(FEW, len(some), int(self.n_basis))), self._threads(kernel)
        if self._is_precomputed():
            values = np.asarray(data.X[np.ix_(some, some[few])], dtype=np.float64)
            columns = Columns(values.astype(np.float32), 0.5 * (values[few] + values[few].T), threads)
        else:
            seconds = control.remaining()
            until = None if seconds is None else time.monotonic() + 0.25 * seconds
            columns = make_columns(kernel, take(data.X, some), few, threads, half=True, deadline=until)
        sign, cost = self._signs(data.y[some]), float(self.C) * self._costs(data)[some]
        problem = ReducedBasisProblem(columns, sign, cost, bool(self.fit_intercept))
        with control.capture_signals(raises=False):  # the solver leaves its threads in order
            found = ReducedBasisNewton(tol=HALF_TOL, max_iter=1).solve(problem, control)
        if found.error is not None:
            raise found.error
        missing = np.maximum(1.0 - sign * (found.outputs + found.offsets), 0.0)
        return np.asarray(np.sum(missing, axis=1) ** 2)

    def _threads(self, kernel: Kernel) -> int:
        return 1 if isinstance(kernel, FunctionKernel) else effective_n_jobs(self.n_jobs)

    def _signs(self, y: NDArray[Any]) -> NDArray[np.float32]:
        """±1, a column for every machine."""
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(y[:, None] == positive, np.float32(1.0), np.float32(-1.0))

    def _train_span(
        self,
        data: Data,
        kernel: Kernel,
        basis: NDArray[np.intp],
        random: np.random.RandomState,
        control: RunControl,
    ) -> None:
        """In float16 where `tol` allows it, and again in float32 where its rounding hides whether `tol` is reached."""
        seed, asked = int(random.randint(2**31)), len(basis)
        with control.interruptible():
            columns = self._columns(kernel, data, basis, self.max_iter >= 0 and float(self.tol) >= HALF_TOL, control)
        basis = basis[: columns.shape[1]]
        found, beta = self._solved(data, columns, seed, control)
        if columns.is_half() and self._is_harmed(data, kernel, basis, found):
            del columns  # memory for the next ones
            wide = control.interruptible_call(lambda: self._columns(kernel, data, basis, False, control))
            if wide is not None and wide.shape[1] == len(basis):
                found, beta = self._solved(data, wide, seed, control)
            else:  # the machine of float16 is what there is
                self.status_ = Status.INTERRUPTED if wide is None else Status.TIME_LIMIT
        if self.status_ in (Status.SOLVED, Status.NUMERICAL):  # what the certificate proves counts
            proven = self.certificate_.relative_gap <= float(self.tol)
            self.status_ = Status.SOLVED if proven else Status.NUMERICAL
        if len(basis) < asked:  # the machine of fewer basis functions
            self.status_ = max(self.status_, Status.TIME_LIMIT)
        self.fit_status_ = int(self.status_ is not Status.SOLVED)
        self._assemble_span(data, kernel, basis, found.weights, found.offsets)
        self._dual_points = list(beta.T)

    def _solved(
        self, data: Data, columns: Columns, seed: int, control: RunControl
    ) -> tuple[ReducedBasisSolution, Array]:
        """The solution, of which the certificate is told, and its dual point."""
        cost = float(self.C) * self._costs(data)
        problem = ReducedBasisProblem(columns, self._signs(data.y), cost, bool(self.fit_intercept))
        with self._progress() as callback:
            found = replace(self._solver(), seed=seed).solve(problem, control.with_callback(callback))
            if callback is not None and len(found.history):
                callback(found.history.last())
        beta = dual_point(problem.sign, cost, found.outputs, found.offsets)
        beta = with_zero_sum(beta) if self.fit_intercept else beta
        self._tell_span(found, problem.certificates(found.weights, found.offsets, found.outputs, beta))
        return found, beta

    def _is_harmed(self, data: Data, kernel: Kernel, basis: NDArray[np.intp], found: ReducedBasisSolution) -> bool:
        """Whether float16 hides that `tol` is reached, or how large losses are: some samples tell."""
        if found.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return False
        if found.status is Status.SOLVED:
            return bool(self.certificate_.relative_gap > float(self.tol))
        some = np.linspace(0, data.n - 1, min(data.n, TOLD)).astype(np.intp)
        sign, cost = self._signs(data.y[some]), self._costs(data)[some]
        exact = Source(kernel, data.X).block(some, basis) @ found.weights
        known, true = (
            float(np.sum(cost @ np.maximum(1.0 - sign * (f + found.offsets), 0.0) ** 2))
            for f in (found.outputs[some], exact)
        )
        return true > (1 + HALF_HARM) * known

    def _tell_span(self, found: Any, certificates: Sequence[Certificate]) -> None:
        self.certificates_ = list(certificates)
        self.certificate_ = combine(certificates)
        self.status_, self._error = proven_status(found.status, certificates), found.error
        self.history_, self.n_iter_ = found.history, found.iterations

    def _assemble_span(
        self, data: Data, kernel: Kernel, basis: NDArray[np.intp], weights: Array, offsets: Array
    ) -> None:
        """Basis functions by class, as support vectors are."""
        labels = np.searchsorted(self.classes_, data.y[basis])
        order = np.lexsort((basis, labels))
        self._n_support = np.bincount(labels, minlength=len(self.classes_)).astype(np.int32)
        self._assemble(data, kernel, basis[order], weights[order], offsets)
        self.intercept_ = offsets
        self.dual_coef_ = self._as_dual(np.ascontiguousarray(self.model_.coefficients.T))

    def _n_machines(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    # ---- prediction -------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """f: one column per class, or the one of ``classes_[1]`` with two classes."""
        values = self._decide(X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with the largest f."""
        check_is_fitted(self)
        values = self._decide(X)
        if len(self.classes_) == 2:
            return self.classes_[(values.ravel() > 0).astype(np.intp)]
        return self.classes_[np.argmax(values, axis=1)]

    # ---- the certificate --------------------------------------------------------------------------------------

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from the training data, in float64 and with NumPy alone.      docs/math (387)

        Parameters
        ----------
        X, y, sample_weight
            What `fit` was given.

        Returns
        -------
        Certificate
            Sums over the classes; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        data = self._validate(X, y, sample_weight, reset=False)
        if self._dual_points is None or len(self._dual_points[0]) != data.n:
            raise ValueError("sample_weight leaves out other samples than in fit; pass the weights that fit was given")
        model, support = self.model_, np.searchsorted(data.rows, self.support_)
        inner = self._exact_columns(data, support)(support)
        inner = 0.5 * (inner + inner.T)
        inner[np.diag_indices_from(inner)] += default_ridge(inner)
        beta = np.stack(self._dual_points, axis=1)
        outputs, pull = np.empty_like(beta), np.zeros_like(model.coefficients)
        columns, step = self._exact_columns(data, support), max(1, BLOCK // max(len(support), 1))
        for first in range(0, data.n, step):
            rows = np.arange(first, min(data.n, first + step))
            block = columns(rows)
            outputs[rows] = block @ model.coefficients
            pull += block.T @ beta[rows]
        cost = float(self.C) * self._costs(data)
        signs = self._signs(data.y).astype(np.float64)
        return combine(
            reduced_basis_certificates(
                inner, cholesky_factor(inner), signs, cost, model.coefficients, self.intercept_, outputs, beta, pull
            )
        )

    def _exact_columns(self, data: Data, support: NDArray[np.intp]) -> Any:
        """Kernel values with the basis functions, by the formula of the kernel."""
        if self._is_precomputed():
            return lambda rows: np.asarray(data.X[np.ix_(rows, support)], dtype=np.float64)
        return lambda rows: np.asarray(self.model_.kernel(take(data.X, rows), self.model_.vectors), dtype=np.float64)

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> Explanation:
        raise ValueError("LowRankSVC has one method, Newton's on its basis functions; explain is for SVC and the like")
