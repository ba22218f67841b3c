"""Time of `certificate_` within a fit, for kernel and linear estimators.

    python benchmarks/certificates/cost.py [--repeats 5]

The time of the functions that compute certificates is measured within the fit. The shortest fit and its certificate are
reported.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import hinge
from hinge.estimators.common import training as kernel_training
from hinge.estimators.linear import training as linear_training
from hinge.problems import LinearSolution

#: Estimators, numbers of samples and features.
CASES = {
    "SVC rbf": (lambda: hinge.SVC(gamma=0.05), 10),
    "SVC linear": (lambda: hinge.SVC(kernel="linear"), 10),
    "SVR rbf": (lambda: hinge.SVR(gamma=0.05), 10),
    "LinearSVC": (lambda: hinge.LinearSVC(), 50),
    "LinearSVC hinge": (lambda: hinge.LinearSVC(loss="hinge"), 50),
}
SIZES = {100: "at most 0.1 ms", 20_000: "at most 3 %"}


def timed(function, spent):
    """Return the function with its time added to `spent`."""

    def call(*arguments, **options):
        start = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[0] += time.perf_counter() - start

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    spent = [0.0]
    kernel_training.certify_solutions = timed(kernel_training.certify_solutions, spent)
    LinearSolution.certificate = timed(LinearSolution.certificate, spent)
    assert linear_training.LinearSolution is LinearSolution
    print(f"{'estimator':18}{'samples':>9}{'fit (ms)':>11}{'certificate (ms)':>18}{'share (%)':>11}  target")
    for n, target in SIZES.items():
        for name, (make, features) in CASES.items():
            rng = np.random.default_rng(0)
            X = rng.normal(size=(n, features))
            value = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
            y = value if "SVR" in name else np.where(value > 0, 1, -1)
            results = []
            for _ in range(repeats if n > 1000 else 20 * repeats):
                spent[0], start = 0.0, time.perf_counter()
                make().fit(X, y)
                results.append((time.perf_counter() - start, spent[0]))
            seconds, certificate = min(results)[0], min(c for _, c in results)
            share = 100 * certificate / seconds
            print(f"{name:18}{n:9}{1e3 * seconds:11.2f}{1e3 * certificate:18.3f}{share:11.1f}  {target}", flush=True)
    print("\nNotes\n- One thread; the shortest of several fits, and the shortest of their certificates.")


if __name__ == "__main__":
    main()
