"""Paper, ink and colours: what all pictures share, and the only place that imports matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
PENCIL = "#8a8a8a"
# Okabe and Ito's palette, in an order in which neighbours differ in lightness as well.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")


def pyplot() -> Any:
    """matplotlib.pyplot, or an ImportError that names the remedy."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib, which is not installed: pip install 'hinge[plot]'"
        ) from error
    return matplotlib.pyplot


def colours(n: int) -> list[str]:
    """n colours, one for each class; they repeat after seven."""
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def tidy(ax: Axes) -> None:
    """No frame, quiet ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PENCIL)
    ax.tick_params(which="both", color=PENCIL, labelcolor=INK, labelsize="small")


def headline(ax: Axes, text: str) -> None:
    """A title that is aligned with the axes."""
    ax.set_title(text, loc="left", fontsize="medium", color=INK, pad=10)
