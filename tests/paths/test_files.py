"""Paths are saved and loaded without loss; approximate paths."""

import numpy as np
import pytest

import hinge
from paths.cases import classification, regression
from reference.archives import assert_inconsistent_is_rejected

X, Y = classification()["some of each"]
PATHS = {
    "C": lambda: hinge.regularization_path(X, Y, gamma=1.0),
    "regression": lambda: hinge.regularization_path(*regression()["smooth"], gamma=1.0, task="regression"),
    "weights": lambda: hinge.weight_path(X, Y, np.ones(len(Y)), np.linspace(0.1, 2, len(Y)), gamma=1.0),
    "quadratic": lambda: hinge.quadratic_loss_path(X, Y, gamma=1.0, lambda_min=1e-2, loss="huberized_hinge"),
    "approximate": lambda: hinge.approximate_path(X, Y, gamma=1.0, gap=0.1),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_loaded_path_is_identical(name, tmp_path):
    path = PATHS[name]()
    hinge.save(path, tmp_path / "path.hinge")
    other = hinge.load(tmp_path / "path.hinge")
    assert repr(other) == repr(path)
    low, high = (path.lambda_min, path.lambda_max) if name == "quadratic" else (path.low, path.high)
    for theta in np.linspace(low, high, 7):
        np.testing.assert_array_equal(other.decision_function(path.X, theta), path.decision_function(path.X, theta))


def test_inconsistent_files_are_rejected(tmp_path, monkeypatch):
    path = PATHS["C"]()
    path.pieces.margin[0] = 10_000
    assert_inconsistent_is_rejected(path, tmp_path / "path.hinge", monkeypatch)


def test_approximate_paths_have_the_certified_gap():
    path, exact = hinge.approximate_path(X, Y, gamma=1.0, gap=0.02), PATHS["C"]()
    K, signs = exact.kernel(X), exact.y
    for C in np.geomspace(1e-3, 1e3, 40):
        beta, f = path.coefficients(C), path.decision_function(X, C)
        primal = 0.5 * beta @ K @ beta + C * np.sum(np.maximum(0, 1 - signs * f))
        optimum = exact.certificate(C).dual
        assert (primal - optimum) / primal <= path.gap_bound(C) + 1e-9
        assert path.gap_bound(C) <= 0.02 * (1 + 1e-9)
    assert len(path.knots) < len(exact.breakpoints)


def test_loaded_one_vs_one_paths_are_identical(tmp_path):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    paths = hinge.one_vs_one_paths(A, b, gamma=1.0)
    hinge.save(paths, tmp_path / "paths.hinge")
    other = hinge.load(tmp_path / "paths.hinge")
    assert repr(other) == repr(paths)
    np.testing.assert_array_equal(other.decision_values(A, 2.0), paths.decision_values(A, 2.0))
