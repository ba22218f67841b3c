"""What the five kernel machines share: validation at the door, training, the certificate, decision values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.control import RunControl
from hinge.estimators.common.certificates import certificates_of
from hinge.estimators.common.data import Data, everyone, is_plain, length, rows_of, take
from hinge.estimators.common.prediction import FLOATS, FittedFunction
from hinge.estimators.common.report import Reported
from hinge.estimators.common.training import Training
from hinge.estimators.common.warm_start import WarmStartMixin
from hinge.estimators.low_rank import reduced_model
from hinge.estimators.low_rank.growing_basis import Round, improved
from hinge.formulations import Formulation
from hinge.kernels import (
    DirectAccess,
    FunctionKernel,
    GramAccess,
    Kernel,
    Precomputed,
    cache_bytes,
    make_kernel,
    open_access,
)
from hinge.losses import Loss, as_loss
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array, Certificate, Problem, Solution, Status, certify, combine
from hinge.solvers import Explanation, choose, decide
from hinge.validation import check_choice, check_flag, check_number, check_sample_weight, check_symmetric


@dataclass(frozen=True)
class Subproblem:
    """One binary, regression or one-class problem: which of the kept samples, and what is asked of them."""

    rows: NDArray[np.intp] | None
    formulation: Formulation

    def problem(self, access: Any) -> Problem:
        """The problem, from kernel access to all of the kept samples."""
        return self.formulation.build(access if self.rows is None else access.subset(self.rows))


class KernelMachine(WarmStartMixin, Reported, FittedFunction, BaseEstimator):
    """Base of `SVC`, `NuSVC`, `SVR`, `NuSVR` and `OneClassSVM`."""

    #: Losses by name, the machine's own first; empty where a machine has no choice.
    _losses: ClassVar[dict[str, type[Loss]]] = {}

    #: While fitting: LLᵀ in the place of K.  After: β of every machine, where the model is made of basis functions.
    _low_rank: LowRankAccess | None = None
    _dual_points: list[Array] | None = None

    # ---- validation: the only place where arguments and data are looked at ----------------------------------------

    def _check_parameters(self) -> None:
        self._check_limits()
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        for name in ("shrinking", "warm_start", "verbose"):
            check_flag(name, getattr(self, name))
        if self._losses:
            self._check_loss()
        self._solver()
        self._make_kernel()

    def _check_loss(self) -> None:
        """`loss` is a name or a loss; without a hinge, C must be finite."""
        if isinstance(self.loss, str):
            check_choice("loss", self.loss, self._losses)
        if self._has_own_loss():
            return
        self._make_loss()
        if np.isinf(self.C):
            name = next(iter(self._losses))
            raise ValueError(f"C=inf has no meaning for loss={self.loss!r}: use a finite C, or loss={name!r}")

    def _has_own_loss(self) -> bool:
        """Whether the loss is the one the machine was invented with."""
        name, kind = next(iter(self._losses.items()))
        return type(self.loss) is kind or (isinstance(self.loss, str) and self.loss == name)

    def _make_loss(self) -> Loss:
        """The loss, from its name or as it is."""
        form = next(iter(self._losses.values())).form
        if not isinstance(self.loss, str):
            return as_loss(self.loss, form)
        kind = self._losses[self.loss]
        return kind(**{f.name: getattr(self, f.name) for f in fields(kind) if hasattr(self, f.name)})  # type: ignore[arg-type]

    def _make_kernel(self) -> Kernel:
        return make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _solver(self) -> Any:
        return choose(
            self.solver,
            threads=effective_n_jobs(self.n_jobs),
            tol=self.tol,
            shrinking=bool(self.shrinking),
            max_iter=self.max_iter,
            cache_size=self.cache_size,
        )

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Data:
        """Parameters, then data; samples of weight zero are left out here.  `reset` is False for a fitted machine."""
        self._check_parameters()
        X, y = self._validate_arrays(X, y, reset)
        n = length(X)
        weight = check_sample_weight(sample_weight, n)
        if reset:
            self.shape_fit_ = X.shape if hasattr(X, "shape") else (n,)
        elif n != self.shape_fit_[0]:
            raise ValueError(f"X has {n} samples, but fit was given {self.shape_fit_[0]}; pass the training data")
        rows = np.flatnonzero(weight > 0)
        if len(rows) == n:
            return Data(X, y, weight, rows)
        X = X[np.ix_(rows, rows)] if self._is_precomputed() else take(X, rows)
        return Data(X, y[rows], weight[rows], rows)

    def _validate_arrays(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        kernel = self._make_kernel()
        if isinstance(kernel, FunctionKernel):  # a kernel function may take anything that has rows
            X = rows_of(X)
            if length(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            if reset and len(getattr(X, "shape", ())) == 2:
                self.n_features_in_ = X.shape[1]
        else:
            if sp.issparse(X) and isinstance(kernel, Precomputed):
                raise TypeError("Sparse precomputed kernels are not supported; pass K.toarray()")
            if sp.issparse(X) and X.format in ("csr", "csc"):
                X.check_format(full_check=True)  # a damaged matrix must not reach compiled code
            if reset or hasattr(self, "feature_names_in_") or not is_plain(X, self.n_features_in_):
                X = validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=reset)
        y = self._validate_y(y, length(X), reset)
        if len(y) != length(X):
            check_consistent_length(X, y)
        if isinstance(kernel, Precomputed):
            check_symmetric(X)
        return X, y

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        raise NotImplementedError

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    # ---- training ---------------------------------------------------------------------------------------------

    def _train(
        self, data: Data, machines: Sequence[Subproblem], control: RunControl
    ) -> tuple[Kernel, list[Expansion]]:
        """Solve every machine; certificates, statuses and histories become attributes."""
        kernel = self._make_kernel().resolve(data.X, data.weight)
        access = self._access(kernel, data.X)
        if not np.isfinite(access.diagonal()).all():
            raise ValueError(
                "kernel values of these data are not finite: they overflow. Scale the data, for example with "
                "StandardScaler"
            )
        whole = access
        access = self._approximate(access, control)
        problems = [machine.problem(access) for machine in machines]
        upper = [machine.formulation.upper for machine in machines]
        with self._progress() as callback:
            starts = self._warm_starts(data, kernel, upper)
            training = Training(self._solver(), control.with_callback(callback))
            solutions = training.solve_all(problems, [machine.formulation for machine in machines], starts)
            if self._low_rank is not None:
                first = Round(self._low_rank, problems, solutions)
                found = improved(training.solver, whole, machines, first, training)
                self._low_rank, problems, solutions = found.access, found.problems, found.solutions
            if callback is not None and len(solutions[-1].history):
                callback(solutions[-1].history.last())
        self._remember(data, kernel, upper, solutions)
        certificates = certificates_of(problems, solutions, kernel.psd)
        if self._low_rank is not None:
            certificates = self._with_true_kernel(whole, machines, problems, solutions, certificates)
        self._tell(solutions, certificates)
        return kernel, [m.formulation.recover(*s.point) for m, s in zip(machines, solutions, strict=True)]

    def _approximate(self, access: GramAccess, control: RunControl) -> Any:
        """LLᵀ in the place of K, where the solver asks for it."""
        solver = self._solver()
        for name in ("approximation_", "_dual_points", "_low_rank"):
            self.__dict__.pop(name, None)
        if solver.capabilities.factor == "unused":
            return access
        reduced = solver.stages()[0].approximate(access, control)
        self._low_rank = reduced_model.approximated(reduced)
        return reduced

    def _with_true_kernel(
        self,
        whole: GramAccess,
        machines: Sequence[Subproblem],
        problems: Sequence[Problem],
        solutions: Sequence[Solution],
        certificates: Sequence[Certificate],
    ) -> list[Certificate]:
        """What the certificates of the problems with LLᵀ prove of those with K; `approximation_` keeps the former."""
        assert self._low_rank is not None
        exact = self._solver().exact_bound
        self.approximation_ = reduced_model.report(self._low_rank, certificates, exact)
        found = []
        for machine, problem, solution, low in zip(machines, problems, solutions, certificates, strict=True):
            true = None if not exact else whole if machine.rows is None else whole.subset(machine.rows)
            found.append(reduced_model.true_certificate(problem, solution, low, true))
        return found

    def _control(self) -> RunControl:
        return RunControl(self.max_time)

    def _access(self, kernel: Kernel, X: Any) -> GramAccess:
        """Kernel access for all samples."""
        if isinstance(kernel, Precomputed) or kernel.nodes() is not None:
            return open_access(kernel, X, threads=effective_n_jobs(self.n_jobs))
        return open_access(kernel, X, budget_bytes=cache_bytes(getattr(self._solver(), "cache_size", self.cache_size)))

    def _tell(self, solutions: Sequence[Any], certificates: Sequence[Certificate]) -> None:
        super()._tell(solutions, certificates)
        self.fit_status_ = int(self.status_ is not Status.SOLVED)

    def _iteration_limit(self) -> int | None:
        limit: int = self._solver().max_iter
        return limit

    def _check_end(self) -> None:
        if self.status_ is Status.NUMERICAL and np.isinf(getattr(self, "C", 1.0)):
            raise ValueError(
                "C=inf asks for a function without any error, and with this kernel there is none: the problem is "
                "unbounded. Use a finite C"
            )

    # ---- the certificate, from the data, by other code --------------------------------------------------------

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate of this model from its training data.

        Everything is computed anew in float64 with NumPy, from `X`, `y`, `dual_coef_` and `intercept_`; no solver code
        takes part.

        Parameters
        ----------
        X, y, sample_weight
            What `fit` was given.

        Returns
        -------
        Certificate
            For several classes the sum over all pairs; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        data = self._validate(X, y, sample_weight, reset=False)
        if not np.isin(self.support_, data.rows).all():
            raise ValueError("sample_weight is zero for a support vector; pass the weights that fit was given")
        machines = self._trained_machines(data)
        found = []
        if self._dual_points is not None:
            return self._certify_compact(data, machines)
        for machine, expansion in zip(machines, self._expansions(data, machines), strict=True):
            problem = machine.formulation.certified_problem(DirectAccess(self.model_.kernel, data.X, machine.rows))
            found.append(certify(problem, *machine.formulation.dual_point(expansion), convex=self.model_.kernel.psd))
        return combine(found)

    def _certify_compact(self, data: Data, machines: Sequence[Subproblem]) -> Certificate:
        """The function is made of basis functions, and the dual point that proves it is not its coefficients."""
        model, support = self.model_, np.searchsorted(data.rows, self.support_)
        f = reduced_model.function_values(model.kernel, data.X, support, model.vectors, model.coefficients)
        norms = np.einsum("ij,ij->j", model.coefficients, f[support])  # cᵀ K^nn c
        found = []
        for column, (machine, expansion) in enumerate(zip(machines, self._dual_expansions(), strict=True)):
            problem = machine.formulation.certified_problem(DirectAccess(model.kernel, data.X, machine.rows))
            values = self._turn() * f[everyone(machine.rows), column]
            norm, formulation = float(norms[column]), machine.formulation
            found.append(reduced_model.certify_compact(problem, formulation, expansion, values, norm, model.kernel))
        return combine(found)

    def _dual_expansions(self) -> list[Expansion]:
        """The functions Σβᵢk(xᵢ, ·) + b of the dual points."""
        raise NotImplementedError

    def _turn(self) -> float:
        """−1 where the model's sign is not that of its problem."""
        return 1.0

    def _is_explained(self) -> bool:
        """Whether there is a choice of solvers."""
        return hasattr(self, "solver")

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> Explanation:
        """For `hinge.solvers.explain`: validate as `fit` does, build, and ask; this estimator is left as it is."""
        if not self._is_explained():
            raise TypeError(f"{type(self).__name__} has a method of its own; explain is for SVC and the like")
        unfitted = clone(self)
        data = unfitted._prepared(X, y, sample_weight)
        access = unfitted._access(unfitted._make_kernel().resolve(data.X, data.weight), data.X)
        problems = [machine.problem(access) for machine in unfitted._machines(data)]
        return decide(unfitted._solver(), problems, bool(self.warm_start and self._stand is not None))

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Validated, with all that `_machines` needs."""
        return self._validate(X, y, sample_weight)

    def _machines(self, data: Data) -> list[Subproblem]:
        """What is to be solved."""
        raise NotImplementedError

    def _trained_machines(self, data: Data) -> list[Subproblem]:
        """What was solved."""
        return self._machines(data)

    def _expansions(self, data: Data, machines: Sequence[Subproblem]) -> list[Expansion]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
