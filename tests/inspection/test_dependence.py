"""Gradients against differences, ICE curves against predictions, influence against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.inspection import flip, gradient, influence, partial_dependence
from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, ProductBSpline

KERNELS = [
    RBF(0.3), Laplacian(0.2), Linear(), Polynomial(3, 0.5, 1.0), RBF(0.2) + 2 * Linear(),
    RBF(0.2) * Polynomial(2, 0.5, 1.0) + 0.5 * Laplacian(0.3) * RBF(0.1),
]  # fmt: skip

SPLINES = ProductBSpline(3, 0.2) * RBF(0.1) + ProductBSpline(1, 0.1)


def regression(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_equals_differences(kernel):
    X, y = regression()
    model = hinge.SVR(kernel=kernel, C=3.0).fit(X, y)
    rows, h = np.random.default_rng(1).normal(size=(5, 4)), 1e-5
    found = gradient(model, rows)
    for j in range(4):
        step = h * np.eye(4)[j]
        expected = (model.predict(rows + step) - model.predict(rows - step)) / (2 * h)
        assert_allclose(found[:, j], expected, rtol=1e-6, atol=1e-7)


def test_gradient_of_classes_and_linear_models():
    X, _ = regression(60)
    y = np.argmax(X[:, :3], axis=1)
    model = hinge.SVC(decision_function_shape="ovo").fit(X, y)
    pairs = gradient(model, X[:4], output="pairs")
    assert pairs.shape == (4, 4, 3)
    step = 1e-5 * np.eye(4)[2]
    expected = (model.decision_function(X[:4] + step) - model.decision_function(X[:4] - step)) / 2e-5
    assert_allclose(pairs[:, 2], expected, atol=1e-7)
    linear = hinge.LinearSVR().fit(X, X[:, 0])
    assert_allclose(gradient(linear, X[:2]), np.tile(linear.coef_, (2, 1)))
    with pytest.raises(ValueError, match="B-spline"):
        gradient(hinge.SVR(kernel=BSpline(3, 1.0)).fit(X[:, :1], y), X[:, :1])


@pytest.mark.parametrize("kernel", [*KERNELS, SPLINES, None], ids=repr)
def test_curves_equal_predictions(kernel):
    X, y = regression()
    model = hinge.LinearSVR().fit(X, y) if kernel is None else hinge.SVR(kernel=kernel, C=3.0).fit(X, y)
    found = partial_dependence(model, X, 1, grid=7)
    assert_allclose(found.grid, np.linspace(X[:, 1].min(), X[:, 1].max(), 7))
    for g, value in enumerate(found.grid):
        changed = X.copy()
        changed[:, 1] = value
        assert_allclose(found.ice[:, g], model.predict(changed), rtol=1e-11, atol=1e-11)
    assert_allclose(found.average, found.ice.mean(axis=0))


def test_curves_of_one_feature_and_invalid_features():
    X, y = regression(d=3)
    model = hinge.SVR(kernel=BSpline(3, 1.0), C=3.0).fit(X[:, :1], y)
    found = partial_dependence(model, X[:5, :1], 0, grid=[-1.0, 0.5])
    assert_allclose(found.ice, np.tile(model.predict([[-1.0], [0.5]]), (5, 1)), atol=1e-13)
    with pytest.raises(ValueError, match="below the number of features"):
        partial_dependence(model, X[:, :1], 1)
    with pytest.raises(ValueError, match="not a feature"):
        partial_dependence(model, X[:, :1], "a")


@pytest.mark.parametrize(
    "model",
    [
        hinge.SVR(C=3.0, gamma=0.3, tol=1e-10), hinge.NuSVR(gamma=0.3, tol=1e-10),
        hinge.SVR(C=3.0, gamma=0.3, loss="huber", tol=1e-10), hinge.IncrementalSVR(C=3.0, gamma=0.3),
        hinge.SVC(C=3.0, gamma=0.3, tol=1e-10), hinge.IncrementalSVC(C=3.0, gamma=0.3),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_influence_equals_refits(model):
    from sklearn.base import clone

    X, y = regression(30)
    classifier = hasattr(model, "class_weight")
    y = np.where(y > 0, "yes", "no") if classifier else y
    model = clone(model).fit(X, y)
    new = np.random.default_rng(2).normal(size=(4, 4))
    value = (lambda m: m.decision_function(new)) if classifier else (lambda m: m.predict(new))
    found = influence(model, new, X, y)
    before = value(clone(model).fit(X, y))
    for i in range(30):
        rest = np.arange(30) != i
        assert_allclose(found[:, i], value(clone(model).fit(X[rest], y[rest])) - before, atol=1e-7)
    if hasattr(model, "training_data_"):
        assert_allclose(influence(model, new), found, atol=1e-9)


def test_influence_of_special_samples():
    X, y = regression(20)
    weight = np.ones(20)
    weight[3] = 0
    model = hinge.SVR().fit(X, y, weight)
    found = influence(model, X[:2], X, y, weight)
    assert found.shape == (2, 20)
    assert_array_equal(found[:, 3], 0.0)
    labels = np.arange(20) == 5
    classifier = hinge.SVC().fit(X, labels)
    found = influence(classifier, X[:2], X, labels)
    assert np.isnan(found[:, 5]).all()
    assert np.isfinite(np.delete(found, 5, axis=1)).all()
    with pytest.raises(ValueError, match="pass X_train"):
        influence(model, X)
    with pytest.raises(ValueError, match="two classes"):
        y3 = np.arange(20) % 3
        influence(hinge.SVC().fit(X, y3), X, X, y3)
    with pytest.raises(TypeError, match="LinearSVC"):
        influence(hinge.LinearSVC().fit(X, labels), X, X, labels)


@pytest.mark.parametrize("rows", [19, 21])
def test_other_samples_than_those_of_the_fit_are_rejected(rows):
    X, y = regression(21)
    classifier = hinge.SVC().fit(X[:20], y[:20] > 0)
    with pytest.raises(ValueError, match=f"X_train has {rows} rows, but the model was fitted with 20"):
        influence(hinge.SVR().fit(X[:20], y[:20]), X[:2], X[:rows], y[:rows])
    with pytest.raises(ValueError, match=f"X_train has {rows} rows, but the model was fitted with 20"):
        flip(classifier, X[0], X[:rows], y[:rows] > 0)


@pytest.mark.parametrize("grid", [[], [0.0, np.nan], [np.inf], [[0.0, 1.0]]])
def test_invalid_grids_are_rejected(grid):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"^grid"):
        partial_dependence(hinge.SVR().fit(X, X[:, 0]), X, 1, grid=grid)


@pytest.mark.parametrize("function", [influence, flip])
def test_other_labels_than_those_of_the_fit_are_rejected(function):
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = hinge.SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"y_train has the classes \[0, 1\], .* \['a', 'b'\]"):
        function(model, X[:1], X, (y == "a").astype(int))


@pytest.mark.parametrize("function", [influence, flip])
def test_other_features_than_those_of_the_fit_are_rejected(function):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = hinge.SVC().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"X_train .* support vectors"):
        function(model, X[:1], X + 1.0, X[:, 0] > 0)
