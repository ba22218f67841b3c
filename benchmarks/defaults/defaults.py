"""Compare hinge with scikit-learn at default settings on small data: fit, predict, cross-validation and start-up.

    python benchmarks/defaults/defaults.py [--seconds 0.5] [--only TEXT] [--save]

The two libraries alternate in one process, and the minimum of many repetitions counts. hinge is measured with its
default number of threads (n_jobs=None) and with one thread; scikit-learn has one thread. --only selects the cases whose
name contains a text. --save writes the table to defaults.txt.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np
from cases import CASES, Case
from sklearn import svm
from sklearn.model_selection import cross_val_score

import hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernel"))
from measure import describe_environment

HEADER = [
    f"{'':34} {'fit, milliseconds':>19}   time of scikit-learn / time of hinge",
    f"{'case':34} {'hinge':>9} {'sklearn':>9}   {'fit':>6} {'fit, 1 thread':>13} {'predict':>8} {'one row':>8} "
    f"{'cross-val.':>10}",
]
NOTES = [
    "",
    "Notes",
    "- sklearn: scikit-learn. hinge is faster if a ratio is above 1.",
    "- fit: n_jobs=None; fit, 1 thread: n_jobs=1; predict: all training samples; one row: the first sample;",
    "  cross-val.: cross_val_score with five folds (not for one-class estimators and kernel matrices).",
    "- Both libraries use their defaults, with the parameters stated in the first column. LinearSVC and LinearSVR of",
    "  scikit-learn penalize the intercept, those of hinge do not.",
    "- The two libraries alternate; the minimum counts.",
]
START_UP = {
    "import": "import {module}",
    "import and first fit": "from {module} import SVC; SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1])",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for the repetitions of each operation")
    parser.add_argument("--only", default="")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [f"Default estimators on small data, {date.today()}", "", *HEADER]
    print("\n".join(lines))
    ratios: list[list[float]] = []
    for case in CASES:
        if options.only in case.name:
            line, found = row(case, options.seconds)
            ratios.append(found)
            lines.append(line)
            print(line, flush=True)
    summary = [*means(ratios), "", *start_up()]
    summary += [*NOTES, *(f"- {text}" for text in describe_environment(2))]
    print("\n".join(summary))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines + summary) + "\n")


def row(case: Case, seconds: float) -> tuple[str, list[float]]:
    """Measure a case; return a line of the table and the ratios of all operations (NaN if not measured)."""
    X, y = case.data()
    ours, theirs = (getattr(library, case.estimator)(**case.parameters) for library in (hinge, svm))
    single = getattr(hinge, case.estimator)(n_jobs=1, **case.parameters)
    fits = fastest([lambda: ours.fit(X, y), lambda: theirs.fit(X, y), lambda: single.fit(X, y)], seconds)
    whole = fastest([lambda: ours.predict(X), lambda: theirs.predict(X)], seconds / 2)
    one = fastest([lambda: ours.predict(X[:1]), lambda: theirs.predict(X[:1])], seconds / 4)
    scores = [np.nan, np.nan]
    if case.estimator != "OneClassSVM" and case.parameters.get("kernel") != "precomputed":
        scores = fastest([lambda: cross_val_score(ours, X, y), lambda: cross_val_score(theirs, X, y)], seconds)
    found = [fits[1] / fits[0], fits[1] / fits[2], whole[1] / whole[0], one[1] / one[0], scores[1] / scores[0]]
    cells = f"{found[0]:6.2f} {found[1]:13.2f} {found[2]:8.2f} {found[3]:8.2f} {found[4]:10.2f}".replace("nan", "  -")
    return f"{case.name:34} {1e3 * fits[0]:9.2f} {1e3 * fits[1]:9.2f}   {cells}", found


def fastest(operations: Sequence[Callable[[], object]], seconds: float, least: int = 5) -> list[float]:
    """Return the smallest time of each operation. The operations alternate."""
    times: list[list[float]] = [[] for _ in operations]
    end = time.perf_counter() + seconds * len(operations)
    while len(times[0]) < least or time.perf_counter() < end:
        for operation, measured in zip(operations, times, strict=True):
            began = time.perf_counter()
            operation()
            measured.append(time.perf_counter() - began)
    return [min(measured) for measured in times]


def means(ratios: list[list[float]]) -> list[str]:
    """Return lines with the geometric means and the number of cases in which hinge is slower."""
    table = np.array(ratios)
    geometric = np.exp(np.nanmean(np.log(table), axis=0))
    slower = np.nansum(table < 1, axis=0).astype(int)
    shape = "{:54}   {:>6} {:>13} {:>8} {:>8} {:>10}"
    return [
        shape.format("geometric mean", *(f"{value:.2f}" for value in geometric)),
        shape.format(f"cases in which hinge is slower, of {len(table)}", *map(str, slower)),
    ]


def start_up(repeats: int = 5) -> list[str]:
    """Return lines with the time of new processes."""
    lines = [f"{'new process, seconds':34} {'hinge':>9} {'sklearn':>9}   {'ratio':>6}"]
    for name, code in START_UP.items():
        times = fastest([process(code.format(module=module)) for module in ("hinge", "sklearn.svm")], 0.0, repeats)
        lines.append(f"{name:34} {times[0]:9.2f} {times[1]:9.2f}   {times[1] / times[0]:6.2f}")
    return lines


def process(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
