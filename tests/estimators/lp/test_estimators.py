"""LPSVC and LPSVR agree with a linear program of the primal problem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge import LPSVC, LPSVR, SVR, Status


def sinc(n=60, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-5, 5, n))[:, None]
    return X, np.sinc(X[:, 0]) + noise * rng.normal(size=n)


def rbf(X, gamma):
    return np.exp(-gamma * np.sum((X[:, None] - X[None]) ** 2, axis=2))


def primal_value(design, inequalities, right, cost):
    """min 1ᵀ(a⁺ + a⁻) + costᵀξ with inequalities @ (Φ(a⁺ − a⁻) + b) + … + ξ ≥ right, solved by HiGHS."""
    n, width = design.shape
    rows = inequalities @ np.hstack([design, -design, np.ones((n, 1))])
    slack = np.abs(inequalities)
    c = np.r_[np.ones(2 * width), 0.0, cost]
    bounds = [(0, None)] * (2 * width) + [(None, None)] + [(0, None)] * n
    return linprog(c, A_ub=-np.hstack([rows, slack]), b_ub=-right, bounds=bounds, method="highs-ipm").fun


def test_regression_solves_the_linear_program():
    X, y = sinc(40, noise=0.1)
    weight = np.linspace(0.5, 2, 40)
    model = LPSVR(C=3.0, epsilon=0.05, gamma=[0.3, 3.0]).fit(X, y, weight)
    design = np.hstack([rbf(X, 0.3), rbf(X, 3.0)])
    eye = np.eye(40)
    value = primal_value(design, np.vstack([eye, -eye]), np.r_[y - 0.05, -y - 0.05], 3.0 * weight)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert model.certificate_.relative_gap < 1e-6
    recomputed = model.certify(X, y, weight)
    assert recomputed.primal == pytest.approx(value, rel=1e-6)
    assert recomputed.gap == pytest.approx(model.certificate_.gap, abs=1e-7)
    residual = np.abs(y - model.predict(X))
    penalty = np.sum(np.abs(model.dual_coef_))
    objective = penalty + np.sum(3.0 * weight * np.maximum(residual - 0.05, 0))
    assert recomputed.primal == pytest.approx(objective, rel=1e-9)


def test_classification_solves_the_linear_program():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=40) > 0, "yes", "no")
    sign = np.where(y == "yes", 1.0, -1.0)
    model = LPSVC(C=2.0, gamma=0.5).fit(X, y)
    value = primal_value(rbf(X, 0.5), np.diag(sign), np.ones(40), np.full(40, 2.0))
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert model.certify(X, y).relative_gap < 1e-6
    assert set(model.predict(X)) <= {"yes", "no"}


def test_certificate_of_another_point_has_a_gap():
    X, y = sinc(40, noise=0.1)
    model = LPSVR(C=3.0, epsilon=0.05, gamma=1.0).fit(X, y)
    model._beta = 0.5 * model._beta  # feasible, not optimal
    assert model.certify(X, y).gap > 1e-3
    model._beta = np.zeros_like(model._beta)
    assert model.certify(X, y).dual == pytest.approx(0.0, abs=1e-12)


def test_model_is_sparser_than_svr_on_sinc():
    X, y = sinc(100, noise=0.1)
    lp = LPSVR(C=10.0, epsilon=0.05, gamma=1.0).fit(X, y)
    qp = SVR(C=10.0, epsilon=0.05, gamma=1.0).fit(X, y)
    assert lp.n_terms_ < 0.5 * qp.n_support_[0]
    assert lp.score(X, np.sinc(X[:, 0])) > 0.9


def test_certificate_holds_for_several_classes_sparse_data_weights_and_loaded_models(tmp_path):
    rng = np.random.default_rng(2)
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 4)) + 2 * np.eye(4)[y]
    weight = np.where(np.arange(45) % 9 == 0, 0.0, 1.0)
    model = LPSVC(C=5.0, kernel=["rbf", "linear"], class_weight="balanced").fit(X, y, weight)
    assert model.decision_function(X).shape == (45, 3)
    assert model.score(X, y) > 0.8
    assert model.certify(X, y, weight).relative_gap < 1e-6
    kept = weight > 0
    removed = LPSVC(C=5.0, kernel=["rbf", "linear"], class_weight="balanced").fit(X[kept], y[kept])
    assert removed.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    csr = LPSVC(C=5.0).fit(sparse.csr_matrix(X), y)
    assert csr.certificate_.primal == pytest.approx(LPSVC(C=5.0).fit(X, y).certificate_.primal, rel=1e-6)
    hinge.save(model, tmp_path / "lp.hinge")
    loaded = hinge.load(tmp_path / "lp.hinge")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certify(X, y, weight).relative_gap < 1e-6


def test_precomputed_kernel_gives_the_same_model():
    X, y = sinc(30)
    K = rbf(X, 1.0)
    model = LPSVR(C=10.0, kernel="precomputed").fit(K, y)
    other = LPSVR(C=10.0, gamma=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(K), other.predict(X), atol=1e-6)


def test_iteration_limit_is_reported_and_invalid_input_raises():
    X, y = sinc(80, noise=0.1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = LPSVR(C=10.0, max_iter=1).fit(X, y)
    assert model.status_ is Status.MAX_ITER
    assert np.isfinite(model.predict(X)).all()
    assert len(model.history_) == 1
    for estimator, message in (
        (LPSVR(C=0.0), "C=0.0"), (LPSVR(gamma=[]), "must not be empty"), (LPSVR(kernel=np.dot), "is a function"),
        (LPSVR(kernel=["precomputed", "rbf"]), "cannot be one of several"), (LPSVR(epsilon=[1.0, 2.0]), "epsilon has"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, y)


@parametrize_with_checks([LPSVC(), LPSVR()])
def test_common_checks(estimator, check):
    check(estimator)
