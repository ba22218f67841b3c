"""Curves of the orders of dual coordinate descent: relative gap and test accuracy after a number of epochs.

    HINGE_DATA=... python benchmarks/linear/orders.py [--sets a9a,w8a,news20] [--epochs 1,2,5,10,20,50] [--save]

The slides on decomposition methods compare sequential visits, permutations and random visits. For every data set, loss
(hinge without bias, C = 1) and order, with and without shrinking, the tables show the certified relative gap, the
accuracy on a fifth of the samples that is not trained on, and the seconds, after a number of epochs (n visits each). No
extrapolation takes place in the first 20 epochs; later only for permutations.
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
from sklearn.model_selection import train_test_split

import hinge
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.coordinate_descent import ORDERS

#: The tables of each data set: title, and format of a value.
TABLES = (("relative gap", "9.1e"), ("test accuracy, %", "9.2f"), ("seconds", "9.3f"))


def run(X, y, X_test, y_test, order, shrinking, epochs):
    """Return the relative gap, the test accuracy and the seconds after some epochs."""
    solver = CoordinateDescent(order=order, shrinking=shrinking, method="descent", max_iter=epochs, tol=1e-9)
    model = hinge.LinearSVC(C=1.0, loss="hinge", fit_intercept=False, solver=solver, n_jobs=1)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    seconds = time.process_time() - start
    return model.certificate_.relative_gap, 100 * model.score(X_test, y_test), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="a9a,w8a,ijcnn1,rcv1_small,news20_bigram,farm_ads")
    parser.add_argument("--epochs", default="1,2,5,10,20,50,100")
    parser.add_argument("--save", action="store_true", help="also write the table to orders.txt")
    arguments = parser.parse_args()
    epochs = [int(e) for e in arguments.epochs.split(",")]
    lines = [f"Dual coordinate descent after a number of epochs, {date.today()}"]
    print(lines[0])
    for name in arguments.sets.split(","):
        X, X_test, y, y_test = train_test_split(*load(name), test_size=0.2, random_state=0)
        runs = {}
        for order in ORDERS:
            for shrinking in (True, False):
                runs[order, shrinking] = [run(X, y, X_test, y_test, order, shrinking, e) for e in epochs]
        rows = [f"\n{name}, {X.shape[0]} training samples, {X.shape[1]} features, hinge loss, C = 1, no bias"]
        for column, (title, form) in enumerate(TABLES):
            rows += ["", f"{title:20}{'shrinking':>10}" + "".join(f"{e:>9}" for e in epochs)]
            for (order, shrinking), found in runs.items():
                cells = "".join(f"{one[column]:{form}}" for one in found)
                rows.append(f"{order:20}{'yes' if shrinking else 'no':>10}{cells}")
        print("\n".join(rows), flush=True)
        lines += rows
    lines += [
        "",
        "Notes",
        "- The columns are epochs; an epoch is n visits. With shrinking, n visits of active samples are one epoch.",
        "- The gap includes the bound on rounding errors and is that of the best point found so far.",
        "- test accuracy: percent of a fifth of the samples, chosen at random.",
        "- seconds: processor time of one thread. Every number of epochs is a run of its own, with its certificate.",
    ]
    print("\n".join(lines[-6:]))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
