"""Training on a reduced basis: choice of the basis functions, and the precision of the kernel values.

f = Σⱼ cⱼ k(zⱼ, ·) + b, one function per class against the rest, with some of the samples as zⱼ.     docs/math (385)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.estimators.common.progress import ProgressLine
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.validation import ClassificationData, take
from hinge.kernels import FunctionKernel, Kernel, Precomputed, cache_bytes
from hinge.kernels.access import check_kernel_values
from hinge.lowrank.columns import Columns, make_columns
from hinge.lowrank.source import Source
from hinge.problems import Array, Certificate, Status, combine
from hinge.solvers import ReducedBasisNewton
from hinge.solvers.basis.newton import ReducedBasisSolution
from hinge.solvers.basis.problem import ReducedBasisProblem, dual_point, with_zero_sum

#: With basis="loss", the basis functions are drawn from this many samples per basis function, according to their
#: losses in a preliminary model with at most this many basis functions.
CANDIDATES_PER_FUNCTION = 8
PRELIMINARY_FUNCTIONS = 300

#: Shares of the remaining time for the kernel values of the preliminary model and of the final model. If the time is
#: over, the model has fewer basis functions.
PRELIMINARY_TIME, FINAL_TIME = 0.25, 0.4

#: Time reserved for the last pass over the kernel values and the certificate, relative to that of the kernel values.
CERTIFICATE_TIME = 0.5

#: Kernel values are stored in float16 if `tol` is at least this and the number of steps is limited.
HALF_TOL = 0.1

#: float16 is replaced by float32 if the losses of some samples are larger by this share without its rounding errors.
MAX_HALF_LOSS_ERROR = 0.5
CHECKED_SAMPLES = 200


@dataclass(frozen=True)
class OneVsRest:
    """Training problem of all classes: one column of signs per class, or one column for two classes."""

    data: ClassificationData
    kernel: Kernel
    cost: Array
    bias: bool
    threads: int

    @classmethod
    def of(cls, data: ClassificationData, kernel: Kernel, C: float, bias: bool, threads: int) -> OneVsRest:
        """The problem with costs C · sample weight · class weight."""
        if isinstance(kernel, FunctionKernel):  # a Python function is not called from several threads
            threads = 1
        return cls(data, kernel, C * data.cost(), bias, threads)

    def signs(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.float32]:
        """±1, one column per function."""
        classes = self.data.classes
        positive = classes[1:] if len(classes) == 2 else classes
        return np.where(self.data.y[rows][:, None] == positive, np.float32(1.0), np.float32(-1.0))


@dataclass(frozen=True)
class ReducedBasisFit:
    """Positions of the basis functions, the solution, its dual points (one column per function), and the report."""

    basis: NDArray[np.intp]
    solution: ReducedBasisSolution
    beta: Array
    report: FitReport

    def with_certificates(self, certificates: list[Certificate], tol: float) -> ReducedBasisFit:
        """The same fit with other certificates, which decide whether `tol` was reached."""
        status = self.report.status
        if status in (Status.SOLVED, Status.NUMERICAL):
            status = Status.SOLVED if combine(certificates).relative_gap <= tol else Status.NUMERICAL
        report = replace(self.report, certificates=certificates, status=status)
        return replace(self, report=report.limited_to_proven_bounds())


def check_finite_kernel(kernel: Kernel, X: Any) -> None:
    """Raise a ValueError if kernel values overflow."""
    check_kernel_values(Source(kernel, X))


def choose_basis(
    problem: OneVsRest, n_basis: int, by_loss: bool, random: np.random.RandomState, control: RunControl
) -> NDArray[np.intp]:
    """Draw the positions of the basis functions.

    They are sorted, unless there is a deadline, at which the last ones are omitted.
    """
    n = problem.data.n
    order, size = random.permutation(n), min(n_basis, n)
    if by_loss and size < n:
        candidates = order[: CANDIDATES_PER_FUNCTION * size]
        if len(np.unique(problem.data.y[candidates])) > 1:
            loss = _preliminary_losses(problem, candidates, n_basis, control)
            # The largest log(uniform) / loss: draws without replacement, with probabilities proportional to the losses.
            with np.errstate(divide="ignore"):
                key = np.log(random.random_sample(len(candidates))) / loss
            drawn = candidates[np.argsort(-key, kind="stable")]
            order = np.concatenate([drawn, order[len(candidates) :]])
    return np.sort(order[:size]) if control.deadline is None else order[:size]


def _preliminary_losses(
    problem: OneVsRest, candidates: NDArray[np.intp], n_basis: int, control: RunControl
) -> Array:
    """(Σ ξ)² of every candidate, where ξ are its losses in a model with the first few candidates as basis functions."""
    first = np.arange(min(PRELIMINARY_FUNCTIONS, len(candidates), n_basis))
    X, kernel, threads = problem.data.X, problem.kernel, problem.threads
    if isinstance(kernel, Precomputed):
        values = np.asarray(X[np.ix_(candidates, candidates[first])], dtype=np.float64)
        columns = Columns(values.astype(np.float32), 0.5 * (values[first] + values[first].T), threads)
    else:
        until = _share_of_time(control, PRELIMINARY_TIME)
        columns = make_columns(kernel, take(X, candidates), first, threads, half=True, deadline=until)
    sign = problem.signs(candidates)
    with control.capture_signals(raises=False):  # the solver ends its threads before the interrupt is raised
        reduced = ReducedBasisProblem(columns, sign, problem.cost[candidates], problem.bias)
        found = ReducedBasisNewton(tol=HALF_TOL, max_iter=1).solve(reduced, control)
    if found.error is not None:
        raise found.error
    losses = np.maximum(1.0 - sign * (found.outputs + found.offsets), 0.0)
    return np.asarray(np.sum(losses, axis=1) ** 2)


def train_reduced_basis(
    problem: OneVsRest,
    basis: NDArray[np.intp],
    solver: ReducedBasisNewton,
    tol: float,
    cache_size: float | str,
    label: str | None,
    control: RunControl,
) -> ReducedBasisFit:
    """Train with float16 kernel values if the tolerance allows it, and again with float32 if rounding errors matter.

    Parameters
    ----------
    basis : ndarray of int
        Positions of the basis functions. The last ones are not used if the time is short.
    tol : float
        The relative gap to be proven.
    label : str or None
        Shown on the progress line; None for no progress line.
    """
    half = solver.max_iter >= 0 and tol >= HALF_TOL
    began = time.monotonic()
    with ProgressLine(label or "", verbose=label is not None) as line:
        shown = control.with_callback(control.callback, line.update if label is not None else None)
        with control.interruptible():  # there is no model yet that could be lost
            columns = _kernel_columns(problem, basis, cache_size, half, shown)
    control = control.reserving(CERTIFICATE_TIME * (time.monotonic() - began))
    requested, basis = len(basis), basis[: columns.shape[1]]
    fit = _solve(problem, basis, columns, solver, label, control)
    status = fit.report.status
    if columns.is_half() and _needs_float32(problem, fit, tol):
        del columns  # release the memory before the next matrix is allocated
        precise = control.interruptible_call(lambda: _kernel_columns(problem, basis, cache_size, False, control))
        if precise is not None and precise.shape[1] == len(basis):
            fit = _solve(problem, basis, precise, solver, label, control)
            status = fit.report.status
        else:  # the model of the float16 values is kept
            status = Status.INTERRUPTED if precise is None else Status.TIME_LIMIT
    if status in (Status.SOLVED, Status.NUMERICAL):  # the status follows from the certificate
        status = Status.SOLVED if combine(fit.report.certificates).relative_gap <= tol else Status.NUMERICAL
    if len(basis) < requested:
        status = max(status, Status.TIME_LIMIT)
    return replace(fit, report=replace(fit.report, status=status))


def _kernel_columns(
    problem: OneVsRest, basis: NDArray[np.intp], cache_size: float | str, half: bool, control: RunControl
) -> Columns:
    """Kernel values of all samples with the basis functions."""
    until = _share_of_time(control, FINAL_TIME)
    budget = cache_bytes(cache_size)
    return make_columns(
        problem.kernel, problem.data.X, basis, problem.threads, budget, half=half, deadline=until,
        progress=control.on_step,
    )  # fmt: skip


def _share_of_time(control: RunControl, share: float) -> float | None:
    """The time at which a share of the remaining time is over."""
    seconds = control.remaining()
    return None if seconds is None else time.monotonic() + share * seconds


def _solve(
    problem: OneVsRest,
    basis: NDArray[np.intp],
    columns: Columns,
    solver: ReducedBasisNewton,
    label: str | None,
    control: RunControl,
) -> ReducedBasisFit:
    """Solve with these kernel values, and certify the solution with a dual point."""
    sign = problem.signs()
    reduced = ReducedBasisProblem(columns, sign, problem.cost, problem.bias)
    if label is None:
        found = solver.solve(reduced, control)
    else:
        with ProgressLine(label) as line:
            found = solver.solve(reduced, control.with_callback(line.update))
            if len(found.history):
                line.update(found.history.last())
    beta = dual_point(sign, problem.cost, found.outputs, found.offsets)
    beta = with_zero_sum(beta) if problem.bias else beta
    certificates = reduced.certificates(found.weights, found.offsets, found.outputs, beta)
    return ReducedBasisFit(basis, found, beta, FitReport.of([found], certificates))


def _needs_float32(problem: OneVsRest, fit: ReducedBasisFit, tol: float) -> bool:
    """Whether rounding to float16 prevents the proof of `tol`, or changes the losses of some samples too much."""
    found = fit.solution
    if found.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
        return False
    if found.status is Status.SOLVED:
        return bool(combine(fit.report.certificates).relative_gap > tol)
    n = problem.data.n
    some = np.linspace(0, n - 1, min(n, CHECKED_SAMPLES)).astype(np.intp)
    sign, cost = problem.signs(some), problem.data.cost()[some]
    exact = Source(problem.kernel, problem.data.X).block(some, fit.basis) @ found.weights
    rounded_loss, true_loss = (
        float(np.sum(cost @ np.maximum(1.0 - sign * (f + found.offsets), 0.0) ** 2))
        for f in (found.outputs[some], exact)
    )
    return true_loss > (1 + MAX_HALF_LOSS_ERROR) * rounded_loss
