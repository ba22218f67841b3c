"""Small data, as people try a library first: hinge beside scikit-learn, in one process, fit after fit.

    python benchmarks/kernel/small.py [--repeats 31] [--save]

The sets that come with scikit-learn, standardised, with default parameters and with C = 100; two threads. Fits of the
two libraries take turns, so that both meet the same machine; medians of milliseconds. hinge answers such problems to
rounding: the relative gap of both, recomputed by the same code, stands beside the time.
"""

from __future__ import annotations

import argparse
import time
from datetime import date
from pathlib import Path

import numpy as np
from measure import describe_machine
from sklearn import datasets, svm
from sklearn.preprocessing import StandardScaler
from verify import verify

import hinge

SETS = {
    "iris": (datasets.load_iris, "SVC"),
    "wine": (datasets.load_wine, "SVC"),
    "breast_cancer": (datasets.load_breast_cancer, "SVC"),
    "digits": (datasets.load_digits, "SVC"),
    "diabetes": (datasets.load_diabetes, "SVR"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--save", action="store_true", help="also write small.txt beside this file")
    options = parser.parse_args()
    lines = [
        f"small data, {date.today()}: milliseconds of fit, medians of {options.repeats}",
        *describe_machine(2),
        "",
        f"{'data':27} {'C':>5} {'hinge':>9} {'sklearn':>9} {'ratio':>6}  {'gap':>8} {'sklearn':>8}",
    ]
    print("\n".join(lines))
    ratios = []
    for name, (load, machine) in SETS.items():
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        classes = f", {len(np.unique(y))}" if machine == "SVC" else ""
        for C in (1.0, 100.0):
            ours, theirs = getattr(hinge, machine)(C=C, n_jobs=2), getattr(svm, machine)(C=C)
            times = interleaved((ours, theirs), X, y, options.repeats)
            given = dict(C=C, gamma=1 / (X.shape[1] * X.var()), epsilon=0.1)
            gaps = [verify(X, y, machine, given, model, model.predict(X))["gap"] for model in (ours, theirs)]
            ratios.append(times[1] / times[0])
            label = f"{name} ({X.shape[0]} x {X.shape[1]}{classes})"
            lines.append(
                f"{label:27} {C:5g} {times[0]:9.2f} {times[1]:9.2f} {ratios[-1]:6.2f}  {gaps[0]:8.1e} {gaps[1]:8.1e}"
            )
            print(lines[-1], flush=True)
    lines.append(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}")
    print(lines[-1])
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


def interleaved(models, X: np.ndarray, y: np.ndarray, repeats: int) -> list[float]:
    """The median milliseconds of each; once before, to warm up."""
    found: list[list[float]] = [[] for _ in models]
    for _ in range(repeats + 1):
        for model, times in zip(models, found, strict=True):
            began = time.perf_counter()
            model.fit(X, y)
            times.append(1e3 * (time.perf_counter() - began))
    return [float(np.median(times[1:])) for times in found]


if __name__ == "__main__":
    main()
