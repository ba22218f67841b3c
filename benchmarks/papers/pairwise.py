"""Test accuracies with common and with separate parameters of the pairs of classes: ν tutorial, Table 2.

    python benchmarks/papers/pairwise.py FOLDER [--sets NAME ...] [--repeats 3] [--save]

FOLDER contains .npz files with X and y. As in the text: γ = 2^-15, 2^-13, ..., 2^3, C = 2^-5, 2^-3, ..., 2^15, ten
values of ν in the admissible interval, five folds; 80 % of the samples for training; features scaled to [-1, 1]. The
accuracies are means over random divisions, the same ones for all four methods.
"""

from __future__ import annotations

import argparse
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from hinge.selection import grid, nu_grid, pairwise_grid

GAMMA, COST = 2.0 ** np.arange(-15, 4, 2), 2.0 ** np.arange(-5, 16, 2)
METHODS = {
    "common C": lambda X, y: grid(X, y, C=COST, gamma=GAMMA),
    "separate C": lambda X, y: pairwise_grid(X, y, C=COST, gamma=GAMMA),
    "common nu": lambda X, y: nu_grid(X, y, nu=10, gamma=GAMMA),
    "separate nu": lambda X, y: pairwise_grid(X, y, nu=10, gamma=GAMMA),
}

#: The accuracies of the text, in the order of the methods.
PRINTED = {
    "vehicle": (86.5, 87.1, 85.9, 87.8),
    "glass": (72.2, 70.7, 73.0, 69.3),
    "iris": (96.0, 93.3, 94.0, 94.6),
    "segment": (98.3, 97.2, 96.7, 97.6),
    "vowel": (98.1, 97.7, 98.3, 96.0),
    "wine": (97.1, 97.1, 97.1, 96.6),
}


def accuracies(X, y, repeats):
    """Test accuracies in percent, (repeats × methods)."""
    rows = []
    for seed in range(repeats):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
        scaler = MinMaxScaler((-1, 1)).fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        rows.append([100 * search(X_train, y_train).score(X_test, y_test) for search in METHODS.values()])
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="*", default=["iris", "wine", "glass"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # some large C do not reach the tolerance, and some folds lack a class
    lines = [f"Test accuracy in percent, {date.today()}: ours ± deviation of the divisions (in brackets: the text)", ""]
    lines.append(f"{'':10}" + "".join(f"{name:>22}" for name in METHODS) + f"{'seconds':>10}")
    for name in options.sets:
        with np.load(options.folder / f"{name}.npz") as arrays:
            X, y = np.asarray(arrays["X"], dtype=float), arrays["y"]
        began = time.monotonic()
        values = accuracies(X, y, options.repeats)
        cells = zip(values.mean(axis=0), values.std(axis=0), PRINTED[name], strict=True)
        text = "".join(f"{f'{mean:.1f} ± {deviation:.1f} ({printed:.1f})':>22}" for mean, deviation, printed in cells)
        lines.append(f"{name:10}{text}{time.monotonic() - began:10.0f}")
        print(lines[-1], flush=True)
    lines += [
        "",
        "Notes",
        f"- Means over {options.repeats} random divisions; the divisions of the text are not known.",
        "- The other data sets of the table (--sets) take from minutes to hours.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
