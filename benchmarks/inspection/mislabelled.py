"""Count the mislabelled samples that `flip` finds from wrong predictions.

    python benchmarks/inspection/mislabelled.py [--save]

15 of 300 labels of the data set of breast cancer are exchanged, in 20 random divisions of the data.
"""

from __future__ import annotations

import argparse
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import hinge

N_TRAIN, N_WRONG, N_DIVISIONS = 300, 15, 20
TITLES = ("wrong predictions", "changed by one sample", "first mislabelled", "to check", "of these mislabelled")


def counts(X: np.ndarray, y: np.ndarray, seed: int) -> list[int]:
    """The numbers in the order of `TITLES` for one division."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, validation = order[:N_TRAIN], order[N_TRAIN:]
    labels = y[train] == 1
    mislabelled = rng.choice(N_TRAIN, N_WRONG, replace=False)
    labels[mislabelled] = ~labels[mislabelled]
    model = hinge.IncrementalSVC(C=100.0, gamma=0.02).fit(X[train], labels)
    errors = validation[model.predict(X[validation]) != (y[validation] == 1)]
    rankings = [model.flip(X[i]).ranking for i in errors]
    first = np.array([ranking[0] for ranking in rankings if len(ranking)], dtype=int)
    found = np.unique(first)
    return [len(errors), len(first), *(int(n) for n in (
        np.isin(first, mislabelled).sum(), len(found), np.isin(found, mislabelled).sum()
    ))]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rows = [counts(X, y, seed) for seed in range(N_DIVISIONS)]
    total = np.sum(rows, axis=0)
    lines = [
        "breast_cancer, 300 training samples, 15 of them mislabelled, SVC(C=100, gamma=0.02)",
        "",
        f"{'division':<10}" + "".join(f"{title:>23}" for title in TITLES),
        *(f"{k:<10}" + "".join(f"{n:>23}" for n in row) for k, row in enumerate(rows)),
        f"{'sum':<10}" + "".join(f"{n:>23}" for n in total),
        "",
        f"{total[4] / (N_WRONG * N_DIVISIONS):.0%} of the mislabelled samples are found. changed by one sample: wrong "
        "predictions that one",
        "training sample changes by its weight. first mislabelled: the sample that `flip` ranks first is mislabelled.",
        "to check: different samples that are ranked first.",
        "",
        f"{date.today()}, hinge {version('hinge')}",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
