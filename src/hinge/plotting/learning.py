"""Plot of a learning curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.plotting import canvas
from hinge.selection import LearningCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class LearningCurveDisplay:
    """Training and validation errors against the number of training samples: median and range over the orders.

    Use :meth:`from_result` to create a plot.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : list of matplotlib.lines.Line2D
        Training and validation errors.

    Examples
    --------
    >>> from hinge.plotting import LearningCurveDisplay
    >>> from hinge.selection import learning_curve
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> curve = learning_curve(X[:60], y[:60], X[60:], y[60:], sizes=[10, 60], orders=2, random_state=0)
    >>> [line.get_label() for line in LearningCurveDisplay.from_result(curve).lines_]
    ['training', 'validation']
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]

    def __init__(self, *, curve: LearningCurve, ylabel: str = "error") -> None:
        self.curve, self.ylabel = curve, ylabel

    @classmethod
    def from_result(
        cls, curve: LearningCurve, *, ylabel: str = "error", ax: Axes | None = None
    ) -> LearningCurveDisplay:
        """Plot the result of `hinge.selection.learning_curve`.

        Parameters
        ----------
        curve : LearningCurve
        ylabel : str, default="error"
        ax : matplotlib.axes.Axes, optional
        """
        return cls(curve=curve, ylabel=ylabel).plot(ax)

    def plot(self, ax: Axes | None = None) -> LearningCurveDisplay:
        """Plot on `ax` or on a new figure."""
        if ax is None:
            _, ax = canvas.pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
        assert ax is not None
        self.ax_, self.figure_, self.lines_ = ax, ax.get_figure(), []  # type: ignore[assignment]
        parts = (("training", self.curve.train_errors, "o--"), ("validation", self.curve.validation_errors, "o-"))
        for (name, errors, style), colour in zip(parts, canvas.colours(2), strict=True):
            sizes = self.curve.sizes
            ax.fill_between(sizes, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.15, linewidth=0)
            median = np.median(errors, axis=0)
            self.lines_ += ax.plot(sizes, median, style, color=colour, markersize=3.5, linewidth=1.4, label=name)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("training samples", color=canvas.BLACK)
        ax.set_ylabel(self.ylabel, color=canvas.BLACK)
        canvas.tidy(ax)
        canvas.legend_above(ax)
        count = len(self.curve.train_errors)
        canvas.headline(ax, f"Exact models; median and range of {count} orders", above_legend=True)
        return self
