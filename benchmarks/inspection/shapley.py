"""Measure exact Shapley values and compare them with KernelExplainer of shap.

    python benchmarks/inspection/shapley.py [--save]

Requires shap. hinge uses two threads.
"""

from __future__ import annotations

import argparse
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.inspection import shapley_values
from hinge.kernels import RBF, Laplacian, Polynomial


def additivity(values: np.ndarray, base: float, predicted: np.ndarray) -> float:
    """Largest difference between the sum of the values and the decision value, relative to the largest one."""
    return float(np.abs(values.sum(axis=1) + base - predicted).max() / np.abs(predicted).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = []
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = hinge.SVC(C=10.0, gamma=0.02).fit(X, y)
    rows, background = X[:10], X[100:150]
    shapley_values(model, rows, background)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        found = shapley_values(model, rows, background, n_jobs=2)
        seconds.append(time.perf_counter() - start)
    others = []
    for options in ({}, {"l1_reg": 0}):  # by default a feature selection sets all but ten values to zero
        start = time.perf_counter()
        explainer = shap.KernelExplainer(model.decision_function, background)
        estimate = explainer.shap_values(rows, silent=True, **options)
        others.append((time.perf_counter() - start, float(np.abs(estimate - found.values).max())))
    lines += [
        f"breast_cancer, {X.shape[1]} features, {len(model.support_)} support vectors, 50 background samples, 10 rows",
        f"  hinge: {np.median(seconds):.4f} s (median of 5), additivity "
        f"{additivity(found.values, found.base_values, model.decision_function(rows)):.1e}",
        *(
            f"  KernelExplainer {title}: {other:.2f} s, {other / np.median(seconds):.0f} times as long; largest error "
            f"{error:.2g}, largest value {np.abs(found.values).max():.2g}"
            for title, (other, error) in zip(("at its defaults", "without feature selection"), others, strict=True)
        ),
    ]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 784))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    cases = {
        "RBF, gamma='scale'": RBF(1 / X.shape[1] / X.var()),
        "RBF, gamma=0.05, about 40 times larger": RBF(0.05),
        "Laplacian, gamma=1/784": Laplacian(1 / 784),
        "polynomial of degree 3": Polynomial(3, 1 / 784, 1.0),
    }
    for name, kernel in cases.items():
        model = hinge.SVR(C=10.0, epsilon=0.0, kernel=kernel).fit(X, y)
        start = time.perf_counter()
        found = shapley_values(model, X[:10], X[100:200], n_jobs=2)
        lines += [
            f"normal data, 784 features, {len(model.support_)} support vectors, 100 background samples, 10 rows, "
            f"{name}: {time.perf_counter() - start:.1f} s, additivity "
            f"{additivity(found.values, found.base_values, model.predict(X[:10])):.1e}"
        ]
    lines += [
        "",
        f"{date.today()}, hinge {version('hinge')}, shap {version('shap')}; two threads",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
