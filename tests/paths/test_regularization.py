"""Paths over C, ε, weights, margins and ν satisfy the optimality conditions everywhere, also for difficult data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge import epsilon_path, nu_path, regularization_path, weight_path
from hinge.kernels import Precomputed, open_access
from hinge.paths.engine import Engine
from paths.cases import KERNELS, classification, regression
from paths.optimality import KKT, assert_exact, direct_violation

CLASSES, TARGETS = classification(), regression()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_the_path_of_classification_is_optimal_at_every_C(name, kernel):
    X, y = CLASSES[name]
    assert_exact(regularization_path(X, y, C_min=1e-4, C_max=1e6, **kernel), every_breakpoint=False)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("name", TARGETS)
def test_the_path_of_regression_is_optimal_at_every_C(name, epsilon):
    X, y = TARGETS[name]
    for kernel in (dict(kernel="rbf", gamma=0.5), dict(kernel="linear")):
        path = regularization_path(X, y, C_min=1e-3, C_max=1e3, task="regression", epsilon=epsilon, **kernel)
        assert_exact(path, every_breakpoint=False)


@pytest.mark.parametrize("name", TARGETS)
def test_the_path_over_epsilon_is_optimal(name):
    X, y = TARGETS[name]
    for kernel in (dict(kernel="rbf", gamma=0.5), dict(kernel="linear")):
        path = epsilon_path(X, y, epsilon_min=0.0, epsilon_max=3.0, C=10.0, **kernel)
        assert_exact(path, every_breakpoint=False)


def tied_targets():
    """An even number of targets, many of them equal: the margin set is empty for small C."""
    y = np.repeat(np.arange(10.0), 4)
    return np.eye(40), (y - y.mean()) / y.std(), "regression"


def repeated_lines():
    """Samples of two classes on a line, each of them twice."""
    x = np.repeat(np.arange(1.0, 13.0), 2)[:, None]
    return x @ x.T, np.where(np.arange(24) < 12, -1.0, 1.0), "classification"


@pytest.mark.parametrize("data", [tied_targets, repeated_lines], ids=lambda data: data.__name__)
def test_the_offset_is_the_middle_of_an_interval_on_paths_and_in_fits(data):
    """docs/math (212)."""
    K, y, task = data()
    path = regularization_path(K, y, kernel="precomputed", C_min=1e-4, C_max=10.0, task=task, epsilon=0.1)
    engine = Engine(open_access(Precomputed(), K), path.parametric.group, path.parametric.size // len(y))
    intervals = 0
    for C in np.geomspace(1.1e-4, 9.0, 60):
        engine.start(path.parametric, C)
        assert engine.active_set.mu[0] == pytest.approx(path.intercept(C), abs=1e-9), C
        intervals += np.diff(path.pieces.offset)[path.pieces.segment(C)] == 0
    assert intervals > 5
    assert_exact(path)


@pytest.mark.parametrize("seed", range(4))
def test_breakpoints_are_exact_with_a_nearly_singular_margin(seed):
    """A linear kernel with one column a million times larger than the others: the condition number exceeds 1e14."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 11, size=(80, 9)).astype(float)
    X[:, 0] = rng.integers(10**5, 10**7, size=80)
    y = np.where(X[:, 1:].sum(axis=1) + rng.normal(size=80) * 6 > 45, 1.0, -1.0)
    path = regularization_path(X, y, C_min=1e-6, C_max=1e3, kernel="linear")
    assert np.max(path.pieces.violation) <= 1e-10
    assert_exact(path)


def test_dependent_columns_are_exchanged_in_the_margin():
    """With a linear kernel in two dimensions the margin set has at most three samples."""
    X, y = TARGETS["twice with other targets"]
    path = epsilon_path(X, y, epsilon_min=0.0, epsilon_max=2.0, C=10.0, kernel="linear")
    assert path.counts.exchanges > 0
    assert np.max(np.diff(path.pieces.offset)) <= 3
    assert_exact(path)


@pytest.mark.parametrize("kernel", [dict(kernel="rbf", gamma=0.5), dict(kernel="linear")], ids=str)
@pytest.mark.parametrize("name", ["overlap", "some of each", "integer grid", "balanced"])
def test_weights_and_margins_may_change_together(name, kernel):
    X, y = CLASSES[name]
    rng, n = np.random.default_rng(3), len(y)
    start, end = (rng.uniform(0, 2, n) * (rng.random(n) < 0.7) for _ in range(2))
    start[[np.argmax(y), np.argmin(y)]] = end[[np.argmax(y), np.argmin(y)]] = 1.0
    assert_exact(weight_path(X, y, start, end, C=5.0, **kernel))
    assert_exact(weight_path(X, y, start, start, C=5.0, margin_end=np.round(rng.normal(size=n)), **kernel))
    assert_exact(weight_path(X, y, start, end, C=5.0, margin=0.5, margin_end=2.0, **kernel))


def test_weights_and_tubes_may_change_together():
    X, y = TARGETS["integer grid and targets"]
    rng, n = np.random.default_rng(4), len(y)
    start, end = (rng.uniform(0, 2, n) * (rng.random(n) < 0.7) for _ in range(2))
    tubes = rng.integers(0, 3, n) / 2.0
    path = weight_path(X, y, start, end, C=3.0, task="regression", gamma=0.3, epsilon=tubes, epsilon_end=0.25)
    assert_exact(path)


@pytest.mark.parametrize("name", ["overlap", "every point twice", "unbalanced", "integer grid"])
def test_the_path_over_nu_is_optimal(name):
    X, y = CLASSES[name]
    assert_exact(nu_path(X, y, nu_min=0.02, gamma=2.0), every_breakpoint=False)
    assert_exact(nu_path(X, nu_min=0.05, gamma=2.0, task="one_class"), every_breakpoint=False)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_path_of_nu_regression_is_optimal_and_has_its_tube(name):
    X, y = TARGETS[name]
    path = nu_path(X, y, nu_min=0.05, C=3.0, gamma=0.5, task="regression")
    assert_exact(path, every_breakpoint=False)
    for nu in (0.123, 0.61):
        fresh = hinge.NuSVR(nu=nu, C=3.0, gamma=0.5, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(path.decision_function(X, nu), fresh.predict(X), atol=1e-6)
        assert path.tube(nu) >= 0


def test_constant_targets_in_any_order_of_the_samples():
    """All residuals are zero along the path, and the four variables of two samples are linearly dependent."""
    X, y = TARGETS["constant target"]
    for seed in (8, 23, 33, 40, 45, 46):
        order = np.random.default_rng(seed).permutation(len(y))
        assert_exact(nu_path(X[order], y[order], nu_min=0.05, C=3.0, gamma=0.5, task="regression"))


def test_offsets_are_exact_on_segments_as_short_as_rounding_errors():
    """At ε = 1 all samples enter the tube: many breakpoints within 1e-13, between which μ changes."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 1)), rng.integers(0, 3, 50).astype(float)
    path = epsilon_path(X, y, epsilon_min=0.0, epsilon_max=3.0, C=1.0, gamma=0.5)
    assert np.sum(np.abs(path.breakpoints - 1) < 1e-13) > 3
    assert_exact(path)


def nearly_ones(seed, n, distinct):
    """A kernel matrix close to ones, with several copies of every sample."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, 2))[rng.integers(0, distinct, n)]
    return np.exp(-1e-3 * np.sum((X[:, None] - X[None]) ** 2, axis=2)), rng


def test_solutions_between_adjacent_doubles_are_not_extrapolated():
    """Rates of 1e12 on segments of a few rounding errors.                                                     (282)"""
    steep = 0
    for seed in range(6):
        K, rng = nearly_ones(seed, 60, 30)
        path = epsilon_path(K, rng.integers(0, 3, 60).astype(float), epsilon_max=3.0, C=0.1, kernel="precomputed")
        knots = path.breakpoints
        steep += np.sum(np.diff(knots) < 1e-14)
        at = np.concatenate([knots, np.nextafter(knots, -1), np.nextafter(knots, 4), 0.5 * (knots[1:] + knots[:-1])])
        worst = max(direct_violation(path, theta) for theta in np.clip(at, path.low, path.high))
        assert worst <= KKT, seed
        assert worst <= path.kkt_violation + 1e-12, "what the path says of itself"
    assert steep > 6


def test_a_rounding_error_of_a_total_is_ignored():
    """At the largest ν all samples of the smaller class are at their bounds: no variable can correct their total."""
    for seed in range(40):
        K, rng = nearly_ones(seed, 82, 35)
        y = rng.permutation(np.repeat([1.0, -1.0], [7, 75]))
        assert_exact(nu_path(K, y, nu_min=0.02, kernel="precomputed"), every_breakpoint=False, count=2)


def test_the_multiplier_at_a_jump_is_the_middle():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=40) > 0, 1, -1)
    path, jumps = nu_path(X, y, nu_min=0.2, gamma=0.02), 0
    for k in range(5, int(20 * path.high)):  # ½νn is an integer
        nu = k / 20
        fresh = hinge.NuSVC(nu=nu, gamma=0.02, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(path.decision_function(X, nu), fresh.decision_function(X), atol=1e-6)
        sides = path.pieces.multipliers(nu * (1 - 1e-9)), path.pieces.multipliers(nu * (1 + 1e-9))
        jumps += np.max(np.abs(sides[0] - sides[1])) > 1e-6
    assert jumps > 0


def test_paths_without_bias_are_optimal():
    X, y = CLASSES["some of each"]
    assert_exact(regularization_path(X, y, gamma=1.0, fit_intercept=False))
    X, y = TARGETS["smooth"]
    assert_exact(regularization_path(X, y, gamma=1.0, task="regression", fit_intercept=False))


@pytest.mark.parametrize("seed", range(3))
def test_the_path_agrees_with_fits(seed):
    """`SVC` and `SVR` at random C."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=80) > 0, "b", "a")
    path = regularization_path(X, y, C_min=1e-3, C_max=1e3, gamma=0.4)
    for C in 10 ** rng.uniform(-3, 3, 7):
        fresh = hinge.SVC(C=C, gamma=0.4, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(path.decision_function(X, C), fresh.decision_function(X), atol=1e-7)
        np.testing.assert_array_equal(path.model(C).predict(X), fresh.predict(X))
    z = np.sin(X[:, 0])
    path = regularization_path(X, z, C_min=1e-3, C_max=1e3, gamma=0.4, task="regression", epsilon=0.05)
    for C in 10 ** rng.uniform(-3, 3, 7):
        fresh = hinge.SVR(C=C, gamma=0.4, epsilon=0.05, tol=1e-10).fit(X, z)
        np.testing.assert_allclose(path.decision_function(X, C), fresh.predict(X), atol=1e-7)


def test_weight_zero_removes_and_weight_two_duplicates_a_sample():
    X, y = CLASSES["overlap"]
    weight = np.ones(len(y))
    weight[:5], weight[5:10] = 0.0, 2.0
    path = regularization_path(X, y, gamma=1.0, sample_weight=weight)
    repeated = regularization_path(np.r_[X[5:], X[5:10]], np.r_[y[5:], y[5:10]], gamma=1.0)
    for C in (0.01, 0.7, 40.0):
        np.testing.assert_allclose(path.decision_function(X, C), repeated.decision_function(X, C), atol=1e-9)


def test_precomputed_kernels_and_sparse_samples_give_the_same_path():
    X, y = CLASSES["overlap"]
    path = regularization_path(X, y, gamma=1.0)
    K = path.kernel(X)
    other = regularization_path(K, y, kernel="precomputed")
    sparse = regularization_path(sp.csr_matrix(X), y, gamma=1.0)
    for C in (0.01, 1.0, 100.0):
        expected = path.decision_function(X, C)
        np.testing.assert_allclose(other.decision_function(K, C), expected, atol=1e-9)
        np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X), C), expected, atol=1e-9)
        np.testing.assert_allclose(other.model(C).decision_function(K), expected, atol=1e-9)
        np.testing.assert_allclose(path.model(C).decision_function(X), expected, atol=1e-9)


def test_index_sets_agree_with_alpha():
    X, y = CLASSES["overlap"]
    path = regularization_path(X, y, gamma=1.0)
    for C in (0.05, 1.0, 30.0):
        outside, margin, inside = path.index_sets(C)
        alpha = path.alpha(C)
        assert np.all(alpha[outside] == 0)
        assert np.all(alpha[inside] == C)
        assert np.all((alpha[margin] >= 0) & (alpha[margin] <= C))
        assert sorted([*outside, *margin, *inside]) == list(range(len(y)))


def test_limits_keep_the_computed_part_of_the_path():
    seen = []  # the path takes more than a second, and the first call comes after a tenth
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.sign(rng.normal(size=1500))
    with pytest.warns(ConvergenceWarning, match="the path ends"):
        path = regularization_path(X, y, C_max=1e5, gamma=0.3, progress=lambda s: seen.append(s) or False)
    assert seen
    assert path.high < 1e5
    assert path.status is hinge.Status.INTERRUPTED
    assert_exact(path, every_breakpoint=False)
    with pytest.raises(ValueError, match="outside the path"):
        path.alpha(1e5)


def test_an_error_in_the_progress_function_is_raised():
    def fail(snapshot):
        raise ZeroDivisionError

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    with pytest.raises(ZeroDivisionError):
        regularization_path(X, np.sign(rng.normal(size=1500)), C_max=1e5, gamma=0.3, progress=fail)


BAD = [
    (dict(C_min=10, C_max=1), "exchange"),
    (dict(C_min=0.0), "C_min"),
    (dict(C_max=np.inf), "C_max"),
    (dict(task="ranking"), "task"),
    (dict(sample_weight=[1.0, 2.0]), "sample_weight"),
    (dict(sample_weight=-np.ones(40)), "negative"),
    (dict(kernel="sigmoid"), "semidefinite"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[m for _, m in BAD])
def test_errors_name_the_invalid_argument(arguments, message):
    X, y = CLASSES["overlap"]
    with pytest.raises((ValueError, TypeError), match=message):
        regularization_path(X, y, **arguments)


def test_errors_name_the_invalid_data():
    X, y = CLASSES["overlap"]
    with pytest.raises(ValueError, match="3 classes"):
        regularization_path(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="weight zero"):
        regularization_path(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="weight zero"):
        weight_path(X, y, np.ones(len(y)), (y > 0).astype(float))
    with pytest.raises(ValueError, match="at most"):
        nu_path(*CLASSES["unbalanced"], nu_max=1.0)
    with pytest.raises(ValueError, match="must be symmetric"):
        regularization_path(np.triu(np.ones((4, 4))), [0, 1, 0, 1], kernel="precomputed")
    with pytest.raises(ValueError, match="NaN"):
        regularization_path(np.where(X[0, 0] == X, np.nan, X), y)


def test_rounding_errors_of_rates_do_not_grow_on_a_long_segment():
    """Separable classes: the solution is constant from the last breakpoint to a C a million times larger."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = np.where(rng.random(60) < 0.35, 1, -1)
    path = regularization_path(X, y, kernel="linear", C_min=1e-4, C_max=1e6)
    assert path.breakpoints[-2] < 1
    np.testing.assert_array_less(
        np.abs(path.decision_function(X, 1e6) - path.decision_function(X, path.breakpoints[-2])), 1e-11
    )
