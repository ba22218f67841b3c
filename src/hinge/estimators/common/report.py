"""Result of a fit: certificates, status, histories and iteration counts; rollback if a fit raises an exception."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hinge.control import RunControl
from hinge.kernels import PairAccess
from hinge.problems import Array, Certificate, History, Problem, Solution, Status, certify, combine, known_bounds
from hinge.solvers.base import SolverOptions

#: A SOLVED fit whose relative gap exceeds this multiple of the tolerance (or of the default tolerance, if that is
#: larger) is reported with a warning: the tolerance bounds the KKT violation, not the gap.
LOOSE_GAP_FACTOR = 20
DEFAULT_TOL = 1e-3

#: A relative gap below this is attributed to rounding errors, and confirms SOLVED for any tolerance.
ROUNDING_GAP = 1e-12

#: Factor of `tol` up to which the KKT violation or the relative gap of the certificate confirms SOLVED.
CONFIRMATION_FACTOR = 2.0

#: Tolerance of estimators that follow exact paths and have no parameter `tol`.
EXACT_TOL = 1e-6

#: Largest relative gap of a convex problem with the status SOLVED, unless `tol` is larger.
MAX_SOLVED_GAP = 1e-2

#: If rounding errors contribute more than this share of the tolerance to the relative gap of a problem with at most
#: MAX_ACCURATE_SAMPLES samples, the gradient is computed again, more accurately.
ROUNDING_SHARE = 1e-2
MAX_ACCURATE_SAMPLES = 20_000

#: Number of samples up to which a problem is small: a gradient is computed even after the time limit or an interrupt.
MAX_LATE_SAMPLES = 2_000


@contextmanager
def rollback(estimator: Any) -> Iterator[None]:
    """Restore the attributes of the estimator if the block raises an exception."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before  # in one step, which a signal cannot interrupt
        raise


def certify_solutions(
    problems: Sequence[Problem], solutions: Sequence[Solution], convex: bool | None, tol: float, control: RunControl
) -> list[Certificate]:
    """Compute the certificate of every solution.

    Bounds in the history of a run are used only if they were computed in double precision. If rounding errors of the
    gradient contribute more than a small share of `tol` to the relative gap, the gradient is computed more accurately.
    """
    certificates = []
    for problem, solution in zip(problems, solutions, strict=True):
        if not solution.exact:
            found = _certify_inexact(problem, solution, convex)
        else:
            found = certify_exact(problem, solution, convex, tol, control)
        certificates.append(found)
    return certificates


def _certify_inexact(problem: Problem, solution: Solution, convex: bool | None) -> Certificate:
    """Compute the certificate of a solution whose gradient is not known everywhere: only lower bounds remain.

    The gradient at the samples with a coefficient determines the dual value.
    """
    history = History.empty() if solution.rounded else solution.history
    if not solution.support_exact or solution.gradient_error is None:
        return certify(problem, solution.alpha, solution.mu, solution.gradient, convex).unproven(history)
    known = np.tile(problem.Q.coefficients(solution.alpha) != 0, problem.Q.slots)
    errors = np.where(known, solution.gradient_error, np.inf)
    found = certify(problem, solution.alpha, solution.mu, solution.gradient, convex, error=errors)
    unproven = found.unproven(history)
    if found.dual > unproven.dual:
        unproven = replace(unproven, dual=found.dual, best_dual=max(found.dual, unproven.best_dual))
    return unproven


def certify_exact(
    problem: Problem, solution: Solution, convex: bool | None, tol: float, control: RunControl
) -> Certificate:
    """Compute the certificate of a solution whose gradient belongs to its point.

    After the deadline or an interrupt, a gradient is computed for few samples only.
    """
    gradient, error = solution.gradient, solution.gradient_error
    late = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED) and _n_samples(problem) > MAX_LATE_SAMPLES
    if error is None and late:
        return _certify_inexact(problem, solution, convex)
    if error is None:
        gradient, errors = problem.bounded_gradient(solution.alpha)
    else:
        errors = np.array([error])
    known = known_bounds(problem, solution)
    if known is None:
        found = certify(problem, solution.alpha, solution.mu, gradient, convex, error=errors)
    else:
        found = Certificate.of_bounds(known, solution.mu, convex)
    allowed = ROUNDING_SHARE * tol * max(abs(found.primal), abs(found.dual))
    if found.rounding > allowed and problem.Q.n <= MAX_ACCURATE_SAMPLES and not late:
        bounded = _accurate_gradient(problem, solution, control)
        if bounded is not None:
            gradient, errors = bounded
            accurate = certify(problem, solution.alpha, solution.mu, gradient, convex, error=errors)
            found = accurate if accurate.gap < found.gap else found
    return found if solution.rounded else found.with_history(solution.history)


def _accurate_gradient(problem: Problem, solution: Solution, control: RunControl) -> tuple[Array, Array] | None:
    """The gradient and bounds on its errors; None after an interrupt, or if the time does not suffice."""
    work = partial(problem.bounded_gradient, solution.alpha, accurate=True, deadline=control.deadline)
    try:
        return control.interruptible_call(work)
    except TimeoutError:
        return None


def _n_samples(problem: Problem) -> int:
    """Return the number of samples, also of a problem over pairs of them."""
    access = problem.Q.access
    return access.base.n if isinstance(access, PairAccess) else access.n


def confirmed_status(
    status: Status, certificates: Sequence[Certificate], tol: float, *, of_gap: bool = False
) -> Status:
    """Downgrade SOLVED to NUMERICAL unless the certificates confirm it; `of_gap`: `tol` bounds the relative gap."""
    if status is Status.SOLVED:
        for certificate in certificates:
            if not is_confirmed(certificate, tol, of_gap):
                return Status.NUMERICAL
    return status


def is_confirmed(certificate: Certificate, tol: float, of_gap: bool = False) -> bool:
    """Whether the KKT violation or the relative gap is at most `tol`, and the gap of a convex problem is small.

    If `of_gap`, the relative gap must be at most `tol`.

    The certificate is computed independently of the solver, hence a factor of two. Gaps that are rounding errors
    count as zero.
    """
    if not (certificate.dual <= certificate.primal and certificate.gap >= 0):  # NaN
        return False
    size = max(abs(certificate.primal), abs(certificate.dual))
    if certificate.gap <= ROUNDING_GAP * size < np.inf:
        return True
    reached = CONFIRMATION_FACTOR * tol
    if certificate.relative_gap <= reached:
        return True
    if of_gap or not certificate.kkt_violation <= reached:
        return False
    return certificate.convex is not True or not has_large_gap(certificate, tol)


def has_large_gap(certificate: Certificate, tol: float) -> bool:
    """Whether there is an upper bound, but the relative gap is above the largest gap of a solution.

    Always False if the kernel is known to be indefinite: the gap is then not meaningful.
    """
    if certificate.convex is False or np.isinf(certificate.primal):
        return False
    return certificate.relative_gap > max(MAX_SOLVED_GAP, CONFIRMATION_FACTOR * tol)


def store_status(estimator: Any, status: Status, n_iter: Any) -> None:
    """Set the status and the iteration count of an estimator."""
    estimator.status_, estimator.fit_status_ = status, int(status is not Status.SOLVED)
    estimator.n_iter_ = n_iter


def _limited(history: History, certificate: Certificate) -> History:
    """The history, whose values do not include rounding errors, without bounds tighter than the proven ones."""
    if not len(history.iteration):
        return history
    primal, dual = np.maximum(history.primal, certificate.primal), np.minimum(history.dual, certificate.dual)
    return replace(history, primal=primal, dual=dual, gap=np.maximum(history.gap, primal - dual))


@dataclass(frozen=True)
class FitReport:
    """Result of the training of an estimator.

    Attributes
    ----------
    status : Status
        The worst status of all subproblems.
    certificates : list of Certificate
        One per subproblem.
    histories : list of History
        One per run of a solver.
    iterations : list of int
        One per run of a solver.
    error : BaseException or None
        The exception of a signal that interrupted the fit. `conclude` raises it after the model is complete.
    rank : int or None
        Rank of the matrix that replaced the kernel matrix, if one did.
    """

    status: Status
    certificates: list[Certificate]
    histories: list[History]
    iterations: list[int]
    error: BaseException | None = None
    rank: int | None = None

    @classmethod
    def of_approximation(
        cls,
        solutions: Sequence[Any],
        certificates: Sequence[Certificate],
        approximate: Certificate,
        rank: int,
        tol: float,
    ) -> FitReport:
        """The report of solutions with an approximate kernel matrix of this rank, and of their true certificates.

        `tol` bounds the relative gap of the problem that was solved, whose certificate is `approximate`.
        """
        report = cls.of([replace(solution, rounded=True) for solution in solutions], certificates)
        status = confirmed_status(report.status, [approximate], tol, of_gap=True)
        return replace(report, status=status, rank=rank)

    @classmethod
    def of(
        cls,
        solutions: Sequence[Any],
        certificates: Sequence[Certificate],
        tol: float | None = None,
        *,
        of_gap: bool = False,
        floor: float = 0.0,
    ) -> FitReport:
        """The report of solutions and their certificates.

        If `tol` is given, the certificates must confirm SOLVED; `of_gap`: `tol` bounds the relative gap. If the gap is
        at most `floor`, a rounding error of the objective, a KKT violation of at most `tol` is sufficient.
        """
        status, error, histories, iterations = Status.SOLVED, None, [], []
        bounds = certificates if len(certificates) == len(solutions) else [combine(certificates)] * len(solutions)
        for solution, certificate in zip(solutions, bounds, strict=True):
            status = max(status, solution.status)
            error = error or solution.error
            history: History = solution.history
            histories.append(_limited(history, certificate) if solution.rounded else history)
            iterations.append(solution.iterations)
        if tol is not None and status is Status.SOLVED:
            for certificate in certificates:
                if not is_confirmed(certificate, tol, of_gap and certificate.gap > floor):
                    status = Status.NUMERICAL
        return cls(status, list(certificates), histories, iterations, error)

    def limited_to_proven_bounds(self) -> FitReport:
        """This report with histories that claim no more than the certificate of all problems."""
        certificate = combine(self.certificates)
        return replace(self, histories=[_limited(history, certificate) for history in self.histories])

    def interrupted(self, error: BaseException | None) -> FitReport:
        """Return this report for a fit that a signal ended; `error` is the exception of the signal."""
        return replace(self, status=Status.INTERRUPTED, error=error)

    def store(self, estimator: Any, *, n_iter: Any = None) -> None:
        """Set the public attributes of the estimator; `n_iter_` is the largest iteration count unless given."""
        estimator.certificates_ = self.certificates
        estimator.certificate_ = self.certificates[0] if len(self.certificates) == 1 else combine(self.certificates)
        estimator.history_ = self.histories[0] if len(self.histories) == 1 else self.histories
        store_status(estimator, self.status, int(max(self.iterations)) if n_iter is None else n_iter)

    def conclude(self, estimator: Any, max_iter: int | None = None, *, tol_bounds_gap: bool = False) -> None:
        """Raise the exception that interrupted the fit, or warn if the tolerance was not reached.

        Parameters
        ----------
        estimator : estimator
            Has the attributes of `store`; its `max_time`, and `tol` and `max_iter` of its solver if that is an object
            or else its own, appear in the warning.
        max_iter : int, optional
            The iteration limit of the solver, if it is not that of the estimator.
        tol_bounds_gap : bool
            Whether SOLVED means that the relative gap is at most `tol`.
        """
        if self.error is not None:
            raise self.error
        if self.status is Status.SOLVED and tol_bounds_gap:
            return
        solver, gap = vars(estimator).get("solver"), estimator.certificate_
        options = solver if isinstance(solver, SolverOptions) else estimator
        tol = options.tol
        if self.status is not Status.SOLVED:
            max_iter = options.max_iter if max_iter is None else max_iter
            known = np.isfinite(gap.relative_gap)
            reached = f"{gap.relative_gap:.2g}" if known else "not known (certify computes it)"
            warnings.warn(
                f"{self._reason(tol, max_iter, estimator.max_time)}  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler{self._remedy(max_iter)}. It failed to converge: the model is kept, "
                f"and the relative duality gap reached is {reached}.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return
        limit = LOOSE_GAP_FACTOR * max(tol, DEFAULT_TOL)
        if gap.gap > ROUNDING_GAP * abs(gap.primal) and limit < gap.relative_gap < np.inf:
            remedy = (
                "For a smaller gap use a smaller tol; where that takes long, pre-process your data with StandardScaler "
                "or MinMaxScaler, or use a smaller C."
                if self.rank is None
                else f"The kernel matrix was approximated by one of rank {self.rank}: for a smaller gap use a larger "
                "rank, as in solver=hinge.solvers.LowRankInteriorPoint(approximation=hinge.lowrank.SGMA(rank=...)), or "
                "solver='auto'."
            )
            solved = "The optimality conditions hold" if self.rank is None else "The approximate problem was solved"
            warnings.warn(
                f"{solved} to tol={tol:g}, but the relative duality gap is above {limit:.2g} (see certificate_). "
                f"{remedy}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _remedy(self, max_iter: int) -> str:
        """What can be done besides scaling the data: increase the limit that ended the fit, if there was one."""
        if self.status is Status.TIME_LIMIT:
            return ", or increase max_time"
        if self.status is Status.MAX_ITER and max_iter >= 0:
            return ", or increase max_iter"
        return "" if self.status is Status.INTERRUPTED else ", or use a larger tol or a smaller C"

    def _reason(self, tol: float, max_iter: int, max_time: float | None) -> str:
        """Return the reason why the solver ended before the tolerance was reached."""
        if self.status is Status.MAX_ITER and max_iter < 0:
            return f"The solver gave up after {max(self.iterations)} steps."
        return {
            Status.MAX_ITER: f"Solver terminated early (max_iter={max_iter}).",
            Status.TIME_LIMIT: f"Solver terminated early (max_time={max_time} s).",
            Status.NUMERICAL: f"Rounding errors stopped the solver before tol={tol:g}.",
            Status.INTERRUPTED: "Solver was stopped by its monitor.",
        }[self.status]
