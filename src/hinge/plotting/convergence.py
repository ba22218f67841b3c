"""Plot of the convergence of a fit: primal and dual objective and the duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.plotting import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_MARKERS = 25  # with more snapshots no markers are drawn


class Convergence:
    """History of a fit: best primal and dual objective, duality gap and KKT violation against iterations.

    A new figure has two panels: the bounds on the optimum and, on a logarithmic scale, the gap. On given axes only the
    gap is plotted. While samples are shrunk there is no new primal value; a dotted line then shows the gap of the
    active samples. An estimator with several classes has one history per pair of classes; the gap of every pair is
    plotted, with the longest run in colour. Use :meth:`from_estimator` to create a plot.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes with the gap.
    axes_ : list of matplotlib.axes.Axes
        All panels, from top to bottom.
    figure_ : matplotlib.figure.Figure
        The figure of `ax_`.
    gap_, violation_, estimate_
        Lines of `ax_`: gap of the best bounds, KKT violation, gap of the active samples.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import Convergence
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> display = Convergence.from_estimator(hinge.SVC(C=100.0, solver="smo").fit(X, y))
    >>> display.ax_.get_yscale(), len(display.axes_)
    ('log', 2)
    """

    ax_: Axes
    axes_: list[Axes]
    figure_: Figure
    gap_: Any
    violation_: Any
    estimate_: Any

    def __init__(self, *, histories: Sequence[Any], title: str = "", final_gap: float | None = None) -> None:
        if not histories or not any(len(history) for history in histories):
            raise ValueError("the history is empty and cannot be plotted; fit an estimator that records its iterations")
        self.histories = [history for history in histories if len(history)]
        self.title = title
        self.final_gap = final_gap

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Convergence:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator with the attribute `history_`, or a pipeline that ends in one.
        ax : matplotlib.axes.Axes, optional
            Axes for the gap; a new figure with two panels by default.

        Returns
        -------
        Convergence
        """
        check_is_fitted(estimator)
        steps = getattr(estimator, "steps", None)
        final = estimator if steps is None else steps[-1][1]
        history = getattr(final, "history_", None)
        if history is None:
            raise TypeError(f"{type(final).__name__} has no attribute history_: pass a fitted batch estimator of hinge")
        histories = history if isinstance(history, list | tuple) else [history]
        certificate = getattr(final, "certificate_", None)
        final_gap = None if certificate is None else float(certificate.gap)
        return cls(histories=histories, title=type(final).__name__, final_gap=final_gap).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Convergence:
        """Plot on `ax` or on a new figure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for the gap; a new figure with two panels by default.

        Returns
        -------
        Convergence
            This object, with the attributes that end in an underscore set.
        """
        plt = canvas.pyplot()
        if ax is not None:
            self.axes_ = [ax]
        elif len(self.histories) == 1:
            _, panels = plt.subplots(
                2, sharex=True, figsize=(6.8, 6.0), height_ratios=[2, 3], layout="constrained"
            )
            self.axes_ = list(panels)
            self._draw_bracket(self.axes_[0])
        else:
            _, panel = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
            self.axes_ = [panel]
        self.ax_ = self.axes_[-1]
        self.figure_ = self.ax_.get_figure()  # type: ignore[assignment]
        self._draw_gap(self.ax_)
        return self

    def _draw_bracket(self, ax: Axes) -> None:
        """Plot the best primal and the best dual value, which enclose the optimum."""
        history = self.histories[0]
        primal, dual = _best(history)
        x = np.asarray(history.iteration)
        style = _dots(len(x))
        ax.fill_between(x, dual, primal, color=canvas.PALETTE[5], alpha=0.25, linewidth=0)
        ax.plot(x, primal, color=canvas.PALETTE[1], **style)
        ax.plot(x, dual, color=canvas.PALETTE[0], **style)
        low, high = _window(primal, dual)
        ax.set_ylim(low, high)
        for values, colour, name, up in (
            (primal, canvas.PALETTE[1], "primal", True),
            (dual, canvas.PALETTE[0], "dual", False),
        ):
            visible = np.flatnonzero((values > low) & (values < high))
            if visible.size:
                k = visible[np.searchsorted(x[visible], x[visible[0]] + 0.12 * (x[-1] - x[visible[0]]))]
                ax.annotate(
                    name, (x[k], values[k]), xytext=(4, 5 if up else -5), textcoords="offset points",
                    color=colour, va="bottom" if up else "top", fontsize="small",
                )  # fmt: skip
        ax.set_ylabel("objective", color=canvas.BLACK)
        canvas.tidy(ax)
        title = f"{self.title}: the optimum lies between the dual and the primal value"
        canvas.headline(ax, title.removeprefix(": "))

    def _draw_gap(self, ax: Axes) -> None:
        longest = max(self.histories, key=lambda history: history.iteration[-1])
        for history in self.histories:
            if history is not longest:
                ax.plot(history.iteration, _positive(_gap(history)), color=canvas.GREY, alpha=0.45, lw=0.8)
        x = np.asarray(longest.iteration)
        gap, violation = _positive(_gap(longest)), _positive(longest.violation)
        style = _dots(len(x))
        raw = np.where(longest.exact, gap, _positive(longest.gap))
        (self.estimate_,) = ax.plot(
            x, raw, color=canvas.PALETTE[0], linewidth=1.0, linestyle=":",
            label="gap of the active samples only (no bound)",
        )  # fmt: skip
        (self.violation_,) = ax.plot(x, violation, color=canvas.PALETTE[2], **{**style, "linewidth": 1.1})
        (self.gap_,) = ax.plot(
            x, gap, color=canvas.PALETTE[0], label="gap of the bounds for all samples", **{**style, "linewidth": 2.2}
        )
        ax.set_yscale("log")
        ax.set_xlim(left=0)
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("iteration", color=canvas.BLACK)
        ax.set_ylabel("gap, violation", color=canvas.BLACK)
        canvas.tidy(ax)
        ax.grid(axis="y", color=canvas.GREY, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
        _label_ends(ax, x[-1], [(gap, "gap", canvas.PALETTE[0]), (violation, "violation", canvas.PALETTE[2])])
        if self.final_gap is not None:
            ax.annotate(
                f"gap of the certificate: {self.final_gap:.1e}", (1, 1), xycoords="axes fraction",
                xytext=(0, -4), textcoords="offset points", ha="right", va="top", fontsize="small",
                color=canvas.BLACK,
            )  # fmt: skip
        if not np.all(longest.exact):
            canvas.legend_above(ax, handles=[self.gap_, self.estimate_])
        if len(self.histories) > 1:
            title = f"{self.title}: {len(self.histories)} pairs of classes, the longest fit in colour"
            canvas.headline(ax, title.removeprefix(": "), above_legend=not np.all(longest.exact))


def _best(history: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best bounds up to each snapshot, LwK (10.21). Primal values of active samples only are not bounds."""
    primal = np.where(history.exact, np.asarray(history.primal, dtype=float), np.nan)
    dual = np.asarray(history.dual, dtype=float)
    return np.fmin.accumulate(primal), np.fmax.accumulate(dual)


def _gap(history: Any) -> NDArray[np.float64]:
    primal, dual = _best(history)
    return primal - dual


def _positive(values: Any) -> NDArray[np.float64]:
    """Replace values that a logarithmic scale cannot show by NaN."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _dots(n: int) -> dict[str, Any]:
    return {"linewidth": 1.8, "marker": "o" if n <= MAX_MARKERS else "", "markersize": 3.5}


def _window(primal: NDArray[np.float64], dual: NDArray[np.float64]) -> tuple[float, float]:
    """Return axis limits that show the bounds near the optimum; the first ones are often far away."""
    both = np.concatenate([primal, dual])
    both = both[np.isfinite(both)]
    if both.size == 0:
        return 0.0, 1.0
    low, high = float(np.min(dual[np.isfinite(dual)], initial=both.min())), float(both.max())
    last = primal[np.isfinite(primal)]
    if last.size:  # the first primal values may be arbitrarily large: show a symmetric range around the optimum
        high = min(high, float(last[-1]) + 1.2 * (float(last[-1]) - low))
    padding = 0.06 * (high - low) or 0.5
    return low - padding, high + padding


def _label_ends(ax: Axes, x: float, lines: list[tuple[NDArray[np.float64], str, str]]) -> None:
    """Label the lines at their right end; labels of lines that end close together are moved apart."""
    ends = []
    for values, name, colour in lines:
        finite = values[np.isfinite(values)]
        if finite.size:
            ends.append((float(finite[-1]), name, colour))
    ends.sort()
    close = len(ends) == 2 and abs(np.log10(ends[1][0] / ends[0][0])) < 0.4
    for k, (value, name, colour) in enumerate(ends):
        shift = (-6 if k == 0 else 6) if close else 0
        ax.annotate(
            name, (x, value), xytext=(6, shift), textcoords="offset points", color=colour, va="center",
            fontsize="small", annotation_clip=False,
        )  # fmt: skip
