"""Which solver `solver="auto"` takes, and why: the decision tree of LwK Fig. 10.1, made real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hinge.kernels import available_bytes, cache_bytes
from hinge.problems import Problem
from hinge.solvers.auto import DENSE_N, PRECISE_TOL, Auto, has_solution, needs_interior
from hinge.solvers.decomposition.smo import POLISHED_N
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
    """What was chosen, and the facts it rests on.

    Attributes
    ----------
    solver : str
        "interior_point", "low_rank_interior_point", "working_set", or the name of a solver that was asked for.
    reasons : tuple of str
        One sentence for every question of the tree, in its order.
    n : int
        Samples of the largest problem.
    problems : int
        Problems to solve: pairs of classes.
    memory : float
        Megabytes of the kernel matrix in double precision.
    """

    solver: str
    reasons: tuple[str, ...]
    n: int
    problems: int
    memory: float

    def __str__(self) -> str:
        return "\n".join([f"solver: {self.solver}", *(f"- {reason}" for reason in self.reasons)])


def decide(solver: Any, problems: Sequence[Problem], started: bool = False) -> Explanation:
    """The branch of the tree that `solver` takes for these problems; `started`: from an earlier solution."""
    problem = max(problems, key=lambda each: each.Q.n)
    n = problem.Q.n
    facts = [f"{len(problems)} problem(s), the largest with {n} samples and {problem.size} variables"]
    if not isinstance(solver, Auto):
        name = type(solver).__name__
        return _done(name, [*facts, f"{name} was asked for"], problems)
    if needs_interior(problem):
        facts.append(
            "the loss has a conjugate that is not quadratic, or the tube a shape of its own: interior point it is"
        )
        if n > DENSE_N and is_factorable(problem) and (rank := estimated_rank(problem)) is not None:
            facts.append(f"{_rank_of(problem, rank)}: it works on the factor, O(nr²) an iteration")
            return _done("low_rank_interior_point", facts, problems)
        needed, there = MATRICES_IN_MEMORY * 8.0 * n * n, available_bytes()
        room = "fits" if needed <= there else "does not fit: fit will say so, use fewer samples or a quadratic loss"
        facts.append(f"that needs {needed / 1e6:.0f} MB of {there / 1e6:.0f} MB that are free: it {room}")
        return _done("interior_point", facts, problems)
    if problem.term is not None:
        facts.append("the loss is quadratic somewhere: a diagonal is added to the kernel matrix, and boxes remain")
    if solver.tol < PRECISE_TOL and n <= DENSE_N and has_solution(problem) and not started:
        facts.append(f"tol={solver.tol:g} is below {PRECISE_TOL:g}, and n at most {DENSE_N}: n³ steps are affordable")
        return _done("interior_point", facts, problems)
    if n > DENSE_N:
        facts.append(f"n is above {DENSE_N}: methods that factorise the whole matrix are too slow")
    else:
        facts.append(f"tol={solver.tol:g} asks for no more than working sets give quickly")
    matrix, cache = 4.0 * n * n, cache_bytes(solver.cache_size)
    facts.append(
        f"all kernel rows in single precision take {matrix / 1e6:.0f} MB of a budget of {cache / 1e6:.0f} MB: "
        + ("they are computed once" if matrix <= cache else "rows are computed again when they are needed again")
    )
    if n <= POLISHED_N:
        facts.append(f"n is at most {POLISHED_N}: the answer is polished to rounding")
    if n <= DENSE_N and has_solution(problem):
        facts.append("if working sets creep (bad scaling, large C), interior point takes over")
    if n > DENSE_N and problem.term is None and is_factorable(problem) and solver.max_iter < 0:
        rank = estimated_rank(problem)
        if rank is not None:
            steps = int(steps_before_factor(problem))
            facts.append(f"{_rank_of(problem, rank)}: after {steps} steps interior point on its factor takes over")
        else:
            facts.append(
                f"the rank of the kernel matrix is above {MAX_RANK}, or above a tenth of n: a factor would not help"
            )
    return _done("working_set", facts, problems)


def _rank_of(problem: Problem, rank: int) -> str:
    if known_rank(problem) is not None:
        return f"the kernel matrix has rank {rank} at most"
    return f"the kernel matrix of {min(SUBSAMPLE_SIZE, problem.Q.n)} of the samples has rank {rank}"


def _done(name: str, facts: list[str], problems: Sequence[Problem]) -> Explanation:
    n = max(problem.Q.n for problem in problems)
    return Explanation(name, tuple(facts), n, len(problems), 8e-6 * n * n)


def explain(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Explanation:
    """What ``estimator.fit(X, y)`` would solve with, and why.

    Nothing is fitted; where the rank of the kernel matrix decides, it is computed for 600 samples.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Not fitted, or fitted: it does not matter.
    X, y, sample_weight
        What `fit` would be given.

    Returns
    -------
    Explanation
        Its text is the answer; its attributes are the facts.
    """
    told = getattr(estimator, "_explain", None)
    if told is None:
        name = type(estimator).__name__
        raise TypeError(f"{name} has no choice of solvers; explain takes SVC, NuSVC, SVR, NuSVR and OneClassSVM")
    found: Explanation = told(X, y, sample_weight)
    return found
