"""Small linear machines: those with kinked losses to rounding, and those on which descent and Newton's method creep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from hinge.control import RunControl
from hinge.kernels import Linear, open_access
from hinge.problems import (
    Array,
    Bias,
    Diagonal,
    LinearProblem,
    LinearSolution,
    Problem,
    Quadratic,
    Status,
    certify_linear,
    optimal_offset,
)
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.interior_point.dense import InteriorPoint
from hinge.solvers.refinement.polish import polish
from hinge.solvers.refinement.verify_linear import is_proven, relative_gap, with_proof

#: Up to this many samples.
POLISHED_N = 1000

#: With more features than that, only up to so many: systems of a thousand unknowns take longer than all the rest.
POLISHED_FEATURES = POLISHED_WIDE_N = 200

#: Steps of sequential minimal optimisation where the linear system is no help.
PAIR_STEPS = 20_000


def polish_linear(problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
    """The same solution to rounding where its active set is right; as it was where it is not."""
    wide = problem.X.shape[1] > POLISHED_FEATURES and problem.n > POLISHED_WIDE_N
    if wide or not is_small(problem) or np.any(problem.ridge > 0):  # squared losses: Newton's method ends there itself
        return solution
    with single_thread():  # all of it: bits are not to depend on how many threads BLAS has
        found = _polished(problem, solution)
    return found if found is not None and found.gap < solution.gap else solution


def _polished(problem: LinearProblem, solution: LinearSolution) -> LinearSolution | None:
    X = _dense(problem)
    near = 1e-9 * (problem.upper - problem.lower)
    beta = np.where(solution.beta - problem.lower < near, problem.lower, solution.beta)
    beta = np.where(problem.upper - beta < near, problem.upper, beta)
    qp, alpha = _as_quadratic(problem, X, beta)
    better = polish(qp, alpha, qp.gradient(alpha))
    if better is None:  # duplicates: their shares are not unique, and pairs of them find a corner
        by_pairs = SMO(tol=1e-10, max_iter=PAIR_STEPS).solve(qp, alpha)
        if not by_pairs.polished:
            return None
        better = by_pairs.alpha, by_pairs.gradient
    return _at(problem, solution, qp, X, *better)


def by_interior_point(
    problem: LinearProblem,
    crept: LinearSolution,
    tol: float,
    control: RunControl,
    most: int = -1,
) -> LinearSolution:
    """A small machine on which descent and Newton's method creep: the interior point method of (1), `most` steps of it.

    `crept` itself where that is no better.
    """
    with single_thread():
        qp, _ = _as_quadratic(problem, X := _dense(problem), crept.beta)
        run = InteriorPoint(tol=0.1 * tol, max_iter=most).solve(qp, control=control)
        found = _at(problem, crept, qp, X, run.alpha, qp.gradient(run.alpha))
    better = found if relative_gap(found) < relative_gap(crept) else crept
    spent = run.status is Status.MAX_ITER and 0 <= most <= run.iterations
    if is_proven(better, tol):
        status = Status.SOLVED
    elif spent or run.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
        status = run.status
    else:  # what it has not found, rounding hides
        status = Status.NUMERICAL
    return replace(better, status=status, error=run.error, iterations=crept.iterations + run.iterations)


def is_small(problem: LinearProblem) -> bool:
    """Few enough samples for a dense matrix."""
    return bool(problem.n <= POLISHED_N and problem.X.shape[1] <= 4 * POLISHED_N)


def _dense(problem: LinearProblem) -> Array:
    """X, with a constant feature where the offset is penalised."""
    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    X = X.astype(np.float64)
    return np.hstack([X, np.full((len(X), 1), problem.bias_scale)]) if problem.bias is Bias.PENALISED else X


def _at(
    problem: LinearProblem, solution: LinearSolution, qp: Problem, X: Array, alpha: Array, gradient: Array
) -> LinearSolution:
    """A point of problem (1) as one of the machine, with its certificate."""
    beta = qp.Q.coefficients(alpha)
    weights = X.T @ beta
    if problem.bias is Bias.PENALISED:
        offset, weights = float(weights[-1] * problem.bias_scale), weights[:-1]
    else:
        offset = float(optimal_offset(qp, alpha, gradient)[0]) if problem.bias is Bias.FREE else 0.0
    found = replace(solution, weights=weights, offset=offset, beta=beta)
    return with_proof(found, certify_linear(problem, weights, offset, beta))


def _as_quadratic(problem: LinearProblem, X: Array, beta: Array) -> tuple[Problem, Array]:
    """Problem (1) of the machine; a tube needs two slots."""
    n, access = problem.n, open_access(Linear(), X)
    slots = 2 if problem.tube > 0 else 1
    sign = np.repeat([1.0, -1.0][:slots], n)
    rows = sign[None, :] if problem.bias is Bias.FREE else np.empty((0, slots * n))
    d = np.array([problem.total] if problem.bias is Bias.FREE else [])
    term = Diagonal(np.tile(problem.ridge, slots)) if np.any(problem.ridge > 0) else None
    if slots == 1:
        qp = Problem(Quadratic(access, sign), -problem.target, rows, d, problem.lower, problem.upper, term)
        return qp, beta
    p = np.concatenate([problem.tube - problem.target, problem.tube + problem.target])
    upper = np.concatenate([problem.upper, -problem.lower])
    qp = Problem(Quadratic(access, sign), p, rows, d, np.zeros(2 * n), upper, term)
    return qp, np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
