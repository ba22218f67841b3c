"""Minimization of regularized risks (LwK Table 10.3) compared with general optimizers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_moons

from hinge import Status
from hinge.kernels import RBF, Linear
from hinge.losses import Exponential, Huber, Logistic, SquaredHinge
from hinge.solvers import RegularizedRisk, descend


def _data(name):
    """Standardized samples with ±1 labels or standardized targets."""
    load = {
        "breast_cancer": load_breast_cancer,
        "wine": load_wine,
        "iris": load_iris,
        "diabetes": load_diabetes,
        "moons": lambda return_X_y: make_moons(120, noise=0.2, random_state=0),
    }[name]
    X, y = load(return_X_y=True)
    X, y = X[-130:], y[-130:].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (y - y.mean()) / y.std() if name == "diabetes" else np.where(y == y.max(), 1.0, -1.0)


DATA = ["breast_cancer", "wine", "iris", "diabetes", "moons"]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", [RBF(3.0), Linear()], ids=repr)
def test_values_regularizer_agrees_with_a_general_optimizer(name, kernel):
    """Σf² restricts only the values: BFGS in an orthonormal basis of the range of K reaches the same minimum."""
    X, y = _data(name)
    K, loss = kernel(X), Huber(0.5) if name == "diabetes" else Logistic()
    result = descend(RegularizedRisk(K, y, loss, np.ones(len(y)), "values", 2.0), tol=1e-9)
    assert result.status is Status.SOLVED
    assert result.iterations <= 50
    U, s, _ = np.linalg.svd(K)
    U = U[:, s > 1e-12 * s[0]]

    def objective(v):
        f = U @ v[:-1] + v[-1]
        z = y * f if loss.form == "margin" else y - f
        slope = (y if loss.form == "margin" else -1.0) * loss.derivative(z)
        return float(np.sum(loss.value(z)) + 2 * v[:-1] @ v[:-1]), np.r_[U.T @ slope + 4 * v[:-1], np.sum(slope)]

    direct = minimize(objective, np.zeros(U.shape[1] + 1), jac=True, method="BFGS", options=dict(gtol=1e-9))
    assert result.value == pytest.approx(direct.fun, rel=1e-7)
    f = K @ result.coefficients
    np.testing.assert_allclose(f + result.intercept, U @ direct.x[:-1] + direct.x[-1], atol=1e-4)


def test_nearly_singular_matrix_ends_with_the_bounds_that_rounding_allows():
    """Coefficients of size 1e9 limit the gap: the run stops instead of repeating steps without effect."""
    X, y = _data("moons")
    risk = RegularizedRisk(RBF(0.3)(X), y, Logistic(), np.ones(len(y)), "values", 2.0)
    result = descend(risk, tol=1e-12)
    assert result.status is Status.NUMERICAL
    assert result.iterations <= 50
    assert 0 <= result.value - result.lower_bound <= 1e-3 * result.value


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("regularizer", ["rkhs", "values"])
@pytest.mark.parametrize("bias", [True, False])
def test_bounds_meet_for_all_margin_losses(loss, regularizer, bias):
    X, y = _data("breast_cancer")
    risk = RegularizedRisk(RBF(0.05)(X), y, loss, np.ones(len(y)), regularizer, 0.3, bias)
    result = descend(risk, tol=1e-9)
    assert result.status is Status.SOLVED
    f = risk.K @ result.coefficients
    value = risk.losses(f + result.intercept) + risk.penalty(result.coefficients, f)
    assert result.value == pytest.approx(value, rel=1e-12)
    if not bias:
        assert result.intercept == 0.0


def test_offset_where_no_loss_is_curved():
    """All margins of one class exceed 1 after the first step: the Hessian of the offset is zero there."""
    K, y = np.eye(4), np.array([1.0, 1.0, 1.0, -1.0])
    result = descend(RegularizedRisk(K, y, SquaredHinge(), np.full(4, 100.0), "values", 1e-3), tol=1e-8)
    assert result.status is Status.SOLVED


@pytest.mark.parametrize("regularizer", ["rkhs", "norm", "sparsity", "values"])
def test_fixed_rate_reaches_the_minimum_of_the_line_search(regularizer):
    X, y = _data("moons")
    risk = RegularizedRisk(RBF(1.0)(X[:40]), y[:40], Logistic(), np.ones(40), regularizer, 0.5)
    reference = descend(risk, tol=1e-4)
    result = descend(risk, tol=1e-3, rate=2e-3, max_iter=20_000)
    assert result.lower_bound <= reference.value <= result.value + 1e-3 * result.value


def test_fixed_rate_is_the_update_of_the_text():
    """LwK (10.98) for ten steps: α ← α − Λ K(γ + λα), b ← b − Λ Σγ."""
    X, y = _data("wine")
    K = RBF(0.1)(X)
    result = descend(RegularizedRisk(K, y, Logistic(), np.ones(len(y)), "rkhs", 0.7), 1e-12, 10, rate=1e-4)
    alpha, b = np.zeros(len(y)), 0.0
    for _ in range(10):
        slope = -y / (1 + np.exp(y * (K @ alpha + b)))
        alpha, b = alpha - 1e-4 * K @ (slope + 0.7 * alpha), b - 1e-4 * np.sum(slope)
    np.testing.assert_allclose(result.coefficients, alpha, rtol=1e-10, atol=1e-15)
    assert result.intercept == pytest.approx(b)
    assert result.status is Status.MAX_ITER


def test_fixed_rate_that_diverges_or_is_invalid():
    X, y = _data("wine")
    risk = RegularizedRisk(RBF(0.1)(X), y, SquaredHinge(), np.ones(len(y)), "values", 2.0)
    assert descend(risk, rate=1.0).status is Status.NUMERICAL
    with pytest.raises(ValueError, match="rate=0"):
        descend(risk, rate=0)


@pytest.mark.parametrize("regularizer", ["rkhs", "values", "sparsity"])
def test_bounds_of_the_risk_include_rounding_errors(regularizer):
    """Coefficients of 10⁸ whose contributions to f cancel, in rational arithmetic."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        G = rng.normal(size=(6, 2))
        K, y = G @ G.T, np.where(np.arange(6) % 2, 1.0, -1.0)
        alpha = 1e8 * np.linalg.qr(G, mode="complete")[0][:, 2:] @ rng.normal(size=4)
        f = K @ alpha
        found = RegularizedRisk(K, y, SquaredHinge(), np.ones(6), regularizer, 0.25).upper_bound(alpha, f, 0.5)
        a = [Fraction(v) for v in alpha]
        g = [sum(Fraction(k) * v for k, v in zip(row, a, strict=True)) for row in K.tolist()]
        losses = sum(max(Fraction(0), 1 - int(s) * (v + Fraction(1, 2))) ** 2 for s, v in zip(y, g, strict=True))
        penalty = {
            "rkhs": sum(v * w for v, w in zip(a, g, strict=True)) / 2,
            "values": sum(v * v for v in g),
            "sparsity": sum(map(abs, a)),
        }[regularizer]
        assert Fraction(found) >= losses + penalty / 4
