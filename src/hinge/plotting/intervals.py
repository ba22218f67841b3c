"""Plot of prediction intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hinge.plotting import canvas
from hinge.problems import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class IntervalDisplay:
    """Prediction intervals, predictions and targets against one feature, time or the order of the predictions.

    Use :meth:`from_estimator`, :meth:`from_history` or :meth:`from_intervals` to create a plot. Infinite ends are drawn
    to the limits of the axes.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    band_ : matplotlib.collections.PolyCollection
        The intervals.
    line_ : matplotlib.lines.Line2D or None
        The predictions.
    inside_, outside_ : matplotlib.lines.Line2D or None
        Targets in their intervals, and the others.
    coverage_ : float or None
        Share of the targets in their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.plotting import IntervalDisplay
    >>> x = np.linspace(0, 1, 5)
    >>> display = IntervalDisplay.from_intervals(x, np.column_stack([x - 1, x + 1]), predictions=x, y=x + 0.5)
    >>> display.coverage_
    1.0
    """

    ax_: Axes
    figure_: Figure
    band_: Any
    line_: Any
    inside_: Any
    outside_: Any
    coverage_: float | None

    def __init__(
        self, *, x: Any, intervals: Any, predictions: Any = None, y: Any = None, xlabel: str = "", ylabel: str = "y"
    ) -> None:
        self.x = np.asarray(x, dtype=np.float64).ravel()
        self.intervals = np.asarray(intervals, dtype=np.float64)
        if self.intervals.shape != (len(self.x), 2):
            raise ValueError(
                f"intervals has shape {self.intervals.shape}, but x has {len(self.x)} values; pass (n, 2), one level"
            )
        self.predictions = None if predictions is None else np.asarray(predictions, dtype=np.float64).ravel()
        self.y = None if y is None else np.asarray(y, dtype=np.float64).ravel()
        for name, values in (("predictions", self.predictions), ("y", self.y)):
            if values is not None and len(values) != len(self.x):
                raise ValueError(f"{name} has {len(values)} values, but x has {len(self.x)}")
        self.xlabel, self.ylabel = xlabel, ylabel

    @classmethod
    def from_intervals(cls, x: Any, intervals: Any, predictions: Any = None, y: Any = None, **options: Any) -> Any:
        """Plot given intervals, (n, 2), against x; `ax`, `xlabel` and `ylabel` are optional."""
        ax = options.pop("ax", None)
        return cls(x=x, intervals=intervals, predictions=predictions, y=y, **options).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, alpha: float = 0.1, feature: int | None = None, ax: Any = None
    ) -> IntervalDisplay:
        """Plot the intervals of a conformal estimator.

        Parameters
        ----------
        estimator : object
            With `predict` and `predict_interval`, such as `hinge.conformal.JackknifePlus`.
        X : array-like of shape (n_samples, n_features)
        y : array-like, optional
            Targets.
        alpha : float, default=0.1
        feature : int, optional
            Column of X for the horizontal axis. By default the only feature, or the rank of the prediction if there are
            several.
        ax : matplotlib.axes.Axes, optional
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "history_"):
            raise TypeError(
                f"estimator is an {type(estimator).__name__}, whose intervals have the level of their time; use "
                "IntervalDisplay.from_history(estimator.history_)"
            )
        predictions, intervals = estimator.predict(X), estimator.predict_interval(X, alpha)
        columns = np.asarray(X, dtype=np.float64)
        if feature is None and columns.shape[1] > 1:
            x: Any = np.argsort(np.argsort(predictions, kind="stable"), kind="stable")
            label = "rank of the prediction"
        else:
            x, label = columns[:, feature or 0], f"feature {feature or 0}"
        return cls(x=x, intervals=intervals, predictions=predictions, y=y, xlabel=label).plot(ax=ax)

    @classmethod
    def from_history(cls, history: Any, *, ax: Any = None) -> IntervalDisplay:
        """Plot `history_` of `hinge.conformal.AdaptiveIntervals` over time."""
        ends = np.stack([history.lower, history.upper], axis=1)
        return cls(x=np.arange(len(ends)), intervals=ends, y=history.y, xlabel="step").plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> IntervalDisplay:
        """Plot on `ax` or on a new figure."""
        if ax is None:
            _, ax = canvas.pyplot().subplots(figsize=(6.8, 4.2), layout="constrained")
        assert ax is not None
        self.ax_, self.figure_ = ax, ax.get_figure()  # type: ignore[assignment]
        order = np.argsort(self.x, kind="stable")
        x, ends = self.x[order], self.intervals[order]
        low, high = self._limits()
        shown = np.clip(ends, low, high)
        self.band_ = ax.fill_between(x, shown[:, 0], shown[:, 1], color=canvas.PALETTE[5], alpha=0.35, linewidth=0)
        self.line_ = self.inside_ = self.outside_ = self.coverage_ = None
        if self.predictions is not None:
            (self.line_,) = ax.plot(x, self.predictions[order], color=canvas.PALETTE[0], linewidth=1.6)
        if self.y is not None:
            y = self.y[order]
            inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
            self.coverage_ = float(inside.mean())
            style: dict[str, Any] = dict(linestyle="", markersize=3.5)
            (self.inside_,) = ax.plot(x[inside], y[inside], marker="o", color=canvas.GREY, **style)
            (self.outside_,) = ax.plot(x[~inside], y[~inside], marker="^", color=canvas.PALETTE[1], **style)
            canvas.headline(ax, f"{self.coverage_:.1%} of the targets are in their intervals")
        ax.set_ylim(low, high)
        ax.set_xlabel(self.xlabel, color=canvas.BLACK)
        ax.set_ylabel(self.ylabel, color=canvas.BLACK)
        canvas.tidy(ax)
        return self

    def _limits(self) -> tuple[float, float]:
        """Limits of the vertical axis: all finite values."""
        parts: list[Array] = [self.intervals.ravel()]
        parts += [values for values in (self.predictions, self.y) if values is not None]
        values = np.concatenate(parts)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return -1.0, 1.0
        padding = 0.05 * float(np.ptp(values)) or 0.5
        return float(values.min()) - padding, float(values.max()) + padding
