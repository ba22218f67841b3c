"""Full conformal regression against refits on a grid of labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import hinge
from hinge.conformal import FullConformal


def problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 22)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, d)), rng.normal(size=n) * 10 ** rng.uniform(-1, 1)
    options = dict(C=float(10 ** rng.uniform(-1, 1.5)), epsilon=[0.0, 0.1, 0.7][seed % 3], tol=1e-10)
    kernel = dict(kernel="linear") if seed % 4 == 0 else dict(gamma=float(10 ** rng.uniform(-1, 0.5)))
    return X, y, rng.normal(size=(1, d)), hinge.SVR(**options, **kernel)


def p_value_by_refit(X, y, x, label, estimator):
    """Both values that rounding permits: residuals that are equal up to 1e-7 count, or do not count."""
    both, labels = np.vstack([X, x]), np.append(y, label)
    r = np.abs(labels - estimator.fit(both, labels).predict(both))
    tolerance = 1e-7 * (1 + r.max())
    return tuple((1 + np.sum(r[:-1] >= r[-1] + s * tolerance)) / (len(y) + 1) for s in (1, -1))


def check_against_refits(seed, points):
    X, y, x, estimator = problem(seed)
    model = FullConformal(estimator).fit(X, y)
    (p,) = model.p_value_functions(x)
    unit = np.ptp(y)
    far = [y.min() - 50 * unit, y.max() + 50 * unit]
    grid = np.concatenate([np.linspace(y.min() - unit, y.max() + unit, points), far])
    for label in grid:
        low, high = p_value_by_refit(X, y, x, label, estimator)
        assert low - 1e-12 <= p(label) <= high + 1e-12, (seed, label, low, p(label), high)
    for alpha in (0.05, 0.2, 0.5):
        region = p.region(alpha)
        inside = ((region[:, :1] <= grid) & (grid <= region[:, 1:])).any(axis=0)
        assert_array_equal(inside, [p(label) > alpha + 1e-12 for label in grid])


@pytest.mark.parametrize("seed", range(15))
def test_p_values_equal_refits(seed):
    check_against_refits(seed, 15)


@pytest.mark.slow
def test_p_values_equal_refits_on_200_problems():
    for seed in range(200):
        check_against_refits(seed, 60)


def test_sets_are_nested_and_infinite_for_small_alpha():
    X, y, x, estimator = problem(5)
    n = len(y)
    model = FullConformal(estimator).fit(X, y)
    assert_array_equal(model.predict_set(x, 0.9 / (n + 1))[0], [[-np.inf, np.inf]])
    assert_array_equal(model.predict_interval(x, 0.9 / (n + 1)), [[-np.inf, np.inf]])
    levels = [1.1 / (n + 1), 0.3, 0.6]
    intervals = model.predict_interval(x, levels)
    assert np.isfinite(intervals).all()
    assert (np.diff(intervals[0, 0]) >= 0).all()
    assert (np.diff(intervals[0, 1]) <= 0).all()
    assert len(model.predict_set(x, levels)[0]) == 3


def test_the_fit_is_restored_after_every_sample():
    X, y, _, estimator = problem(7)
    new = np.random.default_rng(0).normal(size=(70, X.shape[1]))
    model = FullConformal(estimator).fit(X, y)
    together = model.predict_interval(new, 0.2)
    single = np.vstack([model.predict_interval(row[None], 0.2) for row in new])
    assert_allclose(together, single, atol=1e-9)


def test_duplicates_ties_and_constant_features():
    rng = np.random.default_rng(8)
    X = np.column_stack([np.repeat(np.round(rng.normal(size=(8, 1))), 3, axis=0), np.ones(24)])
    y = np.round(rng.normal(size=24))
    model = FullConformal(hinge.SVR(C=1.0, gamma=0.5, epsilon=0.5)).fit(X, y)
    intervals = model.predict_interval(X, 0.2)
    assert np.isfinite(intervals).all()
    assert np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1])) >= 0.8
    equal = FullConformal(hinge.SVR()).fit(X, np.full(24, 3.0)).predict_interval(X, 0.2)
    assert (equal[:, 0] <= 3.0).all()
    assert (equal[:, 1] >= 3.0).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 100.0])
@pytest.mark.parametrize("C", [1e-12, 1e-8])
def test_tiny_cost(C, epsilon):
    """f is almost constant, and coefficients of at most C change over a long range of labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    sets = [
        FullConformal(hinge.SVR(C=cost, gamma=0.5, epsilon=epsilon)).fit(X, y).predict_interval(X[:5] + 0.1, 0.2)
        for cost in (C, 1e-6)
    ]
    assert_allclose(sets[0], sets[1], atol=1e-3)


def test_a_constant_target():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = FullConformal(hinge.SVR(epsilon=0.1)).fit(X, np.ones(30)).predict_set(X[:2], 0.2)
    assert_allclose(found, [[[0.8, 1.2]], [[0.8, 1.2]]], atol=1e-12)


def test_coverage_is_at_least_the_guarantee():
    rng = np.random.default_rng(9)
    hits, total = 0, 0
    for _ in range(40):
        X = rng.normal(size=(45, 2))
        y = X[:, 0] + rng.standard_t(2, size=45)
        model = FullConformal(hinge.SVR(C=1.0, gamma=0.3)).fit(X[:35], y[:35])
        p = model.p_values(X[35:], y[35:])
        hits, total = hits + np.sum(p > 0.2), total + len(p)
    assert binom.cdf(hits, total, 0.8) > 1e-4
    assert binom.sf(hits, total, 0.87) > 1e-4


def test_weights_and_invalid_estimators():
    X, y, x, _ = problem(10)
    weight = np.arange(len(y)) % 2 * 1.0
    some = FullConformal(hinge.SVR(gamma=0.5)).fit(X, y, weight).predict_interval(x, 0.4)
    only = FullConformal(hinge.SVR(gamma=0.5)).fit(X[1::2], y[1::2]).predict_interval(x, 0.4)
    assert_allclose(some, only, atol=1e-9)
    with pytest.raises(TypeError, match="JackknifePlus"):
        FullConformal(hinge.NuSVR()).fit(X, y)
    for bad in (dict(loss="gaussian"), dict(fit_intercept=False), dict(epsilon=np.full(len(y), 0.1))):
        with pytest.raises(ValueError, match="needs loss='epsilon_insensitive'"):
            FullConformal(hinge.SVR(**bad)).fit(X, y)
    with pytest.raises(ValueError, match="no formula"):
        FullConformal(hinge.SVR(kernel="precomputed")).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="y has 2 values"):
        FullConformal(hinge.SVR()).fit(X, y).p_values(x, [1.0, 2.0])


def test_offsets_that_are_not_unique_are_the_middle_of_their_interval_along_the_label_path():
    """A variable that stays at its bound up to rounding must not determine the offset."""
    X, y, label = np.array([[-0.8], [-0.7], [-0.2]]), np.array([0.7, -0.5, 1.8]), -1.3148
    model = FullConformal(hinge.SVR(C=0.1, epsilon=0.1, gamma=1.0)).fit(X, y)
    refit = hinge.SVR(C=0.1, epsilon=0.1, gamma=1.0, tol=1e-10).fit(np.r_[X, [[0.3]]], np.r_[y, label])
    residuals = np.abs(np.r_[y, label] - refit.predict(np.r_[X, [[0.3]]]))
    expected = np.mean(residuals >= residuals[-1] - 1e-9)
    assert model.p_values(np.array([[0.3]]), np.array([label])) == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("offset", [1e3, -1e6])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_an_offset_of_the_targets_moves_the_sets(epsilon, C, offset, scale):
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(15, 2)), rng.normal(size=(3, 2))
    y = np.round(scale * rng.normal(size=15), 3)
    sets = [
        FullConformal(hinge.SVR(C=C, epsilon=epsilon, gamma=1.0)).fit(X, y + each).predict_set(new, [0.1, 0.3])
        for each in (0.0, offset)
    ]
    for row, moved_row in zip(*sets, strict=True):
        for region, moved in zip(row, moved_row, strict=True):
            assert_allclose(moved - offset, region, atol=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_equal_residuals_of_free_support_vectors_are_ties_for_large_cost(epsilon, offset):
    """All samples are free support vectors with residuals ±ε, up to the rounding errors of coefficients of 1e6."""
    rng = np.random.default_rng(2)
    X, y = 3 * rng.normal(size=(12, 3)), rng.normal(size=12)
    (p,) = FullConformal(hinge.SVR(C=1e6, epsilon=epsilon, gamma=1.0)).fit(X, y + offset).p_value_functions(X[:1] + 0.5)
    refit = hinge.SVR(C=1e6, epsilon=epsilon, gamma=1.0, tol=1e-8)
    for label in (-20.0, -1.0, 3.0, 50.0):
        values = refit.fit(np.vstack([X, X[:1] + 0.5]), np.append(y, label)).predict(X)
        if np.abs(np.abs(y - values) - epsilon).max() < 1e-5:
            assert p(label + offset) == 1.0
    assert len(p.region(0.2)) == 1
