"""Adaptive intervals on streams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.conformal import AdaptiveIntervals, JackknifePlus
from hinge.recipes import SlidingSVR

ESTIMATORS = [
    hinge.IncrementalSVR(C=5.0, gamma=1.0),
    SlidingSVR(C=5.0, gamma=1.0, window=40),
    hinge.OnlineSVR(gamma=1.0),
]


def stream(n=260, seed=0):
    """The noise doubles and the mean jumps in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    late = np.arange(n) >= n // 2
    return X, np.sin(X[:, 0]) + 2.0 * late + (0.1 + 0.2 * late) * rng.normal(size=n)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_long_run_coverage_is_within_the_bound(estimator, alpha):
    X, y = stream()
    model = AdaptiveIntervals(estimator, alpha=alpha, rate=0.1).fit(X[:40], y[:40])
    model.partial_fit(X[40:], y[40:])
    history = model.history_
    errors = 1 - history.covered.mean()
    assert abs(errors - alpha) <= (max(alpha, 1 - alpha) + 0.1) / (0.1 * len(history.y))
    expected = alpha + 0.1 * np.concatenate([[0.0], np.cumsum(alpha - ~history.covered)])
    assert_allclose(np.append(history.alpha, model.alpha_), expected, atol=1e-12)


def test_an_adversarial_sequence_cannot_break_the_bound():
    X, y = stream()
    model = AdaptiveIntervals(hinge.OnlineSVR(gamma=1.0), alpha=0.1, rate=0.05).fit(X[:20], y[:20])
    for k in range(20, 220):  # a target just outside the interval if that is possible
        width = model.half_width()
        target = model.predict(X[k : k + 1])[0] + (1.01 * width + 0.1 if np.isfinite(width) else 0.0)
        model.partial_fit(X[k : k + 1], [target])
    errors = 1 - model.history_.covered.mean()
    assert abs(errors - 0.1) <= (0.9 + 0.05) / (0.05 * 200)


def test_first_scores_are_leave_one_out_residuals():
    X, y = stream(30)
    model = AdaptiveIntervals(hinge.IncrementalSVR(C=5.0, gamma=1.0)).fit(X, y)
    expected = []
    for i in range(30):
        rest = np.arange(30) != i
        fitted = hinge.SVR(C=5.0, gamma=1.0, tol=1e-10).fit(X[rest], y[rest])
        expected.append(abs(y[i] - fitted.predict(X[i : i + 1])[0]))
    assert_allclose(model.scores_, expected, atol=1e-8)
    width = np.sort(expected)[27]  # ⌈0.9 · 31⌉ = 28
    assert_allclose(model.predict_interval(X[:2])[:, 1] - model.predict(X[:2]), width, atol=1e-8)


def test_few_scores_give_infinite_intervals_and_memory_is_limited():
    X, y = stream(60)
    model = AdaptiveIntervals(hinge.OnlineSVR(gamma=1.0), alpha=0.1, memory=15, rate=0.0).fit(X[:5], y[:5])
    assert_array_equal(model.predict_interval(X[:1]), [[-np.inf, np.inf]])
    model.partial_fit(X[5:], y[5:])
    assert len(model.scores_) == 15
    assert np.isinf(model.history_.upper[:9]).all()
    assert np.isfinite(model.history_.upper[9:]).all()
    assert_allclose(model.history_.coverage()[-1], model.history_.covered.mean())
    assert_allclose(model.history_.coverage(10)[-1], model.history_.covered[-10:].mean())


def test_empty_interval_above_one():
    X, y = stream(60)
    model = AdaptiveIntervals(hinge.IncrementalSVR(gamma=1.0), alpha=0.9, rate=5.0).fit(X[:30], y[:30])
    model.partial_fit(X[30:], y[30:])
    empty = model.history_.alpha > 1
    assert empty.any()
    assert np.isnan(model.history_.lower[empty]).all()
    assert not model.history_.covered[empty].any()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(("column", "value"), [("X", np.nan), ("y", np.nan), ("y", np.inf)])
def test_rejected_samples_leave_no_trace(estimator, column, value):
    """An interval is recorded only if its sample is learned."""
    X, y = stream(60)
    model = AdaptiveIntervals(estimator, alpha=0.2).fit(X[:50], y[:50])
    bad = {"X": X[50:53].copy(), "y": y[50:53].copy()}
    bad[column][1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.partial_fit(bad["X"], bad["y"])
    known = 50 + len(model.history_.y)
    expected = AdaptiveIntervals(estimator, alpha=0.2).fit(X[:50], y[:50])
    if known > 50:
        expected.partial_fit(X[50:known], y[50:known])
    assert model.alpha_ == expected.alpha_
    assert_array_equal(model.scores_, expected.scores_)
    assert_array_equal(model.predict_interval(X), expected.predict_interval(X))


def test_invalid_arguments():
    X, y = stream(60)
    with pytest.raises(TypeError, match="partial_fit"):
        AdaptiveIntervals(hinge.SVR()).fit(X, y)
    with pytest.raises(ValueError, match="rate"):
        AdaptiveIntervals(rate=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 values"):
        AdaptiveIntervals().fit(X, y).partial_fit(X, y[:2])


@pytest.mark.parametrize("window", [0, -3, 2.5])
def test_invalid_windows_of_coverage_are_rejected(window):
    X = np.random.default_rng(0).normal(size=(20, 2))
    history = AdaptiveIntervals().fit(X[:10], X[:10, 0]).partial_fit(X[10:], X[10:, 0]).history_
    with pytest.raises((TypeError, ValueError), match=r"^window="):
        history.coverage(window=window)


@pytest.mark.parametrize(
    "model", [AdaptiveIntervals(hinge.IncrementalSVC()), JackknifePlus(hinge.SVC(), method="refit")], ids=repr
)
def test_classifiers_are_rejected(model):
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(TypeError, match="which is a classifier; intervals need a regressor"):
        model.fit(X, np.arange(10) % 2)
