"""Small data and parameters for the five kernel estimators, by class name."""

from __future__ import annotations

import numpy as np

PARAMETERS = {
    "SVC": dict(C=2.0),
    "NuSVC": dict(nu=0.5),
    "SVR": dict(C=2.0, epsilon=0.1),
    "NuSVR": dict(C=2.0, nu=0.4),
    "OneClassSVM": dict(nu=0.3),
}
NAMES = tuple(PARAMETERS)
CLASSIFIERS = ("SVC", "NuSVC")
REGRESSORS = ("SVR", "NuSVR")


def data(name, seed=0, n=60, features=3, classes=2):
    """(X, y): overlapping classes, or a noisy function.  OneClassSVM ignores y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    if name in CLASSIFIERS:
        y = np.arange(n) % classes
        X[:, 0] += 2.0 * y
        X[:, 1] += 2.0 * (y == 1)
    else:
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y


def values(model, X):
    """Decision values, or predictions of a regression estimator."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict(X)
