"""Is every path exact?  Small sets, raw and standardised, gamma from 1e-3 to 1e2, C from 1e-4 to 1e6, points twice.

    python benchmarks/paths/exactness.py [--only NAME ...] [--random 20] [--fresh 20]

For every path: the largest KKT violation at a breakpoint (relative to max |c| + max K · max C), the same at random C
computed from the data by `certify`, and the distance to a fresh fit in the decision function where it is exact.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.kernels import Precomputed, make_kernel, open_access
from hinge.solvers import Auto

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import BINARY, MULTICLASS, REGRESSION, load

KERNELS = (("rbf", 1e-3), ("rbf", 1e-1), ("rbf", 1.0), ("rbf", 1e2), ("linear", 1.0))


def problems(name):
    X, y = load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    task = "regression" if name in REGRESSION else "classification"
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        y = np.where(y == (labels[np.argmax(counts)] if len(labels) > 2 else labels[0]), -1.0, 1.0)
    for scaling in ("raw", "std"):
        Z = X if scaling == "raw" else StandardScaler().fit_transform(X)
        t = y if task == "classification" else (y - y.mean()) / y.std()
        yield f"{scaling}", Z, t, task
        if len(y) <= 600:
            yield f"{scaling} twice", np.concatenate([Z, Z]), np.concatenate([t, t]), task


def show(name, label, X, y, task, kernel, gamma, count, fresh_fits):
    K = make_kernel(kernel, gamma=gamma)(X)
    began = time.perf_counter()
    path = hinge.regularization_path(K, y, kernel="precomputed", C_min=1e-4, C_max=1e6, task=task, epsilon=0.1)
    seconds = time.perf_counter() - began
    access, scale = open_access(Precomputed(), K), np.max(np.diagonal(K))
    worst, apart, compared = 0.0, 0.0, 0
    for C in 10 ** np.random.default_rng(0).uniform(-4, 6, count):
        found = path.certificate(C)
        unit = np.max(np.abs(path.motion.linear)) + scale * C
        worst = max(worst, found.kkt_violation / unit, found.infeasibility / C)
        if C > 1e3 or compared >= fresh_fits:
            continue
        fresh = Auto(tol=1e-10, max_time=2.0).solve(path.motion.problem(access, C))
        if fresh.polished:
            beta = (path.motion.sign * fresh.alpha).reshape(-1, len(y)).sum(axis=0)
            values = K @ beta + fresh.mu[0]
            apart, compared = max(apart, np.max(np.abs(values - path.decision_function(K, C)))), compared + 1
    bad = "" if max(path.kkt_violation, worst) <= 1e-9 and apart <= 1e-7 else "  BAD"
    counts = path.counts
    line = f"{name:20} {label:10} {kernel:6} {gamma:7g} {len(y):5d} {counts.events:7d} {counts.mean_margin:7.1f}"
    line += f" {counts.exchanges:6d} {counts.repairs:4d} {path.kkt_violation:9.1e} {worst:9.1e} {apart:9.1e}"
    print(f"{line} {compared:3d} {seconds:7.2f}{bad}", flush=True)
    return not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--random", type=int, default=20, help="random values of C per path")
    parser.add_argument("--fresh", type=int, default=20, help="fresh fits per path, at most")
    arguments = parser.parse_args()
    head = f"{'set':20} {'':10} {'kernel':6} {'gamma':>7} {'n':>5} {'events':>7} {'mean|M|':>7} {'exch.':>6}"
    print(head + f" {'rep.':>4} {'KKT':>9} {'KKT any C':>9} {'to fresh':>9} {'of':>3} {'seconds':>7}")
    good = total = 0
    for name in BINARY + MULTICLASS + REGRESSION:
        if arguments.only and name not in arguments.only:
            continue
        for label, X, y, task in problems(name):
            for kernel, gamma in KERNELS:
                total += 1
                try:
                    good += show(name, label, X, y, task, kernel, gamma, arguments.random, arguments.fresh)
                except Exception as error:
                    print(f"{name:20} {label:10} {kernel:6} {gamma:7g} {error!r}  BAD", flush=True)
    print(f"\n{total} paths, {total - good} bad")
    return int(good < total)


if __name__ == "__main__":
    sys.exit(main())
