"""Coordinate descent, Parzen windows, smooth losses and the problems of LwK chapter 10."""

import independent
import numpy as np
from independent import EPSILON, GAMMA, TOL, C, kernel, midpoint, relative
from scipy.optimize import minimize
from scipy.special import expit

import hinge
from hinge.kernels import RBF
from hinge.losses import HuberizedHinge, Logistic, ModifiedHuber, SmoothedHinge, SquaredHinge
from hinge.lowrank import SGMA, expand_values
from hinge.solvers import CoordinateDescent, InteriorPoint, Lagrangian, Newton
from items.regularizers import factors

#: Losses of the margin m, and their derivatives, as printed in the papers.
LOSSES = {
    "squared hinge (5.3)": (SquaredHinge(), lambda m: np.maximum(0, 1 - m) ** 2, lambda m: -2 * np.maximum(0, 1 - m)),
    "modified Huber (5.4)": (
        ModifiedHuber(),
        lambda m: np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2),
        lambda m: np.where(m < -1, -4.0, -2 * np.maximum(0, 1 - m)),
    ),
    "smoothed hinge (5.5)": (
        SmoothedHinge(0.2),
        lambda m: np.where(m > 1.2, 0, np.where(m < 0.8, 1 - m, (1.2 - m) ** 2 / 0.8)),
        lambda m: np.where(m > 1.2, 0, np.where(m < 0.8, -1, -(1.2 - m) / 0.4)),
    ),
    "half of (5.6), ρ = 1.2, h = 0.5": (
        HuberizedHinge(1.2, 0.5),
        lambda m: np.where(m > 1.2, 0, np.where(m < 0.7, 0.5 * (1.2 - m) - 0.125, 0.5 * (1.2 - m) ** 2)),
        lambda m: np.where(m > 1.2, 0, np.where(m < 0.7, -0.5, m - 1.2)),
    ),
    "logistic (Problem 10.8)": (Logistic(), lambda m: np.logaddexp(0, -m), lambda m: -expit(-m)),
}


def risk_minimum(K, y, value, derivative):
    """min ½‖f‖² + C Σ loss(y (f + b)), by BFGS in a factor of K."""
    F = factors(K)[0]

    def objective(v):
        m = y * (F @ v[:-1] + v[-1])
        slope = C * y * derivative(m)
        return 0.5 * v[:-1] @ v[:-1] + C * np.sum(value(m)), np.r_[F.T @ slope + v[:-1], np.sum(slope)]

    start = np.zeros(F.shape[1] + 1)
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).fun


def classification(X, y):
    K, n = kernel(X), len(y)
    linear = independent.quadratic(X @ X.T, y, -np.ones(n), C)[0]
    for order in ("sequential", "fixed_permutation", "permutation", "random"):
        for shrinking in (True, False):
            solver = CoordinateDescent(order=order, shrinking=shrinking, method="descent", tol=TOL, max_iter=1_000_000)
            model = hinge.LinearSVC(loss="hinge", C=C, fit_intercept=False, solver=solver).fit(X, y)
            name = f"descent, {order.replace('_', ' ')}{'' if shrinking else ', no shrinking'}"
            yield name, relative(midpoint(model), linear)
    A, B = X[y > 0], X[y < 0]
    expected = kernel(X, A).mean(axis=1) - kernel(X, B).mean(axis=1) + 0.5 * (kernel(B).mean() - kernel(A).mean())
    yield "ParzenClassifier", relative(hinge.ParzenClassifier(gamma=GAMMA).fit(X, y).decision_function(X), expected)
    for name, (loss, value, derivative) in LOSSES.items():
        model = hinge.SVC(C=C, gamma=GAMMA, loss=loss, tol=TOL).fit(X, y)
        yield f"SVC, {name}", relative(midpoint(model), risk_minimum(K, y, value, derivative))
    logistic = risk_minimum(K, y, *LOSSES["logistic (Problem 10.8)"][1:])
    model = hinge.SVC(C=C, gamma=GAMMA, loss="logistic", solver=InteriorPoint(tol=TOL)).fit(X, y)
    yield "InteriorPoint, Problem 10.9", relative(midpoint(model), logistic)
    model = hinge.SVC(C=C, gamma=GAMMA, loss="logistic", solver=Newton(tol=TOL)).fit(X, y)
    yield "Newton, Problem 10.17", relative(midpoint(model), logistic)
    basis = SGMA(rank=10).fit(RBF(GAMMA), X).basis
    found = expand_values(RBF(GAMMA), X, basis)
    expected = K[:, basis] @ np.linalg.lstsq(K[:, basis], K, rcond=None)[0]
    yield "expand_values, Problem 10.4", relative(K[:, found.basis] @ found.coefficients, expected)


def regression(X, y):
    K, n = kernel(X), len(y)
    model = hinge.SVR(C=C, epsilon=EPSILON, gamma=GAMMA, fit_intercept=False, tol=TOL).fit(X, y)
    signs = np.repeat([1.0, -1.0], n)
    expected = independent.quadratic(K, signs, np.r_[EPSILON - y, EPSILON + y], np.full(2 * n, C))[0]
    yield "SVR without offset, Problem 10.14", relative(midpoint(model), expected)
    solver = Lagrangian(tol=1e-8, max_iter=100_000)
    model = hinge.SVR(C=C, epsilon=EPSILON, gamma=GAMMA, loss="squared_epsilon_insensitive", solver=solver).fit(X, y)
    yield "Lagrangian, Problem 10.16", relative(midpoint(model), squared_tube(K, y))


def squared_tube(K, y):
    """min ½‖f‖² + C Σ max(0, |y − f − b| − ε)², by BFGS."""
    F = factors(K)[0]

    def objective(v):
        r = y - F @ v[:-1] - v[-1]
        excess = np.maximum(0, np.abs(r) - EPSILON)
        slope = -2 * C * np.sign(r) * excess
        return 0.5 * v[:-1] @ v[:-1] + C * np.sum(excess**2), np.r_[F.T @ slope + v[:-1], np.sum(slope)]

    start = np.zeros(F.shape[1] + 1)
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).fun
