"""Paths of the weighted lasso agree with coordinate descent and least-angle regression."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, lars_path

from hinge import lasso_path, lasso_weight_path, reweighted_lasso


def scaled(X, y):
    keep = X.std(axis=0) > 0
    return (X[:, keep] - X[:, keep].mean(0)) / X[:, keep].std(0), (y - y.mean()) / y.std()


DATA = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "linnerud": lambda: (load_linnerud().data, load_linnerud().target[:, 0]),
    "wide": lambda: make_regression(30, 60, n_informative=5, noise=1.0, random_state=0),
}


def violation(X, y, w, bound):
    """Violation of (843), relative to the size of Xᵀy."""
    g, size = X.T @ (y - X @ w), max(np.max(np.abs(X.T @ y)), 1e-300)
    on = np.where(w != 0, np.abs(g - bound * np.sign(w)), np.maximum(np.abs(g) - bound, 0))
    return np.max(on) / size


@pytest.fixture(params=DATA)
def data(request):
    return scaled(*DATA[request.param]())


def test_agrees_with_least_angle_regression(data):
    X, y = data
    path = lasso_path(X, y)
    alphas, _, coefs = lars_path(X, y, method="lasso", alpha_min=path.low / len(y))
    for alpha, w in zip(alphas, coefs.T, strict=True):
        lam = min(alpha * len(y), path.high)
        assert np.allclose(X @ path.coef(lam), X @ w, atol=1e-7)
    assert path.kkt_violation < 1e-9


def test_agrees_with_coordinate_descent_for_random_weights(data):
    X, y = data
    v = np.random.default_rng(1).uniform(0.5, 2.0, X.shape[1])
    path = lasso_path(X, y, weights=v)
    for share in (0.05, 0.3, 0.8):
        lam = share * path.high
        w = Lasso(alpha=lam / len(y), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X / v, y).coef_ / v
        assert np.allclose(path.coef(lam), w, atol=1e-6)


def test_is_optimal_everywhere(data):
    X, y = data
    v = np.random.default_rng(2).uniform(0.0, 2.0, X.shape[1])
    v[0] = 0.0
    path = lasso_path(X, y, weights=v)
    knots = path.breakpoints
    for lam in np.concatenate([knots, 0.5 * (knots[1:] + knots[:-1])]):
        assert violation(X, y, path.coef(lam), lam * v) < 1e-9


def test_weight_path_is_optimal_everywhere(data):
    X, y = data
    rng = np.random.default_rng(3)
    start, end = rng.uniform(0, 2, (2, X.shape[1]))
    start[0] = end[0] = 0.0
    lam = 0.2 * np.max(np.abs(X.T @ y))
    path = lasso_weight_path(X, y, start, end, lam=lam)
    for theta in np.concatenate([path.breakpoints, [0.123, 0.5, 0.9]]):
        assert violation(X, y, path.coef(theta), lam * (start + theta * (end - start))) < 1e-9


def test_reweighting_decreases_the_concave_objective(data):
    X, y = data
    lam, delta = 0.05 * np.max(np.abs(X.T @ y)), 0.1
    result = reweighted_lasso(X, y, lam=lam, delta=delta, max_updates=100, tol=1e-6)
    assert result.converged
    assert np.allclose(result.weights, 1 / (np.abs(result.coef) + delta), rtol=1e-4)
    points = [result.paths[0].coef(0.0), *(path.coef(1.0) for path in result.paths)]
    values = [0.5 * np.sum((y - X @ w) ** 2) + lam * np.sum(np.log(np.abs(w) + delta)) for w in points]
    assert np.all(np.diff(values) <= 1e-9 * abs(values[0]))
    assert violation(X, y, result.coef, lam * result.weights) < 1e-9


def test_duplicate_and_constant_columns_and_ties():
    rng = np.random.default_rng(4)
    X = rng.integers(-1, 2, (12, 5)).astype(float)
    X = np.column_stack([X, X, -X[:, 0], np.zeros(12), np.ones(12)])
    y = X[:, 0] - X[:, 1]
    for fit_intercept in (False, True):
        A, t = (X - X.mean(0), y - y.mean()) if fit_intercept else (X, y)
        path = lasso_path(X, y, lam_min=1e-3, fit_intercept=fit_intercept)
        for lam in np.concatenate([path.breakpoints, [0.01, 1.0]]):
            assert violation(A, t, path.coef(lam), lam * np.ones(13)) < 1e-9


def test_intercept_agrees_with_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    path = lasso_path(X, y, fit_intercept=True)
    model = Lasso(alpha=1.0, tol=1e-14, max_iter=10**6).fit(X, y)
    assert np.allclose(path.predict(X, float(len(y))), model.predict(X), atol=1e-6)


def test_targets_orthogonal_to_the_columns_give_zero():
    path = lasso_path([[1.0], [1.0]], [1.0, -1.0])
    assert np.all(path.coef(path.low) == 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.0, 0.0]}, "all zero"),
        ({"weights": [1.0]}, "one weight per feature"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"lam_min": 2.0, "lam_max": 1.0}, "lam_m"),
        ({"lam_min": -1.0}, "lam_min"),
        ({"lam_min": 0.0}, "least-squares"),
        ({"y": [1.0]}, "samples"),
    ],
)
def test_invalid_arguments(change, message):
    arguments = {"y": [1.0, 2.0, 3.0], **change}
    with pytest.raises(ValueError, match=message):
        lasso_path([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]], **arguments)


def test_weights_that_become_zero_are_refused():
    with pytest.raises(ValueError, match="feature 1 is zero at one end"):
        lasso_weight_path([[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0], [1.0, 1.0], [1.0, 0.0])


def test_dependent_columns_without_penalty():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(15, 4))
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 0]])
    y, v = rng.normal(size=15), np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    path = lasso_path(X, y, weights=v)
    for lam in path.breakpoints:
        assert violation(X, y, path.coef(lam), lam * v) < 1e-9


def test_outside_the_path_is_an_error():
    path = lasso_path([[1.0], [2.0]], [1.0, 2.0], lam_min=1.0, lam_max=2.0)
    with pytest.raises(ValueError, match="outside the path"):
        path.coef(3.0)


def test_few_updates_warn():
    X, y = scaled(*load_diabetes(return_X_y=True))
    with pytest.warns(ConvergenceWarning, match="max_updates"):
        reweighted_lasso(X, y, lam=20.0, max_updates=1, tol=0.0)


def sparse_signal(seed, m=30, n=80, nonzero=8):
    """A signal x with few nonzero entries and fewer measurements y = Φx than entries."""
    rng = np.random.default_rng(seed)
    design, x = rng.normal(size=(m, n)), np.zeros(n)
    x[rng.choice(n, nonzero, replace=False)] = rng.normal(size=nonzero)
    return design, design @ x


def minimum_with_equality(X, y, v):
    """argmin Σ v|w| subject to y = Xw, by HiGHS."""
    d = X.shape[1]
    found = linprog(np.r_[v, v], A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None), method="highs")
    return found.x[:d] - found.x[d:]


@pytest.mark.parametrize("seed", range(5))
def test_small_penalties_give_the_problem_with_equality_constraints(seed):
    """Karasuyama ch. 6: reweighted ℓ1 minimization subject to y = Φx."""
    X, y = sparse_signal(seed)
    v = np.random.default_rng(seed).uniform(0.5, 2.0, X.shape[1])
    path = lasso_path(X, y, weights=v, lam_min=1e-9)
    np.testing.assert_allclose(path.coef(1e-9), minimum_with_equality(X, y, v), atol=1e-7)
    found = reweighted_lasso(X, y, lam=1e-9, delta=0.1)
    expected = minimum_with_equality(X, y, np.ones(X.shape[1]))
    for _ in found.changes:
        expected = minimum_with_equality(X, y, 1 / (np.abs(expected) + 0.1))
    np.testing.assert_allclose(found.coef, expected, atol=1e-7)


def test_adaptive_weights(data):
    """Weights |ŵ|^−γ from a least-squares fit: coefficients with large estimates are penalized less."""
    X, y = data
    estimate = np.linalg.lstsq(X, y, rcond=None)[0]
    keep = np.abs(estimate) > 1e-6
    v = np.abs(estimate[keep]) ** -0.5
    lam = 0.2 * np.max(np.abs(X[:, keep].T @ y) / v)
    w = Lasso(alpha=lam / len(y), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X[:, keep] / v, y).coef_ / v
    found = lasso_path(X[:, keep], y, weights=v).coef(lam)
    np.testing.assert_allclose(X[:, keep] @ found, X[:, keep] @ w, atol=1e-6)
