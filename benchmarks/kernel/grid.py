"""`hinge.selection.grid` beside scikit-learn's `GridSearchCV(SVC())`: time, and whether the same candidate wins.

    python benchmarks/kernel/grid.py                                  # letter, satimage, a9a: 10 C × 5 gamma × 5 folds
    python benchmarks/kernel/grid.py --sets satimage --costs 4 --gammas 2 --save

The same number of threads (`--jobs`) on both sides, float64 input, tol 1e-3. scikit-learn has 2,000 MB of cache
for each process.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from jobs import stored
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import hinge

ROWS = {"letter": None, "satimage": None, "a9a": 5000}
GAMMAS = {"letter": (-4, 2), "satimage": (-4, 2), "a9a": (-8, 0)}  # powers of two, first and last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="letter,satimage,a9a")
    parser.add_argument("--costs", type=int, default=10)
    parser.add_argument("--gammas", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="write grid.txt")
    options = parser.parse_args()
    lines = [
        f"C = 10^-2 .. 10^3 ({options.costs} values), {options.gammas} of gamma, 5 folds, n_jobs={options.jobs}",
        f"{'data':10} {'n':>6} {'hinge s':>9} {'sklearn s':>10} {'ratio':>7}  {'apart':>7}  winner",
    ]
    for name in options.sets.split(","):
        X, y = stored(name)
        X, y = X[: ROWS[name]], y[: ROWS[name]]
        costs = np.logspace(-2, 3, options.costs).tolist()
        gammas = np.logspace(*GAMMAS[name], options.gammas, base=2.0).tolist()
        began = time.perf_counter()
        ours = hinge.selection.grid(X, y, C=costs, gamma=gammas, n_jobs=options.jobs)
        middle = time.perf_counter()
        print(f"{name}: hinge {middle - began:.1f} s", file=sys.stderr)
        theirs = GridSearchCV(SVC(cache_size=2000), {"C": costs, "gamma": gammas}, n_jobs=options.jobs).fit(X, y)
        end = time.perf_counter()
        a, b = ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
        same = ours.best_params_ == theirs.best_params_
        verdict = "same" if same else f"other, {b.max() - b[ours.best_index_]:.1e} below by their scores"
        lines.append(
            f"{name:10} {len(y):6d} {middle - began:9.1f} {end - middle:10.1f} {(end - middle) / (middle - began):7.1f}"
            f"  {np.abs(a - b).max():7.1e}  {verdict}"
        )
        print(lines[-1], file=sys.stderr)
    print("\n".join(lines))
    if options.save:
        Path(__file__).with_name("grid.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
