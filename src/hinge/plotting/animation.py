"""Animation of a path: the decision function while the parameter changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hinge.paths import SolutionPath
from hinge.plotting import canvas
from hinge.problems import Array
from hinge.validation import check_integer

GRID = 120  # points along each axis at which a function of two features is evaluated
CURVE = 300  # points at which a function of one feature is evaluated
SYMBOLS = {"theta": "θ", "epsilon": "ε", "nu": "ν"}
COLOURS = (canvas.GREY, canvas.PALETTE[1], canvas.PALETTE[0])  # outside, on the margin, inside


def animate(path: SolutionPath, file: str | os.PathLike[str], *, frames: int = 60, fps: int = 12) -> Path:
    """Write an animated GIF of the decision function while the parameter moves from its lower to its upper end.

    Every frame shows the exact solution at one value of the parameter: the boundary and the margins of two features, or
    the function and the tube of one feature. The samples have the colours of the index sets. The values of C are
    equidistant on a logarithmic axis, those of other parameters on a linear one.

    Parameters
    ----------
    path : SolutionPath
        With two features (classification, one-class) or one feature (regression).
    file : str or path
        Name of the file, for example "path.gif". It is replaced if it exists.
    frames : int, default=60
        Number of frames.
    fps : int, default=12
        Frames per second.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import animate
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> animate(path, "path.gif", frames=3).name
    'path.gif'
    """
    if not isinstance(path, SolutionPath):
        raise TypeError(f"path is of type {type(path).__name__}; only the exact paths of SolutionPath can be animated")
    check_integer("frames", frames, 2)
    check_integer("fps", fps, 1)
    X = np.asarray(path.X.toarray() if hasattr(path.X, "toarray") else path.X, dtype=np.float64)
    features = 1 if path.task == "regression" else 2
    if X.ndim != 2 or X.shape[1] != features:
        raise ValueError(
            f"the path has samples with {X.shape[-1]} features, but an animation of {path.task} needs {features}; use "
            "path.explore, which shows a projection"
        )
    plt = canvas.pyplot()
    from matplotlib.animation import FuncAnimation, PillowWriter

    logarithmic = path.parameter == "C" and path.low > 0
    values = (np.geomspace if logarithmic else np.linspace)(path.low, path.high, frames)
    values[[0, -1]] = path.low, path.high
    figure, ax = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
    draw = _draw_regression if features == 1 else _draw_boundary
    points = _points(X)
    try:
        animation = FuncAnimation(figure, lambda k: draw(ax, path, X, points, float(values[k])), frames=frames)
        animation.save(os.fspath(file), writer=PillowWriter(fps=fps))
    finally:
        plt.close(figure)
    return Path(file)


def _points(X: Array) -> Array:
    """Return the points at which the function is evaluated: a curve or a grid."""
    low, high = X.min(axis=0), X.max(axis=0)
    padding = 0.08 * np.where(high > low, high - low, 1.0)
    if X.shape[1] == 1:
        return np.linspace(low - padding, high + padding, CURVE)
    axes = np.linspace(low - padding, high + padding, GRID)
    return np.column_stack([part.ravel() for part in np.meshgrid(axes[:, 0], axes[:, 1])])


def _draw_boundary(ax: Any, path: SolutionPath, X: Array, points: Array, theta: float) -> list[Any]:
    ax.clear()
    f = path.decision_function(points, theta).reshape(GRID, GRID)
    grid = [points[:, k].reshape(GRID, GRID) for k in range(2)]
    ax.contourf(*grid, f, levels=[-np.inf, 0, np.inf], colors=[canvas.PALETTE[5], canvas.PALETTE[4]], alpha=0.25)
    classes = path.task == "classification"
    levels = [-1.0, 0.0, 1.0] if classes else [0.0]
    styles = ["--", "-", "--"] if classes else ["-"]
    if f.min() < levels[-1] and f.max() > levels[0]:
        ax.contour(*grid, f, levels=levels, colors=canvas.BLACK, linestyles=styles, linewidths=1.0)
    for members, colour in zip(path.index_sets(theta), COLOURS, strict=True):
        for marker, sign in (("o", -1), ("^", 1)):
            chosen = members[np.sign(path.y[members]) == sign] if classes else members if sign > 0 else members[:0]
            ax.scatter(*X[chosen].T, color=colour, marker=marker, s=22, edgecolors="white", linewidths=0.4, zorder=3)
    return _finish(ax, path, theta)


def _draw_regression(ax: Any, path: SolutionPath, X: Array, points: Array, theta: float) -> list[Any]:
    ax.clear()
    f = path.decision_function(points, theta)
    ax.plot(points[:, 0], f, color=canvas.BLACK, linewidth=1.4)
    if path.parameter in ("epsilon", "nu"):
        half = theta if path.parameter == "epsilon" else path.tube(theta)
        ax.fill_between(points[:, 0], f - half, f + half, color=canvas.PALETTE[5], alpha=0.3, linewidth=0)
    for members, colour in zip(path.index_sets(theta), COLOURS, strict=True):
        ax.scatter(X[members, 0], path.y[members], color=colour, s=18, zorder=3)
    span = 0.15 * max(float(np.ptp(path.y)), 1e-12)
    ax.set_ylim(path.y.min() - span, path.y.max() + span)
    return _finish(ax, path, theta)


def _finish(ax: Any, path: SolutionPath, theta: float) -> list[Any]:
    zero, on, other = (len(members) for members in path.index_sets(theta))
    canvas.tidy(ax)
    name = SYMBOLS.get(path.parameter, path.parameter)
    canvas.headline(ax, f"{name} = {theta:.3g}: {zero} at zero, {on} between, {other} at the bound")
    return list(ax.get_children())
