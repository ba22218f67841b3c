"""Predictors agree with the estimators, for one row and for many."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import hinge
from export.cases import NAMES, assert_agreement, cases, functions, row_by_row
from hinge.estimators.kernel.one_vs_one import class_values
from hinge.kernels import RBF, Laplacian

SETTINGS = settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(data=st.data())
def test_every_estimator_and_kernel_agrees(name, data):
    case = data.draw(cases(name))
    predict, X = hinge.predictor(case.model), np.ascontiguousarray(case.X)
    predicted = predict(X)
    one_by_one = np.array([predict(x) for x in X], dtype=predicted.dtype)
    values = predict.functions(X)
    singly = np.concatenate([predict.functions(x[None]) for x in X])
    assert np.all(np.abs(values - singly) <= 1e-12 * functions(case)[1])
    if case.has_labels:
        values = row_by_row(case.model.decision_function, case.X)
        assert_agreement(case, predicted, values)
        assert_agreement(case, one_by_one, values)
    else:
        assert_agreement(case, None, predicted)


def test_the_predictor_is_frozen():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = hinge.SVC().fit(X, y)
    expected, predict = model.predict(X), hinge.predictor(model)
    model.fit(X, 1 - y)
    np.testing.assert_array_equal(predict(X), expected)
    assert predict.n_features == 30


def test_votes_are_those_of_the_estimator():
    """With four classes, confidences may not outweigh a vote."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    predict = hinge.predictor(hinge.SVC(break_ties=True).fit(X, y))
    values = 10.0 ** rng.uniform(-3, 3, (500, 6)) * rng.choice([-1, 1], (500, 6))
    np.testing.assert_allclose(predict._votes(values), class_values(values, np.arange(4)), rtol=1e-12)


def test_functions_with_several_kernels_are_summed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    model = hinge.LPSVR(C=10.0, kernel=[RBF(0.5), RBF(3.0), Laplacian(0.2)]).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    predict = hinge.predictor(model)
    assert len(predict._terms) > 1
    np.testing.assert_allclose(predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


def test_rows_of_another_width_are_an_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    for model in (hinge.SVC(), hinge.LinearSVC(), hinge.SVR()):
        predict = hinge.predictor(model.fit(X, y))
        with pytest.raises(ValueError, match=r"features|size"):
            predict(X[0, :3])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(), "RandomForestClassifier"),
        (hinge.SVC(kernel="precomputed").fit(np.eye(4), [0, 0, 1, 1]), "precomputed"),
    ],
)
def test_models_without_a_formula_are_refused(model, message):
    with pytest.raises((TypeError, ValueError), match=message):
        hinge.predictor(model)
