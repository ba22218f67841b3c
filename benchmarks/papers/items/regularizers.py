"""Regularizers of LwK Table 10.3, regularization networks and semiparametric models."""

import independent
import numpy as np
from independent import EPSILON, GAMMA, TOL, C, kernel, midpoint, relative
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from hinge.losses import Huber, Logistic
from hinge.solvers import RegularizedRisk, descend

STRENGTH, STEPS, RATE = 2.0, 50, 1e-4

#: "values" needs K⁻¹: γ is doubled until the condition number is at most this, so that the optimum is well determined.
LARGEST_CONDITION = 1e8


def well_conditioned(X):
    """A kernel matrix of distinct samples."""
    gamma = GAMMA
    while np.linalg.cond(K := rbf_kernel(X, gamma=gamma)) > LARGEST_CONDITION and gamma < 1e6:
        gamma *= 2
    return K


def classification(X, y):
    for regularizer in ("values", "rkhs"):
        K = well_conditioned(X) if regularizer == "values" else kernel(X)
        risk = RegularizedRisk(K, y, Logistic(), np.ones(len(y)), regularizer, STRENGTH)
        yield f"logistic loss, {regularizer}", relative(descend(risk, tol=1e-9).value, smooth_risk(K, y, regularizer))
        found = descend(risk, tol=1e-12, max_iter=STEPS, rate=RATE)
        yield f"fixed rate Λ, {regularizer}", relative(K @ found.coefficients, fixed_rate(K, y, regularizer))
    K, functions = kernel(X), np.column_stack([np.ones(len(y)), X])
    model = hinge.SemiparametricSVC(C=C, gamma=GAMMA, tol=TOL).fit(X, y)
    yield "SemiparametricSVC", relative(midpoint(model), independent.classification(K, y, C, functions)[0])


def factors(K):
    """Return F with FFᵀ = K, without directions of numerically zero eigenvalue."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep]), vectors[:, keep]


def smooth_risk(K, y, regularizer):
    """The minimum of the logistic risk in an orthonormal basis of the functions or of their values, by BFGS."""
    scaled, orthonormal = factors(K)
    F = orthonormal if regularizer == "values" else scaled
    weight = STRENGTH if regularizer == "values" else 0.5 * STRENGTH

    def objective(v):
        z = y * (F @ v[:-1] + v[-1])
        slope = -y * expit(-z)
        value = np.sum(np.logaddexp(0, -z)) + weight * v[:-1] @ v[:-1]
        return value, np.r_[F.T @ slope + 2 * weight * v[:-1], np.sum(slope)]

    start = np.zeros(F.shape[1] + 1)
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 5000}).fun


def fixed_rate(K, y, regularizer):
    """Kα after some steps of LwK (10.98) with a fixed rate."""
    alpha, b = np.zeros(len(y)), 0.0
    for _ in range(STEPS):
        f = K @ alpha
        slope = -y * expit(-y * (f + b))
        inner = K @ slope + (STRENGTH * f if regularizer == "rkhs" else 2 * STRENGTH * (K @ f))
        alpha, b = alpha - RATE * inner, b - RATE * np.sum(slope)
    return K @ alpha


def regression(X, y):
    K, n = kernel(X), len(y)
    narrow = well_conditioned(X)
    risk = RegularizedRisk(narrow, y, Huber(0.5), np.ones(n), "values", STRENGTH)
    yield "Huber loss, values", relative(descend(risk, tol=1e-9).value, huber_risk(narrow, y))
    for name, given, D in (("I", "identity", np.eye(n)), ("K", None, K), ("diagonal", np.diag(1 + y**2), None)):
        model = hinge.RegularizationNetwork(C=C, epsilon=EPSILON, gamma=GAMMA, regularizer=given, tol=TOL).fit(X, y)
        inner = K if name == "K" else K @ np.linalg.inv(given if D is None else D) @ K
        yield f"RegularizationNetwork, D = {name}", relative(
            midpoint(model), independent.regression(inner, y, C, EPSILON)[0]
        )
    functions = np.column_stack([np.ones(n), X])
    model = hinge.SemiparametricSVR(C=C, epsilon=EPSILON, gamma=GAMMA, tol=TOL).fit(X, y)
    yield "SemiparametricSVR", relative(midpoint(model), independent.regression(K, y, C, EPSILON, functions)[0])


def huber_risk(K, y):
    """The minimum over the values, by BFGS."""
    F = factors(K)[1]

    def objective(v):
        r = y - F @ v[:-1] - v[-1]
        slope = -np.clip(r / 0.5, -1, 1)
        value = np.sum(np.where(np.abs(r) <= 0.5, r**2, np.abs(r) - 0.25)) + STRENGTH * v[:-1] @ v[:-1]
        return value, np.r_[F.T @ slope + 2 * STRENGTH * v[:-1], np.sum(slope)]

    start = np.zeros(F.shape[1] + 1)
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 5000}).fun
