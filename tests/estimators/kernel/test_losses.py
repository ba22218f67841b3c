"""`SVC` and `SVR` with all losses: certificates, weights, files, time limits and errors."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import hinge
from hinge import SVC, SVR, NuSVR, Status, losses
from hinge.selection import nu_for_noise
from hinge.solvers import SMO, explain
from losses.cases import Pinball

CLASSIFIERS = ["squared_hinge", "modified_huber", "huberized_hinge", "logistic"]
REGRESSORS = [
    {"loss": "squared_epsilon_insensitive"}, {"loss": "laplace"}, {"loss": "gaussian"}, {"loss": "huber", "sigma": 0.3},
    {"loss": "polynomial", "p": 1.5}, {"loss": "piecewise_polynomial", "p": 3.0, "sigma": 0.5},
]  # fmt: skip


def blobs(n=60, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 4)) + 1.3 * np.eye(4)[y], y, rng.uniform(0.5, 2.0, n)


def curve(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.standard_t(3, n), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_classification_is_certified(loss):
    X, y, weight = blobs()
    model = SVC(C=3.0, loss=loss, class_weight={0: 2.0}).fit(X, y, weight)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative_gap < 1e-6
    recomputed = model.certify(X, y, weight)
    assert recomputed.relative_gap < 1e-6
    assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert len(model.certificates_) == 3
    assert not hasattr(model, "equivalent_nu_")
    assert model.score(X, y) > 0.7
    csr = SVC(C=3.0, loss=loss, class_weight={0: 2.0}).fit(sparse.csr_matrix(X), y, weight)
    np.testing.assert_allclose(csr.decision_function(sparse.csr_matrix(X)), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("options", REGRESSORS, ids=lambda o: o["loss"])
def test_regression_is_certified_and_weights_are_repetitions(options):
    X, y, weight = curve()
    model = SVR(C=3.0, epsilon=0.05, **options).fit(X, y, weight)
    assert model.status_ is Status.SOLVED
    recomputed = model.certify(X, y, weight)
    assert recomputed.relative_gap < 1e-6
    assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    repeated = np.repeat(np.arange(60), 2)
    weights = np.ones(120) * 0.5
    half_weights = SVR(C=3.0, epsilon=0.05, **options).fit(X[repeated], y[repeated], weights)
    unweighted = SVR(C=3.0, epsilon=0.05, **options).fit(X, y)
    np.testing.assert_allclose(half_weights.predict(X), unweighted.predict(X), atol=2e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_zero_weight_removes_a_sample(loss):
    X, y, weight = blobs(classes=2)
    weight[::5] = 0
    kept = weight > 0
    weighted = SVC(C=2.0, gamma=0.3, loss=loss).fit(X, y, weight)
    removed = SVC(C=2.0, gamma=0.3, loss=loss).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(weighted.decision_function(X), removed.decision_function(X), atol=1e-7)


def test_squared_hinge_is_not_worse_than_liblinear():
    X, y, _ = blobs(classes=2)
    X1 = np.hstack([X, np.ones((60, 1))])  # LIBLINEAR penalizes its intercept: both get a constant feature instead
    model = SVC(C=0.5, kernel="linear", loss="squared_hinge", tol=1e-8).fit(X1, y)
    w, b = model.coef_[0], model.intercept_[0]
    margins = np.where(y == 1, 1, -1) * (X1 @ w + b)
    objective = 0.5 * w @ w + 0.5 * np.sum(np.maximum(0, 1 - margins) ** 2)
    assert model.certificate_.primal == pytest.approx(objective, rel=1e-8)
    peer = LinearSVC(C=0.5, fit_intercept=False, dual=True, tol=1e-10, max_iter=100000).fit(X1, y)
    peer_objective = 0.5 * peer.coef_[0] @ peer.coef_[0]
    peer_objective += 0.5 * np.sum(np.maximum(0, 1 - np.where(y == 1, 1, -1) * (X1 @ peer.coef_[0])) ** 2)
    assert objective <= peer_objective  # a free intercept can only decrease the objective


def test_gaussian_loss_is_the_solution_of_a_linear_system():
    X, y, _ = curve()
    model = SVR(C=5.0, gamma=1.0, loss="gaussian").fit(X, y)
    K = np.exp(-1.0 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    system = np.block([[K + np.eye(60) / 5.0, np.ones((60, 1))], [np.ones((1, 60)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.r_[y, 0.0])
    np.testing.assert_allclose(model.predict(X), K @ solution[:60] + solution[60], atol=1e-10)


def test_epsilon_can_differ_between_samples():
    X, y, weight = curve()
    epsilon = np.linspace(0, 0.3, 60)
    weight[7] = 0
    model = SVR(C=3.0, epsilon=epsilon, tol=1e-9).fit(X, y, weight)
    assert model.certify(X, y, weight).relative_gap < 1e-8
    r = np.abs(y - model.predict(X))[weight > 0]
    inside = r < epsilon[weight > 0] - 1e-3
    used = np.isin(np.flatnonzero(weight > 0), model.support_)
    assert not np.any(inside & used)
    same = SVR(C=3.0, loss=losses.EpsilonInsensitive(epsilon), tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-12)
    clone(model)
    with pytest.raises(ValueError, match="epsilon has shape"):
        SVR(epsilon=epsilon[:5]).fit(X, y)
    with pytest.raises(ValueError, match="zero or positive"):
        SVR(epsilon=-epsilon).fit(X, y)


def test_user_defined_loss_is_certified():
    X, y, _ = curve(80)
    model = SVR(C=10.0, gamma=0.5, loss=Pinball()).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certify(X, y).relative_gap < 1e-8
    assert 0.7 < np.mean(y <= model.predict(X) + 1e-6) < 0.97


def test_models_with_losses_can_be_saved(tmp_path):
    X, y, _ = curve(30)
    for loss in ("huber", losses.PolynomialLoss(3.0), losses.EpsilonInsensitive(np.linspace(0, 0.2, 30))):
        model = SVR(loss=loss).fit(X, y)
        hinge.save(model, tmp_path / "model.hinge")
        loaded = hinge.load(tmp_path / "model.hinge")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.certify(X, y).relative_gap < 1e-6
    with pytest.raises(TypeError, match="cannot be saved"):
        hinge.save(SVR(loss=Pinball()).fit(X, y), tmp_path / "model.hinge")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(loss="squared"), "loss='squared' must be one of 'hinge', 'squared_hinge'"),
        (SVC(loss=losses.Huber()), "of the residual, but this estimator needs one of the margin"),
        (SVC(loss="squared_hinge", C=np.inf), "C=inf is not supported for loss='squared_hinge'"),
        (SVC(loss=losses.Logistic), "pass an object"),
        (SVC(loss="logistic", solver=SMO()), "use solver='interior_point'"),
        (SVC(loss=None), "has no method value, derivative, conjugate"),
    ],
)
def test_invalid_losses_are_rejected(model, message):
    X, y, _ = blobs(20, 2)
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        model.fit(X, y)


def test_iteration_limit_keeps_the_model():
    X, y, _ = blobs(300, 2)
    model = SVC(loss="logistic", max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.fit(X, y)
    assert model.status_ is Status.MAX_ITER
    assert model.predict(X).shape == (300,)


def test_explain_states_the_solver_and_the_reasons():
    X, y, _ = blobs(50, 2)
    assert explain(SVC(), X, y).solver == "working_set"
    assert explain(SVC(tol=1e-10), X, y).solver == "interior_point"
    explanation = explain(SVC(loss="logistic"), X, y)
    assert explanation.solver == "interior_point"
    assert "not quadratic" in str(explanation)
    assert explain(SVC(solver="smo"), X, y).reasons[-1] == "SMO was requested"
    assert "diagonal" in str(explain(SVC(loss="squared_hinge"), X, y))
    model = SVC()
    explain(model, X, y)
    assert not hasattr(model, "classes_")
    with pytest.raises(TypeError, match="explain does not support dict"):
        explain({}, X, y)


@pytest.mark.parametrize(
    ("estimator", "solver", "recommended"),
    [
        (SVC(), "working_set", "interior_point"),
        (SVC(solver="interior_point"), "InteriorPoint", "interior_point"),
        (hinge.LinearSVC(), "coordinate_descent", "interior_point"),
        (hinge.LPSVC(), "linear_programming", "interior_point"),
        (hinge.LowRankSVC(), "reduced_basis_newton", "interior_point"),
        (hinge.RankingSVM(), "pair_descent", "interior_point"),
        (hinge.IncrementalSVC(), "parametric_active_set", "interior_point"),
        (hinge.IncrementalSVR(), "parametric_active_set", "interior_point"),
        (hinge.IncrementalOneClassSVM(), "parametric_active_set", "interior_point"),
        (hinge.TransductiveSVC(), "parametric_active_set", "interior_point"),
        (hinge.recipes.SlidingSVC(), "parametric_active_set", "interior_point"),
        (hinge.SemiparametricSVC(), "interior_point", "interior_point"),
        (hinge.SemiparametricSVR(), "interior_point", "interior_point"),
        (hinge.RegularizationNetwork(functions="linear"), "interior_point", "interior_point"),
        (hinge.OnlineSVC(), "stochastic_gradient", "stochastic gradient descent"),
        (hinge.OnlineSVR(), "stochastic_gradient", "stochastic gradient descent"),
        (hinge.OnlineNoveltyDetector(), "stochastic_gradient", "stochastic gradient descent"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_explain_compares_the_choice_with_the_decision_tree(estimator, solver, recommended):
    X, y, _ = blobs(50, 2)
    explanation = explain(estimator, X, y)
    assert explanation.solver == solver
    assert explanation.recommended == recommended
    same = solver in ("InteriorPoint", "interior_point", "stochastic_gradient")
    assert (explanation.difference == "") == same
    assert ("differs because" in str(explanation)) == (not same)


def test_the_recommendation_depends_on_the_memory_and_on_the_size_of_the_expansion(monkeypatch):
    monkeypatch.setattr(sys.modules["hinge.solvers.explanation"], "available_bytes", lambda: 8.0 * 49**2)
    X, y, _ = blobs(50, 2)
    assert explain(SVC(), X, y).recommended == "chunking or SMO"
    assert explain(SVC(), X, y).difference == ""
    assert explain(hinge.LowRankSVC(), X, y).recommended == "sparse greedy approximation"
    assert explain(hinge.LowRankSVC(), X, y).difference == ""


def test_tube_shape_determines_the_width_at_each_sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (80, 1))
    shape = lambda X: 0.2 + np.abs(X[:, 0])  # noqa: E731
    y = np.sinc(X[:, 0]) + 0.2 * shape(X) * rng.normal(size=80)
    model = NuSVR(nu=0.4, C=5.0, gamma=1.0, tube=shape).fit(X, y)
    assert model.certificate_.relative_gap < 1e-9
    assert model.certify(X, y).relative_gap < 1e-9
    width = model.tube_width(X)
    np.testing.assert_allclose(width, model.epsilon_ * shape(X))
    outside = np.abs(y - model.predict(X)) > width + 1e-7
    assert np.sum(shape(X)[outside]) <= 0.4 * np.sum(shape(X))
    same = SVR(C=5.0, gamma=1.0, epsilon=width).fit(X, y)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-8)
    values = NuSVR(nu=0.4, C=5.0, gamma=1.0, tube=shape(X)).fit(X, y)
    assert values.epsilon_ == pytest.approx(model.epsilon_)
    flat = NuSVR(nu=0.4, C=5.0, gamma=1.0, tube=np.ones(80)).fit(X, y)
    plain = NuSVR(nu=0.4, C=5.0, gamma=1.0).fit(X, y)
    assert flat.epsilon_ == pytest.approx(plain.epsilon_, rel=1e-6)
    with pytest.raises(ValueError, match="positive at every sample"):
        NuSVR(tube=np.zeros(80)).fit(X, y)


def test_nu_for_noise_agrees_with_known_values():
    assert nu_for_noise("gaussian") == pytest.approx(0.5405, abs=1e-3)
    assert nu_for_noise("laplace") == pytest.approx(1.0, abs=1e-6)
    assert nu_for_noise("uniform") == 0.0
    assert nu_for_noise("polynomial:2") == pytest.approx(nu_for_noise("gaussian"), abs=1e-6)
    decreasing = [nu_for_noise(f"polynomial:{p}") for p in (1.2, 1.5, 2.0, 3.0, 5.0)]
    assert decreasing == sorted(decreasing, reverse=True)  # SVR tutorial Fig. 5
    with pytest.raises(ValueError, match="is unknown"):
        nu_for_noise("pink")
    with pytest.raises(TypeError, match="must be a name"):
        nu_for_noise(3)
