"""Time, memory and accuracy of SVC, LowRankSVC and LinearSVC for different sizes of the data.

    python benchmarks/estimators/choice.py [covtype] [mnist] [news20] [made] [--limit 300] [--threads 1]

covtype   54 features, of which most are 0 or 1; seven classes
mnist     784 features; ten classes
news20    text: sparse data with many features; twenty classes
made      generated: 50 features, a quadratic boundary, 10 % wrong labels; up to 500,000 samples

Each fit runs in a process of its own, with the default parameters except C and gamma. The table of docs/how-to/
which-estimator.md is part of the output.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

import hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder

ESTIMATORS = ("SVC", "LowRankSVC", "LinearSVC")
PREDICTED = 10_000  # test samples, at most
#: Sizes of the training data, and parameters of the estimators with an RBF kernel.
PLAN = {
    "covtype": ((1_000, 10_000, 50_000), dict(C=10.0, gamma=1.0)),
    "mnist": ((1_000, 10_000, 60_000), dict(C=10.0, gamma=0.02)),
    "news20": ((1_000, 11_314), dict(C=10.0, gamma=0.5)),
    "made": ((10_000, 100_000, 500_000), dict(C=1.0, gamma=0.01)),
}


def stored(name):
    """Return the training and test data of a file."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as file:
        parts = []
        for suffix in ("", "_test"):
            if f"y{suffix}" not in file:
                continue
            if f"X{suffix}" in file:
                X = file[f"X{suffix}"]
            else:
                pieces = tuple(file[f"X{suffix}_{part}"] for part in ("data", "indices", "indptr"))
                X = sparse.csr_matrix(pieces, shape=tuple(file[f"X{suffix}_shape"]))
            parts += [X, file[f"y{suffix}"]]
    return parts


def made(n):
    """Return n + 10,000 generated samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + PREDICTED, 50)).astype(np.float32)
    f = X[:, :5].sum(axis=1) + (X[:, 5:15] ** 2).sum(axis=1) - 10
    y = np.where((f > 0) != (rng.uniform(size=len(f)) < 0.1), 1, -1)
    return X[:n], y[:n], X[n:], y[n:]


def data(name, n):
    """Return training data of n samples and test data."""
    if name == "made":
        return made(n)
    if name == "covtype":
        parts = [stored(part) for part in ("covtype", "covtype_extra")]
        X, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        X = (X / np.maximum(np.abs(X).max(axis=0), 1)).astype(np.float32)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[PREDICTED:], order[:PREDICTED]
        return X[train[:n]], y[train[:n]], X[test], y[test]
    X, y, X_test, y_test = stored(name)
    if name == "news20":
        transformer = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = transformer.transform(X), transformer.transform(X_test)
    else:
        X, X_test = (np.asarray(part, dtype=np.float32) / 255 for part in (X, X_test))
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return X[order], y[order], X_test[:PREDICTED], y_test[:PREDICTED]


def peak_memory():
    """Return the peak of the resident memory in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def measure(name, n, estimator, limit, threads):
    """Fit and predict once, and return a record of the measurements."""
    X, y, X_test, y_test = data(name, n)
    options = PLAN[name][1] if estimator != "LinearSVC" else {}
    model = getattr(hinge, estimator)(n_jobs=threads, max_time=limit, **options)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current size (Linux)
    before = peak_memory()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    fitted = time.process_time()
    memory = peak_memory() - before
    begin = time.process_time()
    accuracy = model.score(X_test, y_test)
    predicted = time.process_time()
    return dict(
        n=n, d=X.shape[1], status=model.status_.name, fit=fitted - start, memory=memory / 1024, accuracy=accuracy,
        predict=1e6 * (predicted - begin) / len(y_test),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(PLAN), metavar="NAME")
    parser.add_argument("--limit", type=float, default=300.0, help="max_time of a fit in seconds (wall-clock)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, n, estimator = options.one
        print(json.dumps(measure(name, int(n), estimator, options.limit, options.threads)))
        return
    for name in options.names:
        sizes, parameters = PLAN[name]
        settings = ", ".join(f"{key} = {value:g}" for key, value in parameters.items())
        print(f"{name} (RBF kernel: {settings}; LinearSVC: default parameters)\n")
        print(f"{'samples':>8} {'features':>8}  {'estimator':<11} {'fit (s)':>8} {'memory (MB)':>11} "
              f"{'predict (µs/sample)':>19} {'accuracy':>8}")  # fmt: skip
        for n in sizes:
            for estimator in ESTIMATORS:
                flags = ["--limit", str(options.limit), "--threads", str(options.threads)]
                command = [sys.executable, __file__, "--one", name, str(n), estimator, *flags]
                row = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
                mark = "" if row["status"] == "SOLVED" else " *"
                print(f"{n:>8,} {row['d']:>8,}  {estimator:<11} {row['fit']:>8.2f} {row['memory']:>11.0f} "
                      f"{row['predict']:>19.1f} {row['accuracy']:>8.3f}{mark}", flush=True)  # fmt: skip
        print()
    print(
        f"Processor seconds with {options.threads} thread(s). Memory is the additional peak memory of the fit. * "
        f"stopped by the limit of {options.limit:g} s; the model found so far was used."
    )


if __name__ == "__main__":
    main()
