"""Compare the fit times of hinge and scikit-learn on the small data sets of scikit-learn.

    python benchmarks/kernel/small.py [--repeats 31] [--save]

The data are standardized. The estimators use default parameters, and C = 100 in a second run, with two threads. The two
libraries alternate in one process. The relative gaps of both are computed by the same code (verify.py).
"""

from __future__ import annotations

import argparse
import time
from datetime import date
from pathlib import Path

import numpy as np
from measure import describe_environment
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

HEADER = [
    f"{'':36} {'':>5} {'milliseconds':>19} {'time':>6}  {'relative gap':>17}",
    f"{'data set (samples x features)':36} {'C':>5} {'hinge':>9} {'sklearn':>9} {'ratio':>6}"
    f"  {'hinge':>8} {'sklearn':>8}",
]
NOTES = [
    "",
    "Notes",
    "- sklearn: scikit-learn. time ratio: time of scikit-learn divided by the time of hinge; hinge is faster if it is",
    "  above 1.",
    "- relative gap: relative duality gap, recomputed in float64; hinge polishes small problems until only rounding",
    "  errors remain.",
    "- The features are standardized. The two libraries alternate, so other load on the computer affects both.",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--save", action="store_true", help="also write the table to small.txt")
    options = parser.parse_args()
    lines = [f"Time of fit on small data sets, {date.today()}", "", *HEADER]
    print("\n".join(lines))
    ratios = []
    for name, (load, estimator) in SETS.items():
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        classes = f", {len(np.unique(y))} classes" if estimator == "SVC" else ", SVR"
        for C in (1.0, 100.0):
            models = getattr(hinge, estimator)(C=C, n_jobs=2), getattr(svm, estimator)(C=C)
            times = median_milliseconds(models, X, y, options.repeats)
            parameters = dict(C=C, gamma=1 / (X.shape[1] * X.var()), epsilon=0.1)
            gaps = [verify(X, y, estimator, parameters, model, model.predict(X))["gap"] for model in models]
            ratios.append(times[1] / times[0])
            label = f"{name} ({X.shape[0]} x {X.shape[1]}{classes})"
            lines.append(
                f"{label:36} {C:5g} {times[0]:9.2f} {times[1]:9.2f} {ratios[-1]:6.2f}  {gaps[0]:8.1e} {gaps[1]:8.1e}"
            )
            print(lines[-1], flush=True)
    lines.append(f"{'geometric mean':61} {np.exp(np.mean(np.log(ratios))):6.2f}")
    notes = [*NOTES, f"- Medians of {options.repeats} fits.", *(f"- {line}" for line in describe_environment(2))]
    print("\n".join([lines[-1], *notes]))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines + notes) + "\n")


def median_milliseconds(models, X: np.ndarray, y: np.ndarray, repeats: int) -> list[float]:
    """Return the median fit time of each model in milliseconds; the first fit is a warm-up."""
    all_times: list[list[float]] = [[] for _ in models]
    for _ in range(repeats + 1):
        for model, times in zip(models, all_times, strict=True):
            start = time.perf_counter()
            model.fit(X, y)
            times.append(1e3 * (time.perf_counter() - start))
    return [float(np.median(times[1:])) for times in all_times]


if __name__ == "__main__":
    main()
