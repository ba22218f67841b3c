"""Compare the accuracy of transduction with SVC on the unlabeled samples, with 10 % labeled samples.

    python benchmarks/streams/transduction_accuracy.py [--sets spambase a9a] [--draws 10] [--first 0] [--rows 1500]

The features are scaled to [0, 1], and the final value of C* is C. Data sets other than spambase are reduced to `--rows`
samples, the same in all draws, of which 10 % are labeled.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy import sparse
from series import load, scale_columns, versions
from threadpoolctl import threadpool_limits

import hinge

SHARES = (None, "predicted", "labeled")
#: (C, gamma times the number of features); for spambase (C, gamma).
OTHERS = ((1, 10), (10, 10), (100, 10), (10, 1), (100, 1))
SPAMBASE = ((10, 1.0), (100, 1.0), (100, 0.1), (1, 10.0), (10, 10 / 57), (100, 10 / 57), (1000, 1 / 57))
#: Selection of two classes of a multi-class data set.
PAIRS = {"usps": lambda y: np.isin(y, np.unique(y)[[3, 5]])}


def problem(name, rows):
    X, y = load(name)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if name in PAIRS:
        selected = PAIRS[name](y)
        X, y = X[selected], y[selected]
    y = y % 2 == 1 if name == "mnist" else y == np.unique(y)[-1]
    if name != "spambase":
        subset = np.random.default_rng(12345).permutation(len(y))[:rows]
        X, y = X[subset], y[subset]
    return scale_columns(X.astype(float)), y


def differences(X, y, C, gamma, seed):
    """Return the accuracy of SVC and the differences of TransductiveSVC; None if a class has no labeled sample."""
    order = np.random.default_rng(seed).permutation(len(y))
    labeled, unlabeled = order[: len(y) // 10], order[len(y) // 10 :]
    if len(np.unique(y[labeled])) < 2:
        return None
    svc_accuracy = hinge.SVC(C=C, gamma=gamma).fit(X[labeled], y[labeled]).score(X[unlabeled], y[unlabeled])
    accuracies = []
    for share in SHARES:
        estimator = hinge.TransductiveSVC(C=C, C_unlabeled=C, gamma=gamma, positive_fraction=share)
        labels = estimator.fit(X[labeled], y[labeled], X[unlabeled]).transduction_
        accuracies.append(np.mean(labels == y[unlabeled]))
    return [svc_accuracy, *(np.array(accuracies) - svc_accuracy)]


HEADER = f"""\
{"":22} {"":>6} {"":>8} {"SVC":>9} {"difference of TransductiveSVC, percentage points":>47} {"default":>14}
{"data set (samples)":22} {"C":>6} {"gamma":>8} {"accuracy":>9} {"default":>15} {"predicted":>15} {"labeled":>15} \
{"better":>14}"""

NOTES = """
Notes
- SVC is trained on the labeled samples. Accuracies on the unlabeled samples, in percent.
- difference: accuracy of the labels found (`transduction_`) minus that of SVC, mean over the draws ± standard error of
  the mean.
- default, predicted, labeled: fraction of positive labels by default (docs/math (473)), as predicted by SVC, and among
  the labeled samples (rule of Joachims).
- default better: number of draws in which the default is better than SVC; ties count as half."""


def print_row(label, table):
    mean, error = 100 * table.mean(axis=0), 100 * table.std(axis=0, ddof=1) / np.sqrt(len(table))
    better = np.sum(table[:, 1] > 0) + 0.5 * np.sum(table[:, 1] == 0)
    columns = " ".join(f"{f'{mean[k]:+.2f} ± {error[k]:.2f}':>15}" for k in (1, 2, 3))
    print(f"{label:38} {mean[0]:9.2f} {columns} {f'{better:.1f} of {len(table)}':>14}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["spambase"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # warnings about unusual fractions are expected here
    print(HEADER)
    with threadpool_limits(1):
        for name in options.sets:
            X, y = problem(name, options.rows)
            total = []
            for C, gamma in SPAMBASE if name == "spambase" else [(C, g / X.shape[1]) for C, g in OTHERS]:
                seeds = range(options.first, options.first + options.draws)
                table = [row for seed in seeds if (row := differences(X, y, C, gamma, seed)) is not None]
                print_row(f"{f'{name} ({len(y)})':22} {C:6g} {gamma:8.3g}", np.array(table))
                total += table
            print_row(f"{name}, all", np.array(total))
    print(f"{NOTES}\n- Draws {options.first} to {options.first + options.draws - 1}. {versions()}")


if __name__ == "__main__":
    main()
