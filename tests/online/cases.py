"""Estimators, kernels and streams for the tests of the online learners."""

import numpy as np

import hinge
from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, Sigmoid

KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(degree=2, gamma=0.5, coef0=1.0),
    "rbf": RBF(0.7),
    "sigmoid": Sigmoid(gamma=0.2, coef0=0.1),
    "laplacian": Laplacian(0.5),
    "bspline": BSpline(degree=3, gamma=0.3),
    "sum": RBF(0.5) + 0.1 * Linear(),
}

#: Estimators for all losses.
ESTIMATORS = {
    "hinge": lambda **o: hinge.OnlineSVC(loss="hinge", **o),
    "perceptron": lambda **o: hinge.OnlineSVC(loss="perceptron", **o),
    "free perceptron": lambda **o: hinge.OnlineSVC(loss="perceptron", regularization=0.0, **o),
    "logistic": lambda **o: hinge.OnlineSVC(loss="logistic", **o),
    "exponential": lambda **o: hinge.OnlineSVC(loss="exponential", **{**o, "eta0": min(o.get("eta0", 0.1), 0.1)}),
    "squared hinge": lambda **o: hinge.OnlineSVC(loss="squared_hinge", **{**o, "eta0": min(o.get("eta0", 0.1), 0.1)}),
    "modified huber": lambda **o: hinge.OnlineSVC(loss="modified_huber", **o),
    "smoothed hinge": lambda **o: hinge.OnlineSVC(loss="smoothed_hinge", **o),
    "nu margin": lambda **o: hinge.OnlineNuSVC(nu=0.3, **o),
    "squared": lambda **o: hinge.OnlineSVR(loss="squared", **o),
    "tube": lambda **o: hinge.OnlineSVR(epsilon=0.2, **o),
    "nu tube": lambda **o: hinge.OnlineSVR(nu=0.3, **o),
    "huber": lambda **o: hinge.OnlineSVR(loss="huber", sigma=0.5, **o),
    "nu huber": lambda **o: hinge.OnlineSVR(loss="huber", sigma=0.5, nu=0.3, **o),
    "squared tube": lambda **o: hinge.OnlineSVR(loss="squared_epsilon_insensitive", epsilon=0.1, **o),
    "novelty": lambda **o: hinge.OnlineNoveltyDetector(nu=0.3, **o),
}
CLASSIFIERS = (
    "hinge", "perceptron", "free perceptron", "logistic", "exponential", "squared hinge", "modified huber",
    "smoothed hinge", "nu margin",
)  # fmt: skip
RATES = {
    "constant": {"eta0": 0.1},
    "root": {"learning_rate": "invscaling", "eta0": 0.3},
    "inverse": {"learning_rate": "invscaling", "eta0": 1.0, "power_t": 0.9},
}


def stream(n, d=3, seed=0):
    """(X, labels ±1, real targets)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    values = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    return X, np.where(values > 0, 1, -1), values


def learn(model, name, X, labels, values):
    """Call partial_fit with the targets of this estimator."""
    if name == "novelty":
        return model.partial_fit(X)
    if name in CLASSIFIERS:
        return model.partial_fit(X, labels, classes=[-1, 1] if len(set(labels)) < 3 else None)
    return model.partial_fit(X, values)
