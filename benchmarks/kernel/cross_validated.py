"""Compare SVCCV with its default grid and an exhaustive search over the grid that LIBSVM recommends.

    python benchmarks/kernel/cross_validated.py [--save]

Both run in a pipeline with StandardScaler, with five folds and one thread. 40 % of the samples are test samples.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from measure import describe_environment
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge

FOLDER = Path(os.environ.get("HINGE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
SETS = [
    "australian", "diabetes", "german_numer", "heart", "ionosphere", "sonar", "splice", "svmguide3", "vehicle", "wine",
]  # fmt: skip
EXHAUSTIVE = {"Cs": np.logspace(-5, 15, 10, base=2), "gammas": np.logspace(-15, 3, 10, base=2)}
NOTES = [
    "",
    "Notes",
    "- SVCCV: SVCCV() with its default grid of 10 x 10 values scaled to the data. exhaustive: 10 x 10 values,",
    "  C = 2^-5 ... 2^15 and gamma = 2^-15 ... 2^3.",
    "- test error: share of wrong predictions. noise: standard deviation of the test error of one model.",
    "- time: CPU seconds of the fit, including the search.",
]


def run(parameters: dict, data: tuple) -> tuple[float, float]:
    """Test error and CPU time of one search."""
    X, X_test, y, y_test = data
    model = make_pipeline(StandardScaler(), hinge.SVCCV(n_jobs=1, **parameters))
    start = time.process_time()
    model.fit(X, y)
    return 1.0 - model.score(X_test, y_test), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the output next to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(FOLDER))
    from load import load

    lines = [
        str(date.today()),
        *describe_environment(1),
        "",
        f"{'':32}{'test error':>22}{'':>9}{'time (seconds)':>22}",
        f"{'data set (training samples)':32}{'SVCCV':>11}{'exhaustive':>11}{'noise':>9}{'SVCCV':>11}{'exhaustive':>11}",
    ]
    print("\n".join(lines), flush=True)
    for name in SETS:
        X, y = load(name)[:2]
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        data = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        (error, seconds), (other, other_seconds) = run({}, data), run(EXHAUSTIVE, data)
        noise = np.sqrt(other * (1 - other) / len(data[3]))
        label = f"{name} ({len(data[2])})"
        times = f"{seconds:>11.2f}{other_seconds:>11.2f}"
        lines.append(f"{label:32}{error:>11.4f}{other:>11.4f}{noise:>9.4f}{times}")
        print(lines[-1], flush=True)
    print("\n".join(NOTES))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join([*lines, *NOTES, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
