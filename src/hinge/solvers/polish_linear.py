"""Small linear machines with kinked losses, solved to rounding: the optimality conditions as a linear system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Linear, open_access
from hinge.problems import (
    Array,
    Bias,
    LinearProblem,
    LinearSolution,
    Problem,
    Quadratic,
    certify_linear,
    optimal_offset,
)
from hinge.solvers.polish import polish
from hinge.solvers.single_thread import single_thread
from hinge.solvers.smo import SMO

#: Up to this many samples.
POLISHED_N = 1000

#: Steps of sequential minimal optimisation where the linear system is no help.
PAIR_STEPS = 20_000


def polish_linear(problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
    """The same solution to rounding where its active set is right; as it was where it is not."""
    if problem.n > POLISHED_N or np.any(problem.ridge > 0) or problem.X.shape[1] > 4 * POLISHED_N:
        return solution
    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    X = X.astype(np.float64)
    if problem.bias is Bias.PENALISED:
        X = np.hstack([X, np.full((len(X), 1), problem.bias_scale)])
    near = 1e-9 * (problem.upper - problem.lower)
    beta = np.where(solution.beta - problem.lower < near, problem.lower, solution.beta)
    beta = np.where(problem.upper - beta < near, problem.upper, beta)
    qp, alpha = _as_quadratic(problem, X, beta)
    with single_thread():
        better = polish(qp, alpha, qp.gradient(alpha))
    if better is None:  # duplicates: their shares are not unique, and pairs of them find a corner
        by_pairs = SMO(tol=1e-10, max_iter=PAIR_STEPS).solve(qp, alpha)
        if not by_pairs.polished:
            return solution
        better = by_pairs.alpha, by_pairs.gradient
    beta = qp.Q.coefficients(better[0])
    weights = X.T @ beta
    if problem.bias is Bias.PENALISED:
        offset, weights = float(weights[-1] * problem.bias_scale), weights[:-1]
    else:
        offset = float(optimal_offset(qp, *better)[0]) if problem.bias is Bias.FREE else 0.0
    found = certify_linear(problem, weights, offset, beta)
    if not found.gap < solution.gap:
        return solution
    return replace(
        solution,
        weights=weights,
        offset=offset,
        beta=beta,
        primal=found.primal,
        dual=found.dual,
        gap=found.gap,
        violation=found.kkt_violation,
    )


def _as_quadratic(problem: LinearProblem, X: Array, beta: Array) -> tuple[Problem, Array]:
    """Problem (1) of the machine; a tube needs two slots."""
    n, access = problem.n, open_access(Linear(), X)
    slots = 2 if problem.tube > 0 else 1
    sign = np.repeat([1.0, -1.0][:slots], n)
    rows = sign[None, :] if problem.bias is Bias.FREE else np.empty((0, slots * n))
    d = np.array([problem.total] if problem.bias is Bias.FREE else [])
    if slots == 1:
        qp = Problem(Quadratic(access, sign), -problem.target, rows, d, problem.lower, problem.upper)
        return qp, beta
    p = np.concatenate([problem.tube - problem.target, problem.tube + problem.target])
    upper = np.concatenate([problem.upper, -problem.lower])
    qp = Problem(Quadratic(access, sign), p, rows, d, np.zeros(2 * n), upper)
    return qp, np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
