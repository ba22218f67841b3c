"""Calibration and coverage plots: the frequencies, the range of chance, and invalid arguments."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import hinge
from hinge.conformal import ConformalClassifier, CVPlus, coverage
from hinge.plotting import CalibrationDisplay, CoverageDisplay


@pytest.fixture(autouse=True)
def closing():
    yield
    plt.close("all")


@pytest.mark.parametrize(("shift", "right"), [(0.0, True), (0.15, False)])
def test_calibrated_probabilities_are_within_the_range_of_chance(shift, right):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, size=4000)
    display = CalibrationDisplay.from_predictions(rng.uniform(size=4000) < p, p + shift, n_bins=20)
    inside = np.mean((display.low <= display.observed) & (display.observed <= display.high))
    assert (inside >= 0.7) if right else (inside <= 0.1)
    assert display.error == pytest.approx(shift, abs=0.03)
    assert display.counts.sum() == 4000


def test_several_classes_compare_the_accuracy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=240), [-0.5, 0.5])
    model = hinge.SVC(probability=True).fit(X[:120], y[:120])
    display = CalibrationDisplay.from_estimator(model, X[120:], y[120:], n_bins=6)
    assert display.observed @ display.counts / 120 == pytest.approx(model.score(X[120:], y[120:]))
    assert display.ax_.get_ylabel().startswith("accuracy")


@pytest.mark.parametrize(
    ("y", "p", "n_bins", "message"),
    [([0, 1], [0.5], 1, "2 values"), ([0, 1], [0.5, 1.5], 1, "predict_proba"), ([0, 1], [0.1, 0.2], 3, "n_bins=3")],
)
def test_invalid_arguments(y, p, n_bins, message):
    with pytest.raises(ValueError, match=message):
        CalibrationDisplay.from_predictions(y, p, n_bins=n_bins)


def test_estimators_without_probabilities():
    model = hinge.SVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="probability=True"):
        CalibrationDisplay.from_estimator(model, [[0.0]], [0])
    with pytest.raises(TypeError, match=r"hinge\.conformal"):
        CoverageDisplay.from_estimator(model, [[0.0]], [0])


def test_coverage_of_intervals():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(120, 1))
    y = X[:, 0] + rng.normal(size=120)
    model = CVPlus(hinge.SVR(), random_state=0).fit(X[:60], y[:60])
    display = CoverageDisplay.from_estimator(model, X[60:], y[60:], levels=[0.9, 0.6])
    np.testing.assert_array_equal(display.levels, [0.6, 0.9])
    expected = [coverage(y[60:], model.predict_interval(X[60:], alpha)) for alpha in (0.4, 0.1)]
    np.testing.assert_allclose(display.coverage, np.ravel(expected))
    assert display.sizes[0] < display.sizes[1]


def test_coverage_of_sets():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    y = np.where(X[:, 0] + rng.normal(size=150) > 0, "b", "a")
    model = ConformalClassifier(hinge.SVC(), random_state=0).fit(X[:100], y[:100])
    display = CoverageDisplay.from_estimator(model, X[100:], y[100:], levels=[0.5, 0.8])
    sets = model.predict_set(X[100:], alpha=0.2)
    assert display.coverage[1] == pytest.approx(np.mean(sets[np.arange(50), (y[100:] == "b").astype(int)]))
    assert display.sizes[1] == pytest.approx(sets.sum(axis=1).mean())
    with pytest.raises(ValueError, match="levels"):
        CoverageDisplay.from_estimator(model, X, y, levels=[1.0])
