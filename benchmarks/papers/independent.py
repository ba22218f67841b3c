"""Optima computed without hinge: quadratic programs by Clarabel, linear programs and smooth risks by SciPy."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from reference.qp import solve_with_clarabel

C, GAMMA, EPSILON, TOL = 2.0, 0.2, 0.1, 1e-9


def relative(value, expected):
    """Largest difference, relative to the largest expected value, or absolute if that is below 1."""
    return float(np.max(np.abs(np.asarray(value) - expected)) / max(1.0, np.max(np.abs(expected))))


def midpoint(model):
    """The mean of the certified bounds of a model."""
    return 0.5 * (model.certificate_.primal + model.certificate_.dual)


def kernel(X, Z=None):
    """exp(−γ‖x − z‖²), by scikit-learn."""
    return rbf_kernel(X, Z, gamma=GAMMA)


def columns(value, n):
    """Return a number, a pair, (n,) or (n, 2) values as the columns (above, below)."""
    value = np.asarray(value, dtype=float)
    return np.broadcast_to(value if value.shape in ((2,), (n, 2)) else value.reshape(-1, 1), (n, 2)).T


def quadratic(K, signs, linear, upper, rows=(), totals=None):
    """Return (optimum, β) of max −½βᵀKβ − linear·α over 0 ≤ α ≤ upper, rows α = totals; β is Σ signs α per sample."""
    n, size = len(K), len(signs)
    fold = np.zeros((n, size))
    fold[np.arange(size) % n, np.arange(size)] = signs
    A = np.reshape(np.array(rows, dtype=float), (-1, size))
    totals = np.zeros(len(A)) if totals is None else np.array(totals)
    found = solve_with_clarabel(K, linear, A, totals, np.zeros(size), np.broadcast_to(upper, size), fold=fold)
    return -found.value, fold @ found.x


def classification(K, y, cost, functions=None, margin=1.0):
    """Return (optimum, β) of the C-SVM with unpenalized functions; an offset by default."""
    functions = np.ones((len(y), 1)) if functions is None else functions
    return quadratic(K, y, -np.broadcast_to(margin, len(y)), cost, [y * f for f in functions.T])


def regression(K, y, costs, tubes, functions=None):
    """Return (optimum, β) of ε-regression with unpenalized functions; an offset by default."""
    n = len(y)
    functions = np.ones((n, 1)) if functions is None else functions
    (above, below), (wide, narrow) = columns(costs, n), columns(tubes, n)
    signs, rows = np.repeat([1.0, -1.0], n), [np.r_[f, -f] for f in functions.T]
    return quadratic(K, signs, np.r_[wide - y, narrow + y], np.r_[above, below], rows)


def regression_function(K, y, costs, tubes, K_new=None):
    """Return f of ε-regression at the samples, or at others; the offset minimizes the losses."""
    _, beta = regression(K, y, costs, tubes)
    (above, below), (wide, narrow) = columns(costs, len(y)), columns(tubes, len(y))
    f = K @ beta

    def losses(b):
        r = y - f - b
        return above @ np.maximum(0, r - wide) + below @ np.maximum(0, -r - narrow)

    kinks = np.r_[y - f - wide, y - f + narrow]
    values = np.array([losses(b) for b in kinks])
    best = kinks[values <= values.min() + 1e-7 * (1 + abs(values.min()))]
    offset = 0.5 * (best.min() + best.max())
    return (f if K_new is None else K_new @ beta) + offset


def one_class(K, weight, nu):
    """Return (optimum, f without offset) of the one-class problem: Σα = ν Σ weight, 0 ≤ α ≤ weight."""
    n = len(K)
    value, alpha = quadratic(K, np.ones(n), np.zeros(n), weight, [np.ones(n)], [nu * np.sum(weight)])
    return value, K @ alpha


def nu_classification(K, y, nu, upper=None):
    """Return the optimum of ν-SVC: yᵀα = 0, Σα = ν n, 0 ≤ α ≤ 1."""
    n = len(y)
    upper = np.ones(n) if upper is None else upper
    return quadratic(K, y, np.zeros(n), upper, [y, np.ones(n)], [0.0, nu * np.sum(upper)])


def nu_regression(K, y, nu, cost):
    """Return (optimum, β) of ν-SVR: Σ(α − α*) = 0, Σ(α + α*) = C ν n."""
    n = len(y)
    signs = np.repeat([1.0, -1.0], n)
    return quadratic(K, signs, np.r_[-y, y], np.full(2 * n, cost), [signs, np.ones(2 * n)], [0.0, cost * nu * n])
