"""Validation errors as exact functions of the parameter, and their exact minima."""

import numpy as np
import pytest

from hinge import quadratic_loss_path, regularization_path, weight_path
from hinge.paths import PiecewiseQuadratic, StepFunction
from paths.cases import classification, regression


def split(X, y, seed=0):
    order = np.random.default_rng(seed).permutation(len(y))
    half = len(y) // 2
    return X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]]


@pytest.mark.parametrize("name", ["overlap", "some of each", "integer grid", "chess board", "balanced"])
def test_the_error_rate_is_a_step_function(name):
    X, y, X_val, y_val = split(*classification()[name])
    path = regularization_path(X, y, gamma=1.0)
    error = path.validation_error(X_val, y_val)
    rng = np.random.default_rng(1)
    for C in 10 ** rng.uniform(-3, 3, 60):
        values = path.decision_function(X_val, C)
        if np.min(np.abs(values)) > 1e-9:  # the sign of a value close to zero depends on rounding
            assert error(C) == pytest.approx(np.mean((values > 0) != (y_val > 0)))
    best = path.best(X_val, y_val)
    assert best.error == np.min(error.values)
    assert error(0.5 * (best.low + best.high)) == best.error
    assert error.knots[0] == path.low
    assert error.knots[-1] == path.high
    assert len(error.values) == len(error.knots) - 1


def test_the_minimum_is_not_above_that_of_a_grid():
    X, y, X_val, y_val = split(*classification()["integer grid"])
    path = regularization_path(X, y, gamma=0.5)
    best = path.best(X_val, y_val).error
    grid = [np.mean(path.model(C).predict(X_val) != y_val) for C in np.geomspace(1e-3, 1e3, 200)]
    assert best <= min(grid) + 1e-12


def test_sample_weights_enter_the_error():
    X, y, X_val, y_val = split(*classification()["overlap"])
    weight = np.random.default_rng(2).uniform(0.1, 2, len(y_val))
    path = regularization_path(X, y, gamma=1.0)
    error = path.validation_error(X_val, y_val, weight)
    for C in (0.013, 0.7, 55.0):
        wrong = path.model(C).predict(X_val) != y_val
        assert error(C) == pytest.approx(np.average(wrong, weights=weight))


def test_the_squared_error_is_minimized_exactly():
    X, y, X_val, y_val = split(*regression()["smooth"])
    path = regularization_path(X, y, gamma=1.0, task="regression", epsilon=0.05)
    error = path.validation_error(X_val, y_val)
    for C in np.geomspace(1e-3, 1e3, 50):
        assert error(C) == pytest.approx(np.mean((path.decision_function(X_val, C) - y_val) ** 2), rel=1e-9)
    best = path.best(X_val, y_val)
    assert best.error <= np.min(error(np.geomspace(1e-3, 1e3, 5000)))
    assert error(best.low) == pytest.approx(best.error, rel=1e-12)
    np.testing.assert_allclose(error.values, [error(k) for k in error.knots], rtol=1e-9)


def test_the_error_along_a_weight_path_is_exact():
    X, y, X_val, y_val = split(*classification()["overlap"])
    path = weight_path(X, y, np.ones(len(y)), np.linspace(0, 2, len(y)), C=10.0, gamma=1.0)
    error = path.validation_error(X_val, y_val)
    for theta in np.linspace(0, 1, 23):
        assert error(theta) == pytest.approx(np.mean(path.model(theta).predict(X_val) != y_val))


def test_the_error_along_a_quadratic_loss_path_is_exact():
    X, y, X_val, y_val = split(*classification()["overlap"])
    for bias in (False, True):
        path = quadratic_loss_path(X, y, loss="huberized_hinge", gamma=1.0, lambda_min=1e-3, fit_intercept=bias)
        error = path.validation_error(X_val, y_val)
        for lam in np.geomspace(path.lambda_min, path.lambda_max, 60):
            assert error(lam) == pytest.approx(np.mean(path.model(lam).predict(X_val) != y_val))


def test_errors_name_the_invalid_validation_data():
    X, y = classification()["overlap"]
    path = regularization_path(X, y, gamma=1.0)
    with pytest.raises(ValueError, match="label"):
        path.validation_error(X, np.arange(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        path.validation_error(X, y[:-1])


def test_the_mean_of_step_functions():
    first = StepFunction(np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0]))
    second = StepFunction(np.array([0.0, 2.0, 3.0]), np.array([0.0, 1.0]))
    mean = StepFunction.mean([first, second], [0.25, 0.75])
    np.testing.assert_allclose(mean([0.5, 1.5, 2.5]), [0.25, 0.0, 0.75])
    assert mean.best() == (1.0, 2.0, 0.0)


def test_the_mean_of_piecewise_quadratic_functions():
    first = PiecewiseQuadratic(np.array([0.0, 2.0, 4.0]), np.array([[4.0, -4.0, 1.0], [0.0, 1.0, 0.0]]))
    second = PiecewiseQuadratic(np.array([0.0, 4.0]), np.array([[0.0, 0.0, 1.0]]))
    mean = PiecewiseQuadratic.mean([first, second])
    t = np.linspace(0, 4, 17)
    np.testing.assert_allclose(mean(t), 0.5 * (np.asarray(first(t)) + np.asarray(second(t))), atol=1e-12)
    assert mean.best().low == pytest.approx(1.0)
