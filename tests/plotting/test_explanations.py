"""Displays of intervals and Shapley values show the values of the results."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.conformal import AdaptiveIntervals, JackknifePlus
from hinge.inspection import shapley_values
from hinge.plotting import IntervalDisplay, ShapleyDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def data(n=60, d=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)


def test_intervals_of_an_estimator():
    X, y = data()
    model = JackknifePlus(hinge.SVR()).fit(X[:40], y[:40])
    display = IntervalDisplay.from_estimator(model, X, y, alpha=0.2)
    ends = model.predict_interval(X, 0.2)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert display.coverage_ == inside.mean()
    assert sorted(display.outside_.get_ydata()) == sorted(y[~inside])
    assert_allclose(display.line_.get_ydata(), model.predict(np.sort(X, axis=0)))
    vertices = display.band_.get_paths()[0].vertices
    assert np.isclose(vertices[:, 1].max(), ends.max())
    X2, y2 = data(d=3)
    several = IntervalDisplay.from_estimator(JackknifePlus(hinge.SVR()).fit(X2, y2), X2)
    assert_array_equal(several.line_.get_xdata(), np.arange(60))
    assert several.coverage_ is None


def test_infinite_and_empty_intervals():
    X, y = data()
    display = IntervalDisplay.from_estimator(JackknifePlus(hinge.SVR()).fit(X[:4], y[:4]), X, y, alpha=0.1)
    assert display.coverage_ == 1.0
    assert np.isfinite(display.ax_.get_ylim()).all()
    model = AdaptiveIntervals(hinge.IncrementalSVR(), alpha=0.9, rate=5.0).fit(X[:20], y[:20])
    history = model.partial_fit(X[20:], y[20:]).history_
    assert IntervalDisplay.from_history(history).coverage_ == history.covered.mean()
    with pytest.raises(TypeError, match="from_history"):
        IntervalDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="one level"):
        IntervalDisplay.from_intervals(np.arange(3), np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="y has 2 values"):
        IntervalDisplay.from_intervals(np.arange(3), np.zeros((3, 2)), y=[1, 2])


@pytest.fixture(scope="module")
def explanation():
    X, y = data(d=6)
    return shapley_values(hinge.SVR().fit(X, y), X[:25], X[30:])


def test_bars_are_mean_sizes_of_the_values(explanation):
    display = ShapleyDisplay.bar(explanation, max_features=3)
    sizes = np.sort(np.abs(explanation.values).mean(axis=0))[::-1]
    assert_allclose([bar.get_width() for bar in display.ax_.patches], [*sizes[:3], sizes[3:].sum()])
    assert display.names_[3] == "3 other features"
    assert len(ShapleyDisplay.bar(explanation).names_) == 6


def test_waterfall_ends_at_the_decision_value(explanation):
    display = ShapleyDisplay.waterfall(explanation, 4, max_features=4)
    bars = display.ax_.patches
    top, bottom = bars[0], bars[-1]
    assert_allclose(top.get_x() + top.get_width(), explanation.base_values + explanation.values[4].sum())
    assert_allclose(bottom.get_x(), explanation.base_values)
    for upper, lower in pairwise(bars):
        assert_allclose(upper.get_x(), lower.get_x() + lower.get_width())
    assert " = " in display.names_[0]


def test_beeswarm_shows_every_value_at_a_separate_point(explanation):
    display = ShapleyDisplay.beeswarm(explanation, max_features=2)
    assert display.values_.shape == (25, 3)
    assert_allclose(display.values_.sum(axis=1), explanation.values.sum(axis=1))
    offsets = display.ax_.collections[0].get_offsets()
    assert_allclose(offsets[:, 0], display.values_[:, 0])
    assert np.abs(offsets[:, 1]).max() < 0.5
    assert len(np.unique(np.round(offsets, 9), axis=0)) == 25


def test_several_outputs_and_groups():
    X, _ = data(d=3)
    y = np.argmax(X, axis=1)
    explained = shapley_values(hinge.SVC().fit(X, y), X[:5], X, groups={"both": [0, 1]})
    with pytest.raises(ValueError, match=r"explanation\.of"):
        ShapleyDisplay.bar(explained)
    display = ShapleyDisplay.waterfall(explained.of(1))
    assert "both" in display.names_
    ShapleyDisplay.beeswarm(explained.of(1))
    with pytest.raises(ValueError, match="max_features"):
        ShapleyDisplay.bar(explained.of(1), max_features=0)
