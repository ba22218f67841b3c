"""Displays of paths show the values of the paths."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import hinge
from hinge.plotting import PathDisplay


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)


@pytest.fixture(autouse=True)
def closing():
    yield
    plt.close("all")


def test_coefficients_are_those_of_the_path(data):
    path = hinge.regularization_path(*data, gamma=1.0)
    display = PathDisplay.from_coefficients(path, samples=[3, 5, 8])
    assert len(display.lines_) == 3
    label = display.lines_[0].get_label()
    sample = int(label.split()[-1])
    x, y = display.lines_[0].get_data()
    np.testing.assert_allclose(y, [path.alpha(C)[sample] / C for C in x], rtol=1e-9, atol=1e-12)
    assert display.ax_.get_xscale() == "log"


def test_coefficients_are_accurate_between_breakpoints(data):
    """α/C is a hyperbola on every segment, so that straight lines between breakpoints would be wrong."""
    path = hinge.regularization_path(*data, C_min=1e-3, C_max=1e6, gamma=1.0)
    display = PathDisplay.from_coefficients(path)
    for line in display.lines_[-7:]:
        sample, (x, y) = int(line.get_label().split()[1]), line.get_data()
        for C in np.geomspace(path.low, path.high, 60):
            drawn = np.interp(np.log(C), np.log(x), y)
            assert abs(drawn - path.alpha(C)[sample] / C) < 0.02


def test_index_sets_add_up(data):
    path = hinge.regularization_path(*data, gamma=1.0)
    display = PathDisplay.from_index_sets(path)
    total = sum(line.get_ydata() for line in display.lines_)
    assert np.all(total == 60)
    middle = np.sqrt(path.low * path.high)
    sizes = [len(indices) for indices in path.index_sets(middle)]
    at = np.searchsorted(display.lines_[0].get_xdata(), middle, side="right") - 1
    assert [line.get_ydata()[at] for line in display.lines_] == sizes
    quadratic = hinge.quadratic_loss_path(*data, gamma=1.0, loss="huberized_hinge", lambda_min=1e-2)
    assert np.all(sum(line.get_ydata() for line in PathDisplay.from_index_sets(quadratic).lines_) == 60)


def test_validation_marks_the_optimum(data):
    X, y = data
    path = hinge.regularization_path(X[:40], y[:40], gamma=1.0)
    _, ax = plt.subplots()
    display = PathDisplay.from_validation(path, X[40:], y[40:], ax=ax)
    assert display.ax_ is ax
    best = path.best(X[40:], y[40:])
    np.testing.assert_allclose(display.lines_[-1].get_data(), ([best.low, best.high], [best.error] * 2))
    curve = hinge.regularization_path(X[:40], X[:40, 1], gamma=1.0, task="regression")
    assert PathDisplay.from_validation(curve, X[40:], X[40:, 1]).lines_


@pytest.mark.parametrize("kind", ["C", "quadratic", "approximate", "lp", "lasso"])
def test_weights_are_those_of_the_path(data, kind):
    X, y = data
    path = {
        "C": lambda: hinge.regularization_path(X, y, kernel="linear"),
        "quadratic": lambda: hinge.quadratic_loss_path(X, y, kernel="linear", lambda_min=0.1),
        "approximate": lambda: hinge.approximate_path(X, y, kernel="linear"),
        "lp": lambda: hinge.lp_path(X, y, kernel="linear"),
        "lasso": lambda: hinge.lasso_path(X, y.astype(float)),
    }[kind]()
    display = PathDisplay.from_weights(path)
    assert len(display.lines_) == 2
    assert display.ax_.get_xscale() == "log"
    for line in display.lines_:
        feature, (values, weights) = int(line.get_label().split()[-1]), line.get_data()
        np.testing.assert_allclose(weights, path.coef(values)[:, feature], atol=1e-12)


def test_weights_are_labelled_with_the_names_of_the_features(data):
    import pandas as pd

    X = pd.DataFrame(np.hstack([data[0]] * 5) + np.arange(10), columns=[f"column {j}" for j in range(10)])
    path = hinge.regularization_path(X, data[1], kernel="linear", C_min=0.1, C_max=1.0)
    display = PathDisplay.from_weights(path, features=["column 4", "column 1"])
    assert {line.get_label() for line in display.lines_} == {"column 4", "column 1"}
    assert len(PathDisplay.from_weights(path).lines_) == 10
    with pytest.raises(ValueError, match="not in feature_names_in_"):
        PathDisplay.from_weights(path, features=["column 99"])
    with pytest.raises(TypeError, match="path of a pair"):
        PathDisplay.from_weights(hinge.one_vs_one_paths(X, np.arange(60) % 3, kernel="linear", C_max=0.1))
    with pytest.raises(AttributeError, match="kernel='linear'"):
        PathDisplay.from_weights(hinge.regularization_path(X, data[1], C_max=0.1))


@pytest.mark.parametrize("task", ["classification", "regression", "one_class"])
def test_index_sets_of_every_task(data, task):
    X, y = data
    kinds = {
        "classification": lambda: hinge.regularization_path(X, y, gamma=1.0),
        "regression": lambda: hinge.epsilon_path(X, X[:, 0] + 0.1 * y, gamma=1.0),
        "one_class": lambda: hinge.nu_path(X, task="one_class", gamma=1.0),
    }
    path = kinds[task]()
    display = PathDisplay.from_index_sets(path)
    edges = display.lines_[0].get_xdata()
    for k in np.linspace(0, len(edges) - 2, 9).astype(int):
        if edges[k + 1] > edges[k]:
            sizes = [len(indices) for indices in path.index_sets(0.5 * (edges[k] + edges[k + 1]))]
            assert [line.get_ydata()[k] for line in display.lines_] == sizes
    words = {"classification": "margin", "regression": "tube", "one_class": "region"}
    assert words[task] in display.lines_[0].get_label()


@pytest.mark.parametrize("kind", ["coefficients", "index_sets"])
def test_legends_are_outside_of_the_axes(data, kind):
    path = hinge.regularization_path(*data, gamma=1.0)
    display = getattr(PathDisplay, f"from_{kind}")(path)
    display.figure_.canvas.draw()
    legend, axes = display.ax_.get_legend().get_window_extent(), display.ax_.get_window_extent()
    assert legend.x0 >= axes.x1 or legend.y0 >= axes.y1
    assert legend.x1 <= display.figure_.bbox.x1 + 1


def test_thinned_curves_are_stated(data, monkeypatch):
    path = hinge.regularization_path(*data, gamma=1.0)
    count = len(path.breakpoints)
    assert f"{count} breakpoints" in PathDisplay.from_coefficients(path).ax_.get_title(loc="left")
    monkeypatch.setattr("hinge.plotting.paths.MAX_KNOTS", 20)
    assert f"20 of {count} breakpoints drawn" in PathDisplay.from_coefficients(path).ax_.get_title(loc="left")
