"""Recipes with sample weights: their models are those of a fit with the same weights."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.recipes import (
    HeteroscedasticSVR,
    SlidingSVC,
    SlidingSVR,
    covariate_shift_path,
    density_ratio,
    recency_weights,
)
from reference.archives import assert_inconsistent_is_rejected


@parametrize_with_checks([SlidingSVC(), SlidingSVR(), HeteroscedasticSVR(max_updates=5, weight_tol=1.0)])
def test_common_checks(estimator, check):
    check(estimator)


def drifting(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    values = X[:, 0] - np.linspace(-1, 1, n) + 0.3 * rng.normal(size=n)
    return X, np.where(values > 0, 1, -1), values


# ---- sliding windows ------------------------------------------------------------------------------------------


def test_recency_weights_are_those_of_the_dissertation():
    w = recency_weights(200, 3.0)
    i = np.arange(1, 201)
    np.testing.assert_allclose(w, 2 / (1 + np.exp(3 - 6 * i / 200)))
    assert np.all(np.diff(w) > 0)
    np.testing.assert_array_equal(recency_weights(5, 0.0), 1.0)
    np.testing.assert_array_equal(recency_weights(4, 1e4), [0, 1, 2, 2])  # no overflow
    for bad in ((0, 1.0), (5, -1.0)):
        with pytest.raises(ValueError, match="must"):
            recency_weights(*bad)


@pytest.mark.parametrize("recency", [0.0, 3.0])
def test_a_sliding_window_agrees_with_a_fit(recency, tmp_path):
    X, labels, values = drifting(140)
    for model, y in (
        (SlidingSVC(C=100.0, gamma=0.5, window=80, recency=recency), labels),
        (SlidingSVR(C=100.0, gamma=0.5, window=80, recency=recency), values),
    ):
        model.fit(X[:100], y[:100])
        assert model.n_samples_ == 80
        for first in range(100, 140, 8):
            model.partial_fit(X[first : first + 8], y[first : first + 8])
            hinge.save(model, tmp_path / "window.hinge")
            model = hinge.load(tmp_path / "window.hinge")
        rows, targets, weight = model.training_data_
        np.testing.assert_array_equal(rows, X[60:])
        np.testing.assert_array_equal(targets, y[60:])
        np.testing.assert_allclose(weight, recency_weights(80, recency))
        fresh = clone(model).fit(X[60:], y[60:])
        assert model.certificate_.relative_gap < 1e-9
        decide = "decision_function" if y is labels else "predict"
        np.testing.assert_allclose(getattr(model, decide)(X), getattr(fresh, decide)(X), atol=1e-6)
        estimator = hinge.SVC if y is labels else hinge.SVR
        other = estimator(C=100.0, gamma=0.5, tol=1e-9).fit(X[60:], y[60:], weight)
        np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-5)


def test_window_holds_the_last_samples_and_rejects_a_missing_class():
    X, labels, _ = drifting(100)
    growing = SlidingSVC(gamma=0.5).fit(X[:50], labels[:50]).slide(X[50:], labels[50:])
    assert growing.n_samples_ == 100
    np.testing.assert_allclose(growing.training_data_[2], recency_weights(100))
    swept = SlidingSVC(gamma=0.5, window=30).fit(X[:50], labels[:50]).slide(X[50:], labels[50:])
    np.testing.assert_array_equal(swept.training_data_[0], X[70:])
    before = swept.decision_function(X)
    with pytest.raises(ValueError, match="sliding the window would leave no sample of class"):
        swept.slide(X[:30], np.ones(30))
    with pytest.raises(ValueError, match="NaN"):
        swept.slide(np.full((1, 3), np.nan), [1])
    np.testing.assert_array_equal(swept.decision_function(X), before)
    for bad in ({"window": 1}, {"recency": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SlidingSVC(**bad).fit(X, labels)


# ---- heteroscedastic regression -------------------------------------------------------------------------------


def test_the_last_weights_give_the_model_of_a_fit(tmp_path):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, size=(150, 1)), axis=0)
    y = np.sin(X[:, 0]) + 0.02 * (1 + 3 * X[:, 0] ** 2 / 6) * rng.normal(size=150)
    options = dict(C=10.0, epsilon=0.02, gamma=1.0)
    model = HeteroscedasticSVR(**options).fit(X, y)
    assert model.residual_changes_[-1] <= 1e-3
    assert model.n_updates_ == len(model.residual_changes_) > 2
    fresh = hinge.SVR(tol=1e-9, **options).fit(X, y, model.sample_weight_)
    np.testing.assert_allclose(model.predict(X), fresh.predict(X), atol=1e-5)
    assert model.certificate_.relative_gap < 1e-8
    # The weights are a fixed point of (4.30).
    residuals = y - model.predict(X)
    following = np.sqrt(np.mean(residuals**2)) / np.abs(residuals)
    outside = np.abs(residuals) > 0.021
    assert np.median(np.abs(following[outside] / model.sample_weight_[outside] - 1)) < 0.01
    hinge.save(model, tmp_path / "noise.hinge")
    np.testing.assert_array_equal(hinge.load(tmp_path / "noise.hinge").predict(X), model.predict(X))


def test_weights_that_do_not_converge_raise_a_warning():
    X, _, values = drifting(80)
    with pytest.warns(ConvergenceWarning, match="did not converge in max_updates=1 updates"):
        model = HeteroscedasticSVR(C=0.1, gamma=2.0, max_updates=1, weight_tol=1e-12).fit(X, values)
    assert model.certificate_.relative_gap < 1e-8
    constant = HeteroscedasticSVR().fit(X, np.zeros(80))  # all residuals are zero
    np.testing.assert_array_equal(constant.sample_weight_, 1.0)
    with pytest.raises(ValueError, match=r"max_weight=0\.5"):
        HeteroscedasticSVR(max_weight=0.5).fit(X, values)


@pytest.mark.parametrize("cls", [SlidingSVC, hinge.IncrementalSVC])
@pytest.mark.parametrize("names", [(0, 1, 2), ("a", "b", "c")])
def test_labels_must_be_among_the_given_classes(cls, names):
    X, code, _ = drifting(60)
    y = np.asarray(names)[(code > 0).astype(int)]
    late = np.asarray(names)[[2, 2, 0]]
    with pytest.raises(ValueError, match="does not"):
        cls().partial_fit(X, y, classes=names[:1])
    model = cls().partial_fit(X[:50], y[:50], classes=names[:2]).partial_fit(X[50:55], y[50:55], classes=names)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="leave classes out"):
        model.partial_fit(X[55:58], late, classes=names[:2])
    with pytest.raises(ValueError, match="earlier call"):
        model.partial_fit(X[55:58], y[55:58], classes=names[1:])
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.partial_fit(X[55:58], late, classes=names).classes_.tolist() == list(names)
    assert cls().partial_fit(X[:50], y[:50]).partial_fit(X[55:58], late).classes_.tolist() == list(names)


# ---- covariate shift ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ulsif", "kliep"])
def test_density_ratio_of_two_gaussians_is_close_to_the_formula(method):
    """p_target = N(0.5, 0.7²) over p_train = N(0, 1), which is bounded."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(600, 1)), 0.5 + 0.7 * rng.normal(size=(600, 1))
    ratio = density_ratio(X, Z, method=method, n_centers=40)
    x = np.linspace(-2, 2, 41)[:, None]
    truth = np.exp(-((x[:, 0] - 0.5) ** 2) / (2 * 0.49) + x[:, 0] ** 2 / 2) / 0.7
    assert np.mean(np.abs(ratio(x) - truth)) < 0.15
    assert np.mean(ratio(X)) == pytest.approx(1.0, abs=0.05)
    assert np.all(ratio(X) >= 0)
    if method == "kliep":
        assert np.mean(ratio(X)) == pytest.approx(1.0, abs=1e-12)
        assert 0 <= ratio.gap <= 1e-2


def test_the_gap_of_kliep_is_a_bound():
    """(425) is not below the distance from the likelihood after many more steps."""
    from hinge.recipes.density_ratio import _likelihood

    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(200, 2)), 0.5 + 0.7 * rng.normal(size=(200, 2))
    train, target = (hinge.kernels.RBF(0.5)(part, Z[:40]) for part in (X, Z))
    value = lambda theta: np.mean(np.log(target @ theta))  # noqa: E731
    best = value(_likelihood(train, target, steps=20_000, tol=1e-9)[0])
    for steps in (1, 10, 100, 1000):
        theta, gap = _likelihood(train, target, steps=steps, tol=0.0)
        assert -1e-9 <= best - value(theta) <= gap + 1e-12


def test_the_path_leads_from_equal_weights_to_importance_weights():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(200, 2)), [1.0, 0.0] + 0.6 * rng.normal(size=(200, 2))
    truth = lambda A: np.where(A[:, 1] > np.sin(2 * A[:, 0]), 1, -1)  # noqa: E731
    y = np.where(rng.uniform(size=200) < 0.1, -truth(X), truth(X))
    shift = covariate_shift_path(X, y, Z, C=10.0, gamma=0.3, n_centers=30)
    assert np.mean(shift.weights) == pytest.approx(1.0)
    for theta in (0.0, 0.37, 1.0):
        weight = 1 + theta * (shift.weights - 1)
        fresh = hinge.SVC(C=10.0, gamma=0.3, tol=1e-9).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
        found = shift.path.decision_function(Z, theta)
        np.testing.assert_allclose(found, fresh.decision_function(Z), atol=1e-5)
    error = shift.validation_error(Z, truth(Z), weighted=False)
    for theta in np.linspace(0, 1, 23):
        assert error(theta) == pytest.approx(np.mean(shift.model(theta).predict(Z) != truth(Z)))
    low, high, least = shift.best(X, y)
    assert 0 <= low <= high <= 1
    weights = shift.ratio(X)
    wrong = [np.average(shift.model(t).predict(X) != y, weights=weights) for t in np.linspace(0, 1, 23)]
    assert least <= min(wrong) + 1e-9


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("method", ["ulsif", "kliep"])
def test_a_loaded_covariate_shift_is_identical(task, method, tmp_path):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 2)), 0.5 + rng.normal(size=(40, 2))
    y = X[:, 0] if task == "regression" else X[:, 0] > 0
    shift = covariate_shift_path(X, y, Z, n_centers=10, method=method, gamma=0.5, task=task)
    for saved in (shift, shift.ratio):
        hinge.save(saved, tmp_path / "shift.hinge")
        loaded = hinge.load(tmp_path / "shift.hinge")
        hinge.save(loaded, tmp_path / "again.hinge")
        assert (tmp_path / "again.hinge").read_bytes() == (tmp_path / "shift.hinge").read_bytes()
        ratio = loaded if saved is shift.ratio else loaded.ratio
        np.testing.assert_array_equal(ratio(Z), shift.ratio(Z))
    loaded = hinge.load(hinge.save(shift, tmp_path / "shift.hinge") or tmp_path / "shift.hinge")
    np.testing.assert_array_equal(loaded.weights, shift.weights)
    assert loaded.best(X, y) == shift.best(X, y)
    np.testing.assert_array_equal(loaded.model(0.4).predict(Z), shift.model(0.4).predict(Z))


def test_inconsistent_files_are_rejected(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 2))
    shift = covariate_shift_path(X, X[:, 0] > 0, X + 0.1, n_centers=10, gamma=0.5)
    ratio = shift.ratio
    changes = (
        dataclasses.replace(ratio, coefficients=ratio.coefficients[:-1]),
        dataclasses.replace(ratio, centers=ratio.centers[:, 0]),
        dataclasses.replace(ratio, gamma=np.nan),
        dataclasses.replace(ratio, coefficients=ratio.coefficients * np.inf),
        dataclasses.replace(shift, weights=shift.weights[:-1]),
        dataclasses.replace(shift, ratio=dataclasses.replace(ratio, centers=np.zeros((10, 3)))),
    )
    for altered in changes:
        assert_inconsistent_is_rejected(altered, tmp_path / "shift.hinge", monkeypatch)


def test_errors_name_the_invalid_argument():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="X has 2 features and X_target 1"):
        density_ratio(X, X[:, :1])
    with pytest.raises(ValueError, match="method='kde'"):
        density_ratio(X, X, method="kde")
    with pytest.raises(ValueError, match="lower cv"):
        density_ratio(X, X[:3])
    for method in ("ulsif", "kliep"):
        with pytest.raises(ValueError, match="do not overlap"):
            covariate_shift_path(X, X[:, 0] > 0, X + 1e6, method=method)
    shift = covariate_shift_path(X, X[:, 0] > 0, X + 0.1, n_centers=10)
    for ask in (shift.path.validation_error, shift.path.sign_changes, shift.model(0.5).predict):
        with pytest.raises(ValueError, match="NaN"):
            ask(np.full((1, 2), np.nan), *([[True]] if ask == shift.path.validation_error else []))
    with pytest.raises(ValueError, match="X_target has no samples"):
        density_ratio(X, X[:0])
    with pytest.raises(ValueError, match="X_target contains NaN"):
        density_ratio(X, np.full((9, 2), np.nan))
    with pytest.raises(ValueError, match="X has 3 features"):
        density_ratio(X, X)(np.ones((4, 3)))
