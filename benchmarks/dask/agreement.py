"""Compare the estimators of `hinge.dask` with the local ones, for several partitions and numbers of workers.

    HINGE_DATA=folder python benchmarks/dask/agreement.py [--tol 1e-12] [--workers 1,2,4] [--partitions 1,5,16]

The table has one row per problem: the largest difference of weights and of decision values over all partitions and
numbers of workers, and the largest relative gap.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.preprocessing import scale

import hinge
from hinge import dask as hd

CLASSIFICATION = ("breast_cancer", "german_numer", "satimage", "spambase", "splice", "svmguide1")
REGRESSION = ("abalone", "cpusmall")
MAX_SAMPLES = 4000

HEADER = (
    f"{'data':15} {'n':>6} {'d':>4} {'loss':28} {'weights':>9} {'values':>9} {'gap':>9} {'local gap':>9} "
    f"{'steps':>6}"
)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["HINGE_DATA"]) / f"{name}.npz", allow_pickle=False) as file:
        X, y = np.asarray(file["X"], dtype=np.float64), file["y"]
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_SAMPLES]
    return np.ascontiguousarray(scale(X[rows])), y[rows]


def problems() -> list[tuple]:
    found = []
    for name in CLASSIFICATION:
        for loss in ("squared_hinge", "hinge"):
            found.append((name, hd.LinearSVC, hinge.LinearSVC, loss))
    for name in REGRESSION:
        for loss in ("squared_epsilon_insensitive", "epsilon_insensitive"):
            found.append((name, hd.LinearSVR, hinge.LinearSVR, loss))
    return found


def compare(name, distributed, local, loss, tol, partitions) -> dict[str, float]:
    """Return the largest differences over several partitions."""
    X, y = load(name)
    if distributed is hd.LinearSVR:
        y = scale(y.astype(np.float64))
    options = {"loss": loss, "C": 0.1, "tol": tol}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = local(**options).fit(X, y)
        row = {"n": len(y), "d": X.shape[1], "local gap": reference.certificate_.relative_gap}
        row |= dict.fromkeys(("weights", "values", "gap", "steps"), 0.0)
        for count in partitions:
            dask_X = da.from_array(X, chunks=(-(-len(y) // count), X.shape[1]))
            model = distributed(**options).fit(dask_X, y)
            values = X @ np.atleast_2d(model.coef_).T + model.intercept_
            expected = X @ np.atleast_2d(reference.coef_).T + reference.intercept_
            row["weights"] = max(row["weights"], np.max(np.abs(model.coef_ - reference.coef_)))
            row["values"] = max(row["values"], np.max(np.abs(values - expected)))
            row["gap"] = max(row["gap"], model.certificate_.relative_gap)
            row["steps"] = max(row["steps"], model.n_iter_)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tol", type=float, default=1e-12)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--partitions", default="1,5,16")
    parser.add_argument("--threads", action="store_true", help="workers in threads of this process")
    options = parser.parse_args()
    partitions = [int(p) for p in options.partitions.split(",")]
    worst: dict[tuple, dict[str, float]] = {}
    for workers in map(int, options.workers.split(",")):
        settings = {"threads_per_worker": 1, "dashboard_address": None, "processes": not options.threads}
        with LocalCluster(n_workers=workers, **settings) as cluster, Client(cluster):
            for problem in problems():
                row = compare(*problem, options.tol, partitions)
                last = worst.setdefault(problem, row)
                worst[problem] = {key: max(value, last[key]) for key, value in row.items()}
    print(HEADER)
    for (name, _, _, loss), row in worst.items():
        print(
            f"{name:15} {row['n']:6,d} {row['d']:4d} {loss:28} {row['weights']:9.1e} {row['values']:9.1e} "
            f"{row['gap']:9.1e} {row['local gap']:9.1e} {row['steps']:6.0f}"
        )
    print(f"\ntol={options.tol:g}, C=0.1, {options.workers} workers, {options.partitions} partitions: largest values.")


if __name__ == "__main__":
    main()
