"""Plots of paths: coefficients, weights, index sets and the validation error with its minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.paths import ApproximatePath, LPPath, QuadraticLossPath, SolutionPath
from hinge.plotting import canvas
from hinge.plotting.index_sets import index_set_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGHLIGHTED = 7  # coefficients drawn in colour; the others are grey
MAX_KNOTS = 400  # breakpoints at which coefficients are evaluated
SYMBOLS = {"lambda": "λ", "lam": "λ", "theta": "θ", "epsilon": "ε", "nu": "ν"}  # labels of parameters
INTERPOLATED_KNOTS = 200  # further points, because a piece need not be a straight line on a logarithmic axis


class PathDisplay:
    """Plot of a path with the Display convention of scikit-learn. Use a `from_…` method to create one.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    lines_ : list
        The artists of the plot.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import PathDisplay
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> PathDisplay.from_index_sets(path).ax_.get_xlabel()
    'C'
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]

    def __init__(self, *, path: Any, kind: str, data: Any = None) -> None:
        self.path, self.kind, self.data = path, kind, data

    @classmethod
    def from_coefficients(
        cls, path: SolutionPath | QuadraticLossPath, *, samples: ArrayLike | None = None, ax: Axes | None = None
    ) -> PathDisplay:
        """Plot the dual variables against the parameter.

        Parameters
        ----------
        path : SolutionPath or QuadraticLossPath
        samples : array-like of int, optional
            Samples to show; by default all.
        ax : matplotlib.axes.Axes, optional
        """
        _check_exact(path)
        return cls(path=path, kind="coefficients", data=samples).plot(ax=ax)

    @classmethod
    def from_weights(cls, path: Any, *, features: ArrayLike | None = None, ax: Axes | None = None) -> PathDisplay:
        """Plot the weights of the features against the parameter, for paths with a linear kernel.

        Parameters
        ----------
        path : SolutionPath, QuadraticLossPath, ApproximatePath, LPPath, LassoPath or RankingPath
            With the linear kernel; for several classes pass one of the paths, ``paths[first, second]``.
        features : array-like of int or str, optional
            Positions or names of the features to show; by default all.
        ax : matplotlib.axes.Axes, optional
        """
        if not hasattr(path, "coef") or hasattr(path, "pairs"):
            raise TypeError(
                f"path is of type {type(path).__name__}, but it must be a path with a method coef. For several classes "
                "pass the path of a pair, paths[first, second]"
            )
        return cls(path=path, kind="weights", data=features).plot(ax=ax)

    @classmethod
    def from_index_sets(cls, path: SolutionPath | QuadraticLossPath, *, ax: Axes | None = None) -> PathDisplay:
        """Plot the sizes of the index sets against the parameter."""
        _check_exact(path)
        return cls(path=path, kind="index_sets").plot(ax=ax)

    @classmethod
    def from_validation(
        cls, path: SolutionPath | QuadraticLossPath, X: Any, y: ArrayLike, *, ax: Axes | None = None
    ) -> PathDisplay:
        """Plot the validation error and its minimum."""
        _check_exact(path)
        return cls(path=path, kind="validation", data=path.validation_error(X, y)).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> PathDisplay:
        """Plot on `ax` or on a new figure."""
        if ax is None:
            _, ax = canvas.pyplot().subplots(figsize=(6.8, 4.2), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.get_figure()  # type: ignore[assignment]
        self.lines_ = []
        plot = {
            "coefficients": self._coefficients, "weights": self._weights,
            "index_sets": self._index_sets, "validation": self._validation,
        }  # fmt: skip
        plot[self.kind](ax)
        name = "lambda" if isinstance(self.path, QuadraticLossPath) else getattr(self.path, "parameter", "C")
        ax.set_xlabel(SYMBOLS.get(name, name), color=canvas.BLACK)
        if name in ("C", "lambda", "lam"):
            ax.set_xscale("log")
        canvas.tidy(ax)
        return self

    def _knots(self) -> Any:
        """Return the values of the parameter at which curves are evaluated."""
        knots = self.path.knots if isinstance(self.path, ApproximatePath) else self.path.breakpoints
        if len(knots) > MAX_KNOTS:
            knots = knots[np.unique(np.linspace(0, len(knots) - 1, MAX_KNOTS).astype(int))]
        if knots[0] > 0:
            knots = np.unique(np.concatenate([knots, np.geomspace(knots[0], knots[-1], INTERPOLATED_KNOTS)[1:-1]]))
        return knots

    def _weights(self, ax: Axes) -> None:
        knots = self._knots()
        values, names = self.path.coef(knots), self.path.feature_names
        chosen = np.arange(values.shape[1]) if self.data is None else self._positions(np.asarray(self.data), names)
        values = values[:, chosen]
        order = np.argsort(-np.max(np.abs(values), axis=0), kind="stable")
        draw = ax.step if isinstance(self.path, LPPath) else ax.plot
        options: dict[str, Any] = {"where": "post"} if isinstance(self.path, LPPath) else {}
        if len(order) > HIGHLIGHTED:
            others = values[:, order[HIGHLIGHTED:]]
            self.lines_ += draw(knots, others, color=canvas.GREY, alpha=0.4, linewidth=0.6, **options)
        for colour, i in zip(canvas.colours(HIGHLIGHTED), order, strict=False):
            label = f"feature {chosen[i]}" if names is None else str(names[chosen[i]])
            self.lines_ += draw(knots, values[:, i], color=colour, linewidth=1.4, label=label, **options)
        ax.set_ylabel("weight", color=canvas.BLACK)
        canvas.legend_beside(ax)
        canvas.headline(ax, f"Weights of {_coloured(len(chosen), 'features')}, {self._shown_knots()}")

    def _positions(self, features: Any, names: Any) -> Any:
        """Return the positions of features that are given by name or position."""
        if features.dtype.kind not in "UO":
            return features.astype(int)
        unknown = [name for name in features if names is None or name not in names]
        if unknown:
            raise ValueError(f"features contains {unknown[0]!r}, which is not in feature_names_in_ of the path")
        return np.array([int(np.flatnonzero(names == name)[0]) for name in features])

    def _coefficients(self, ax: Axes) -> None:
        knots = self._knots()
        values = self.path.alpha(knots)
        chosen = np.arange(values.shape[1]) if self.data is None else np.asarray(self.data, dtype=int)
        values = values[:, chosen]
        if getattr(self.path, "parameter", "") == "C":
            values = values / knots[:, None]
        variation = np.sum(np.abs(np.diff(values, axis=0)), axis=0)
        highlighted = np.argsort(variation)[::-1][:HIGHLIGHTED]
        others = [i for i in range(len(chosen)) if i not in set(highlighted.tolist())]
        if others:
            self.lines_ += ax.plot(knots, values[:, others], color=canvas.GREY, alpha=0.25, linewidth=0.6)
        for colour, i in zip(canvas.colours(len(highlighted)), highlighted, strict=True):
            self.lines_ += ax.plot(knots, values[:, i], color=colour, linewidth=1.4, label=f"sample {chosen[i]}")
        symbol = "β" if getattr(self.path, "task", "") == "regression" else "α"
        over = " / C" if getattr(self.path, "parameter", "") == "C" else ""
        ax.set_ylabel(symbol + over, color=canvas.BLACK)
        canvas.legend_beside(ax)
        canvas.headline(ax, f"Coefficients of {_coloured(len(chosen), 'samples')}, {self._shown_knots()}")

    def _index_sets(self, ax: Axes) -> None:
        edges, sizes, names = index_set_sizes(self.path)
        for column, (name, colour) in enumerate(zip(names, canvas.colours(3), strict=True)):
            values = np.append(sizes[:, column], sizes[-1, column])
            self.lines_ += ax.step(edges, values[: len(edges)], where="post", color=colour, linewidth=1.4, label=name)
        ax.set_ylabel("samples", color=canvas.BLACK)
        canvas.legend_above(ax)
        canvas.headline(ax, "Index sets", above_legend=True)

    def _shown_knots(self) -> str:
        """Return the number of breakpoints, and of those at which curves are drawn if these are fewer."""
        if isinstance(self.path, ApproximatePath):
            return f"{len(self.path.knots):,} knots"
        count = len(self.path.breakpoints)
        return f"{MAX_KNOTS:,} of {count:,} breakpoints drawn" if count > MAX_KNOTS else f"{count:,} breakpoints"

    def _validation(self, ax: Axes) -> None:
        error, best = self.data, self.data.best()
        if hasattr(error, "coefficients"):
            even = np.geomspace(max(error.knots[0], 1e-12), error.knots[-1], 400)
            grid = np.unique(np.concatenate([error.knots, even]))
            self.lines_ += ax.plot(grid, error(grid), color=canvas.PALETTE[0], linewidth=1.4)
            ax.set_ylabel("mean squared error", color=canvas.BLACK)
        else:
            values = np.append(error.values, error.values[-1])
            self.lines_ += ax.step(error.knots, values, where="post", color=canvas.PALETTE[0], linewidth=1.4)
            ax.set_ylabel("validation error", color=canvas.BLACK)
        if best.high > best.low:
            self.lines_.append(ax.axvspan(best.low, best.high, color=canvas.PALETTE[4], alpha=0.35, linewidth=0))
        self.lines_ += ax.plot([best.low, best.high], [best.error] * 2, "o-", color=canvas.PALETTE[1], markersize=4)
        canvas.headline(ax, f"Smallest error {best.error:.4g} for [{best.low:.4g}, {best.high:.4g}]")


def _coloured(count: int, noun: str) -> str:
    """Return the number of curves, and how many of them are in colour."""
    return f"{count:,} {noun} ({HIGHLIGHTED} in colour)" if count > HIGHLIGHTED else f"{count:,} {noun}"


def _check_exact(path: Any) -> None:
    """Raise a TypeError unless `path` is one of the paths that can be plotted."""
    if not isinstance(path, SolutionPath | QuadraticLossPath):
        raise TypeError(
            f"path is of type {type(path).__name__}, but only the exact paths SolutionPath and QuadraticLossPath have "
            "breakpoints and index sets: compute one with hinge.regularization_path or hinge.quadratic_loss_path"
        )
