"""The data of an exact path that the interactive page needs, as a tree of numbers, texts and encoded arrays."""

from __future__ import annotations

import base64
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Precomputed
from hinge.paths import PiecewiseQuadratic, SolutionPath
from hinge.problems import Array

#: Samples up to which the kernel matrix is stored if the page cannot compute it.
MAX_STORED_KERNEL = 300

#: Features up to which the plane of every pair of features is offered.
MAX_PAIRED_FEATURES = 8

#: Names of the parameters in titles.
SYMBOLS = {"C": "C", "theta": "θ", "epsilon": "ε", "nu": "ν"}


def page_data(path: SolutionPath, validation: tuple[Any, Any] | None, feature_names: Any, title: str | None) -> Any:
    """Return the data of the page. `validation`: samples and targets of the validation error."""
    X = _dense(path.X)
    program = None if isinstance(path.kernel, Precomputed) else path.kernel.nodes()
    signed = path.classes is None or _is_signed(path.y)
    y = np.asarray(path.y, dtype=float) if signed else _signed(path, path.y)
    names = _feature_names(feature_names, path.X, X.shape[1])
    page: dict[str, Any] = {
        "title": title or f"Exact {path.task.replace('_', '-')} path over {SYMBOLS[path.parameter]}",
        "parameter": path.parameter, "symbol": SYMBOLS[path.parameter], "task": path.task,
        "low": path.low, "high": path.high, "y": _encode(y), "sign": _encode(path.parametric.sign),
        "classes": None if path.classes is None else [str(c) for c in np.asarray(path.classes).tolist()],
        "parametric": {
            "linear": _encode(path.parametric.linear), "lower": _encode(path.parametric.lower),
            "upper": _encode(path.parametric.upper), "total": _encode(path.parametric.total),
            "group": _encode(path.parametric.group),
        },
        "pieces": _pieces(path),
        "d": 0, "X": _encode(np.empty(0)), "program": None, "K": None, "planes": [], "editable": False,
        "training": _error(path, path.X, _targets(path)), "error": None, "validation": None,
    }  # fmt: skip
    if program is not None:
        page |= {"d": X.shape[1], "X": _encode(X), "planes": _planes(X, names), "editable": _is_editable(path, X)}
        page["program"] = [
            {"name": node.name, "gamma": node.gamma, "coef0": node.coef0, "degree": node.degree} for node in program
        ]
    elif len(y) <= MAX_STORED_KERNEL:
        page["K"] = _encode(path._access.block(np.arange(len(y)), np.arange(len(y))))
    if validation is not None:
        points, targets = validation
        page["error"] = _error(path, points, targets)
        if program is not None:
            values = _signed(path, targets) if path.classes is not None else np.asarray(targets, dtype=float)
            page["validation"] = {"X": _encode(_dense(points)), "y": _encode(values)}
    return page


def _encode(values: Any) -> dict[str, str]:
    """Return an array as its type and its little-endian bytes in base64."""
    values = np.ascontiguousarray(values)
    kind = {"f": "f8", "i": "i1" if values.dtype.itemsize == 1 else "i4"}[values.dtype.kind]
    data = base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()
    return {"type": "i8" if kind == "i1" else kind, "data": data}


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _is_signed(y: Any) -> bool:
    values = np.asarray(y)
    return values.dtype.kind == "f" and bool(np.all(np.abs(values) == 1))


def _signed(path: SolutionPath, y: Any) -> Array:
    """Return +1 for the second class and −1 for the first one."""
    return np.where(np.asarray(y) == path.classes[1], 1.0, -1.0)


def _targets(path: SolutionPath) -> Any:
    """Return the targets of the training samples as `validation_error` expects them; None for one-class paths."""
    if path.task == "classification":
        return np.asarray(path.classes)[(np.asarray(path.y) > 0).astype(int)] if _is_signed(path.y) else path.y
    return path.y if path.task == "regression" else None


def _error(path: SolutionPath, X: Any, y: Any) -> Any:
    """Return the exact error along the path: knots and values, or knots and coefficients of quadratic functions."""
    if y is None:
        return None
    error = path.validation_error(X, y)
    if isinstance(error, PiecewiseQuadratic):
        coefficients = {"coefficients": _encode(error.coefficients)}
        return {"knots": _encode(error.knots), "values": _encode(error.values)} | coefficients
    return {"knots": _encode(error.knots), "values": _encode(error.values)}


def _pieces(path: SolutionPath) -> dict[str, Any]:
    pieces = path.pieces
    arrays = ("start", "stop", "mu", "mu_rate", "margin", "value", "rate", "changed", "place")
    encoded = {name: _encode(getattr(pieces, name)) for name in arrays}
    return encoded | {name: _encode(getattr(pieces, name).astype(np.int32)) for name in ("offset", "changed_at")}


def _feature_names(names: Any, X: Any, d: int) -> list[str]:
    if names is None:
        names = [f"feature {k}" for k in range(d)]
    names = [str(name) for name in names]
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names, but the path was computed with {d} features")
    return names


def _planes(X: Array, names: list[str]) -> list[dict[str, Any]]:
    """Return planes through the feature space: origin and two orthonormal directions.

    With more than two features these are the first two principal components, and pairs of features; the other features
    are at their means. With one feature there is no plane.
    """
    d = X.shape[1]
    if d < 2:
        return []
    mean, unit = X.mean(axis=0), np.eye(d)
    if d == 2:
        note = f"{names[0]} to the right, {names[1]} upwards"
        return [_plane(f"{names[0]}, {names[1]}", np.zeros(2), unit[0], unit[1], note)]
    _, _, components = np.linalg.svd(X - mean, full_matrices=False)
    note = "Samples are projected; the colours show the decision values on the plane through the mean of all features."
    directions = components[:2] if len(components) > 1 else unit[:2]
    planes = [_plane("principal components", mean, directions[0], directions[1], note)]
    if d <= MAX_PAIRED_FEATURES:
        for i, j in combinations(range(d), 2):
            origin = mean * (1 - unit[i] - unit[j])
            planes.append(_plane(f"{names[i]}, {names[j]}", origin, unit[i], unit[j], note))
    return planes


def _plane(name: str, origin: Array, u: Array, v: Array, note: str) -> dict[str, Any]:
    return {"name": name, "origin": origin.tolist(), "u": u.tolist(), "v": v.tolist(), "note": note}


def _is_editable(path: SolutionPath, X: Array) -> bool:
    """Whether there are two features, and the data of (201) depend on a sample through its label or target only."""
    p, n = path.parametric, len(path.y)
    if path.task not in ("classification", "regression") or X.shape[1] != 2:
        return False
    if np.any(p.total) or path.kernel.psd is False:
        return False
    kinds = np.sign(path.y) if path.task == "classification" else np.zeros(n)
    shift = np.zeros(n) if path.task == "classification" else np.asarray(path.y, dtype=float)
    for kind in np.unique(kinds):
        members = np.flatnonzero(kinds == kind)
        for row in range(p.size // n):
            v = row * n + members
            data = np.vstack([p.linear[0, v] + shift[members], p.linear[1, v], p.lower[:, v], p.upper[:, v], p.sign[v]])
            if not np.allclose(data, data[:, :1], rtol=1e-12, atol=1e-12, equal_nan=True):
                return False
    return True
