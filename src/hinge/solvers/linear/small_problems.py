"""Small linear problems: polishing of nonsmooth losses, and the interior-point fallback for slow convergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from hinge.control import RunControl
from hinge.kernels import Linear, open_access
from hinge.problems import (
    Array,
    Bias,
    LinearProblem,
    LinearSolution,
    Problem,
    Status,
    kernel_form,
    kernel_variables,
    linear_optimality,
    optimal_offset,
)
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.interior_point.dense import InteriorPoint
from hinge.solvers.refinement.polishing import polish
from hinge.solvers.refinement.verification import meets_tolerance, relative_gap, with_certificate

#: Problems with more samples and more features than these are not polished: the linear systems of polishing would take
#: longer than the rest of the fit.
MAX_POLISHED_SAMPLES = MAX_POLISHED_FEATURES = 200

#: SMO steps, if polishing fails, before the solution is returned without polishing.
MAX_SMO_STEPS = 20_000

#: Variables closer to a bound than this share of the width of their box are on it when polishing starts.
BOUND_ROUNDING = 1e-9


def polish_linear(problem: LinearProblem, solution: LinearSolution, control: RunControl) -> LinearSolution:
    """Polish the solution of a small problem without squared losses; unchanged if that fails or is interrupted."""
    if problem.X.shape[1] > MAX_POLISHED_FEATURES and problem.n > MAX_POLISHED_SAMPLES:
        return solution
    with single_thread():  # results must be bit-identical for any number of BLAS threads
        polished = _polished(problem, solution, control)
    return polished if polished is not None and polished.gap < solution.gap else solution


def _polished(problem: LinearProblem, solution: LinearSolution, control: RunControl) -> LinearSolution | None:
    X = _dense_features(problem)
    rounding = BOUND_ROUNDING * (problem.upper - problem.lower)
    beta = np.where(solution.beta - problem.lower < rounding, problem.lower, solution.beta)
    beta = np.where(problem.upper - beta < rounding, problem.upper, beta)
    program = kernel_form(problem, open_access(Linear(), X))
    alpha = kernel_variables(program, beta)
    point = polish(program, alpha, program.gradient(alpha), deadline=control.deadline)
    if point is None:  # duplicate samples make α ambiguous; SMO steps lead to a vertex of the solution set
        smo = SMO(tol=1e-10, max_iter=MAX_SMO_STEPS).solve(program, alpha, control.without_callback())
        if not smo.polished:
            return None
        point = smo.alpha, smo.gradient
    return _linear_solution(problem, solution, program, X, *point)


def interior_point_fallback(
    problem: LinearProblem, unfinished: LinearSolution, tol: float, control: RunControl, max_steps: int = -1
) -> LinearSolution:
    """Solve a small problem that descent and Newton's method have not solved, in at most `max_steps` iterations.

    Returns `unfinished`, with the new status, if the interior-point method finds no better point.
    """
    with single_thread():
        X = _dense_features(problem)
        program = kernel_form(problem, open_access(Linear(), X))
        run = InteriorPoint(tol=0.1 * tol, max_iter=max_steps).solve(program, control=control)
        solution = _linear_solution(problem, unfinished, program, X, run.alpha, program.gradient(run.alpha))
    best = solution if relative_gap(solution) < relative_gap(unfinished) else unfinished
    reached_limit = run.status is Status.MAX_ITER and 0 <= max_steps <= run.iterations
    if meets_tolerance(best, tol):
        status = Status.SOLVED
    elif reached_limit or run.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
        status = run.status
    else:
        status = Status.NUMERICAL
    return replace(best, status=status, error=run.error, iterations=unfinished.iterations + run.iterations)


def _dense_features(problem: LinearProblem) -> Array:
    """X as a dense matrix, with a constant feature if the offset is penalized."""
    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    X = X.astype(np.float64)
    return np.hstack([X, np.full((len(X), 1), problem.bias_scale)]) if problem.bias is Bias.PENALIZED else X


def _linear_solution(
    problem: LinearProblem, template: LinearSolution, program: Problem, X: Array, alpha: Array, gradient: Array
) -> LinearSolution:
    """A point of the kernel form as a solution of the linear form, with its certificate."""
    beta = program.Q.coefficients(alpha)
    weights = X.T @ beta
    if problem.bias is Bias.PENALIZED:
        offset, weights = float(weights[-1] * problem.bias_scale), weights[:-1]
    else:
        offset = float(optimal_offset(program, alpha, gradient)[0]) if problem.bias is Bias.FREE else 0.0
    solution = replace(template, weights=weights, offset=offset, beta=beta)
    return with_certificate(solution, linear_optimality(problem, weights, offset, beta))
