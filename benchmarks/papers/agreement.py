"""Agreement of hinge with independent computations: a row for every method of the papers, a column for each data set.

    python benchmarks/papers/agreement.py [--data FOLDER] [--only NUMBER] [--save]

The methods are compared with Clarabel, SciPy, scikit-learn or a direct implementation of the formula, on at most 60
samples of every data set. FOLDER contains .npz files with X and y; by default the five data sets of the tests are used.
The exit status is 1 if a difference exceeds 1e-6.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from independent import EPSILON, GAMMA, C  # noqa: E402
from items import asymmetric, further, nu_machines, online, pair_rules, paths, regularizers, restarts  # noqa: E402

from reference.data_sets import binary_data, regression_data, standardized  # noqa: E402

ROWS = 60
WIDTH = 40

#: Largest difference of the acceptance criterion.
LIMIT = 1e-6

#: Titles, and the modules with the comparisons.
GROUPS = (
    ("1 SMO variants", pair_rules),
    ("2 Asymmetric costs", asymmetric),
    ("3 ν-machines", nu_machines),
    ("4 Regularizers", regularizers),
    ("5 Online learning", online),
    ("6 Further paths and updates", paths),
    ("7 Restarts, shrinking and caches (LwK 10.1)", restarts),
    ("8 Coordinate descent, losses, problems of LwK chapter 10", further),
)

CLASSES = ("heart", "diabetes", "ionosphere", "sonar", "australian", "liver_disorders")
TARGETS = ("housing", "abalone", "space_ga", "cpusmall", "cadata", "diabetes_progression")


def data_sets(folder):
    """Return the classification and regression data, at most `ROWS` samples of each."""
    if folder is None:
        classes, targets = binary_data(), regression_data()
    else:
        classes, targets = {}, {}
        for name in CLASSES:
            with np.load(folder / f"{name}.npz") as arrays:
                X, y = standardized(np.asarray(arrays["X"], dtype=float)), arrays["y"]
            classes[name] = X, np.where(y == np.max(y), 1.0, -1.0)
        for name in TARGETS:
            with np.load(folder / f"{name}.npz") as arrays:
                X, y = arrays["X"][:2000], arrays["y"][:2000]
            targets[name] = standardized(np.asarray(X, dtype=float)), standardized(np.asarray(y, dtype=float))
    return [{name: subset(*data) for name, data in sets.items()} for sets in (classes, targets)]


def subset(X, y):
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return np.ascontiguousarray(X[rows]), np.asarray(y, dtype=float)[rows]


def table(title, columns):
    """The lines of a table of {data set: {method: difference}}."""
    lines = ["", f"{title:{WIDTH}}" + "".join(f"{name[:12]:>14}" for name in columns) + f"{'largest':>10}"]
    for item in next(iter(columns.values())):
        values = [column[item] for column in columns.values()]
        lines.append(f"{item:{WIDTH}}" + "".join(f"{v:14.1e}" for v in values) + f"{max(values):10.1e}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", type=int, help="number of a group")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("error")
    began = time.monotonic()
    classes, targets = data_sets(options.data)
    lines = [f"Agreement with independent computations, {date.today()}"]
    largest, rows = 0.0, 0
    for number, (title, module) in enumerate(GROUPS, 1):
        if options.only not in (None, number):
            continue
        parts = []
        for kind, sets in (("classification", classes), ("regression", targets)):
            if hasattr(module, kind):
                compare = getattr(module, kind)
                parts.append((kind, {name: dict(compare(*data)) for name, data in sets.items()}))
        if hasattr(module, "noise"):
            parts.append(("noise models", {name: dict(module.noise(name)) for name in module.NOISE}))
        lines += ["", title]
        for kind, columns in parts:
            lines += table(kind, columns)[1:]
            rows += len(next(iter(columns.values())))
            largest = max(largest, *(v for column in columns.values() for v in column.values()))
    lines += [
        "",
        f"{rows} rows, largest difference {largest:.1e}; {time.monotonic() - began:.0f} s",
        "",
        "Notes",
        "- Differences of the optimal value (the middle of the certified bounds), or of the function or coefficients",
        "  where there is no certificate, relative to the largest expected value or 1.",
        f"- At most {ROWS} samples, C = {C:g}, gamma = {GAMMA:g}, epsilon = {EPSILON:g}; warnings are errors.",
        "- Independent computations: Clarabel for quadratic programs, SciPy for linear programs (HiGHS) and smooth",
        "  risks (BFGS), scikit-learn for searches, direct implementations for online learners and formulas.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")
    sys.exit(0 if largest <= LIMIT else 1)


if __name__ == "__main__":
    main()
