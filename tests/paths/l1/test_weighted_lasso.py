"""The weighted lasso is an ε-insensitive problem of the Gram matrix of the features.      Karasuyama ch. 6"""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_regression
from sklearn.linear_model import Lasso

import hinge


def data_set(name):
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    seed, n, p = {"tall": (0, 60, 8), "square": (1, 30, 12), "noisy": (2, 50, 6), "sparse": (3, 80, 15)}[name]
    return make_regression(n, p, n_informative=3, noise=5.0 * (seed + 1), random_state=seed)


@pytest.mark.parametrize("name", ["tall", "square", "noisy", "sparse", "diabetes"])
def test_weight_path_follows_the_weighted_lasso(name):
    X, y = data_set(name)
    X, y = X - X.mean(axis=0), y - y.mean()
    y = y / np.linalg.norm(y)
    w = np.random.default_rng(0).uniform(0.5, 2.0, X.shape[1])
    c = X.T @ y
    high = 2 * np.max(np.abs(c) / w)
    low = 1e-2 * high
    bound = 1.01 * (y @ y) / (low * w)  # λ Σ w|β| ≤ ‖y‖² at the solution: the bounds are never active
    path = hinge.weight_path(
        X.T @ X, c, bound, bound, kernel="precomputed", task="regression", fit_intercept=False,
        epsilon=high * w / 2, epsilon_end=low * w / 2,
    )  # fmt: skip
    for theta in (0.0, 0.25, 0.6, 0.9, 1.0):
        strength = high + theta * (low - high)  # ‖y − Xβ‖² + λ Σ w|β|
        lasso = Lasso(alpha=strength / (2 * len(y)), fit_intercept=False, tol=1e-14, max_iter=1_000_000).fit(X / w, y)
        np.testing.assert_allclose(path.alpha(theta), lasso.coef_ / w, atol=1e-8)
