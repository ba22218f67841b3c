"""Compare `hinge.selection.grid` with scikit-learn's `GridSearchCV(SVC())`.

    python benchmarks/kernel/grid.py                                  # letter, satimage, a9a: 10 C × 5 gamma × 5 folds
    python benchmarks/kernel/grid.py --sets satimage --costs 4 --gammas 2 --save

Both use the same number of threads (`--jobs`), float64 input and tol=1e-3. scikit-learn has a kernel cache of 2,000 MB
in each process.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from jobs import load_data
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import hinge

ROWS = {"letter": None, "satimage": None, "a9a": 5000}
GAMMA_EXPONENTS = {"letter": (-4, 2), "satimage": (-4, 2), "a9a": (-8, 0)}  # powers of two, first and last

HEADER = [
    "Grid search: hinge.selection.grid compared with GridSearchCV(SVC())",
    "",
    f"{'':10} {'':>7} {'seconds':>18} {'time':>7} {'difference':>10}  {'best':10}".rstrip(),
    f"{'data set':10} {'samples':>7} {'hinge':>9} {'sklearn':>8} {'ratio':>7} {'of scores':>10}  parameters",
]
NOTES = [
    "",
    "Notes",
    "- sklearn: scikit-learn. time ratio: time of scikit-learn divided by the time of hinge.",
    "- difference of scores: largest difference of the mean test scores of a candidate.",
    "- best parameters: whether both searches select the same candidate.",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="letter,satimage,a9a")
    parser.add_argument("--costs", type=int, default=10)
    parser.add_argument("--gammas", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="also write the table to grid.txt")
    options = parser.parse_args()
    lines = list(HEADER)
    for name in options.sets.split(","):
        X, y = load_data(name)
        X, y = X[: ROWS[name]], y[: ROWS[name]]
        costs = np.logspace(-2, 3, options.costs).tolist()
        gammas = np.logspace(*GAMMA_EXPONENTS[name], options.gammas, base=2.0).tolist()
        start = time.perf_counter()
        ours = hinge.selection.grid(X, y, C=costs, gamma=gammas, n_jobs=options.jobs)
        our_time = time.perf_counter() - start
        print(f"{name}: hinge {our_time:.1f} s", file=sys.stderr)
        start = time.perf_counter()
        theirs = GridSearchCV(SVC(cache_size=2000), {"C": costs, "gamma": gammas}, n_jobs=options.jobs).fit(X, y)
        their_time = time.perf_counter() - start
        our_scores, their_scores = ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
        deficit = their_scores.max() - their_scores[ours.best_index_]
        same = ours.best_params_ == theirs.best_params_
        lines.append(
            f"{name:10} {len(y):7d} {our_time:9.1f} {their_time:8.1f} {their_time / our_time:7.1f}"
            f" {np.abs(our_scores - their_scores).max():10.1e}  "
            + ("same" if same else f"different, score of scikit-learn lower by {deficit:.1e}")
        )
        print(lines[-1], file=sys.stderr)
    lines += NOTES
    lines.append(
        f"- {options.costs} values of C from 10^-2 to 10^3, {options.gammas} values of gamma, 5 folds, "
        f"n_jobs={options.jobs}."
    )
    print("\n".join(lines))
    if options.save:
        Path(__file__).with_name("grid.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
