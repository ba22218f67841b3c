"""Five small data sets for comparisons with independent computations; those of scikit-learn need no download."""

from __future__ import annotations

import numpy as np
from sklearn import datasets


def standardized(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def binary_data():
    """Return {name: (X, y)} with two classes, labels ±1 and at most 180 samples."""
    cancer, wine, iris = datasets.load_breast_cancer(), datasets.load_wine(), datasets.load_iris()
    circles, moons = datasets.make_circles(120, noise=0.2, factor=0.5, random_state=0), datasets.make_moons(
        120, noise=0.3, random_state=1
    )
    sets = {
        "breast cancer": (standardized(cancer.data)[::4], cancer.target[::4]),
        "wine": (standardized(wine.data), wine.target == 1),
        "iris": (standardized(iris.data), iris.target == 1),
        "circles": circles,
        "moons": moons,
    }
    return {name: (X, np.where(y, 1.0, -1.0)) for name, (X, y) in sets.items()}


def regression_data():
    """Return {name: (X, y)} with standardized features and targets and at most 150 samples."""
    diabetes, linnerud = datasets.load_diabetes(), datasets.load_linnerud()
    friedman = datasets.make_friedman1(120, noise=0.5, random_state=0)
    sparse = datasets.make_regression(100, 8, n_informative=3, noise=5.0, random_state=1)
    rng = np.random.default_rng(2)
    x = rng.uniform(-3, 3, size=(120, 1))
    sets = {
        "diabetes": (diabetes.data[::3], diabetes.target[::3]),
        "linnerud": (linnerud.data, linnerud.target[:, 0]),
        "friedman": friedman,
        "sparse linear": sparse,
        "sinc": (x, np.sinc(x[:, 0]) + 0.1 * rng.standard_t(3, size=120)),
    }
    return {name: (standardized(X), standardized(y)) for name, (X, y) in sets.items()}
