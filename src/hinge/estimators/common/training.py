"""Training of kernel estimators: build the problems, solve them, certify the solutions, recover the functions.

An estimator reduces to one or several subproblems, each a `Subproblem`: the samples it uses and the formulation of its
dual problem. `Settings` holds the kernel and the solver. `train` returns a `Trained` object, from which the estimator
sets its attributes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.low_rank_rounds import Round, replacement
from hinge.estimators.common.progress import ProgressLine
from hinge.estimators.common.reduced_model import LowRankReport, approximation_of, reduced_certificates
from hinge.estimators.common.report import MAX_SOLVED_GAP, FitReport, certify_solutions
from hinge.estimators.common.tolerance_rounds import reduce_gaps, refine
from hinge.estimators.common.validation import TrainingData, check_parameters
from hinge.estimators.common.warm_start import forget_solutions, initial_points, remember_solutions
from hinge.formulations import Formulation
from hinge.kernels import FunctionKernel, GramAccess, Kernel, Precomputed, make_kernel, open_access
from hinge.kernels.access import check_kernel_values
from hinge.kernels.overflow import not_finite_error
from hinge.losses import Form, Loss, loss_names, losses_of, make_loss
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion, KernelModel
from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers import Solver, choose
from hinge.validation import check_choice

#: Seconds per variable that are reserved for the certificate and the model before the deadline of a run, and the
#: largest share of the remaining time.
CERTIFICATE_SECONDS, MAX_CERTIFICATE_SHARE = 4e-7, 0.4

#: Time of the certificate of a model with few basis functions, relative to that of the factor.
CERTIFICATE_SHARE_OF_FACTOR = 1.5

@dataclass(frozen=True)
class Subproblem:
    """One binary, regression or one-class problem of an estimator.

    Attributes
    ----------
    rows : ndarray of int or None
        The positions of its samples in the training data; None for all samples.
    formulation : Formulation
        The dual problem of these samples.
    """

    rows: NDArray[np.intp] | None
    formulation: Formulation

    def build(self, access: Any) -> Problem:
        """Build the problem from kernel access to all training samples."""
        return self.formulation.build(access if self.rows is None else access.subset(self.rows))


@dataclass(frozen=True)
class Settings:
    """Kernel and solver of an estimator, built once per fit.

    Attributes
    ----------
    kernel : Kernel
        Its parameters may still depend on the data: see `Kernel.resolve`.
    solver : Solver
    threads : int
    cache_size : float or str
        Megabytes for kernel values, or "auto".
    open_access : callable
        (kernel, X, cache_size=..., threads=...) → access to the kernel matrix.
    confirmed_tol : float
        Tolerance that the certificate confirms: `tol` of the estimator, or of a solver object of the user.
    """

    kernel: Kernel
    solver: Solver
    threads: int
    cache_size: Any
    open_access: Callable[..., Any] = open_access
    confirmed_tol: float = 1e-3

    @classmethod
    def of(cls, estimator: Any, solver: Any = None, access: Callable[..., Any] = open_access) -> Settings:
        """Check the parameters of the estimator, and build its kernel and its solver.

        Parameters
        ----------
        estimator : estimator
            Its `_rules` are the rules of its parameters.
        solver : Solver, optional
            By default the solver that the parameter `solver` selects.
        access : callable
            Opens access to the kernel matrix.
        """
        check_parameters(estimator, estimator._rules)
        threads = effective_n_jobs(estimator.n_jobs)
        if solver is None:
            solver = choose(
                estimator.solver,
                threads=threads,
                tol=estimator.tol,
                shrinking=bool(estimator.shrinking),
                max_iter=estimator.max_iter,
                cache_size=estimator.cache_size,
            )
        kernel = make_kernel(estimator.kernel, degree=estimator.degree, gamma=estimator.gamma, coef0=estimator.coef0)
        own_cache = "cache_size" in solver.capabilities.options
        cache_size = solver.cache_size if own_cache else estimator.cache_size
        tol = estimator.tol if isinstance(estimator.solver, str) else solver.tol
        return cls(kernel, solver, threads, cache_size, access, float(tol))


def resolve_loss(estimator: Any, form: Form, default: str) -> Loss | None:
    """Return the loss object of an estimator; None for the `default` loss, which has its own formulation.

    Parameters
    ----------
    estimator : estimator
        Its `loss` is a name or an object. Parameters of a named loss are parameters of the estimator.
    form : {"margin", "residual"}
    default : str
        Name of the loss that has its own formulation.
    """
    loss = estimator.loss
    if isinstance(loss, str):
        if loss == default:
            return None
        check_choice("loss", loss, loss_names(form))
    elif type(loss) is losses_of(form)[default]:
        return None
    if np.isinf(estimator.C).any():
        raise ValueError(f"C=inf is not supported for loss={loss!r}: use a finite C, or loss={default!r}")
    return make_loss(loss, form, vars(estimator))


@dataclass(frozen=True)
class Trained:
    """Solved subproblems.

    Attributes
    ----------
    kernel : Kernel
        The kernel with all parameters resolved.
    subproblems : list of Subproblem
    solutions : list of Solution
    expansions : list of Expansion
        The function of each subproblem.
    report : FitReport
    basis : LowRankAccess or None
        The factor LLᵀ that replaced the kernel matrix, if the solver uses one: the functions are then expansions in
        its basis.
    approximation : LowRankReport or None
        Rank and error of LLᵀ, and the certificate of the problems with LLᵀ.
    """

    kernel: Kernel
    subproblems: Sequence[Subproblem]
    solutions: Sequence[Solution]
    expansions: list[Expansion]
    report: FitReport
    basis: LowRankAccess | None = None
    approximation: LowRankReport | None = None


def train(
    estimator: Any, data: TrainingData, subproblems: Sequence[Subproblem], settings: Settings, control: RunControl
) -> Trained:
    """Solve the subproblems of an estimator and certify their solutions.

    Only the class name, `warm_start` and `verbose` of the estimator are used; see
    `hinge.estimators.common.warm_start`.
    """
    kernel = settings.kernel.resolve(data.X, data.weight)
    opened = partial(settings.open_access, kernel, data.X, cache_size=settings.cache_size, threads=settings.threads)
    if isinstance(kernel, FunctionKernel):  # the function of the user may take long, and there is no model before
        with control.interruptible():
            access = opened()
    else:
        access = opened()
    check_kernel_values(access)
    upper = [subproblem.formulation.upper for subproblem in subproblems] if estimator.warm_start else []
    starts = initial_points(estimator, data, kernel, upper) if estimator.warm_start else None
    whole_run = control
    if control.deadline is not None:
        variables = sum(np.size(subproblem.formulation.upper) for subproblem in subproblems)
        control = control.reserving(CERTIFICATE_SECONDS * variables, MAX_CERTIFICATE_SHARE)
    if estimator.verbose:
        with ProgressLine(type(estimator).__name__) as line:
            last = _solve(access, subproblems, settings.solver, starts, control.with_callback(line.update, line.update))
            if len(last.solutions[-1].history):
                line.update(last.solutions[-1].history.last())
    else:
        last = _solve(access, subproblems, settings.solver, starts, control)
    problems, solutions, approximation = last.problems, last.solutions, None
    for solution in solutions:
        if np.isnan(solution.gradient).any():
            raise not_finite_error()
    tol = settings.confirmed_tol
    certificates = certify_solutions(problems, solutions, kernel.psd, tol, control)
    if last.basis is None:
        for certificate in certificates:
            if certificate.relative_gap > MAX_SOLVED_GAP:
                reduce_gaps(problems, solutions, certificates, settings.solver, tol, kernel.psd, control)
                break
    else:
        exact = settings.solver.exact_bound
        approximation, rows = approximation_of(last.basis, certificates, exact), [s.rows for s in subproblems]
        certificates, complete = reduced_certificates(
            access, last.basis, problems, solutions, rows, exact, whole_run
        )
    expansions = []
    for subproblem, solution in zip(subproblems, solutions, strict=True):
        expansions.append(subproblem.formulation.recover(solution.alpha, solution.mu))
    if estimator.warm_start:
        remember_solutions(estimator, data, kernel, upper, solutions)
    elif estimator._last_solution is not None:
        forget_solutions(estimator)
    if approximation is None:
        report = FitReport.of(solutions, certificates, tol)
    else:
        report = FitReport.of_approximation(solutions, certificates, approximation.certificate, approximation.rank, tol)
        assert last.basis is not None
        if not (complete and last.basis.origin.complete):  # the time limit left out basis functions or bounds
            report = replace(report, status=max(report.status, Status.TIME_LIMIT))
    return Trained(kernel, subproblems, solutions, expansions, report, last.basis, approximation)


def _solve(
    access: GramAccess, subproblems: Sequence[Subproblem], solver: Solver, starts: Any, control: RunControl
) -> Round:
    """Solve the subproblems with the kernel matrix, or with the low-rank factors that the solver uses instead."""
    if solver.capabilities.factor == "unused":
        return _solve_round(access, subproblems, solver, starts, control)
    first, *larger = solver.stages()
    began = time.monotonic()
    factor = first.approximate(access, control)
    spent = time.monotonic() - began  # the certificate needs the same kernel values again, with their errors
    control = control.reserving(CERTIFICATE_SHARE_OF_FACTOR * spent)
    found = replace(_solve_round(factor, subproblems, solver, starts, control), basis=replacement(factor))
    for stage in larger:
        if found.basis is None or not found.is_solved():
            break
        factor = control.unless_interrupted(partial(stage.approximate, access, control))
        if factor is None:
            return found.ended(Status.INTERRUPTED, control.interrupt)
        following = _solve_round(factor, subproblems, solver, found.solutions, control)
        found, improved = replace(following, basis=replacement(factor)).after(found, stage.tol)
        if not improved:
            break
    return found


def _solve_round(
    access: Any, subproblems: Sequence[Subproblem], solver: Solver, starts: Any, control: RunControl
) -> Round:
    """Build and solve the problems of all subproblems.

    `tol` is in the units of the function. If the formulation divides the function by ρ, the problem is solved again
    with the tolerance ρ · tol. After an interrupt no further solution is refined.
    """
    problems = []
    for subproblem in subproblems:
        problems.append(subproblem.build(access))
    solutions = solver.solve_batch(problems, starts, control)
    for k, solution in enumerate(solutions):
        if solution.error is not None:
            break
        if solution.status is Status.SOLVED and not solution.polished:
            solutions[k] = refine(problems[k], subproblems[k].formulation, solution, solver, control)
    return Round(problems, solutions)


def check_separable(status: Status) -> None:
    """Raise a ValueError if the problem with C=inf has no solution, because every function has training errors."""
    if status is Status.NUMERICAL:
        raise ValueError(
            "C=inf requires a function without training errors, and no such function exists for this kernel. Use a "
            "finite C"
        )


def store_expansion(
    estimator: Any,
    data: TrainingData,
    kernel: Kernel,
    support: NDArray[np.intp],
    n_support: Any,
    coefficients: Array,
    intercept: Array,
    dual_coef: Array,
) -> None:
    """Set the fitted attributes of an estimator whose functions are kernel expansions.

    Parameters
    ----------
    support : ndarray of int
        Positions of the support vectors in the training data.
    n_support : sequence of int
        Number of support vectors, of each class for classifiers.
    coefficients : ndarray of shape (n_support_vectors, n_functions)
    intercept : ndarray of shape (n_functions,)
    dual_coef : ndarray
        `dual_coef_`; sparse if the samples are, as in scikit-learn.
    """
    if not (np.isfinite(coefficients).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            "be preprocessed."
        )
    vectors = None if isinstance(kernel, Precomputed) else data.X[support]
    estimator.support_ = data.rows[support].astype(np.int32)
    estimator.support_vectors_ = np.empty((0, 0)) if vectors is None else vectors
    estimator.intercept_ = intercept
    estimator.model_ = KernelModel(kernel, vectors, coefficients, intercept)
    estimator._n_support = np.array(n_support, dtype=np.int32)
    estimator._sparse = bool(sp.issparse(data.X))
    estimator.dual_coef_ = sp.csr_matrix(dual_coef) if estimator._sparse else dual_coef
