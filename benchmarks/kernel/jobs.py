"""Definitions of the fifteen problems of compare.py and of the two problem families of growth.py.

All inputs are float64. a9a and w8a are CSR matrices; all other data are dense. Scaling is fitted on the rows that are
used: "standardize" subtracts the mean and divides by the standard deviation of each column, "minmax" maps each column
to [0, 1]. Constant columns are only shifted. The problems use the training part of a data set in its stored order, with
two exceptions: the rows of covtype are permuted with `numpy.random.default_rng(0)`, and mnist uses the first 12,000
rows.

The data are .npz files in the folder HINGE_DATA, by default shared/data next to the repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

#: Seed of the permutation of the rows of covtype (and of covtype + covtype_extra).
PERMUTATION_SEED = 0


def data_folder() -> Path:
    """Return the folder of the .npz files."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("HINGE_DATA", default))
    if not folder.is_dir():
        raise SystemExit(f"data folder {folder} not found: set HINGE_DATA to the folder of a9a.npz, w8a.npz, ...")
    return folder


def load_data(name: str) -> tuple[Any, np.ndarray]:
    """Return (X, y) of the training part in float64; sparse data stay CSR."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as arrays:
        y = arrays["y"]
        if "X" in arrays:
            return np.ascontiguousarray(arrays["X"], dtype=np.float64), y
        pieces = tuple(arrays[f"X_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(pieces, shape=tuple(arrays["X_shape"])).astype(np.float64), y


def load_permuted(*names: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenation of dense data sets, with permuted rows."""
    parts = [load_data(name) for name in names]
    X, y = np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    order = np.random.default_rng(PERMUTATION_SEED).permutation(len(y))
    return X[order], y[order]


def standardize(X: np.ndarray) -> np.ndarray:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def minmax(X: np.ndarray) -> np.ndarray:
    width = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1.0)


def divide_by_255(X: np.ndarray) -> np.ndarray:
    return X / 255.0


def is_odd(y: np.ndarray) -> np.ndarray:
    return y % 2


@dataclass(frozen=True, eq=False)
class Job:
    """A named problem: data, scaling, estimator and parameters."""

    name: str
    kind: str  # "SVC" or "SVR"
    parameters: dict[str, float]
    source: Callable[[], tuple[Any, np.ndarray]]
    scaling: Callable[[Any], Any] | None = None
    target: Callable[[np.ndarray], np.ndarray] | None = None
    rows: int | None = None

    def load(self) -> tuple[Any, np.ndarray]:
        """Return X (float64, dense and C-contiguous, or CSR) and y."""
        X, y = self.source()
        X, y = X[: self.rows], y[: self.rows]
        if self.scaling is not None:
            X = self.scaling(X)
        if self.target is not None:
            y = self.target(y)
        return (X if sparse.issparse(X) else np.ascontiguousarray(X)), y


def _loader(name: str) -> Callable[[], tuple[Any, np.ndarray]]:
    return lambda: load_data(name)


def _svc(name: str, C: float, gamma: float, **options: Any) -> Job:
    return Job(name, "SVC", dict(C=C, gamma=gamma), options.pop("source", _loader(name)), **options)


def _svr(name: str, C: float, gamma: float, epsilon: float, **options: Any) -> Job:
    parameters = dict(C=C, gamma=gamma, epsilon=epsilon)
    return Job(name, "SVR", parameters, _loader(name), scaling=standardize, **options)


JOBS = (
    _svc("a9a", 1.0, 0.05),
    _svc("w8a", 10.0, 0.05),
    _svc("ijcnn1", 32.0, 2.0),
    _svc("covtype", 10.0, 1.0, source=lambda: load_permuted("covtype"), rows=20_000, scaling=minmax),
    _svc("mnist-odd", 10.0, 0.02, source=_loader("mnist"), rows=12_000, scaling=divide_by_255, target=is_odd),
    _svc("mnist", 10.0, 0.02, rows=12_000, scaling=divide_by_255),
    _svc("usps", 10.0, 0.01),
    _svc("letter", 10.0, 1.0),
    _svc("satimage", 16.0, 1.0),
    _svc("shuttle", 100.0, 0.5, scaling=standardize),
    _svc("spambase", 10.0, 0.02, scaling=standardize),
    _svc("diabetes", 100.0, 0.1),
    _svr("cadata", 10.0, 0.125, 0.1, target=lambda y: y / 1e5),
    _svr("cpusmall", 100.0, 0.1, 0.5),
    _svr("abalone", 10.0, 0.125, 0.5),
)


def _most_frequent(y: np.ndarray) -> np.ndarray:
    labels, counts = np.unique(y, return_counts=True)
    return np.where(y == labels[np.argmax(counts)], 1, -1)


#: Families of problems: all data are scaled and labeled together, then the first n rows are used.
FAMILIES = (
    _svc("mnist-odd", 10.0, 0.02, source=_loader("mnist"), scaling=divide_by_255, target=is_odd),
    _svc(
        "covtype-binary",
        10.0,
        1.0,
        source=lambda: load_permuted("covtype", "covtype_extra"),
        scaling=minmax,
        target=_most_frequent,
    ),
)


def select(names: str | None, jobs: tuple[Job, ...]) -> list[Job]:
    """Return the jobs in a comma-separated list of names; None selects all jobs."""
    if names is None:
        return list(jobs)
    known = {job.name: job for job in jobs}
    selected = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in selected if name not in known]
    if unknown or not selected:
        raise SystemExit(f"unknown problems: {', '.join(unknown) or names!r}; available: {', '.join(known)}")
    return [known[name] for name in selected]
