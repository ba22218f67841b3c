"""Heat map of the scores of a grid search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.plotting import canvas
from hinge.problems import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOGARITHMIC_RATIO = 20.0  # ratio of the largest and the smallest value above which an axis is logarithmic
NAMES = {"C": "C", "gamma": "γ", "epsilon": "ε", "nu": "ν"}


class GridDisplay:
    """Plot of the mean scores of a grid search: a heat map of two parameters, or a curve of one.

    If the grid has further parameters, every cell shows the best score over them. Use `from_result` to create one.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    scores : ndarray
        The scores that are shown: one row per value of `y`, or one value per value of `x`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import GridDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = hinge.selection.grid(X, y, C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0])
    >>> GridDisplay.from_result(result).scores.shape
    (2, 3)
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, x: str, y: str | None, x_values: Array, y_values: Array | None, scores: Array, best: Any):
        self.x, self.y, self.x_values, self.y_values, self.scores, self.best = x, y, x_values, y_values, scores, best

    @classmethod
    def from_result(cls, result: Any, *, x: str = "C", y: str | None = None, ax: Axes | None = None) -> GridDisplay:
        """Plot the result of `hinge.selection.grid`, of an estimator such as `SVCCV`, or of `GridSearchCV`.

        Parameters
        ----------
        result : object with `cv_results_` and `best_params_`
        x, y : str
            Parameters on the axes; `y` is the first other parameter with several numeric values by default.
        ax : matplotlib.axes.Axes, optional
        """
        table, params = result.cv_results_, result.cv_results_["params"]
        if y is None:
            y = next((name for name in params[0] if name != x and _is_axis([p[name] for p in params])), None)
        for name in (x, y):
            if name is not None and name not in params[0]:
                raise ValueError(f"{name!r} is not a parameter of the search; it has {', '.join(params[0])}")
        mean = np.asarray(table["mean_test_score"], dtype=np.float64)
        x_values = np.array(sorted({float(p[x]) for p in params}))
        y_values = None if y is None else np.array(sorted({float(p[y]) for p in params}))
        scores = np.full((1 if y_values is None else len(y_values), len(x_values)), np.nan)
        for p, score in zip(params, mean, strict=True):
            row = 0 if y_values is None else int(np.searchsorted(y_values, p[y]))
            column = int(np.searchsorted(x_values, p[x]))
            scores[row, column] = np.fmax(scores[row, column], score)
        shown = scores[0] if y_values is None else scores
        return cls(x=x, y=y, x_values=x_values, y_values=y_values, scores=shown, best=result.best_params_).plot(ax)

    def plot(self, ax: Axes | None = None) -> GridDisplay:
        """Plot on `ax` or on a new figure."""
        if ax is None:
            _, ax = canvas.pyplot().subplots(figsize=(6.0, 4.4), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.get_figure()  # type: ignore[assignment]
        if self.y_values is None:
            ax.plot(self.x_values, self.scores, marker="o", color=canvas.PALETTE[0])
            ax.set_ylabel("mean score", color=canvas.BLACK)
        else:
            image = ax.pcolormesh(_edges(self.x_values), _edges(self.y_values), self.scores, cmap="viridis")
            ax.set_ylabel(NAMES.get(str(self.y), str(self.y)), color=canvas.BLACK)
            ax.set_yscale("log" if _is_logarithmic(self.y_values) else "linear")
            self.figure_.colorbar(image, ax=ax, label="mean score")
            if self.best is not None:
                ax.plot(self.best[self.x], self.best[self.y], marker="*", ms=14, mfc="white", mec=canvas.BLACK, ls="")
        ax.set_xlabel(NAMES.get(self.x, self.x), color=canvas.BLACK)
        ax.set_xscale("log" if _is_logarithmic(self.x_values) else "linear")
        if self.best is not None:
            chosen = ", ".join(f"{NAMES.get(name, name)} = {_text(value)}" for name, value in self.best.items())
            canvas.headline(ax, f"best: {chosen}")
        canvas.tidy(ax)
        return self


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def _is_axis(values: list[Any]) -> bool:
    """Whether a parameter has several values, all of them numbers."""
    return not any(isinstance(value, str) for value in values) and len(set(values)) > 1


def _is_logarithmic(values: Array) -> bool:
    return bool(values[0] > 0 and values[-1] / values[0] > LOGARITHMIC_RATIO)


def _edges(values: Array) -> Array:
    """Ends of the cells: midpoints between consecutive values, on the scale of the axis."""
    if len(values) == 1:
        return np.array([0.9, 1.1]) * values[0] if values[0] else np.array([-0.5, 0.5])
    v = np.log(values) if _is_logarithmic(values) else values
    middle = 0.5 * (v[1:] + v[:-1])
    ends = np.concatenate([[2 * v[0] - middle[0]], middle, [2 * v[-1] - middle[-1]]])
    return np.exp(ends) if _is_logarithmic(values) else ends
