"""The fifteen jobs of the comparison, as data, and the two growing families.

All inputs are float64. a9a and w8a are CSR as they are stored; everything else is dense. Scaling is fitted on the rows
that are used: "standardise" subtracts the mean and divides by the standard deviation of each column, "minmax" maps each
column to [0, 1]; a constant column is only shifted. Jobs use the training part of a set, in its stored order, except
covtype, whose rows are permuted with `numpy.random.default_rng(0)`; mnist takes the first 12,000 rows.

The data are looked for in the folder named by HINGE_DATA, else in shared/data beside the repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

#: Seed of the one permutation that is applied to the rows of covtype (and of covtype + covtype_extra).
PERMUTATION_SEED = 0


def data_folder() -> Path:
    """Where the .npz files are."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("HINGE_DATA", beside))
    if not folder.is_dir():
        raise SystemExit("no data: set HINGE_DATA to the folder that holds a9a.npz, w8a.npz, ...")
    return folder


def stored(name: str) -> tuple[Any, np.ndarray]:
    """(X, y) of the training part in float64; a sparse set stays CSR."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as arrays:
        y = arrays["y"]
        if "X" in arrays:
            return np.ascontiguousarray(arrays["X"], dtype=np.float64), y
        pieces = tuple(arrays[f"X_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(pieces, shape=tuple(arrays["X_shape"])).astype(np.float64), y


def permuted(*names: str) -> tuple[np.ndarray, np.ndarray]:
    """The named dense sets under each other, rows permuted."""
    parts = [stored(name) for name in names]
    X, y = np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    order = np.random.default_rng(PERMUTATION_SEED).permutation(len(y))
    return X[order], y[order]


def standardise(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def minmax(X: np.ndarray) -> np.ndarray:
    extent = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(extent > 0, extent, 1.0)


def per_255(X: np.ndarray) -> np.ndarray:
    return X / 255.0


def odd(y: np.ndarray) -> np.ndarray:
    return y % 2


@dataclass(frozen=True, eq=False)
class Job:
    """A named problem: what to load, how to scale it, which estimator with which parameters."""

    name: str
    kind: str  # "SVC" or "SVR"
    parameters: dict[str, float]
    source: Callable[[], tuple[Any, np.ndarray]]
    scaling: Callable[[Any], Any] | None = None
    target: Callable[[np.ndarray], np.ndarray] | None = None
    rows: int | None = None

    def load(self) -> tuple[Any, np.ndarray]:
        """X (float64, dense and C-contiguous, or CSR) and y."""
        X, y = self.source()
        X, y = X[: self.rows], y[: self.rows]
        if self.scaling is not None:
            X = self.scaling(X)
        if self.target is not None:
            y = self.target(y)
        return (X if sparse.issparse(X) else np.ascontiguousarray(X)), y


def _set(name: str) -> Callable[[], tuple[Any, np.ndarray]]:
    return lambda: stored(name)


def _svc(name: str, C: float, gamma: float, **options: Any) -> Job:
    return Job(name, "SVC", dict(C=C, gamma=gamma), options.pop("source", _set(name)), **options)


def _svr(name: str, C: float, gamma: float, epsilon: float, **options: Any) -> Job:
    parameters = dict(C=C, gamma=gamma, epsilon=epsilon)
    return Job(name, "SVR", parameters, _set(name), scaling=standardise, **options)


JOBS = (
    _svc("a9a", 1.0, 0.05),
    _svc("w8a", 10.0, 0.05),
    _svc("ijcnn1", 32.0, 2.0),
    _svc("covtype", 10.0, 1.0, source=lambda: permuted("covtype"), rows=20_000, scaling=minmax),
    _svc("mnist-odd", 10.0, 0.02, source=_set("mnist"), rows=12_000, scaling=per_255, target=odd),
    _svc("mnist", 10.0, 0.02, rows=12_000, scaling=per_255),
    _svc("usps", 10.0, 0.01),
    _svc("letter", 10.0, 1.0),
    _svc("satimage", 16.0, 1.0),
    _svc("shuttle", 100.0, 0.5, scaling=standardise),
    _svc("spambase", 10.0, 0.02, scaling=standardise),
    _svc("diabetes", 100.0, 0.1),
    _svr("cadata", 10.0, 0.125, 0.1, target=lambda y: y / 1e5),
    _svr("cpusmall", 100.0, 0.1, 0.5),
    _svr("abalone", 10.0, 0.125, 0.5),
)


def _most_frequent(y: np.ndarray) -> np.ndarray:
    labels, counts = np.unique(y, return_counts=True)
    return np.where(y == labels[np.argmax(counts)], 1, -1)


#: Families that grow: scaled and labelled once, as a whole; then the first n rows are used.
FAMILIES = (
    _svc("mnist-odd", 10.0, 0.02, source=_set("mnist"), scaling=per_255, target=odd),
    _svc(
        "covtype-binary",
        10.0,
        1.0,
        source=lambda: permuted("covtype", "covtype_extra"),
        scaling=minmax,
        target=_most_frequent,
    ),
)


def chosen(names: str | None, among: tuple[Job, ...]) -> list[Job]:
    """The jobs of a comma-separated list, all without one."""
    if names is None:
        return list(among)
    known = {job.name: job for job in among}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise SystemExit(f"unknown jobs {', '.join(unknown) or '(none named)'}; known: {', '.join(known)}")
    return [known[name] for name in wanted]
