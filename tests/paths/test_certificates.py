"""Certificates of paths enclose the optimum, compared with exact arithmetic."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import hinge
from reference.exact import false_bounds, optima


def samples(scale, seed):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(24, 3)) + 3 * scale
    value = X[:, 0] / scale - 3 + 0.5 * rng.normal(size=24)
    return X, np.where(value > 0, 1, -1), value


def assert_encloses(path, theta, model, X, y):
    """The interval of the path at θ contains the exact optimum of the problem of the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        optimum = optima(model.fit(X, y), X, y)
    found = path.certificate(theta)
    assert false_bounds(found.dual, found.primal, optimum.low, optimum.high) == []
    assert found.gap <= 1e-6 * max(1.0, abs(found.primal))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_bounds_of_regularization_paths_enclose_the_optimum(kernel, scale):
    X, y, _ = samples(scale, 0)
    gamma = 2.0**-2 / scale**2
    path = hinge.regularization_path(X, y, kernel=kernel, gamma=gamma, C_min=2.0**-6, C_max=2.0**6)
    for C in (2.0**-6, 2.0**-3, 1.0, 1.5, 2.0**6):
        assert_encloses(path, C, hinge.SVC(C=C, kernel=kernel, gamma=gamma), X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_bounds_of_epsilon_paths_enclose_the_optimum(kernel, scale):
    X, _, value = samples(scale, 1)
    gamma = 2.0**-2 / scale**2
    path = hinge.epsilon_path(X, value, C=4.0, kernel=kernel, gamma=gamma)
    for epsilon in (path.low, 0.125, 0.5 * path.high, path.high):
        assert_encloses(path, epsilon, hinge.SVR(C=4.0, epsilon=epsilon, kernel=kernel, gamma=gamma), X, value)


def test_bounds_of_weight_paths_enclose_the_optimum():
    X, y, _ = samples(1.0, 2)
    weight = np.random.default_rng(3).integers(1, 9, 24) / 4
    path = hinge.weight_path(X, y, 1.0, weight, C=2.0, gamma=0.25)
    for theta in (0.0, 0.5, 1.0):
        model = hinge.SVC(C=2.0, gamma=0.25)
        at = 1 + theta * (weight - 1)
        optimum = optima(model.fit(X, y, sample_weight=at), X, y, sample_weight=at)
        found = path.certificate(theta)
        assert false_bounds(found.dual, found.primal, optimum.low, optimum.high) == []
