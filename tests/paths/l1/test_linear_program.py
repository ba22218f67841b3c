"""The path of an ℓ1-regularized estimator agrees with linear programs at single values of C.  docs/math (808)"""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge import Status, lp_path
from hinge.kernels import RBF
from reference.data_sets import binary_data, regression_data


def optimal_value(Phi, target, cost, epsilon, C):
    """min Σ|a| + C Σ costᵢ lossᵢ by the dual simplex method, in the primal variables a⁺, a⁻, b, ξ."""
    n, width = Phi.shape
    design = np.hstack([Phi, -Phi, np.ones((n, 1))])
    c = np.r_[np.ones(2 * width), 0.0, C * cost]
    bounds = [(0, None)] * (2 * width) + [(None, None)] + [(0, None)] * n
    if epsilon is None:  # classification
        A, right = np.hstack([-target[:, None] * design, -np.eye(n)]), -np.ones(n)
    else:
        A = np.vstack([np.hstack([-design, -np.eye(n)]), np.hstack([design, -np.eye(n)])])
        right = np.r_[epsilon - target, epsilon + target]
    return linprog(c, A_ub=A, b_ub=right, bounds=bounds, method="highs-ds").fun


@pytest.mark.parametrize("data", binary_data())
def test_classification_agrees_with_linear_programs(data):
    X, y = binary_data()[data]
    X, y = X[::3], y[::3]
    path = lp_path(X, y, gamma=0.5, C_min=0.1, C_max=20.0)
    assert path.status is Status.SOLVED
    assert path.relative_gap < 1e-6
    for C in np.geomspace(0.1, 20.0, 7):
        assert path.value(C) == pytest.approx(optimal_value(RBF(0.5)(X), y, np.ones(len(y)), None, C), rel=1e-7)


@pytest.mark.parametrize("data", regression_data())
def test_regression_agrees_with_linear_programs_and_with_the_estimator(data):
    X, y = regression_data()[data]
    X, y = X[:40], y[:40]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    path = lp_path(X, y, task="regression", epsilon=0.1, gamma=0.2, sample_weight=weight, C_min=0.05, C_max=5.0)
    assert path.relative_gap < 1e-6
    for C in np.geomspace(0.05, 5.0, 5):
        assert path.value(C) == pytest.approx(optimal_value(RBF(0.2)(X), y, weight, 0.1, C), rel=1e-7)
    C = float(np.sqrt(path.breakpoints[1] * path.breakpoints[2]))
    model = hinge.LPSVR(C=C, epsilon=0.1, gamma=0.2).fit(X, y, weight)
    assert path.value(C) == pytest.approx(model.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(path.predict(X, C), model.predict(X), atol=1e-5)


def test_the_value_is_concave_and_the_coefficients_are_constant_between_breakpoints():
    X, y = regression_data()["sinc"]
    path = lp_path(X[:60], y[:60], task="regression", gamma=1.0, C_min=0.1, C_max=10.0)
    assert len(path.vertices) == len(path.breakpoints) - 1 > 5
    assert np.all(np.diff(path.penalties) > 0)
    assert np.all(np.diff(path.losses) < 0)
    inner = path.breakpoints[1:-1]
    jumps = path.penalties[:-1] + inner * path.losses[:-1] - path.penalties[1:] - inner * path.losses[1:]
    np.testing.assert_allclose(jumps, 0.0, atol=1e-7 * path.value(10.0))  # the value is continuous
    for low, high in zip(path.breakpoints, path.breakpoints[1:], strict=False):
        C = np.linspace(low, high, 5)[1:-1]
        assert len({path.coefficients(c).tobytes() for c in C}) == 1


def test_a_matrix_of_kernel_values_gives_the_same_path():
    X, y = binary_data()["moons"]
    X, y = X[:40], y[:40]
    path = lp_path(X, y, gamma=1.0, C_min=0.5, C_max=5.0)
    matrix = lp_path(RBF(1.0)(X), y, kernel="precomputed", C_min=0.5, C_max=5.0)
    np.testing.assert_allclose(matrix.breakpoints, path.breakpoints, rtol=1e-6)
    np.testing.assert_allclose(
        matrix.decision_function(RBF(1.0)(X), 2.0), path.decision_function(X, 2.0), atol=1e-6
    )


def test_limits_and_invalid_arguments():
    X, y = binary_data()["wine"]
    with pytest.warns(ConvergenceWarning, match="breakpoints may be missing"):
        assert lp_path(X, y, max_time=0.02).status is Status.TIME_LIMIT
    with pytest.raises(ValueError, match="C_min"):
        lp_path(X, y, C_min=2.0, C_max=1.0)
    with pytest.raises(ValueError, match="task"):
        lp_path(X, y, task="one_class")
    path = lp_path(X[::6], y[::6], C_min=0.5, C_max=2.0)
    with pytest.raises(ValueError, match=r"C=3\.0 is outside the path"):
        path.value(3.0)
    with pytest.raises(ValueError, match="features"):
        path.predict(X[:, :3], 1.0)
