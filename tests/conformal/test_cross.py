"""Jackknife+ and CV+: exact leave-out models, order statistics, guarantees, limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import hinge
from hinge.conformal import CVPlus, JackknifePlus, coverage
from hinge.conformal.quantiles import lower_rank, order_statistic, upper_rank
from hinge.kernels import Linear

EXACT = dict(tol=1e-10)

ESTIMATORS = [
    hinge.SVR(C=3.0, gamma=0.3, **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, epsilon=0.0, **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, fit_intercept=False, **EXACT),
    hinge.SVR(C=0.5, kernel="linear", epsilon=0.3, **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, loss="laplace", **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, loss="gaussian", **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, loss="gaussian", fit_intercept=False, **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, loss="huber", sigma=0.4, **EXACT),
    hinge.SVR(C=3.0, gamma=0.3, loss="squared_epsilon_insensitive", **EXACT),
    hinge.NuSVR(nu=0.4, C=3.0, gamma=0.3, **EXACT),
    hinge.IncrementalSVR(C=3.0, gamma=0.3),
]


def data(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("make", [JackknifePlus, lambda *a, **k: CVPlus(*a, cv=7, random_state=0, **k)])
def test_paths_equal_refits(estimator, make):
    X, y = data()
    new = np.random.default_rng(1).normal(size=(15, 3))
    path = make(estimator).fit(X, y)
    again = make(estimator, method="refit").fit(X, y)
    assert_allclose(path.left_out_predictions_, again.left_out_predictions_, atol=1e-8)
    assert_allclose(path.predict_interval(new, [0.1, 0.3]), again.predict_interval(new, [0.1, 0.3]), atol=1e-8)


def test_interval_ends_equal_refits_to_nine_digits():
    X, y = data(60)
    new = np.random.default_rng(2).normal(size=(20, 3))
    estimator = hinge.SVR(C=3.0, gamma=0.3, tol=1e-10)
    expected = JackknifePlus(estimator, method="refit").fit(X, y).predict_interval(new)
    assert_allclose(JackknifePlus(estimator).fit(X, y).predict_interval(new), expected, atol=1e-9)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_intervals_follow_the_definition(asymmetric):
    X, y = data(30)
    new = np.random.default_rng(3).normal(size=(4, 3))
    model = JackknifePlus(hinge.SVR(C=2.0, gamma=0.3), asymmetric=asymmetric).fit(X, y)
    found = model.predict_interval(new, 0.2)
    centers = np.empty((4, 30))
    for i in range(30):
        rest = np.arange(30) != i
        refit = hinge.SVR(C=2.0, gamma=0.3, tol=1e-10).fit(X[rest], y[rest])
        centers[:, i] = refit.predict(new)
        assert_allclose(model.residuals_[i], y[i] - refit.predict(X[i : i + 1])[0], atol=1e-8)
    r = model.residuals_
    if asymmetric:  # ⌊0.1 · 31⌋ = 3 and ⌈0.9 · 31⌉ = 28
        expected = np.stack([np.sort(centers + r)[:, 2], np.sort(centers + r)[:, 27]], axis=1)
    else:  # ⌊0.2 · 31⌋ = 6 and ⌈0.8 · 31⌉ = 25
        expected = np.stack([np.sort(centers - abs(r))[:, 5], np.sort(centers + abs(r))[:, 24]], axis=1)
    assert_allclose(found, expected, atol=1e-8)


def test_ranks_are_exact_for_decimal_levels():
    """0.1 · 10 and (1 − 0.1) · 10 in floating point are not always integers."""
    for n in range(1, 400):
        for k in range(1, 100):
            assert lower_rank(k / 100, n) == k * (n + 1) // 100
            assert upper_rank(k / 100, n) == -((k - 100) * (n + 1) // 100)
    assert_array_equal(order_statistic(np.array([[3.0, 1.0, 2.0]]), 2), [2.0])


def test_small_alpha_and_few_samples_give_infinite_intervals():
    X, y = data(8)
    model = JackknifePlus(hinge.SVR()).fit(X, y)
    assert_array_equal(model.predict_interval(X, 0.1), np.tile([-np.inf, np.inf], (8, 1)))
    assert np.isfinite(model.predict_interval(X, 1 / 9)).all()
    assert coverage(y, model.predict_interval(X, 0.1)) == 1.0
    two = JackknifePlus(hinge.SVR()).fit(X[:2], y[:2])
    assert np.isfinite(two.predict_interval(X, 0.4)).all()
    with pytest.raises(ValueError, match="at least 2"):
        JackknifePlus(hinge.SVR()).fit(X[:1], y[:1])


def test_duplicates_ties_and_constant_features():
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(20, 2)))
    X = np.column_stack([np.repeat(X, 2, axis=0), np.full(40, 7.0)])
    y = np.round(X[:, 0] + rng.normal(size=40))
    estimator = hinge.SVR(C=1.0, gamma=0.5, epsilon=0.25, tol=1e-10)
    path, again = (JackknifePlus(estimator, method=method).fit(X, y) for method in ("path", "refit"))
    assert_allclose(path.predict_interval(X), again.predict_interval(X), atol=1e-7)
    constant = JackknifePlus(hinge.SVR()).fit(X, np.ones(40)).predict_interval(X)
    assert_array_equal(constant, np.ones((40, 2)))


def test_cross_validation_with_few_samples_and_constant_features():
    X, y = data()
    few = CVPlus(hinge.SVR(), cv=5, random_state=0).fit(X[:8], y[:8])
    assert_array_equal(few.predict_interval(X[:2], 0.1), np.tile([-np.inf, np.inf], (2, 1)))
    assert np.isfinite(few.predict_interval(X[:2], 0.2)).all()
    constant = np.column_stack([X, np.full(40, 3.0)])
    models = [CVPlus(hinge.SVR(gamma=0.5), random_state=0).fit(each, y) for each in (X, constant)]
    assert_allclose(models[0].predict_interval(X), models[1].predict_interval(constant), atol=1e-10)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_intervals_at_levels_above_one_half_are_empty_or_ordered(asymmetric):
    """The lower end is a larger order statistic than the upper one."""
    X, y = data()
    model = JackknifePlus(hinge.SVR(gamma=0.3), asymmetric=asymmetric).fit(X, y)
    low, high = model.predict_interval(X, [0.1, 0.5, 0.6, 0.9, 0.99, 1 - 1e-9]).transpose(1, 2, 0)
    assert_array_equal(np.isnan(low), np.isnan(high))
    empty = np.isnan(low)
    assert (low[~empty] <= high[~empty]).all()
    assert not empty[:2].any()
    assert empty[4:].any() != asymmetric
    assert coverage(y, np.stack([low[5], high[5]], axis=1)) < 0.2


def test_zero_weights_leave_samples_out():
    X, y = data()
    weight = np.ones(40)
    weight[::4] = 0
    keep = weight > 0
    for method in ("path", "refit"):
        estimator = hinge.SVR(gamma=0.3, tol=1e-10)
        some = JackknifePlus(estimator, method=method).fit(X, y, weight)
        only = JackknifePlus(estimator, method=method).fit(X[keep], y[keep])
        assert len(some.residuals_) == 30
        assert_allclose(some.predict_interval(X), only.predict_interval(X), atol=1e-8)
    weight[keep] = np.linspace(0.5, 2, 30)
    estimator = hinge.SVR(gamma=0.3, tol=1e-10)
    path, again = (JackknifePlus(estimator, method=m).fit(X, y, weight) for m in ("path", "refit"))
    assert_allclose(path.predict_interval(X), again.predict_interval(X), atol=1e-8)


def test_scale_adapts_the_width():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, size=(300, 1))
    y = X[:, 0] * rng.normal(size=300)
    model = JackknifePlus(hinge.SVR(C=1.0, gamma=1.0), scale=lambda X: X[:, 0] + 0.01).fit(X, y)
    intervals = model.predict_interval(np.array([[0.1], [0.9]]))
    widths = intervals[:, 1] - intervals[:, 0]
    assert widths[1] > 4 * widths[0]
    with pytest.raises(ValueError, match="one positive, finite value"):
        JackknifePlus(hinge.SVR(), scale=lambda X: -X[:, 0]).fit(X, y)
    with pytest.raises(TypeError, match="must be a function"):
        JackknifePlus(hinge.SVR(), scale=2.0).fit(X, y)


@pytest.mark.parametrize("make", [JackknifePlus, lambda e: CVPlus(e, cv=5, random_state=0)])
def test_coverage_is_within_binomial_noise(make):
    """Typical coverage is 1 − α; the limits are those of 2,000 independent targets, and of the guarantee."""
    hits = 0
    for seed in range(10):
        X, y = data(280, seed=seed)
        model = make(hinge.SVR(C=1.0, gamma=0.2)).fit(X[:80], y[:80])
        hits += round(200 * coverage(y[80:], model.predict_interval(X[80:], 0.2)))
    assert binom.cdf(hits, 2000, 0.75) > 1e-3
    assert binom.sf(hits, 2000, 0.86) > 1e-3


def test_precomputed_and_sparse_input():
    from scipy.sparse import csr_matrix

    X, y = data()
    expected = JackknifePlus(hinge.SVR(kernel="linear")).fit(X[:30], y[:30]).predict_interval(X[30:])
    K = Linear()(X, X[:30])
    found = JackknifePlus(hinge.SVR(kernel="precomputed")).fit(K[:30], y[:30]).predict_interval(K[30:])
    assert_allclose(found, expected, atol=1e-9)
    sparse = JackknifePlus(hinge.SVR(kernel="linear")).fit(csr_matrix(X[:30]), y[:30])
    assert_allclose(sparse.predict_interval(csr_matrix(X[30:])), expected, atol=1e-9)


def test_data_frames_lists_and_any_regressor():
    pd = pytest.importorskip("pandas")
    from sklearn.linear_model import Ridge

    X, y = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = JackknifePlus(hinge.SVR()).fit(X, y).predict_interval(X)
    assert_array_equal(JackknifePlus(hinge.SVR()).fit(frame, y).predict_interval(frame), expected)
    assert_array_equal(JackknifePlus(hinge.SVR()).fit(X.tolist(), y.tolist()).predict_interval(X.tolist()), expected)
    ridge = CVPlus(Ridge(), cv=4, random_state=1, method="refit").fit(frame, y)
    assert 0.7 < coverage(y, ridge.predict_interval(frame)) <= 1.0


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (hinge.LinearSVR(), TypeError, "SVR\\(kernel='linear'\\)"),
        (hinge.SVC(), TypeError, "estimator is a SVC"),
        (hinge.SVR(loss="polynomial", p=1.5), ValueError, "method='refit'"),
        (hinge.SVR(kernel="sigmoid"), ValueError, "not positive semidefinite"),
        (hinge.NuSVR(tube=lambda X: 1 + X[:, 0] ** 2), ValueError, "tube"),
    ],
)
def test_estimators_without_paths_are_rejected(estimator, error, message):
    X, y = data()
    y = np.sign(y) if isinstance(estimator, hinge.SVC) else y
    with pytest.raises(error, match=message):
        JackknifePlus(estimator).fit(X, y)


def test_invalid_arguments():
    X, y = data()
    model = JackknifePlus(hinge.SVR()).fit(X, y)
    for alpha in (0.0, 1.0, -0.1, 2.0, []):
        with pytest.raises(ValueError, match="alpha"):
            model.predict_interval(X, alpha)
    with pytest.raises(ValueError, match="features"):
        model.predict_interval(X[:, :2])
    with pytest.raises(ValueError, match="cv=50"):
        CVPlus(hinge.SVR(), cv=50).fit(X, y)
    with pytest.raises(ValueError, match="method"):
        JackknifePlus(hinge.SVR(), method="fast").fit(X, y)
    with pytest.raises(ValueError, match="intervals has shape"):
        coverage(y, np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("X", "y", "estimator"),
    [
        (np.zeros((5, 1)), [0.0, 1.0, 2.0, 3.0, 10.0], hinge.SVR(gamma=1.0, loss="laplace", tol=1e-10)),
        (np.arange(6.0)[:, None], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], hinge.SVR(gamma=1.0, epsilon=1.0, tol=1e-10)),
        (np.arange(8.0)[:, None], [0.0, 3.0, -1.0, 2.0, 5.0, -4.0, 1.0, 2.5], hinge.SVR(C=1e-3, gamma=1.0, tol=1e-10)),
    ],
    ids=["the removed sample", "samples inside the tube", "all support vectors at a bound"],
)
@pytest.mark.parametrize(
    "make", [JackknifePlus, lambda estimator, method: CVPlus(estimator, cv=3, random_state=0, method=method)]
)
def test_offsets_that_are_not_unique_are_those_of_refits(X, y, estimator, make):
    """Samples that are no support vectors bound an offset that is not unique."""
    paths, refits = (make(estimator, method=method).fit(X, np.array(y)) for method in ("path", "refit"))
    np.testing.assert_allclose(paths.left_out_predictions_, refits.left_out_predictions_, atol=1e-9)
