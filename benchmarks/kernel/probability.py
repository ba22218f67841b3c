"""Compare probabilities: log loss, Brier score and time of hinge, CalibratedClassifierCV and scikit-learn.

    python benchmarks/kernel/probability.py [--repeats 5] [--save]

40 % of the samples of each data set are test samples. The features are standardized. Times are CPU times of the whole
fit, as multiples of the fit of hinge.SVC without probabilities: other load on the computer affects them little.
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
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import hinge

FOLDER = Path(os.environ.get("HINGE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
SETS = {
    "diabetes": {}, "german_numer": {}, "australian": {}, "spambase": {"C": 10.0, "gamma": 0.02}, "splice": {},
    "vehicle": {}, "satimage": {}, "segment": {}, "dna": {},
}  # fmt: skip

NOTES = [
    "",
    "Notes",
    "- hinge: SVC(probability=True). calibrated: CalibratedClassifierCV(hinge.SVC(), ensemble=False), sigmoid, five",
    "  folds. sklearn: SVC(probability=True) of scikit-learn. The parameters of the SVM are the same.",
    "- time: CPU time of the fit with probabilities divided by that of hinge.SVC without probabilities; for",
    "  scikit-learn, divided by its own fit without probabilities. Medians. One thread.",
    "- differences: test samples whose most probable class is not the class that predict returns.",
]


def cpu_time(fit, repeats: int) -> float:
    """Median CPU time of a fit."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return float(np.median(times))


def data(name: str):
    """Standardized training and test samples."""
    sys.path.insert(0, str(FOLDER))
    from load import load

    X, y = load(name)[:2]
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    return np.ascontiguousarray(scaler.transform(X)), scaler.transform(X_test), y, y_test


def measure(name: str, parameters: dict, repeats: int) -> str:
    """One line of the table."""
    X, X_test, y, y_test = data(name)
    plain = hinge.SVC(n_jobs=1, **parameters)
    models = {
        "hinge": (plain, hinge.SVC(n_jobs=1, probability=True, **parameters)),
        "calibrated": (plain, CalibratedClassifierCV(plain, ensemble=False)),
        "sklearn": (svm.SVC(**parameters), svm.SVC(probability=True, random_state=0, **parameters)),
    }
    losses, briers, times, differences = [], [], [], []
    for without, with_probability in models.values():
        model = with_probability.fit(X, y)
        p = model.predict_proba(X_test)
        losses.append(log_loss(y_test, p))
        briers.append(brier_score_loss(y_test, p, scale_by_half=False, labels=model.classes_))
        base = cpu_time(lambda m=without: m.fit(X, y), repeats)
        times.append(cpu_time(lambda m=with_probability: m.fit(X, y), repeats) / base)
        differences.append(int(np.sum(model.classes_[p.argmax(axis=1)] != model.predict(X_test))))
    size = f"{name} ({len(y)}, {len(np.unique(y))} classes)"
    columns = [f"{v:>11.4f}" for v in losses] + [f"{v:>11.4f}" for v in briers] + [f"{v:>11.2f}" for v in times]
    return f"{size:32}" + "".join(columns) + "".join(f"{v:>11d}" for v in (differences[0], differences[2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write the output next to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = "".join(f"{name:>11}" for name in ("hinge", "calibrated", "sklearn"))
    lines = [
        str(date.today()),
        *describe_environment(1),
        "",
        f"{'':32}{'log loss':>33}{'Brier score':>33}{'time (fits)':>33}{'differences':>22}",
        f"{'data set (training samples)':32}{names * 3}{'hinge':>11}{'sklearn':>11}",
    ]
    print("\n".join(lines), flush=True)
    for name, parameters in SETS.items():
        lines.append(measure(name, parameters, options.repeats))
        print(lines[-1], flush=True)
    print("\n".join(NOTES))
    if options.save:
        text = "\n".join([*lines, *NOTES, ""])
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
