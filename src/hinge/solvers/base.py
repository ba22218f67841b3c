"""Interface of the solvers: frozen options, declared capabilities, and `solve(problem, start, control) -> Solution`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import UserDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from hinge.control import RunControl
from hinge.problems import Array, Diagonal, History, Problem, Solution, Status
from hinge.solvers.feasibility import nearest_feasible

#: Initial point of a solver: an earlier solution, its variables, or None for the feasible point nearest to zero.
Start = Solution | Array | None


@dataclass(frozen=True)
class Capabilities:
    """Problems that a solver accepts, work that it shares, and the meaning of its options.

    Callers read this declaration. A solver rejects other problems before any work is done: `Solver.check` compares the
    terms. The conversion to the form of the solver checks the equality rows and the kernel.

    Parameters
    ----------
    tol : {"kkt_violation", "relative_gap"}
        The quantity that is at most `tol` in a solution with `Status.SOLVED` (for the default of the option `stop`,
        if the solver has one).
    terms : tuple of {"none", "diagonal", "convex"}
        Accepted h(α): no term, ½ Σ dᵥαᵥ², or a general convex function.
    equality_rows : {"any", "groups"}
        "groups": the rows must be constant on disjoint groups of variables, in signed coordinates.
    kernel : {"any", "linear", "pairs"}
        "linear": Q must be that of a linear kernel; "pairs": that of pairs of samples.
    batch : bool
        Whether `solve_batch` solves problems over the same kernel matrix together.
    factor : {"unused", "optional", "required"}
        Whether the solver replaces the kernel matrix by a factor LLᵀ in `approximate`: never, on request, or always.
    options : tuple of str
        Parameters that a solver selected by name takes from the estimator, besides `tol`, `max_iter` and `max_time`.

    Examples
    --------
    >>> from hinge.solvers import InteriorPoint, WorkingSet
    >>> InteriorPoint().capabilities.terms, WorkingSet().capabilities.batch
    (('none', 'diagonal', 'convex'), True)
    """

    tol: Literal["kkt_violation", "relative_gap"]
    terms: tuple[Literal["none", "diagonal", "convex"], ...] = ("none", "diagonal")
    equality_rows: Literal["any", "groups"] = "any"
    kernel: Literal["any", "linear", "pairs"] = "any"
    batch: bool = False
    factor: Literal["unused", "optional", "required"] = "unused"
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """Tolerance and limits, the options of every solver.

    Parameters
    ----------
    tol : float
        Tolerance of the stopping criterion.
    max_iter : int
        Largest number of iterations; −1 for the default of the solver.
    max_time : float or None
        Largest number of seconds.
    """

    tol: float
    max_iter: int = -1
    max_time: float | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError that names the option unless `tol`, `max_iter` and `max_time` are valid."""
        tol, max_iter, max_time = self.tol, self.max_iter, self.max_time
        if not isinstance(tol, Real) or not 0 < float(tol) < np.inf:
            raise ValueError(f"tol={tol!r} must be a positive number")
        if isinstance(max_iter, bool) or not isinstance(max_iter, Integral):
            raise ValueError(f"max_iter={max_iter!r} must be an integer, -1 for no limit")
        if max_time is not None and not (isinstance(max_time, Real) and float(max_time) >= 0):
            raise ValueError(f"max_time={max_time!r} must be None or a number of seconds")

    def started(self, control: RunControl | None) -> RunControl:
        """The control of a run that starts now: `control`, with a deadline not later than `max_time`."""
        if control is None:
            return RunControl(self.max_time)
        return control if self.max_time is None else control.limited_to(self.max_time)


@dataclass(frozen=True, kw_only=True)
class Solver(SolverOptions, ABC):
    """Base class of the solvers of problem (1).

    A subclass is a frozen dataclass of options. It declares its `capabilities` and implements `solve`.

    Examples
    --------
    >>> from hinge.solvers import SMO, Solver
    >>> isinstance(SMO(), Solver), SMO().capabilities.tol
    (True, 'kkt_violation')
    """

    capabilities: ClassVar[Capabilities]

    #: Whether estimators compute the lower bound with the true kernel matrix if the solver replaces it by a factor.
    exact_bound: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, within the limits of `control`."""

    def solve_batch(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None = None, control: RunControl | None = None
    ) -> list[Solution]:
        """Solve problems one after the other; `max_time` is the limit of all of them together.

        Each has a share of the time that corresponds to the square of its size.

        If one of them is interrupted, the solutions of the following ones are their initial points.
        """
        control = self.started(control)
        solutions: list[Solution] = []
        error: BaseException | None = None
        left = float(sum(problem.size**2 for problem in problems))
        for problem, start in zip(problems, starts or [None] * len(problems), strict=True):
            if error is None:
                remaining, share = control.remaining(), problem.size**2 / left if left > 0 else 1.0
                part = control if remaining is None else control.limited_to(share * remaining)
                solutions.append(self.solve(problem, start, part))
                left -= problem.size**2
                error = solutions[-1].error
            else:
                solutions.append(self._unsolved(problem, start, control, error))
        return solutions

    def _unsolved(self, problem: Problem, start: Start, control: RunControl, error: BaseException) -> Solution:
        """The initial point of a problem that was not solved because of the exception `error`."""
        unsolved = self.solve(problem, start, control.without_callback().limited_to(0.0))
        return replace(unsolved, status=Status.INTERRUPTED, error=error)

    def approximate(self, access: Any, control: RunControl | None = None) -> Any:
        """The kernel access that the solver uses instead of `access`, such as a factor LLᵀ (`capabilities.factor`)."""
        return access

    def without_polishing(self) -> Self:
        """This solver without an exact solution of the active-set equations, for intermediate results."""
        return self

    def stages(self) -> list[Self]:
        """The solvers of the rounds in which estimators refine a factor. By default there is one round."""
        return [self]

    def check(self, problem: Problem) -> None:
        """Raise a ValueError that states the reason and the remedy if the solver does not accept `problem`."""
        accepted = self.capabilities
        term = "none" if problem.term is None else "diagonal" if isinstance(problem.term, Diagonal) else "convex"
        if term not in accepted.terms:
            raise ValueError(f"{type(self).__name__} {_TERM_ERRORS[term]}")


_TERM_ERRORS = {
    "none": "needs a smooth loss, such as 'squared_hinge' or 'logistic'; use solver='auto' for this loss",
    "diagonal": "does not accept a squared loss; use solver='auto' for this loss",
    "convex": (
        "needs a loss whose conjugate is linear or quadratic, such as 'hinge', 'squared_hinge' or 'huber'; use "
        "solver='interior_point' or 'auto' for this loss"
    ),
}


# ---- solvers by name ------------------------------------------------------------------------------------------------

class SolverNames(UserDict[str, Any]):
    """Solvers by name. A solver that is given by the name of its module is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[Solver]:
        """Return the class of a solver."""
        if isinstance(self.data[name], str):
            import_module(f"hinge.solvers.{self.data[name]}")  # which registers the class
        solver: type[Solver] = self.data[name]
        return solver


#: The values of the parameter `solver` of estimators.
SOLVERS = SolverNames(
    {
        "adatron": "textbook.adatron",
        "auto": "auto",
        "chunking": "decomposition.chunking",
        "coordinate_descent": "linear.coordinate_descent",
        "gradient_descent": "textbook.gradient_descent",
        "interior_point": "interior_point.dense",
        "lagrangian": "textbook.lagrangian",
        "low_rank_interior_point": "interior_point.low_rank",
        "newton": "textbook.newton",
        "smo": "decomposition.smo",
        "working_set": "decomposition.working_set",
    }
)

SolverType = TypeVar("SolverType", bound=type[Solver])


def register(name: str) -> Callable[[SolverType], SolverType]:
    """Class decorator: make a solver available by `name`."""

    def decorate(cls: SolverType) -> SolverType:
        SOLVERS[name] = cls
        return cls

    return decorate


def choose(solver: str | Solver, threads: int = 1, **options: Any) -> Solver:
    """Return the solver with this name, with the options of an estimator; an object is returned as it is.

    A solver selected by name takes `tol`, `max_iter`, `max_time` and the options that its capabilities declare. The
    tolerance of an estimator limits the KKT violation. A solver that stops on the relative gap uses the smaller one of
    this tolerance and its own default.

    An object keeps its options. The time limit of the estimator reaches it through the run control.

    Parameters
    ----------
    solver : str or Solver
    threads : int
        Threads, if the solver uses more than one.
    **options
        `tol`, `max_iter`, `max_time`, `cache_size` and `shrinking`; those that the solver does not have are ignored.

    Examples
    --------
    >>> from hinge.solvers import choose
    >>> choose("smo", tol=1e-4).tol, choose("interior_point", tol=1e-4).tol, choose("interior_point", tol=1e-12).tol
    (0.0001, 1e-10, 1e-12)
    """
    if isinstance(solver, Solver):
        return solver
    names = ", ".join(map(repr, sorted(SOLVERS)))
    if not isinstance(solver, str):
        raise TypeError(f"solver={solver!r} must be one of {names} or an object of hinge.solvers")
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {names} or an object of hinge.solvers")
    kind = SOLVERS[solver]
    accepted = ("tol", "max_iter", "max_time", *kind.capabilities.options)
    chosen: dict[str, Any] = {}
    for name, value in {**options, "threads": threads}.items():
        if name in accepted:
            chosen[name] = value
    if "tol" in chosen and kind.capabilities.tol == "relative_gap":
        chosen["tol"] = min(chosen["tol"], kind.tol)
    return kind(**chosen)


def check_threads(threads: Any) -> None:
    """Raise a ValueError unless `threads` is a positive integer."""
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise ValueError(f"threads={threads!r} must be an integer of at least 1")


def stop_status(control: RunControl, snapshot: dict[str, Any] | None = None) -> Status | None:
    """TIME_LIMIT or INTERRUPTED if the deadline has passed or the callback requests a stop; None to continue."""
    if control.expired():
        return Status.TIME_LIMIT
    if snapshot is not None and not control.report(snapshot):
        return Status.INTERRUPTED
    return None


def interrupted_solution(problem: Problem, control: RunControl) -> Solution:
    """The feasible point nearest to zero, for a run that was interrupted before its first iteration."""
    return Solution(
        alpha=nearest_feasible(problem, None),
        mu=np.zeros(len(problem.d)),
        gradient=np.array(problem.p, dtype=np.float64),
        status=Status.INTERRUPTED,
        iterations=0,
        history=History.empty(),
        exact=False,
        error=control.interrupt,
    )
