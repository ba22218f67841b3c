"""Difficult data for path algorithms: duplicates, ties, rank deficiency, balanced classes, bad scales."""

from __future__ import annotations

import numpy as np

KERNELS = (
    dict(kernel="rbf", gamma=1e-3),
    dict(kernel="rbf", gamma=0.1),
    dict(kernel="rbf", gamma=1.0),
    dict(kernel="rbf", gamma=1e2),
    dict(kernel="linear"),
    dict(kernel="poly", gamma=1.0, coef0=1.0, degree=2),
)


def classification(seed=1):
    """Return {name: (X, y)} with y = ±1."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(40, 2))
    label = np.where(base[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    board = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
    grid = rng.integers(0, 3, (90, 2)).astype(float)
    line = np.round(rng.normal(size=(80, 1)), 1)
    return {
        "overlap": (base, label),
        "every point twice": (np.r_[base, base], np.r_[label, label]),
        "twice with opposite labels": (np.r_[base, base], np.r_[label, -label]),
        "some of each": (np.r_[base, base, base[:15]], np.r_[label, label, -label[:15]]),
        "integer grid": (grid, np.where(grid.sum(1) + rng.normal(size=90) > 2, 1.0, -1.0)),
        "chess board": (board, np.where(board.sum(1) % 2 == 0, 1.0, -1.0)),
        "half a board": (board, np.where(board[:, 0] < 4, 1.0, -1.0)),
        "many in one dimension": (line, np.where(line[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)),
        "balanced": (rng.normal(size=(60, 2)), np.repeat([1.0, -1.0], 30)),
        "unbalanced": (rng.normal(size=(60, 2)), np.repeat([1.0, -1.0], [55, 5])),
        "all the same": (np.zeros((12, 2)), np.repeat([1.0, -1.0], [8, 4])),
        "two points": (np.array([[0.0], [1.0]]), np.array([1.0, -1.0])),
        "unit vectors": (np.eye(10), np.repeat([1.0, -1.0], 5)),
        "one column a million times larger": (base * [1.0, 1e6], label),
        "separable": (base + 3 * label[:, None], label),
    }


def regression(seed=2):
    """Return {name: (X, y)}."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=50)
    grid = rng.integers(0, 4, (60, 2)).astype(float)
    return {
        "smooth": (X, y),
        "every point twice": (np.r_[X, X], np.r_[y, y]),
        "twice with other targets": (np.r_[X, X], np.r_[y, y + 0.3]),
        "integer grid and targets": (grid, np.round(grid[:, 0] + rng.normal(size=60))),
        "constant target": (X, np.full(50, 2.0)),
        "one dimension": (np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 40) ** 2),
    }
