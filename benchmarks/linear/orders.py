"""Curves of the orders of dual coordinate descent: relative gap after every epoch.

    HINGE_DATA=... python benchmarks/linear/orders.py [--sets a9a,w8a,news20] [--epochs 1,2,5,10,20,50] [--save]

The slides on decomposition methods compare sequential visits, permutations and random visits. For every data set, loss
(hinge without bias, C = 1) and order, with and without shrinking, the table shows the certified relative gap after a
number of epochs (n visits each). No extrapolation takes place in the first 20 epochs; later only for permutations.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from datetime import date
from pathlib import Path

from data import load
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.coordinate_descent import ORDERS


def gap_after(X, y, order, shrinking, epochs):
    """Return the relative gap after some epochs and the seconds of the fit."""
    solver = CoordinateDescent(order=order, shrinking=shrinking, method="descent", max_iter=epochs, tol=1e-9)
    model = hinge.LinearSVC(C=1.0, loss="hinge", fit_intercept=False, solver=solver)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model.certificate_.relative_gap, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="a9a,w8a,ijcnn1,news20_bigram,farm_ads")
    parser.add_argument("--epochs", default="1,2,5,10,20,50,100")
    parser.add_argument("--save", action="store_true", help="also write the table to orders.txt")
    arguments = parser.parse_args()
    epochs = [int(e) for e in arguments.epochs.split(",")]
    lines = [f"Relative gap of dual coordinate descent after a number of epochs, {date.today()}"]
    print(lines[0])
    for name in arguments.sets.split(","):
        X, y = load(name)
        rows = [f"\n{name}, {X.shape[0]} samples, {X.shape[1]} features, hinge loss, C = 1, no bias"]
        rows.append(f"{'order':20}{'shrinking':>10}" + "".join(f"{e:>9}" for e in epochs) + f"{'seconds':>9}")
        for order in ORDERS:
            for shrinking in (True, False):
                gaps = [gap_after(X, y, order, shrinking, e) for e in epochs]
                cells = "".join(f"{gap:9.1e}" for gap, _ in gaps)
                rows.append(f"{order:20}{'yes' if shrinking else 'no':>10}{cells}{gaps[-1][1]:9.2f}")
        print("\n".join(rows), flush=True)
        lines += rows
    lines += [
        "",
        "Notes",
        "- The columns are epochs; an epoch is n visits. With shrinking, n visits of active samples are one epoch.",
        "- The gap includes the bound on rounding errors and is that of the best point found so far.",
        "- seconds: of the run with the most epochs, one thread.",
    ]
    print("\n".join(lines[-4:]))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
