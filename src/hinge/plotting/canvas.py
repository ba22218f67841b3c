"""Colours and style of all plots. The only module that imports matplotlib.pyplot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLACK = "#222222"
GREY = "#8a8a8a"
# The palette of Okabe and Ito, ordered such that consecutive colours also differ in lightness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")


def pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that states the remedy."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'hinge[plot]'"
        ) from error
    return matplotlib.pyplot


def colours(n: int) -> list[str]:
    """Return n colours; they repeat after seven."""
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def tidy(ax: Axes) -> None:
    """Remove the top and right spines and draw the others and the ticks in grey."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(which="both", color=GREY, labelcolor=BLACK, labelsize="small")


def headline(ax: Axes, text: str, *, above_legend: bool = False) -> None:
    """Set a left-aligned title; `above_legend` leaves space for the legend of `legend_above`."""
    ax.set_title(text, loc="left", fontsize="medium", color=BLACK, pad=28 if above_legend else 10)


def legend_above(ax: Axes, **options: Any) -> None:
    """Add a legend in one row above the axes, where it covers no curve."""
    columns = len(ax.get_legend_handles_labels()[0])
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=columns, frameon=False, fontsize="small",
        labelcolor=BLACK, columnspacing=1.2, handlelength=1.4, **options,
    )  # fmt: skip


def legend_beside(ax: Axes) -> None:
    """Add a legend to the right of the axes, where it covers no curve."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small", labelcolor=BLACK)
