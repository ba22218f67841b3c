"""Learning curves: every model is that of a fit on the same samples."""

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp

mpl.use("Agg")

import hinge
from hinge.plotting import LearningCurveDisplay
from hinge.selection import learning_curve

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
LABELS = np.digitize(X[:, 0] + 0.4 * rng.normal(size=120), [-0.4, 0.6])
TARGETS = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("estimator", "refit", "y"),
    [
        (hinge.IncrementalSVC(C=3.0), hinge.SVC(C=3.0, tol=1e-9), LABELS),
        (hinge.IncrementalSVR(C=3.0), hinge.SVR(C=3.0, tol=1e-9), TARGETS),
    ],
)
def test_errors_are_those_of_fits(estimator, refit, y, convert):
    train, val = convert(X[:80]), convert(X[80:])
    options = dict(estimator=estimator, sizes=[20, 40, 80], orders=2, random_state=0)
    curve = learning_curve(train, y[:80], val, y[80:], **options)
    refit.set_params(gamma=1.0 / (3 * X[:80].var())).fit(train, y[:80])
    wrong = refit.predict(val) != y[80:] if y is LABELS else (refit.predict(val) - y[80:]) ** 2
    np.testing.assert_allclose(curve.validation_errors[:, -1], np.mean(wrong), atol=1e-6)
    assert curve.train_errors.shape == (2, 3)
    assert curve.updates == 4
    assert not hasattr(estimator, "model_")


def test_small_sizes_contain_every_class():
    y = np.where(np.arange(80) < 2, "rare", "frequent")
    curve = learning_curve(X[:80], y, X[80:], np.resize(y, 40), sizes=[2, 80], orders=6, random_state=1)
    assert np.isfinite(curve.validation_errors).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [1, 50]}, "sizes"),
        ({"sizes": [10, 100]}, "sizes"),
        ({"sizes": 0}, "sizes"),
        ({"orders": 0}, "orders"),
    ],
)
def test_invalid_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        learning_curve(X[:80], LABELS[:80], X[80:], LABELS[80:], **options)


def test_estimators_without_updates():
    with pytest.raises(TypeError, match="IncrementalSVC"):
        learning_curve(X, LABELS, X, LABELS, estimator=hinge.SVC())


def test_display_shows_the_medians():
    curve = learning_curve(X[:80], LABELS[:80], X[80:], LABELS[80:], sizes=[10, 80], orders=3, random_state=0)
    display = LearningCurveDisplay.from_result(curve)
    np.testing.assert_allclose(display.lines_[1].get_ydata(), np.median(curve.validation_errors, axis=0))
    mpl.pyplot.close("all")
