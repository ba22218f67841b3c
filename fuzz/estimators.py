"""Fuzz estimators, paths and updates with unusual data and parameters.

    python fuzz/estimators.py --seconds 600 [--seed 0]
    python fuzz/estimators.py --case 1234

Allowed: a result, whose predictions are finite, or one of the documented exceptions.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from campaign import Failure, main

import hinge
from hinge import kernels
from hinge.paths import PathError

ESTIMATORS = (
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "LinearOneClassSVM", "LowRankSVC", "LPSVC",
    "LPSVR", "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM", "OnlineSVC", "OnlineNuSVC", "OnlineSVR",
    "OnlineNoveltyDetector", "RankingSVM", "TransductiveSVC", "ParzenClassifier", "RegularizationNetwork",
    "SemiparametricSVC", "SemiparametricSVR",
)  # fmt: skip
PATHS = (
    "regularization_path", "approximate_path", "one_vs_one_paths", "quadratic_loss_path", "epsilon_path", "nu_path",
    "ranking_path", "lp_path", "lasso_path",
)  # fmt: skip

#: Exceptions that the documentation states.
DOCUMENTED = (ValueError, TypeError, FloatingPointError, TimeoutError, IndexError, PathError)

#: Seconds that a fit may take.
MAX_TIME = 1.0


def dense(X: Any) -> np.ndarray:
    """Samples as an array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


VALUES: dict[str, tuple[Any, ...]] = {
    "C": (1.0, 1e-10, 1e10, 0, -1, np.nan, np.inf, "1", None, 10**400, True, np.float32(2)),
    "nu": (0.5, 0.01, 1.0, 0, 2, np.nan, "a"),
    "epsilon": (0.1, 0, 1e10, -1, np.nan),
    "gamma": ("scale", "auto", 1.0, 0, 1e300, 1e-300, -1, np.nan, "x", None, 10**400),
    "kernel": ("rbf", "linear", "poly", "sigmoid", "laplacian", "bspline", "nope", None, 3,
               kernels.RBF(1.0) + kernels.Linear(), lambda A, B: dense(A) @ dense(B).T),
    "degree": (3, 0, 2.5, -1, 100, np.nan, "a"),
    "coef0": (0.0, 1.0, -1e10, np.nan, np.inf),
    "tol": (1e-3, 1e-14, 10.0, 0, -1, np.nan),
    "cache_size": ("auto", 1, 1e-6, 0, -1, "x", np.inf, 10**400),
    "n_jobs": (None, 1, 2, -1, 0, "a", 10**30),
    "max_iter": (-1, 1, 0, 5, -5, 1.5),
    "class_weight": (None, "balanced", "x", {1: 2.0}, {1: -1.0}, {7: 1.0}),
    "budget": (None, 1, 3, 0, -1),
    "loss": ("hinge", "squared_hinge", "epsilon_insensitive", "x", 3),
    "fit_intercept": (True, False, 2, "x"),
    "shrinking": (True, False, 3),
    "eta0": (0.1, 1e10, 1e-300, 0, np.nan),
    "solver": ("auto", "smo", "interior_point", "working_set", "low_rank_interior_point", "x", None),
}  # fmt: skip


def case(rng: np.random.Generator, folder: Path) -> str:
    """Fit one estimator or compute one path, and use the result."""
    return (use_path if rng.random() < 0.25 else use_estimator)(rng)


def samples(rng: np.random.Generator) -> Any:
    """Samples of any size, scale and type, some of them invalid."""
    n, d = int(rng.choice([0, 1, 2, 3, 5, 10, 30])), int(rng.choice([0, 1, 2, 5], p=[0.05, 0.3, 0.35, 0.3]))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.choice([-320, -200, -8, 0, 0, 0, 0, 3, 8, 150, 200, 308])
    if rng.random() < 0.2:
        X = np.rint(X)
    if rng.random() < 0.1:
        X[:] = X[:1] if n else X
    if rng.random() < 0.1 and X.size:
        X.flat[rng.integers(X.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324])
    choice = rng.integers(12)
    if choice == 0:
        return X.tolist()
    if choice == 1:
        return X.astype(np.float32)
    if choice == 2:
        return np.asfortranarray(X)
    if choice in (3, 4):
        return damaged(rng, X)
    if choice == 5:
        return pd.DataFrame(X, columns=[f"x{i}" for i in range(d)])
    if choice == 6:
        return X[:, 0] if d else X
    if choice == 7:
        return X.astype(object)
    if choice == 8:
        return np.where(np.isfinite(X), np.clip(X, -1e9, 1e9), 0).astype(np.int64)
    return X


def damaged(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A sparse matrix, of which some are damaged."""
    layout = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")[rng.integers(7)]
    matrix = sp.csr_matrix(np.where(rng.random(X.shape) < 0.5, X, 0.0)).asformat(layout)
    if rng.random() < 0.4:
        names = [name for name in ("indices", "indptr", "row", "col") if hasattr(matrix, name)]
        if names:
            name = names[rng.integers(len(names))]
            array = np.array(getattr(matrix, name))
            if array.size:
                array[rng.integers(array.size)] = rng.choice([-1, 7, 10**6, 2**31 - 1, -(2**31)])
                try:
                    setattr(matrix, name, array)
                except AttributeError:
                    return matrix
    return matrix


def length(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def labels(rng: np.random.Generator, n: int) -> Any:
    """Labels or targets, some of them invalid."""
    choice = rng.integers(9)
    if choice <= 2:
        return np.where(rng.random(n) < 0.5, 1, -1)
    if choice == 3:
        return rng.normal(size=n) * 10.0 ** rng.choice([-300, 0, 0, 100, 300])
    if choice == 4:
        return np.array(list("abc"))[rng.integers(3, size=n)]
    if choice == 5:
        return np.ones(n)
    if choice == 6:
        return np.where(rng.random(n) < 0.1, np.nan, rng.integers(2, size=n))
    if choice == 7:
        return rng.integers(3, size=max(0, n - 1))
    return np.array([None, 1, "a"], dtype=object)[rng.integers(3, size=n)]


def parameters(rng: np.random.Generator, names: Any) -> dict[str, Any]:
    """A few parameters with unusual values; most are valid."""
    known = sorted(set(names) & set(VALUES))
    chosen = rng.choice(known, size=min(len(known), int(rng.integers(0, 4))), replace=False) if known else []
    values = {}
    for name in chosen:
        pool = VALUES[name]
        values[str(name)] = pool[0] if rng.random() < 0.3 else pool[rng.integers(len(pool))]
    return values


def weights(rng: np.random.Generator, n: int) -> Any:
    """Sample weights, mostly None."""
    choice = rng.integers(8)
    if choice == 0:
        return rng.random(n)
    if choice == 1:
        return np.where(rng.random(n) < 0.3, rng.choice([0.0, -1.0, np.nan, 1e300, 1e-300]), 1.0)
    return None


def use_estimator(rng: np.random.Generator) -> str:
    """Fit an estimator, predict and update it."""
    name = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    cls = getattr(hinge, name)
    names = cls().get_params()
    options = parameters(rng, names)
    if "max_time" in names:
        options["max_time"] = MAX_TIME
    X = samples(rng)
    n = length(X)
    y, weight = labels(rng, n), weights(rng, n)
    if options.get("n_jobs") == -1 or options.get("n_jobs") == 2:
        options["n_jobs"] = 1  # threads do not survive the fork of the next batch
    model = cls(**options)
    try:
        model.fit(X, y, sample_weight=weight) if weight is not None else model.fit(X, y)
    except DOCUMENTED:
        return "estimator: rejected"
    for call in ("predict", "decision_function", "partial_fit", "certify"):
        if not hasattr(model, call):
            continue
        try:
            if call in ("partial_fit", "certify"):
                getattr(model, call)(X, y)
                continue
            values = getattr(model, call)(X if rng.random() < 0.7 else samples(rng))
        except (*DOCUMENTED, AttributeError):
            continue
        values = np.asarray(values)
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise Failure(f"{name}({options}).{call} returned NaN")
    return "estimator: fitted"


def use_path(rng: np.random.Generator) -> str:
    """Compute a path and evaluate it."""
    name = PATHS[rng.integers(len(PATHS))]
    accepted = inspect.signature(getattr(hinge, name)).parameters
    options = parameters(rng, {"gamma", "kernel", "degree", "coef0", "cache_size"} & set(accepted))
    X = samples(rng)
    if rng.random() < 0.1 and "kernel" in accepted and isinstance(X, np.ndarray) and X.ndim == 2:
        with np.errstate(all="ignore"):
            X, options = X.astype(float) @ X.astype(float).T, {"kernel": "precomputed"}
        X = X[:, : rng.integers(X.shape[1] + 1)] if rng.random() < 0.2 else X
    n = length(X)
    if name not in ("epsilon_path",) and rng.random() < 0.1:
        options["max_time"] = rng.choice([1e-9, 0.01, np.nan, -1])
    else:
        options["max_time"] = MAX_TIME
    try:
        path = getattr(hinge, name)(X, labels(rng, n), **options)
    except DOCUMENTED:
        return "path: rejected"
    for call in (
        lambda: path.decision_function(X if rng.random() < 0.7 else samples(rng), path.low),
        lambda: path.model(path.high).predict(X),
        lambda: path.best(X, labels(rng, n)),
    ):
        try:
            values = call()
        except (*DOCUMENTED, AttributeError):
            continue
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and np.isnan(values).any():
            raise Failure(f"{name}({options}) has NaN values")
    return "path: computed"


if __name__ == "__main__":
    main("estimator and path inputs", case, __doc__.partition("\n")[0])
