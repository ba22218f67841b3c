"""Transduction beside the inductive machine: accuracy on the unlabelled samples, 10 % labelled, paired over draws.

    python benchmarks/streams/transduction_accuracy.py [--sets spambase a9a] [--draws 10] [--first 0] [--rows 1500]

The features are scaled to [0, 1], C* = C at the end.  "SVC" is trained on the labelled samples.  The other columns are
differences from it, of the labels found (`transduction_`), in percent, with the standard error of the mean difference
over draws, for three shares of positives: the default (docs/math (473)), what SVC predicts ("predicted"), and
that of the labelled samples ("labeled", Joachims).  "won" counts draws in which the default is better than SVC (ties
are half).  Sets other than spambase are cut to `rows` samples, the same in all draws, before 10 % of them are labelled.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy import sparse
from series import load, unit, versions
from threadpoolctl import threadpool_limits

import hinge

SHARES = (None, "predicted", "labeled")
#: (C, gamma times the number of features, or gamma itself for spambase).
OTHERS = ((1, 10), (10, 10), (100, 10), (10, 1), (100, 1))
SPAMBASE = ((10, 1.0), (100, 1.0), (100, 0.1), (1, 10.0), (10, 10 / 57), (100, 10 / 57), (1000, 1 / 57))
#: Two classes of a set with more.
PAIRS = {"usps": lambda y: np.isin(y, np.unique(y)[[3, 5]])}


def problem(name, rows):
    X, y = load(name)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if name in PAIRS:
        chosen = PAIRS[name](y)
        X, y = X[chosen], y[chosen]
    y = y % 2 == 1 if name == "mnist" else y == np.unique(y)[-1]
    if name != "spambase":
        some = np.random.default_rng(12345).permutation(len(y))[:rows]
        X, y = X[some], y[some]
    return unit(X.astype(float)), y


def differences(X, y, C, gamma, seed):
    """Accuracy of SVC, and what each share adds to it; None where a class is not among the labelled samples."""
    rows = np.random.default_rng(seed).permutation(len(y))
    some, others = rows[: len(y) // 10], rows[len(y) // 10 :]
    if len(np.unique(y[some])) < 2:
        return None
    alone = hinge.SVC(C=C, gamma=gamma).fit(X[some], y[some]).score(X[others], y[others])
    found = []
    for share in SHARES:
        machine = hinge.TransductiveSVC(C=C, C_unlabeled=C, gamma=gamma, positive_fraction=share)
        found.append(np.mean(machine.fit(X[some], y[some], X[others]).transduction_ == y[others]))
    return [alone, *(np.array(found) - alone)]


def row(label, table):
    mean, error = 100 * table.mean(axis=0), 100 * table.std(axis=0, ddof=1) / np.sqrt(len(table))
    won = np.sum(table[:, 1] > 0) + 0.5 * np.sum(table[:, 1] == 0)
    columns = "  ".join(f"{mean[k]:+6.2f} ± {error[k]:4.2f}" for k in (1, 2, 3))
    print(f"{label:30} {mean[0]:6.2f}  {columns}   {won:4.1f} of {len(table)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["spambase"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # that shares look wrong is what is measured
    print(versions())
    print(f"draws {options.first} to {options.first + options.draws - 1}\n")
    print(f"{'set, C, gamma':30} {'SVC':>6}  {'default':>13}  {'predicted':>13}  {'labeled':>13}   won")
    with threadpool_limits(1):
        for name in options.sets:
            X, y = problem(name, options.rows)
            total = []
            for C, gamma in SPAMBASE if name == "spambase" else [(C, g / X.shape[1]) for C, g in OTHERS]:
                seeds = range(options.first, options.first + options.draws)
                table = [found for s in seeds if (found := differences(X, y, C, gamma, s)) is not None]
                row(f"{name} {len(y)}, {C:g}, {gamma:.3g}", np.array(table))
                total += table
            row(f"{name}, all", np.array(total))


if __name__ == "__main__":
    main()
