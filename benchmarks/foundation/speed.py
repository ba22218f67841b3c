"""Is a fit of 2,000 × 20 no slower than scikit-learn's, and a fit of 20 samples below 2 ms?

    python benchmarks/foundation/speed.py [--repeat 7]

Both libraries are timed in turn, in one process, on the same arrays; the medians and their ratio are printed,
with the relative gap of both answers beside them (an answer that is fast and wrong is no answer).
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
from reference.machines import coefficients, describe

MACHINES = (
    ("SVC", dict(C=1.0)),
    ("SVC", dict(C=100.0)),
    ("SVC", dict(C=1.0, kernel="linear")),
    ("SVC", dict(C=1.0, kernel="poly")),
    ("NuSVC", dict(nu=0.3)),
    ("SVR", dict(C=1.0, epsilon=0.1)),
    ("NuSVR", dict(C=1.0, nu=0.3)),
    ("OneClassSVM", dict(nu=0.2)),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'fit of 2,000 x 20':34} {'seed':>4} {'hinge s':>9} {'sklearn s':>9}", end=" ")
    print(f"{'ratio':>6} {'gap':>8} {'gap sk':>8}")
    ratios = [
        compare(name, options, seed, arguments.repeat) for name, options in MACHINES for seed in range(arguments.seeds)
    ]
    print(f"\nmedian ratio {np.median(ratios):.2f}, worst {max(ratios):.2f} (below 1: hinge is faster)\n")
    slowest = max(small(name, options, arguments.repeat) for name, options in MACHINES)
    print(f"\nslowest fit of 20 samples: {slowest:.2f} ms")
    return 1 if max(ratios) > 1 or slowest > 2 else 0


def problem(name, n, seed):
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.1, class_sep=0.8, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if name.endswith("SVR"):
        y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.2 * np.random.default_rng(seed).normal(size=n)
    return X, y


def median_seconds(models, X, y, repeat):
    """One median per model; the models take turns, so that a busy machine is busy for all of them."""
    times = [[] for _ in models]
    for _ in range(repeat + 1):
        for model, taken in zip(models, times, strict=True):
            start = time.perf_counter()
            model.fit(X, y)
            taken.append(time.perf_counter() - start)
    return [float(np.median(taken[1:])) for taken in times]  # the first round warms up


def relative_gap(model, X, y):
    """From the data, by the textbook: the same figure for both libraries."""
    gamma = 1.0 / (X.shape[1] * X.var())
    kernels = {"rbf": rbf_kernel, "linear": lambda X, gamma: linear_kernel(X)}
    kernels["poly"] = lambda X, gamma: polynomial_kernel(X, gamma=gamma, degree=3, coef0=0.0)
    machine = describe(model, kernels[model.kernel](X, gamma=gamma), y)
    coef = coefficients(model, machine)
    return machine.gap(coef) / abs(machine.dual(coef))


def compare(name, options, seed, repeat):
    X, y = problem(name, 2000, seed)
    ours, theirs = getattr(hinge, name)(**options), getattr(sklearn.svm, name)(**options)
    mine, peer = median_seconds([ours, theirs], X, y, repeat)
    label = f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"
    print(
        f"{label:34} {seed:4} {mine:9.4f} {peer:9.4f} {mine / peer:6.2f} {relative_gap(ours, X, y):8.1e}"
        f" {relative_gap(theirs, X, y):8.1e}",
        flush=True,
    )
    return mine / peer


def small(name, options, repeat):
    X, y = problem(name, 20, 0)
    ours, theirs = getattr(hinge, name)(**options), getattr(sklearn.svm, name)(**options)
    mine, peer = median_seconds([ours, theirs], X, y, 20 * repeat)
    label = f"20 samples: {name}({', '.join(f'{key}={value}' for key, value in options.items())})"
    print(f"{label:48} hinge {1e3 * mine:6.3f} ms, sklearn {1e3 * peer:6.3f} ms", flush=True)
    return 1e3 * mine


if __name__ == "__main__":
    sys.exit(main())
