"""Further paths and updates: linear programs, weighted lasso, one class, margins and tubes."""

import warnings

import independent
import numpy as np
from independent import EPSILON, GAMMA, TOL, C, kernel, relative
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import hinge
from hinge.recipes import noise_tube
from items.asymmetric import midpoint_at
from reference.qp import solve_with_clarabel

NU, LAM, DELTA = 0.3, 2.0, 0.1


def classification(X, y):
    K, n = kernel(X), len(y)
    path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=GAMMA)
    yield "regularization_path", relative(midpoint_at(path, C), independent.classification(K, y, C)[0])
    rng = np.random.default_rng(0)
    start, end, margins = rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n), rng.uniform(0.2, 1.5, n)
    path = hinge.weight_path(X, y, start, end, C=C, margin_end=margins, gamma=GAMMA)
    expected = independent.classification(K, y, C * 0.5 * (start + end), margin=0.5 * (1 + margins))[0]
    yield "weight_path with margins δᵢ", relative(midpoint_at(path, 0.5), expected)
    path = hinge.regularization_path(X, None, C_min=2 / n, C_max=1.0, task="one_class", gamma=GAMMA)
    cost = 5.0 / n  # the dual of ½‖w‖² − ρ + cost Σξ: Σα = 1, 0 ≤ α ≤ cost
    yield "regularization_path, one class", relative(
        midpoint_at(path, cost), independent.one_class(K, np.full(n, cost), 1 / (n * cost))[0]
    )
    path = hinge.weight_path(X, None, start, end, task="one_class", nu=NU, gamma=GAMMA)
    expected = independent.one_class(K, 0.5 * (start + end), NU)[0]
    yield "weight_path, one class", relative(midpoint_at(path, 0.5), expected)
    model = hinge.IncrementalOneClassSVM(nu=NU, gamma=GAMMA).fit(X[::2]).partial_fit(X[1::2])
    yield "IncrementalOneClassSVM, added", relative(bounds_of(model), independent.one_class(K, np.ones(n), NU)[0])
    model.forget(range(10))
    rows = np.r_[np.arange(0, n, 2), np.arange(1, n, 2)][10:]
    expected = independent.one_class(K[np.ix_(rows, rows)], np.ones(n - 10), NU)[0]
    yield "IncrementalOneClassSVM, removed", relative(bounds_of(model), expected)
    model.reweight(start[: n - 10])
    expected = independent.one_class(K[np.ix_(rows, rows)], start[: n - 10], NU)[0]
    yield "IncrementalOneClassSVM, reweighted", relative(bounds_of(model), expected)
    model = hinge.IncrementalSVC(C=C, gamma=GAMMA).fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    yield "IncrementalSVC", relative(bounds_of(model), independent.classification(K, y, C)[0])
    lp = hinge.lp_path(X, y, C_min=0.5, C_max=10.0, gamma=GAMMA)
    yield "lp_path", relative(risk_of_lp(lp, K, y), linear_program(K * y[:, None], y, np.ones(n)))


def bounds_of(model):
    """The mean of the certified bounds, recomputed from the training samples."""
    return 0.5 * (model.certificate_.primal + model.certificate_.dual)


def risk_of_lp(path, K, y):
    a = np.ravel(path.coefficients(C))
    return np.sum(np.abs(a)) + C * np.sum(np.maximum(0, 1 - y * (K @ a + path.intercept(C))))


def linear_program(design, offsets, target):
    """min Σ|a| + C Σ max(0, target − design a − offsets b), by SciPy (HiGHS)."""
    rows, n = design.shape
    cost = np.r_[np.ones(2 * n), 0.0, np.full(rows, C)]
    A = np.hstack([-design, design, -np.reshape(offsets, (-1, 1)), -np.eye(rows)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * rows
    return linprog(cost, A_ub=A, b_ub=-target, bounds=bounds, method="highs").fun


def lasso(X, y, penalty):
    """The w of min ½‖y − Xw‖² + Σ penaltyⱼ|wⱼ|, by Clarabel in the parts of both signs."""
    d = X.shape[1]
    signs = np.repeat([1.0, -1.0], d)
    fold = np.zeros((d, 2 * d))
    fold[np.arange(2 * d) % d, np.arange(2 * d)] = signs
    found = solve_with_clarabel(
        X.T @ X, np.r_[penalty, penalty] - signs * np.tile(X.T @ y, 2), np.zeros((0, 2 * d)), np.zeros(0),
        np.zeros(2 * d), np.full(2 * d, 1e3), fold=fold,
    )  # fmt: skip
    return fold @ found.x


def regression(X, y):
    K, n, d = kernel(X), len(y), X.shape[1]
    lp = hinge.lp_path(X, y, C_min=0.5, C_max=10.0, gamma=GAMMA, epsilon=EPSILON, task="regression")
    a = np.ravel(lp.coefficients(C))
    risk = np.sum(np.abs(a)) + C * np.sum(np.maximum(0, np.abs(y - K @ a - lp.intercept(C)) - EPSILON))
    expected = linear_program_regression(K, y)
    yield "lp_path", relative(risk, expected)
    model = hinge.LPSVR(C=C, epsilon=EPSILON, gamma=GAMMA).fit(X, y)
    yield "LPSVR, bounds of Problem 10.1", relative(bounds_of(model), expected)
    v = np.random.default_rng(1).uniform(0.5, 2.0, d)
    w = hinge.lasso_path(X, y, weights=v, lam_min=0.1).coef(LAM)
    yield "lasso_path, weighted", relative(X @ w, X @ lasso(X, y, LAM * v))
    w = hinge.lasso_weight_path(X, y, np.ones(d), v, lam=LAM).coef(0.5)
    yield "lasso_weight_path", relative(X @ w, X @ lasso(X, y, LAM * 0.5 * (1 + v)))
    found = hinge.reweighted_lasso(X, y, lam=LAM, delta=DELTA, max_updates=200)
    w = lasso(X, y, np.full(d, LAM))
    for _ in found.changes:
        w = lasso(X, y, LAM / (np.abs(w) + DELTA))
    yield "reweighted_lasso", relative(X @ found.coef, X @ w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # two updates of the widths do not converge
        tube = noise_tube(hinge.SVR(C=C, gamma=GAMMA, tol=TOL), X, y, max_updates=2)
    yield "noise_tube, widths", relative(tube.epsilon, noise_widths(K, y, len(tube.changes) + 1))
    yield "noise_tube, fit", relative(bounds_of(tube.model), independent.regression(K, y, C, tube.epsilon)[0])
    start, end = np.full(n, 0.3), np.random.default_rng(2).uniform(0, 0.3, n)
    path = hinge.weight_path(X, y, 1.0, 1.0, C=C, epsilon=start, epsilon_end=end, task="regression", gamma=GAMMA)
    expected = independent.regression(K, y, C, 0.5 * (start + end))[0]
    yield "weight_path with widths εᵢ", relative(midpoint_at(path, 0.5), expected)


def noise_widths(K, y, rounds):
    """The widths after some regressions of log|e| on the samples; e are residuals of five folds."""
    n, widths = len(y), np.full(len(y), EPSILON)
    best = minimize_scalar(lambda e: norm.sf(e) / norm.pdf(e) ** 2, bounds=(0.01, 3.0), method="bounded",
                           options={"xatol": 1e-12}).x  # fmt: skip
    mean_log = -0.5 * (np.euler_gamma + np.log(2))  # of |ξ| with a normal ξ
    for _ in range(rounds):
        e = np.empty(n)
        for train, test in KFold(5, shuffle=True, random_state=0).split(K):
            inner, outer = K[np.ix_(train, train)], K[np.ix_(test, train)]
            e[test] = y[test] - independent.regression_function(inner, y[train], C, widths[train], outer)
        logs = np.log(np.maximum(np.abs(e), 1e-3 * np.sqrt(np.mean(e**2))))
        system = np.block([[K + np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        found = np.linalg.solve(system, np.r_[logs, 0.0])  # min ½‖f‖² + ½ Σ (log|e| − f − b)²
        widths = best * np.exp(K @ found[:n] + found[n] - mean_log)
    return widths


def linear_program_regression(K, y):
    """min Σ|a| + C Σ max(0, |y − Ka − b| − ε): both sides of the tube have the same slack."""
    n = len(y)
    cost = np.r_[np.ones(2 * n), 0.0, np.full(n, C)]
    design, one = np.hstack([K, -K]), np.ones((n, 1))
    A = np.vstack([np.hstack([-design, -one, -np.eye(n)]), np.hstack([design, one, -np.eye(n)])])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=A, b_ub=np.r_[EPSILON - y, EPSILON + y], bounds=bounds, method="highs").fun
