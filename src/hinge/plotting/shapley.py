"""Plots of Shapley values: bars, waterfall and beeswarm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hinge.plotting import canvas
from hinge.problems import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bins of a beeswarm; points in one bin are stacked.
SWARM_BINS = 60


class ShapleyDisplay:
    """Shapley values of features as bars, a waterfall or a beeswarm.

    Use :meth:`bar`, :meth:`waterfall` or :meth:`beeswarm` to create a plot. Features with smaller values than the
    `max_features` largest ones are shown as one.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    names_ : list of str
        Labels of the rows, from top to bottom.
    values_ : ndarray
        Values of the rows: means of absolute values (bar), values (waterfall), or (n_samples, n_rows) (beeswarm).

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import shapley_values
    >>> from hinge.plotting import ShapleyDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[y > 0], y[y > 0]
    >>> result = shapley_values(hinge.SVC().fit(X, y), X[:20], background=X)
    >>> type(ShapleyDisplay.bar(result)).__name__
    'ShapleyDisplay'
    """

    ax_: Axes
    figure_: Figure
    names_: list[str]
    values_: Array

    def __init__(self, explanation: Any, *, max_features: int = 10) -> None:
        if explanation.values.ndim != 2:
            raise ValueError(
                f"the explanation has {explanation.values.shape[2]} outputs; select one with explanation.of(class)"
            )
        if max_features < 1:
            raise ValueError(f"max_features={max_features!r} must be at least 1")
        self.explanation, self.max_features = explanation, max_features

    @classmethod
    def bar(cls, explanation: Any, *, max_features: int = 10, ax: Axes | None = None) -> ShapleyDisplay:
        """Plot the mean absolute value of every feature over the samples."""
        display = cls(explanation, max_features=max_features)
        sizes = np.abs(explanation.values).mean(axis=0)
        order = np.argsort(-sizes, kind="stable")
        display._open(ax, order)
        shown, rest = display._split(order)
        display.values_ = np.append(sizes[shown], [sizes[rest].sum()] if len(rest) else [])
        display.ax_.barh(np.arange(len(display.values_)), display.values_, color=canvas.PALETTE[0], height=0.7)
        display.ax_.set_xlabel("mean absolute Shapley value", color=canvas.BLACK)
        return display

    @classmethod
    def waterfall(
        cls, explanation: Any, sample: int = 0, *, max_features: int = 10, ax: Axes | None = None
    ) -> ShapleyDisplay:
        """Plot how the features of one sample lead from the mean of the background to its decision value."""
        display = cls(explanation, max_features=max_features)
        values = explanation.values[sample]
        order = np.argsort(-np.abs(values), kind="stable")
        display._open(ax, order, explanation.group_data()[sample])
        shown, rest = display._split(order)
        display.values_ = np.append(values[shown], [values[rest].sum()] if len(rest) else [])
        ends = explanation.base_values + np.cumsum(display.values_[::-1])[::-1]  # the smallest first, at the bottom
        starts = ends - display.values_
        colours = [canvas.PALETTE[1] if value > 0 else canvas.PALETTE[0] for value in display.values_]
        rows = np.arange(len(display.values_))
        display.ax_.barh(rows, display.values_, left=starts, color=colours, height=0.7)
        for row, value in enumerate(display.values_):
            display.ax_.annotate(
                f"{value:+.3g}", (max(starts[row], ends[row]), row), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize="small", color=canvas.BLACK,
            )  # fmt: skip
        for value in (explanation.base_values, ends[0]):
            display.ax_.axvline(value, color=canvas.GREY, linewidth=0.8, linestyle=":")
        display.ax_.set_xlabel("decision value", color=canvas.BLACK)
        title = f"from {explanation.base_values:.4g} (mean of the background) to {ends[0]:.4g}"
        canvas.headline(display.ax_, title)
        return display

    @classmethod
    def beeswarm(cls, explanation: Any, *, max_features: int = 10, ax: Axes | None = None) -> ShapleyDisplay:
        """Plot a point for every sample and feature; its colour is the value of the feature, relative to its range.

        Points of constant features, of groups, and of the features that are shown as one are grey.
        """
        display = cls(explanation, max_features=max_features)
        values, data = explanation.values, explanation.group_data()
        order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")
        display._open(ax, order)
        shown, rest = display._split(order)
        columns = [values[:, j] for j in shown] + ([values[:, rest].sum(axis=1)] if len(rest) else [])
        display.values_ = np.stack(columns, axis=1)
        scale = float(np.ptp(display.values_)) or 1.0
        points: Any = None
        for row in range(display.values_.shape[1]):
            column = data[:, shown[row]] if row < len(shown) else np.full(len(data), np.nan)
            span = float(np.ptp(column)) if np.isfinite(column).all() else 0.0
            where = display.values_[:, row], row + _swarm(display.values_[:, row], scale)
            if span > 0:
                shade = (column - column.min()) / span
                points = display.ax_.scatter(*where, c=shade, cmap="viridis", vmin=0, vmax=1, s=9, linewidths=0)
            else:
                display.ax_.scatter(*where, color=canvas.GREY, s=9, linewidths=0)
        display.ax_.axvline(0.0, color=canvas.GREY, linewidth=0.8)
        display.ax_.set_xlabel("Shapley value", color=canvas.BLACK)
        if points is not None:
            bar = display.figure_.colorbar(points, ax=display.ax_, ticks=[0, 1])
            bar.ax.set_yticklabels(["low", "high"])
            bar.set_label("value of the feature", color=canvas.BLACK)
        return display

    def _split(self, order: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the features that are shown, and those that are shown as one."""
        if len(order) <= self.max_features:
            return order, order[:0]
        return order[: self.max_features], order[self.max_features :]

    def _open(self, ax: Axes | None, order: NDArray[np.intp], data: Array | None = None) -> None:
        """Create the axes and label the rows."""
        shown, rest = self._split(order)
        names = self.explanation.feature_names
        self.names_ = [_label(names[j], None if data is None else data[j]) for j in shown]
        if len(rest):
            self.names_.append(f"{len(rest)} other features")
        if ax is None:
            height = 1.6 + 0.34 * len(self.names_)
            _, ax = canvas.pyplot().subplots(figsize=(6.8, height), layout="constrained")
        assert ax is not None
        self.ax_, self.figure_ = ax, ax.get_figure()  # type: ignore[assignment]
        ax.set_yticks(np.arange(len(self.names_)), self.names_)
        ax.set_ylim(len(self.names_) - 0.4, -0.6)
        canvas.tidy(ax)


def _label(name: Any, value: float | None) -> str:
    text = f"feature {name}" if isinstance(name, int | np.integer) else str(name)
    return text if value is None or not np.isfinite(value) else f"{text} = {value:.4g}"


def _swarm(values: Array, scale: float) -> Array:
    """Vertical offsets that separate points with similar values."""
    bins = np.floor(values / scale * SWARM_BINS).astype(np.int64)
    offsets = np.zeros(len(values))
    largest = max(np.unique(bins, return_counts=True)[1].max(), 1)
    for each in np.unique(bins):
        members = np.flatnonzero(bins == each)
        steps = np.arange(len(members))
        offsets[members] = ((steps + 1) // 2) * np.where(steps % 2, 1.0, -1.0)
    return offsets * min(0.06, 0.8 / largest)
