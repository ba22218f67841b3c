"""Paths of quadratic losses are optimal at every λ, and agree with Clarabel."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from hinge import quadratic_loss_path
from hinge.paths.quadratic_loss.rational import RationalFunctions
from paths.cases import classification

CASES = classification()
LOSSES = ["squared_hinge", "modified_huber", "huberized_hinge", (0.5, 3.0), (2.0, 0.5), (1.0, 1.0)]


def reference(K, y, rho, h, lam, bias):
    """Solve min ½αᵀ(Q/λ + I)α − ρ1ᵀα, 0 ≤ α ≤ h, with Clarabel."""
    n = len(y)
    P = sp.triu(sp.csc_matrix(np.outer(y, y) * K / lam + np.eye(n))).tocsc()
    rows, right, cones = [], [], []
    if bias:
        rows.append(sp.csc_matrix(y[None, :]))
        right.append([0.0])
        cones.append(clarabel.ZeroConeT(1))
    rows.append(-sp.eye(n))
    right.append(np.zeros(n))
    if np.isfinite(h):
        rows.append(sp.eye(n))
        right.append(np.full(n, h))
    cones.append(clarabel.NonnegativeConeT(n * (len(rows) - bias)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    A, b = sp.vstack(rows).tocsc(), np.concatenate(right)
    return np.array(clarabel.DefaultSolver(P, -rho * np.ones(n), A, b, cones, settings).solve().x)


def violation(path, lam):
    """Return the relative violation of Karasuyama (5.11)."""
    alpha, b = path.alpha(lam), path.intercept(lam)
    K = path.kernel(path.X)
    score = path.y * (K @ (path.y * alpha) / lam + b)
    r = score - path.rho + alpha
    inside = (alpha > 1e-9) & (alpha < path.h - 1e-9)
    wrong = np.concatenate([np.abs(r[inside]), -r[alpha <= 1e-9], r[alpha >= path.h - 1e-9], -alpha, alpha - path.h])
    scale = path.rho + np.max(alpha) * np.max(np.diagonal(K)) / lam
    return max(float(np.max(wrong)), abs(float(path.y @ alpha)) if path.bias else 0.0) / scale


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("name", ["overlap", "some of each", "integer grid", "balanced", "unbalanced"])
def test_the_path_is_optimal_at_every_lambda(name, loss, bias):
    X, y = CASES[name]
    path = quadratic_loss_path(X, y, loss=loss, gamma=1.0, lambda_min=1e-4, fit_intercept=bias)
    assert path.kkt_violation < 1e-9
    for lam in np.geomspace(path.lambda_min, path.lambda_max, 15):
        assert violation(path, lam) < 1e-9
    for lam in path.breakpoints[:: max(1, len(path.breakpoints) // 15)]:
        assert violation(path, lam) < 1e-9


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("loss", ["modified_huber", "huberized_hinge"])
def test_the_path_agrees_with_clarabel(loss, bias):
    X, y = CASES["overlap"]
    path = quadratic_loss_path(X, y, loss=loss, gamma=1.0, lambda_min=1e-3, fit_intercept=bias)
    K = path.kernel(X)
    for lam in np.geomspace(2e-3, 0.9 * path.lambda_max, 6):
        np.testing.assert_allclose(path.alpha(lam), reference(K, path.y, path.rho, path.h, lam, bias), atol=1e-6)


def test_the_path_ends_at_lambda_max():
    X, y = CASES["overlap"]
    whole = quadratic_loss_path(X, y, gamma=1.0, loss="huberized_hinge", lambda_min=1e-3)
    part = quadratic_loss_path(X, y, gamma=1.0, loss="huberized_hinge", lambda_min=1e-3, lambda_max=0.1)
    longer = quadratic_loss_path(X, y, gamma=1.0, loss="huberized_hinge", lambda_min=1e-3, lambda_max=1e3)
    assert part.lambda_max == 0.1
    assert longer.lambda_max == 1e3
    for lam in (0.0013, 0.01, 0.09):
        np.testing.assert_allclose(part.alpha(lam), whole.alpha(lam), atol=1e-12)
        np.testing.assert_allclose(longer.alpha(lam), whole.alpha(lam), atol=1e-9)
    assert np.all(part.set_sizes().sum(axis=1) == len(y))
    with pytest.raises(ValueError, match="outside the path"):
        part.alpha(1.0)


def test_the_cutoff_saves_evaluations():
    X, y = CASES["overlap"]
    path = quadratic_loss_path(X, y, gamma=1.0, loss="huberized_hinge", lambda_min=1e-4)
    assert path.mean_evaluations < 2.0


@pytest.mark.parametrize("seed", range(30))
def test_the_first_root_is_found(seed):
    """On a fine grid no function is negative before the root."""
    rng = np.random.default_rng(seed)
    m, k = 6, 5
    functions = RationalFunctions(
        rng.normal(size=m), rng.normal(size=m) * rng.integers(0, 2), rng.normal(size=(m, k)), rng.uniform(0, 3, k)
    )
    start = 2.0
    sign = np.where(functions.values(start) >= 0, 1.0, -1.0)
    functions = RationalFunctions(
        sign * functions.constant, sign * functions.linear, sign[:, None] * functions.weight, functions.pole
    )
    found = functions.first_crossing(start, 1e-3)
    grid = np.geomspace(start, found.at if found.which >= 0 else 1e-3, 4000)[:-1]
    for lam in grid:
        assert np.all(functions.values(lam) > -1e-9)
    if found.which >= 0:
        assert functions.values(found.at)[found.which] == pytest.approx(0.0, abs=1e-9)
        assert functions.values(found.at * (1 - 1e-4))[found.which] < 1e-9


def test_a_function_that_does_not_decrease_has_no_root():
    """Weights of the size of rounding errors at poles at zero."""
    functions = RationalFunctions(
        np.array([0.6]), np.zeros(1), np.array([[9.06e-32, -1.2e-35]]), np.array([2.6e-48, 0.0])
    )
    assert functions.first_crossing(0.265625, 1e-4).which == -1


@pytest.mark.parametrize("bias", [False, True])
def test_a_kernel_of_ones_with_any_order_of_the_samples(bias):
    y = np.repeat([1.0, -1.0], [12, 5])
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(17)
        path = quadratic_loss_path(np.zeros((17, 1)), y[order], gamma=1.0, lambda_min=1e-4, fit_intercept=bias)
        assert path.kkt_violation < 1e-9
        for lam in np.geomspace(path.lambda_min, path.lambda_max, 5):
            assert violation(path, lam) < 1e-9


BAD = [
    (dict(loss="hinge"), "loss"),
    (dict(loss=(0.0, 1.0)), "rho"),
    (dict(lambda_min=0.0), "lambda_min"),
    (dict(lambda_min=1.0, lambda_max=0.5), "exchange"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[m for _, m in BAD])
def test_errors_name_the_invalid_argument(arguments, message):
    X, y = CASES["overlap"]
    with pytest.raises(ValueError, match=message):
        quadratic_loss_path(X, y, **arguments)
