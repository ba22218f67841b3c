"""Plot of a decision function of two features: boundary, margins and support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hinge.plotting import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class DecisionBoundary:
    """Decision function of a fitted estimator with two features.

    With one or two classes the plane is shaded by the decision value f(x), with lines at f = 0 (the boundary) and, for
    two classes, at f = ±1 (the margins). With more classes it is shaded by the predicted class. Support vectors are
    circled. Use :meth:`from_estimator` to create a plot.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of `ax_`.
    shade_, lines_, points_, rings_
        Artists: the shading, the contour lines (None for more than two classes), one collection of points per class,
        and the circles around support vectors (None if there are no support vectors).

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import DecisionBoundary
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = DecisionBoundary.from_estimator(hinge.SVC().fit(X, y), X, y, feature_names=("first", "second"))
    >>> display.ax_.get_xlabel(), len(display.points_)
    ('first', 2)
    """

    ax_: Axes
    figure_: Figure
    shade_: Any
    lines_: Any
    points_: list[Any]
    rings_: Any

    def __init__(
        self,
        *,
        grid: tuple[NDArray[np.float64], NDArray[np.float64]],
        response: NDArray[np.float64],
        X: NDArray[np.float64],
        y: NDArray[Any] | None,
        classes: NDArray[Any] | None,
        support_vectors: NDArray[np.float64] | None,
        feature_names: Sequence[str] = ("", ""),
        class_names: Sequence[str] | None = None,
    ) -> None:
        self.grid = grid
        self.response = response
        self.X = X
        self.y = y
        self.classes = classes
        self.support_vectors = support_vectors
        self.feature_names = feature_names
        self.class_names = class_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
        grid_resolution: int = 300,
        margin: float = 0.06,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> DecisionBoundary:
        """Plot the decision function of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted classifier or one-class estimator with two features, or a pipeline that ends in one.
        X : array-like of shape (n_samples, 2)
            Points to show; they determine the limits of the plot.
        y : array-like of shape (n_samples,), optional
            Their labels.
        ax : matplotlib.axes.Axes, optional
            Axes to plot on; a new figure by default.
        grid_resolution : int, default=300
            Number of grid points along each axis.
        margin : float, default=0.06
            Margin around the points, as a fraction of their range.
        feature_names : sequence of two str, optional
            Labels of the axes; by default the columns of `X` if it is a DataFrame.
        class_names : sequence of str, optional
            Names to show for ``estimator.classes_``.

        Returns
        -------
        DecisionBoundary
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "decision_function"):
            name = type(estimator).__name__
            raise TypeError(f"{name} has no decision_function, which is needed to plot a decision boundary")
        columns = getattr(X, "columns", None)
        if feature_names is None:
            feature_names = ("", "") if columns is None else [str(name) for name in columns]
        points = _dense(X)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"X has shape {points.shape}, but a decision boundary can be plotted only for two features; fit the "
                "estimator on two columns or on two principal components"
            )
        grid = _grid(points, grid_resolution, margin)
        plane: Any = np.column_stack([axis.ravel() for axis in grid])
        if columns is not None:
            plane = type(X)(plane, columns=columns)
        classes = getattr(estimator, "classes_", None)
        response = np.asarray(estimator.decision_function(plane), dtype=float)
        if classes is not None and len(classes) > 2:
            response = np.searchsorted(classes, estimator.predict(plane)).astype(float)
        display = cls(
            grid=grid,
            response=response.reshape(grid[0].shape),
            X=points,
            y=None if y is None else np.asarray(y),
            classes=classes,
            support_vectors=_support_vectors(estimator),
            feature_names=feature_names,
            class_names=class_names,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> DecisionBoundary:
        """Plot on `ax` or on a new figure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to plot on; a new figure by default.

        Returns
        -------
        DecisionBoundary
            This object, with the attributes that end in an underscore set.
        """
        plt = canvas.pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
        assert ax is not None
        self.ax_, self.figure_ = ax, ax.get_figure()  # type: ignore[assignment]
        if self.classes is not None and len(self.classes) > 2:
            self._shade_classes(ax)
        else:
            self._shade_values(ax)
        self._draw_points(ax)
        self._label(ax)
        return self

    def _shade_values(self, ax: Axes) -> None:
        """Shade the plane in the colours of the classes: white at the boundary, darker with increasing |f|."""
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patheffects import withStroke

        low, high = canvas.PALETTE[:2] if self.classes is not None else (canvas.GREY, canvas.PALETTE[0])
        fade = LinearSegmentedColormap.from_list("hinge", [low, "white", high])
        self.shade_ = ax.pcolormesh(
            *self.grid, np.tanh(0.6 * self.response), cmap=fade, vmin=-2.2, vmax=2.2, shading="gouraud",
            rasterized=True, zorder=0,
        )  # fmt: skip
        levels = [-1, 0, 1] if self.classes is not None else [0]
        styles = {-1: "--", 0: "-", 1: "--"}
        self.lines_ = ax.contour(
            *self.grid, self.response, levels=levels, colors=canvas.BLACK, zorder=2,
            linestyles=[styles[v] for v in levels], linewidths=[1.8 if v == 0 else 1.0 for v in levels],
        )  # fmt: skip
        names = {-1: "f = −1", 0: "f = 0", 1: "f = 1"}
        labels = ax.clabel(self.lines_, fmt=lambda v: names[round(v)], fontsize="small", colors=canvas.BLACK)
        for text in labels or ():
            text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            text.set_zorder(5)

    def _shade_classes(self, ax: Axes) -> None:
        """Shade the plane in one light colour per predicted class, with lines between the classes."""
        from matplotlib.colors import ListedColormap

        assert self.classes is not None
        n = len(self.classes)
        self.shade_ = ax.pcolormesh(
            *self.grid, self.response, cmap=ListedColormap(canvas.colours(n)), vmin=-0.5, vmax=n - 0.5,
            alpha=0.22, shading="nearest", edgecolors="none", linewidth=0, rasterized=True, zorder=0,
        )  # fmt: skip
        self.lines_ = None
        for k in range(n):
            inside = (self.response == k).astype(float)
            if 0 < inside.sum() < inside.size:
                ax.contour(*self.grid, inside, levels=[0.5], colors=canvas.BLACK, linewidths=0.9, zorder=2)

    def _draw_points(self, ax: Axes) -> None:
        style: dict[str, Any] = {"s": 20, "edgecolors": "white", "linewidths": 0.5, "zorder": 3}
        self.points_ = []
        if self.y is None or self.classes is None:
            self.points_.append(ax.scatter(*self.X.T, color=canvas.PALETTE[0], label="data", **style))
        else:
            names = self.classes if self.class_names is None else self.class_names
            for k, colour in enumerate(canvas.colours(len(self.classes))):
                members = self.X[self.y == self.classes[k]]
                marker = canvas.MARKERS[k % len(canvas.MARKERS)]
                self.points_.append(
                    ax.scatter(*members.T, color=colour, marker=marker, label=str(names[k]), **style)
                )
        self.rings_ = None
        if self.support_vectors is not None and len(self.support_vectors):
            self.rings_ = ax.scatter(
                self.support_vectors[:, 0], self.support_vectors[:, 1], s=54, facecolors="none",
                edgecolors=canvas.BLACK, linewidths=0.7, zorder=4,
                label=f"{len(self.support_vectors)} support vectors",
            )  # fmt: skip

    def _label(self, ax: Axes) -> None:
        ax.set_xlim(self.grid[0].min(), self.grid[0].max())
        ax.set_ylim(self.grid[1].min(), self.grid[1].max())
        ax.set_xlabel(self.feature_names[0], color=canvas.BLACK)
        ax.set_ylabel(self.feature_names[1], color=canvas.BLACK)
        canvas.tidy(ax)
        entries = ax.get_legend_handles_labels()[0]
        ax.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=min(len(entries), 5), frameon=False,
            fontsize="small", handletextpad=0.1, columnspacing=1.4, borderaxespad=0.2,
        )  # fmt: skip


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)


def _grid(
    points: NDArray[np.float64], resolution: int, margin: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = points.min(axis=0), points.max(axis=0)
    padding = margin * np.where(high > low, high - low, 1.0)
    axes = np.linspace(low - padding, high + padding, resolution)
    first, second = np.meshgrid(axes[:, 0], axes[:, 1])
    return first, second


def _support_vectors(estimator: Any) -> NDArray[np.float64] | None:
    """Return the support vectors in the coordinates of the plot; a pipeline transforms them back."""
    steps = getattr(estimator, "steps", None)
    final = estimator if steps is None else steps[-1][1]
    vectors = getattr(final, "support_vectors_", None)
    if vectors is None:
        return None
    if steps is not None and len(steps) > 1:
        inverse = getattr(estimator[:-1], "inverse_transform", None)
        if inverse is None:
            return None
        vectors = inverse(vectors)
    vectors = _dense(vectors)
    return vectors if vectors.ndim == 2 and vectors.shape[1] == 2 else None
