"""The orders of coordinate descent lead to the same optimum.                                   docs/math (805)"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.problems import Status
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.coordinate_descent import ORDERS
from reference.data_sets import binary_data, regression_data


def dual_value(X, y, alpha):
    w = X.T @ (alpha * y)
    return float(np.sum(alpha) - 0.5 * w @ w)


def slides(X, y, C, order, epochs, seed=0):
    """The algorithm of the slides: α_i ← clip(α_i − (y_i wᵀx_i − 1) / Q_ii), with w updated alongside; no bias."""
    rng = np.random.default_rng(seed)
    n, alpha, w = len(y), np.zeros(len(y)), np.zeros(X.shape[1])
    fixed = rng.permutation(n)
    for _ in range(epochs):
        visits = {
            "sequential": np.arange(n), "fixed_permutation": fixed,
            "permutation": rng.permutation(n), "random": rng.integers(n, size=n),
        }[order]  # fmt: skip
        for i in visits:
            if X[i] @ X[i] > 0:
                new = np.clip(alpha[i] - (y[i] * (w @ X[i]) - 1) / (X[i] @ X[i]), 0, C)
                w += (new - alpha[i]) * y[i] * X[i]
                alpha[i] = new
    return alpha


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("data", binary_data())
def test_every_order_reaches_the_optimum_of_the_slides(data, order):
    X, y = binary_data()[data]
    best = dual_value(X, y, slides(X, y, 0.1, order, 400))
    for shrinking in (True, False):
        solver = CoordinateDescent(order=order, shrinking=shrinking, method="descent", tol=1e-8)
        model = hinge.LinearSVC(C=0.1, loss="hinge", fit_intercept=False, solver=solver).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.certificate_.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_work_for_regression_with_an_intercept(order):
    X, y = regression_data()["diabetes"]
    reference = hinge.LinearSVR(C=0.05, epsilon=0.1, tol=1e-10).fit(X, y)
    solver = CoordinateDescent(order=order, method="descent", tol=1e-8)
    model = hinge.LinearSVR(C=0.05, epsilon=0.1, solver=solver).fit(X, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-3)
    assert model.certificate_.dual == pytest.approx(reference.certificate_.dual, rel=1e-6)


def test_the_sequential_order_ignores_the_seed_and_the_others_use_it():
    X, y = binary_data()["breast cancer"]

    def weights(order, seed):
        solver = CoordinateDescent(order=order, seed=seed, method="descent", max_iter=2, shrinking=False)
        with pytest.warns(ConvergenceWarning):
            return hinge.LinearSVC(loss="hinge", fit_intercept=False, solver=solver).fit(X, y).coef_

    np.testing.assert_array_equal(weights("sequential", 0), weights("sequential", 1))
    for order in ORDERS:
        np.testing.assert_array_equal(weights(order, 0), weights(order, 0))
        if order != "sequential":
            assert np.any(weights(order, 0) != weights(order, 1))


def test_the_sequential_order_makes_the_steps_of_the_slides():
    X, y = binary_data()["wine"]
    solver = CoordinateDescent(order="sequential", shrinking=False, method="descent", max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        model = hinge.LinearSVC(C=1.0, loss="hinge", fit_intercept=False, solver=solver).fit(X, y)
    alpha = slides(X, y, 1.0, "sequential", 1)
    np.testing.assert_allclose(model.coef_[0], X.T @ (alpha * y), atol=1e-12)


def test_invalid_orders_are_rejected():
    with pytest.raises(ValueError, match="order='cyclic' must be one of"):
        CoordinateDescent(order="cyclic")
    with pytest.raises(ValueError, match="block_bytes"):
        CoordinateDescent(order="random", block_bytes=1000)
