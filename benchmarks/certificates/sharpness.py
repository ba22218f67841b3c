"""Certified relative gaps at tol=1e-8 on small scaled data sets, and the share of rounding errors.

    python benchmarks/certificates/sharpness.py DATA_FOLDER

DATA_FOLDER contains npz files with arrays X and y.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import hinge

#: Data sets with at most this many samples are used.
MAX_SAMPLES = 1000

TARGET = 1e-9


def load(path):
    """Return standardized X and y, or None if the set is sparse or too large."""
    with np.load(path, allow_pickle=False) as arrays:
        if "X" not in arrays or arrays["X"].ndim != 2 or len(arrays["X"]) > MAX_SAMPLES:
            return None
        return StandardScaler().fit_transform(arrays["X"].astype(np.float64)), arrays["y"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(f"{'data':22}{'n':>6}{'kernel':>8}{'C':>6}{'relative gap':>14}{'rounding':>10}{'certify':>10}  status")
    worst = 0.0
    for path in sorted(folder.glob("*.npz")):
        found = load(path)
        if found is None:
            continue
        X, y = found
        regression = y.dtype.kind == "f" and len(np.unique(y)) > 20
        if regression:
            y = (y - y.mean()) / y.std()
        for kernel in ("rbf", "linear"):
            for C in (1.0, 100.0):
                model = (hinge.SVR if regression else hinge.SVC)(kernel=kernel, C=C, tol=1e-8, max_time=20.0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    c = model.fit(X, y).certificate_
                size = max(abs(c.primal), 1e-300)
                again = model.certify(X, y).relative_gap
                worst = max(worst, c.relative_gap if model.status_ is hinge.Status.SOLVED else 0.0)
                print(
                    f"{path.stem:22}{len(X):6}{kernel:>8}{C:6g}{c.relative_gap:14.1e}{c.rounding / size:10.1e}"
                    f"{again:10.1e}  {model.status_}",
                    flush=True,
                )
    print(f"\nLargest relative gap of a solved fit: {worst:.1e} (target {TARGET:g})")
    print("Notes\n- Standardized features and targets, one thread, tol=1e-8, at most 20 s per fit.")
    print("- rounding: part of the gap that is due to rounding errors, relative. certify: relative gap of certify.")


if __name__ == "__main__":
    main()
