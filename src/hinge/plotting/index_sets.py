"""Sizes of the index sets along a path, and their names for each task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.paths import QuadraticLossPath, SolutionPath
from hinge.problems import Array

MARGIN = 2  # place of a variable between its bounds

#: Names of the samples with a coefficient of zero, with one between its bounds, and with one at a bound.
NAMES = {
    "classification": ("outside of the margin: α = 0", "on the margin", "inside, or misclassified: α = C"),
    "regression": ("inside the tube: β = 0", "on the edge of the tube", "outside of the tube: |β| = C"),
    "one_class": ("inside the region: α = 0", "on its boundary", "outside of the region: α at its bound"),
    "quadratic": ("right: α = 0", "center", "left: α = h"),
}


def index_set_sizes(path: SolutionPath | QuadraticLossPath) -> tuple[Array, NDArray[np.int64], tuple[str, str, str]]:
    """Return the ends of the segments, the sizes (one row per segment, three columns) and the names of the columns."""
    if isinstance(path, QuadraticLossPath):
        sizes = np.asarray(path.set_sizes(), dtype=np.int64)
        return np.asarray(path.knots)[: len(sizes) + 1], sizes, NAMES["quadratic"]
    n, pieces, sign = path.n_samples, path.pieces, path.parametric.sign
    at_zero = np.where(sign > 0, 0, 1)  # bounds in signed coordinates: zero is above for negative signs
    if path.task == "regression" and len(sign) == n:
        at_zero = np.full(n, -1)  # without a tube, no bound is zero
    places = np.full(len(sign), -1, dtype=np.int8)
    state = np.full(n, -1)
    counts = np.zeros((len(pieces) + 1, 3), dtype=np.int64)
    for at, variable, place in zip(pieces.changed_at, pieces.changed, pieces.place, strict=True):
        places[variable] = place
        i = variable % n
        mine = places[i::n]
        if (mine == MARGIN).any():
            new = 1
        else:
            new = 2 if (mine[mine >= 0] != at_zero[i::n][mine >= 0]).any() else 0
        if state[i] >= 0:
            counts[at, state[i]] -= 1
        counts[at, new] += 1
        state[i] = new
    return np.append(pieces.start, path.high), np.cumsum(counts[:-1], axis=0), NAMES[path.task]
