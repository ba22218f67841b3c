"""Optimal values of linear problems by clarabel: the primal with explicit slacks."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def optimum(problem):
    """Primal value at the solution of clarabel, an upper bound of the optimal value."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else np.asarray(problem.X)
    n, d = X.shape
    up, down = problem.upper > 0, problem.lower < 0  # sides of the target on which errors have a cost
    bias = problem.bias.name != "NONE"
    f = sparse.csr_matrix(np.c_[X.astype(np.float64), np.ones(n) if bias else np.zeros(n)])
    slack = sparse.identity(n, format="csr")
    empty = sparse.csr_matrix((n, n))
    # −f − ξ ≤ ε − t and f − ξ* ≤ ε + t; ξ, ξ* ≥ 0 is needed only if they are not squared
    squared = bool(np.all(problem.ridge > 0))
    rows = [sparse.hstack([-f, -slack, empty], format="csr")[up]]
    rows.append(sparse.hstack([f, empty, -slack], format="csr")[down])
    sides = np.r_[(problem.tube - problem.target)[up], (problem.tube + problem.target)[down]]
    if not squared:
        rows.append(sparse.hstack([sparse.csr_matrix((2 * n, d + 1)), -sparse.identity(2 * n)]))
        sides = np.r_[sides, np.zeros(2 * n)]
    rows = sparse.vstack(rows, format="csc")
    costs = np.zeros(2 * n) if squared else np.r_[np.where(up, problem.upper, 1), np.where(down, -problem.lower, 1)]
    curvature = np.tile(1 / problem.ridge, 2) if squared else np.zeros(2 * n)
    bias_penalty = problem.bias_scale**-2 if problem.bias.name == "PENALIZED" else 0.0
    quadratic = sparse.diags(np.r_[np.ones(d), bias_penalty, curvature], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    linear = np.r_[np.zeros(d), problem.total, costs]
    cone = [clarabel.NonnegativeConeT(len(sides))]
    solution = np.asarray(clarabel.DefaultSolver(quadratic, linear, rows, sides, cone, settings).solve().x)
    return primal_value(problem, solution[:d], solution[d] if bias else 0.0)


def primal_value(problem, w, b):
    """½‖w‖² + ½b²/B² + d b + Σ losses, with the textbook formulas of the losses."""
    f = np.asarray(problem.X @ w).ravel() + b
    above = np.where(problem.upper > 0, np.maximum(0.0, problem.target - f - problem.tube), 0.0)
    below = np.where(problem.lower < 0, np.maximum(0.0, f - problem.target - problem.tube), 0.0)
    if np.all(problem.ridge > 0):
        losses = 0.5 * (above**2 + below**2) / problem.ridge
    else:
        losses = problem.upper * above - problem.lower * below
    bias_penalty = 0.5 * (b / problem.bias_scale) ** 2 if problem.bias.name == "PENALIZED" else 0.0
    return 0.5 * w @ w + bias_penalty + problem.total * b + losses.sum()


def crammer_singer_optimum(problem):
    """Primal value of the Crammer–Singer problem at the solution of clarabel."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else np.asarray(problem.X, dtype=np.float64)
    n, d = X.shape
    k, bias = problem.classes, problem.bias.name != "NONE"
    f = np.c_[X, np.full(n, float(bias))]
    rows, sides = [], []
    for i in range(n):  # e + f^m − f^y − ξ ≤ 0 for every class m; for m = y this is ξ ≥ 0
        for m in range(k):
            row = np.zeros((k, d + 1))
            row[m] += f[i]
            row[problem.label[i]] -= f[i]
            slack = np.zeros(n)
            slack[i] = -1.0
            rows.append(np.r_[row.ravel(), slack])
            sides.append(-float(m != problem.label[i]))
    bias_penalty = problem.bias_scale**-2 if problem.bias.name == "PENALIZED" else 0.0
    quadratic = sparse.diags(np.r_[np.tile(np.r_[np.ones(d), bias_penalty], k), np.zeros(n)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    linear = np.r_[np.zeros(k * (d + 1)), problem.cost]
    cone = [clarabel.NonnegativeConeT(len(sides))]
    matrix = sparse.csc_matrix(np.array(rows))
    solution = np.asarray(clarabel.DefaultSolver(quadratic, linear, matrix, np.array(sides), cone, settings).solve().x)
    w = solution[: k * (d + 1)].reshape(k, d + 1)
    values = f @ w.T
    errors = values + 1.0 - values[np.arange(n), problem.label][:, None]
    errors[np.arange(n), problem.label] = 0.0
    return 0.5 * np.sum(w[:, :d] ** 2) + 0.5 * bias_penalty * np.sum(w[:, d] ** 2) + problem.cost @ errors.max(axis=1)
