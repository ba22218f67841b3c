"""Decision values of zero: the error along a path is exactly that of its models."""

import numpy as np
import pytest

import hinge
from hinge import one_vs_one_paths, quadratic_loss_path, regularization_path, weight_path
from hinge.paths import Best, StepFunction
from hinge.paths.ties import Rounding
from hinge.recipes import covariate_shift_path


def grid_data(seed, n=40, m=20, step=2.0):
    """Few distinct samples with both labels: decision values are zero on intervals."""
    rng = np.random.default_rng(seed)
    X, Z = (np.round(rng.normal(size=(k, 2)) * step) / step for k in (n, m))
    y, z = (np.where(A[:, 0] + rng.normal(size=len(A)) > 0, 1, -1) for A in (X, Z))
    return X, y, Z, z, rng


def wrong(model, Z, z):
    return np.mean(model.predict(Z) != z)


PATHS = {
    "weights": lambda X, y, rng: weight_path(X, y, 1.0, rng.integers(1, 4, len(y)), C=1.0, kernel="linear"),
    "few weights": lambda X, y, rng: weight_path(X, y, rng.integers(0, 2, len(y)), 1.0, C=0.25, kernel="linear"),
    "costs": lambda X, y, rng: regularization_path(X, y, kernel="linear", C_min=2.0**-7, C_max=2.0**5),
    "nu": lambda X, y, rng: hinge.nu_path(X, y, kernel="linear", nu_min=0.3, nu_max=0.6),
    "polynomial": lambda X, y, rng: weight_path(
        X, y, 1.0, rng.integers(1, 4, len(y)), C=1.0, kernel="poly", degree=2, gamma=1.0
    ),
    "rbf": lambda X, y, rng: weight_path(X, y, 1.0, rng.integers(1, 4, len(y)), C=1.0, gamma=1.0),
    "squared hinge": lambda X, y, rng: quadratic_loss_path(X, y, kernel="linear", lambda_min=1e-2, fit_intercept=True),
    "no offset": lambda X, y, rng: quadratic_loss_path(X, y, kernel="linear", lambda_min=1e-2, loss="huberized_hinge"),
}


@pytest.mark.parametrize("name", PATHS)
def test_the_best_model_has_the_reported_error(name):
    zeros = 0
    for seed in range(20 if name in ("squared hinge", "no offset") else 60):
        X, y, Z, z, rng = grid_data(seed)
        path = PATHS[name](X, y, rng)
        error = path.validation_error(Z, z)
        best = error.best()
        model = path.model(best.theta)
        zeros += np.sum(model.decision_function(Z) == 0)
        assert best.low <= best.theta <= best.high
        assert best.error == wrong(model, Z, z) == error(best.theta), seed
        np.testing.assert_array_equal(path.decision_function(Z, best.theta) > 0, model.predict(Z) == 1)
    assert zeros > 0 or name in ("rbf", "polynomial", "squared hinge")


@pytest.mark.parametrize("name", PATHS)
def test_the_function_between_knots_is_the_error_of_the_model(name):
    for seed in range(100, 106):
        X, y, Z, z, rng = grid_data(seed)
        path = PATHS[name](X, y, rng)
        error = path.validation_error(Z, z)
        wide = np.diff(error.knots) > 1e-9 * error.knots[-1]
        for theta in (0.5 * (error.knots[:-1] + error.knots[1:]))[wide]:
            assert error(theta) == pytest.approx(wrong(path.model(theta), Z, z), abs=1e-12), (seed, theta)


def test_a_precomputed_kernel_has_the_same_zeros():
    for seed in range(20):
        X, y, Z, z, rng = grid_data(seed)
        end = rng.integers(1, 4, len(y))
        plain = weight_path(X, y, 1.0, end, kernel="linear")
        given = weight_path(X @ X.T, y, 1.0, end, kernel="precomputed")
        assert given.best(Z @ X.T, z) == pytest.approx(plain.best(Z, z))
        best = given.best(Z @ X.T, z)
        assert best.error == wrong(given.model(best.theta), Z @ X.T, z)


def test_zeros_in_votes_of_pairs_are_those_of_the_model():
    for seed in range(20):
        X, _, Z, _, rng = grid_data(seed, n=45)
        y, z = (rng.integers(0, 3, len(A)) for A in (X, Z))
        paths = one_vs_one_paths(X, y, kernel="linear", C_min=2.0**-7, C_max=2.0)
        best = paths.best(Z, z)
        assert best.error == pytest.approx(np.mean(paths.predict(Z, best.theta) != z), abs=1e-12), seed


def test_the_best_theta_of_a_covariate_shift_has_the_reported_error():
    """The error at the ends of the interval may be larger: 0.25 instead of 0.05 for these data."""
    for seed in (98, 120, 127, 131, 139, 144):
        X, y, Z, z, _ = grid_data(seed)
        shift = covariate_shift_path(X, y, Z, C=1.0, kernel="linear", n_centers=20)
        best = shift.best(Z, z, weighted=False)
        assert best.error == wrong(shift.model(best.theta), Z, z)


def test_the_bound_covers_the_rounding_errors_of_sums():
    """(480), compared with sums in extended precision; larger values are not set to zero."""
    rng = np.random.default_rng(0)
    for n in (3, 50, 400):
        X, Z = rng.normal(size=(n, 5)), rng.normal(size=(30, 5))
        for scale in (1e-3, 1.0, 1e6):
            beta, b = scale * rng.normal(size=n), rng.normal()
            exact = (Z.astype(np.longdouble) @ X.T.astype(np.longdouble)) @ beta.astype(np.longdouble) + b
            rounding = Rounding.of(hinge.kernels.Linear(), np.sum(X**2, axis=1), 5)
            found = (Z @ X.T) @ beta + b
            bound = rounding.bound(rounding.reach(Z), rounding.size(beta), b)
            assert np.all(np.abs(found - exact) <= bound)
            assert np.all(bound < 1e-12 * scale * n**1.5 + 1e-12)
            np.testing.assert_array_equal(rounding.zero_ties(found, Z, beta, b), found)
            assert not rounding.zero_ties(0.9 * bound, Z, beta, b).any()


def test_steps_within_rounding_errors_are_merged():
    at, blur = np.array([0.5, 0.5 + 1e-9, 0.7]), np.array([1e-9, 1e-9, 1e-9])
    error = StepFunction.of_steps(0.0, 1.0, 0.4, at, np.array([-0.3, 0.2, -0.1]), blur)
    np.testing.assert_allclose(error.knots, [0.0, 0.5, 0.7, 1.0])
    np.testing.assert_allclose(error.values, [0.4, 0.3, 0.2])
    assert error.best() == pytest.approx((0.7, 1.0, 0.2))
    assert error.best().theta == pytest.approx(0.85)


def test_the_best_theta_is_away_from_knots_without_a_step():
    """Two predictions may change at one θ, one of them to the right label and one to the wrong label."""
    error = StepFunction(np.array([0.0, 0.5, 0.7, 1.0]), np.array([0.1, 0.1, 0.3]))
    assert error.best() == (0.0, 0.7, 0.1)
    assert error.best().theta == 0.25
    assert Best(1.0, 4.0, 0.0).theta == 2.0
    assert Best(0.0, 4.0, 0.0).theta == 2.0
    costs = StepFunction(np.array([1e-3, 1e-1, 1.0, 10.0]), np.array([0.1, 0.1, 0.3]))
    assert costs.best().theta == pytest.approx(1e-2)
