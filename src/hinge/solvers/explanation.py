"""Explanation of the choice that ``solver="auto"`` makes.  LwK Fig. 10.1"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from hinge.kernels import available_bytes, cache_bytes
from hinge.problems import Problem
from hinge.solvers.auto import INTERIOR_POINT_TOL, MAX_DENSE_SAMPLES, Auto, is_bounded, needs_interior_point
from hinge.solvers.base import Solver
from hinge.solvers.decomposition.base import MAX_POLISHED_SAMPLES
from hinge.solvers.interior_point.dense import MATRICES_IN_MEMORY
from hinge.solvers.interior_point.rank import (
    MAX_RANK,
    SUBSAMPLE_SIZE,
    estimated_rank,
    is_factorable,
    known_rank,
    steps_before_factor,
)


@dataclass(frozen=True)
class Explanation:
    """The chosen solver and the reasons for the choice.

    Attributes
    ----------
    solver : str
        "interior_point", "low_rank_interior_point", "working_set", or the name of the class of a requested solver.
    reasons : tuple of str
        One sentence for every criterion, in the order in which they are checked.
    n : int
        Samples of the largest problem.
    problems : int
        Number of problems: pairs of classes.
    memory : float
        Megabytes of the kernel matrix in double precision.
    recommended : str
        What the decision tree of LwK Fig. 10.1 recommends for data of this size.
    difference : str
        Why the choice differs from the recommendation; empty if it does not.
    seconds : float or None
        Expected time of `fit`, extrapolated from fits to at most 500 of the samples; None if it was not measured.
    alternative : str
        The estimator to use instead, with the reason; empty without a better one.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> explanation = hinge.solvers.explain(hinge.SVC(), X, y, measure=False)
    >>> explanation.n, explanation.problems, explanation.solver
    (60, 1, 'working_set')
    """

    solver: str
    reasons: tuple[str, ...]
    n: int
    problems: int
    memory: float
    recommended: str = ""
    difference: str = ""
    seconds: float | None = None
    alternative: str = ""

    def __str__(self) -> str:
        lines = [f"solver: {self.solver}", *(f"- {reason}" for reason in self.reasons)]
        if self.recommended:
            lines.append(f"- Fig. 10.1 of Learning with Kernels recommends: {self.recommended}")
        if self.difference:
            lines.append(f"- the choice differs because {self.difference}")
        if self.seconds is not None:
            lines.append(f"- expected time: {self.seconds:.2g} s, extrapolated from fits to few of the samples")
        lines.append(f"- memory of the kernel matrix, if it is stored: {self.memory:.3g} MB in double precision")
        if self.alternative:
            lines.append(f"- use instead: {self.alternative}")
        return "\n".join(lines)


#: Recommendations of the decision tree, LwK Fig. 10.1.
ONLINE, SMALL, SPARSE, LARGE = (
    "stochastic gradient descent", "interior_point", "sparse greedy approximation", "chunking or SMO",
)  # fmt: skip


def recommendation(n: int, *, online: bool = False, few_functions: bool = False) -> str:
    """Return the recommendation of LwK Fig. 10.1 for n samples.

    Parameters
    ----------
    n : int
    online : bool
        Samples arrive one by one.
    few_functions : bool
        The size of the kernel expansion matters.
    """
    if online:
        return ONLINE
    if 8.0 * n * n <= available_bytes():
        return SMALL  # the kernel matrix fits into main memory
    return SPARSE if few_functions else LARGE


def explain_method(
    solver: str, reasons: Sequence[str], n: int, problems: int, difference: str, **criteria: bool
) -> Explanation:
    """Explanation of an estimator with one method; `difference` applies unless the figure recommends the same."""
    recommended = recommendation(n, **criteria)
    same = (recommended, solver) in ((ONLINE, "stochastic_gradient"), (SPARSE, "reduced_basis_newton"))
    return Explanation(solver, tuple(reasons), n, problems, 8e-6 * n * n, recommended, "" if same else difference)


def decide(solver: Solver, problems: Sequence[Problem], started: bool = False) -> Explanation:
    """Return the method that `solver` uses for these problems, and the reasons.

    Parameters
    ----------
    solver : Solver
    problems : sequence of Problem
    started : bool
        Whether an earlier solution is the initial point.
    """
    largest = max(problems, key=lambda problem: problem.Q.n)
    reasons = [f"{len(problems)} problem(s), the largest with {largest.Q.n} samples and {largest.size} variables"]
    if not isinstance(solver, Auto):
        name = type(solver).__name__
        reasons.append(f"{name} was requested")
    elif needs_interior_point(largest):
        name = _explain_convex(largest, reasons)
    else:
        name = _explain_quadratic(solver, largest, started, reasons)
    n, recommended = largest.Q.n, recommendation(largest.Q.n)
    difference = _difference(name, recommended, isinstance(solver, Auto))
    return Explanation(name, tuple(reasons), n, len(problems), 8e-6 * n * n, recommended, difference)


def _difference(name: str, recommended: str, automatic: bool) -> str:
    """Why `name` is used although LwK Fig. 10.1 recommends another method; empty if it is the same."""
    same = {SMALL: ("interior_point", "InteriorPoint"), LARGE: ("working_set", "WorkingSet", "Chunking", "SMO")}
    if name in same[recommended]:
        return ""
    if not automatic:
        return f"{name} was requested"
    if name == "working_set":
        return (
            "working sets need only the kernel rows of relevant samples; small solutions are polished to the same "
            "precision, and the interior-point method is the fallback"
        )
    return "the kernel matrix has low rank, or the loss or the equality rows require an interior-point method"


def _explain_convex(problem: Problem, reasons: list[str]) -> str:
    """The solver of a problem that decomposition methods do not accept; adds to `reasons`."""
    n = problem.Q.n
    if len(problem.A) > 1 and (problem.A != 0).sum(axis=0).max() > 1:
        reasons.append(f"{len(problem.A)} equality rows share variables: only interior-point methods solve it")
    else:
        reasons.append(
            "the conjugate of the loss is not quadratic, or the tube is not constant: only interior-point methods "
            "solve it"
        )
    if n > MAX_DENSE_SAMPLES and is_factorable(problem) and (rank := estimated_rank(problem)) is not None:
        reasons.append(f"{_rank_statement(problem, rank)}: an iteration on its factor costs O(nr²)")
        return "low_rank_interior_point"
    needed, available = MATRICES_IN_MEMORY * 8.0 * n * n, available_bytes()
    fits = "it fits" if needed <= available else "it does not fit, and fit raises an error; use fewer samples"
    reasons.append(f"it needs {needed / 1e6:.0f} MB of {available / 1e6:.0f} MB of free memory: {fits}")
    return "interior_point"


def _explain_quadratic(solver: Auto, problem: Problem, started: bool, reasons: list[str]) -> str:
    """The solver of a quadratic program; adds to `reasons`."""
    n = problem.Q.n
    if problem.term is not None:
        reasons.append("the loss is piecewise quadratic: its curvature is added to the diagonal of the kernel matrix")
    if solver.tol < INTERIOR_POINT_TOL and n <= MAX_DENSE_SAMPLES and is_bounded(problem) and not started:
        reasons.append(
            f"tol={solver.tol:g} is below {INTERIOR_POINT_TOL:g} and n is at most {MAX_DENSE_SAMPLES}: the "
            "interior-point method reaches small tolerances faster"
        )
        return "interior_point"
    if n > MAX_DENSE_SAMPLES:
        reasons.append(f"n is above {MAX_DENSE_SAMPLES}: factorizing the whole kernel matrix takes too long")
    else:
        reasons.append(f"the working-set method reaches tol={solver.tol:g} quickly")
    matrix, cache = 4.0 * n * n, cache_bytes(solver.cache_size)
    use = "each row is computed once" if matrix <= cache else "rows that do not fit are computed again"
    reasons.append(
        f"all kernel rows in single precision take {matrix / 1e6:.0f} MB, the row cache has {cache / 1e6:.0f} MB: {use}"
    )
    if n <= MAX_POLISHED_SAMPLES:
        reasons.append(f"n is at most {MAX_POLISHED_SAMPLES}: the solution is polished")
    if n <= MAX_DENSE_SAMPLES and is_bounded(problem):
        reasons.append("the interior-point method is the fallback if the working-set method converges slowly")
    if n > MAX_DENSE_SAMPLES and problem.term is None and is_factorable(problem) and solver.max_iter < 0:
        rank = estimated_rank(problem)
        if rank is not None:
            steps = int(steps_before_factor(problem))
            reasons.append(
                f"{_rank_statement(problem, rank)}: after {steps} steps the low-rank interior-point method is used"
            )
        else:
            reasons.append(f"the rank of the kernel matrix is above {MAX_RANK} or n / 10: a factor does not help")
    return "working_set"


def _rank_statement(problem: Problem, rank: int) -> str:
    if known_rank(problem) is not None:
        return f"the kernel matrix has at most rank {rank}"
    return f"the kernel matrix of {min(SUBSAMPLE_SIZE, problem.Q.n)} of the samples has rank {rank}"


def explain(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, qid: Any = None, measure: bool = True
) -> Explanation:
    """Return the solver that ``estimator.fit(X, y)`` would use, and the reasons, the expected time and memory.

    The explanation also contains the recommendation of the decision tree in LwK Fig. 10.1, and why the choice differs
    from it. If the choice depends on the rank of the kernel matrix, the rank is computed for 600 samples.

    Parameters
    ----------
    estimator : estimator
        An estimator of hinge, fitted or not. It is not changed.
    X, y, sample_weight, qid
        The arguments of `fit`; `qid` is the query of every sample, for `RankingSVM`.
    measure : bool, default=True
        Whether to measure fits to 250 and 500 of the samples, for at most one second each, to estimate the time.

    Returns
    -------
    Explanation
        `str` of it is the text of the explanation.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> hinge.solvers.explain(hinge.SVC(tol=1e-9), X, y, measure=False).solver
    'interior_point'
    """
    explained = getattr(estimator, "_explain", None)
    if explained is None:
        name = type(estimator).__name__
        raise TypeError(
            f"explain does not support {name}; it supports the estimators of hinge that have a method fit(X, y)"
        )
    options = {} if qid is None else {"qid": qid}
    if options and "qid" not in signature(explained).parameters:
        raise TypeError(f"qid is not supported by {type(estimator).__name__}; only RankingSVM has queries")
    explanation: Explanation = explained(X, y, sample_weight, **options)
    seconds = estimator._expected_seconds(X, y, sample_weight, **options) if measure else None
    return replace(explanation, seconds=seconds, alternative=estimator._alternative(explanation.n))
