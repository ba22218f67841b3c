"""Displays show the values of the fitted model."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import SVC, SVR, OneClassSVM
from hinge.plotting import Convergence, DecisionBoundary
from hinge.problems import History

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.2, random_state=0)
    return X, y, SVC(C=5.0, gamma=1.0, tol=1e-6).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]
    return X, y, SVC(C=5.0, gamma=1.0).fit(X, y)


def history(primal, dual, violation=0.1, exact=True):
    primal, dual = np.asarray(primal, float), np.asarray(dual, float)
    n = len(primal)
    return History(
        iteration=np.arange(n) * 10,
        seconds=np.linspace(0, 1, n),
        violation=np.broadcast_to(np.asarray(violation, float), n),
        primal=primal,
        dual=dual,
        gap=primal - dual,
        active=np.full(n, 50),
        exact=np.broadcast_to(exact, n),
    )


class TestDecisionBoundary:
    def test_lines_are_level_sets_of_the_decision_function(self, moons):
        X, y, model = moons
        display = DecisionBoundary.from_estimator(model, X, y)
        assert list(display.lines_.levels) == [-1, 0, 1]
        for level, path in zip(display.lines_.levels, display.lines_.get_paths(), strict=True):
            assert len(path.vertices) > 10
            np.testing.assert_allclose(model.decision_function(path.vertices), level, atol=0.02)

    def test_all_samples_and_support_vectors_are_drawn(self, moons):
        X, y, model = moons
        display = DecisionBoundary.from_estimator(model, X, y)
        for label, points in enumerate(display.points_):
            np.testing.assert_array_equal(points.get_offsets(), X[y == label])
        np.testing.assert_array_equal(display.rings_.get_offsets(), model.support_vectors_)
        assert display.rings_.get_facecolor().size == 0

    def test_classes_differ_in_colour_and_shape_and_are_named(self, moons):
        X, y, model = moons
        display = DecisionBoundary.from_estimator(model, X, y, class_names=["north", "south"])
        north, south = display.points_
        assert to_hex(north.get_facecolor()[0]) != to_hex(south.get_facecolor()[0])
        assert len(north.get_paths()[0]) != len(south.get_paths()[0])
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == ["north", "south", f"{len(model.support_vectors_)} support vectors"]

    def test_all_samples_are_inside_the_axes(self, moons):
        X, y, model = moons
        ax = DecisionBoundary.from_estimator(model, X, y).ax_
        for (low, high), column in zip((ax.get_xlim(), ax.get_ylim()), X.T, strict=True):
            assert low < column.min()
            assert column.max() < high

    def test_given_axes_are_used(self, moons):
        X, y, model = moons
        figure, ax = plt.subplots()
        display = DecisionBoundary.from_estimator(model, X, y, ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert plt.get_fignums() == [figure.number]

    def test_plot_can_be_repeated(self, moons):
        X, y, model = moons
        display = DecisionBoundary.from_estimator(model, X, y)
        first = display.ax_
        assert display.plot() is display
        assert display.ax_ is not first

    def test_several_classes_are_shaded_by_prediction(self, iris):
        X, y, model = iris
        display = DecisionBoundary.from_estimator(model, X, y, grid_resolution=60)
        assert display.lines_ is None
        plane = np.column_stack([axis.ravel() for axis in display.grid])
        np.testing.assert_array_equal(display.response.ravel(), model.predict(plane))
        np.testing.assert_array_equal(np.ravel(display.shade_.get_array()), display.response.ravel())
        assert len(display.points_) == 3

    def test_one_class_svm_has_one_line_and_needs_no_labels(self, moons):
        X = moons[0]
        model = OneClassSVM(nu=0.2, gamma=1.0).fit(X)
        display = DecisionBoundary.from_estimator(model, X)
        assert list(display.lines_.levels) == [0]
        assert len(display.points_) == 1
        np.testing.assert_array_equal(display.points_[0].get_offsets(), X)

    def test_labels_may_be_strings(self, moons):
        X, y, _ = moons
        y = np.array(["down", "up"])[y]
        display = DecisionBoundary.from_estimator(SVC().fit(X, y), X, y)
        assert [p.get_label() for p in display.points_] == ["down", "up"]

    def test_data_frame_names_the_axes_and_raises_no_warning(self, moons):
        X, y, _ = moons
        X = pd.DataFrame(X, columns=["length", "width"])
        model = SVC().fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display = DecisionBoundary.from_estimator(model, X, y)
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")

    def test_support_vectors_of_a_pipeline_are_in_the_coordinates_of_the_data(self, moons):
        X, y, _ = moons
        X = 100 * X + 7
        pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, y)
        display = DecisionBoundary.from_estimator(pipeline, X, y)
        np.testing.assert_allclose(display.rings_.get_offsets(), X[pipeline[-1].support_])

    def test_invalid_arguments_are_rejected(self, moons):
        X, y, model = moons
        with pytest.raises(NotFittedError):
            DecisionBoundary.from_estimator(SVC(), X, y)
        with pytest.raises(TypeError, match="no decision_function"):
            DecisionBoundary.from_estimator(SVR().fit(X, y), X, y)
        with pytest.raises(ValueError, match="two features"):
            DecisionBoundary.from_estimator(model, np.column_stack([X, X]), y)


class TestConvergence:
    def test_gap_line_is_the_gap_of_the_best_bounds(self, moons):
        model = moons[2]
        h = model.history_
        display = Convergence.from_estimator(model)
        primal = np.fmin.accumulate(np.where(h.exact, h.primal, np.nan))
        gap = primal - np.maximum.accumulate(h.dual)
        np.testing.assert_array_equal(display.gap_.get_xdata(), h.iteration)
        np.testing.assert_array_equal(display.gap_.get_ydata(), np.where(gap > 0, gap, np.nan))
        np.testing.assert_array_equal(
            display.violation_.get_ydata(), np.where(h.violation > 0, h.violation, np.nan)
        )
        assert display.ax_.get_yscale() == "log"

    def test_own_figure_has_two_panels(self, moons):
        display = Convergence.from_estimator(moons[2])
        assert display.figure_.axes == display.axes_
        assert len(display.axes_) == 2
        assert {text.get_text() for text in display.axes_[0].texts} == {"primal", "dual"}
        assert {text.get_text() for text in display.ax_.texts} == {
            "gap",
            "violation",
            f"gap of the certificate: {moons[2].certificate_.gap:.1e}",
        }
        assert display.ax_.get_xlabel() == "iteration"

    def test_given_axes_show_only_the_gap(self, moons):
        figure, ax = plt.subplots()
        display = Convergence.from_estimator(moons[2], ax=ax)
        assert display.axes_ == [ax]
        assert figure.axes == [ax]

    def test_gap_does_not_increase(self):
        display = Convergence(histories=[history([9, 4, 7, 3], [0, 2, 1, 2.5])]).plot()
        assert list(display.gap_.get_ydata()) == [9, 2, 2, 0.5]

    def test_primal_value_of_active_samples_is_ignored(self):
        h = history([9, 4, 1, 3], [0, 2, 2, 2.5], exact=[True, True, False, True])
        display = Convergence(histories=[h]).plot()
        assert list(display.gap_.get_ydata()) == [9, 2, 2, 0.5]

    def test_dotted_line_shows_the_gap_of_active_samples(self):
        h = history([9, 4, 2.75, 3], [0, 2, 2.5, 2.5], exact=[True, True, False, True])
        display = Convergence(histories=[h]).plot()
        assert list(display.estimate_.get_ydata()) == [9, 2, 0.25, 0.5]
        assert list(display.gap_.get_ydata()) == [9, 2, 1.5, 0.5]

    def test_values_without_a_logarithm_are_omitted(self):
        h = history([np.inf, 4, 2, 2], [0, 1, 2, 2], violation=[np.nan, 1, 0.5, 0])
        display = Convergence(histories=[h]).plot()
        np.testing.assert_array_equal(display.gap_.get_ydata(), [np.nan, 3, np.nan, np.nan])
        np.testing.assert_array_equal(display.violation_.get_ydata(), [np.nan, 1, 0.5, np.nan])
        display.figure_.canvas.draw()

    def test_one_line_for_each_pair_of_classes(self, iris):
        model = iris[2]
        assert len(model.history_) == 3
        display = Convergence.from_estimator(model)
        assert len(display.axes_) == 1
        assert len(display.ax_.lines) == 3 + 2
        assert display.gap_.get_xdata()[-1] == max(h.iteration[-1] for h in model.history_)

    def test_one_snapshot_is_enough(self):
        display = Convergence(histories=[history([2], [1])]).plot()
        assert display.gap_.get_marker() == "o"
        display.figure_.canvas.draw()

    def test_invalid_arguments_are_rejected(self, moons):
        with pytest.raises(ValueError, match="empty"):
            Convergence(histories=[history([], [])])
        with pytest.raises(TypeError, match="history_"):
            Convergence.from_estimator(StandardScaler().fit(moons[0]))
        with pytest.raises(NotFittedError):
            Convergence.from_estimator(SVC())


def test_missing_matplotlib_names_the_remedy(moons, monkeypatch):
    X, y, model = moons
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'hinge\[plot\]'"):
        DecisionBoundary.from_estimator(model, X, y)
    with pytest.raises(ImportError, match=r"pip install 'hinge\[plot\]'"):
        Convergence.from_estimator(model)
