"""Compare the fit times of hinge and scikit-learn on data with 2,000 × 20 and with 20 × 20 values.

    python benchmarks/libsvm/speed.py [--repeat 7] [--seeds 3]

Both libraries alternate in one process on the same arrays. The exit status is 1 if hinge is slower on a problem with
2,000 samples, or if a fit with 20 samples takes more than 2 ms.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import sklearn.svm
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

import hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.textbook import coefficients, describe

ESTIMATORS = (
    ("SVC", dict(C=1.0)),
    ("SVC", dict(C=100.0)),
    ("SVC", dict(C=1.0, kernel="linear")),
    ("SVC", dict(C=1.0, kernel="poly")),
    ("NuSVC", dict(nu=0.3)),
    ("SVR", dict(C=1.0, epsilon=0.1)),
    ("NuSVR", dict(C=1.0, nu=0.3)),
    ("OneClassSVM", dict(nu=0.2)),
)

HEADER_LARGE = f"""\
Fits with 2,000 samples and 20 features

{"":34} {"":4} {"time of a fit in seconds":>25} {"time":>6} {"relative duality gap":>22}
{"estimator":34} {"seed":>4} {"hinge":>12} {"scikit-learn":>12} {"ratio":>6} {"hinge":>9} {"scikit-learn":>12}"""

HEADER_SMALL = f"""
Fits with 20 samples and 20 features

{"":34} {"time of a fit in milliseconds":>30}
{"estimator":34} {"hinge":>15} {"scikit-learn":>14}"""

NOTES = """
Notes
- Times are medians. The two libraries alternate, so other load on the computer affects both.
- time ratio: time of hinge divided by the time of scikit-learn; hinge is faster if it is below 1.
- relative duality gap: computed from the data with the textbook formulas, by the same code for both libraries."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="fits per median (20 times as many with 20 samples)")
    parser.add_argument("--seeds", type=int, default=3, help="random data sets per estimator")
    arguments = parser.parse_args()
    print(HEADER_LARGE)
    ratios = [
        compare_large(name, options, seed, arguments.repeat)
        for name, options in ESTIMATORS
        for seed in range(arguments.seeds)
    ]
    print(f"\nmedian time ratio {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    print(HEADER_SMALL)
    slowest = max(compare_small(name, options, arguments.repeat) for name, options in ESTIMATORS)
    print(f"\nslowest fit of hinge with 20 samples: {slowest:.2f} ms")
    print(NOTES)
    return 1 if max(ratios) > 1 or slowest > 2 else 0


def random_data(name, n, seed):
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.1, class_sep=0.8, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if name.endswith("SVR"):
        y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.2 * np.random.default_rng(seed).normal(size=n)
    return X, y


def median_seconds(models, X, y, repeat):
    """Return the median fit time of each model. The models alternate, so other load on the computer affects all."""
    times = [[] for _ in models]
    for _ in range(repeat + 1):
        for model, model_times in zip(models, times, strict=True):
            start = time.perf_counter()
            model.fit(X, y)
            model_times.append(time.perf_counter() - start)
    return [float(np.median(model_times[1:])) for model_times in times]  # the first fit is a warm-up


def relative_gap(model, X, y):
    """Compute the relative duality gap from the data with the textbook formulas."""
    gamma = 1.0 / (X.shape[1] * X.var())
    kernels = {"rbf": rbf_kernel, "linear": lambda X, gamma: linear_kernel(X)}
    kernels["poly"] = lambda X, gamma: polynomial_kernel(X, gamma=gamma, degree=3, coef0=0.0)
    formulation = describe(model, kernels[model.kernel](X, gamma=gamma), y)
    coef = coefficients(model, formulation)
    return formulation.gap(coef) / abs(formulation.dual(coef))


def label(name, options):
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"


def compare_large(name, options, seed, repeat):
    """Print a row for 2,000 samples and return the time ratio."""
    X, y = random_data(name, 2000, seed)
    ours, theirs = getattr(hinge, name)(**options), getattr(sklearn.svm, name)(**options)
    our_time, their_time = median_seconds([ours, theirs], X, y, repeat)
    print(
        f"{label(name, options):34} {seed:4} {our_time:12.4f} {their_time:12.4f} {our_time / their_time:6.2f} "
        f"{relative_gap(ours, X, y):9.1e} {relative_gap(theirs, X, y):12.1e}",
        flush=True,
    )
    return our_time / their_time


def compare_small(name, options, repeat):
    """Print a row for 20 samples and return the time of hinge in milliseconds."""
    X, y = random_data(name, 20, 0)
    ours, theirs = getattr(hinge, name)(**options), getattr(sklearn.svm, name)(**options)
    our_time, their_time = median_seconds([ours, theirs], X, y, 20 * repeat)
    print(f"{label(name, options):34} {1e3 * our_time:15.3f} {1e3 * their_time:14.3f}", flush=True)
    return 1e3 * our_time


if __name__ == "__main__":
    sys.exit(main())
