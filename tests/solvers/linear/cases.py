"""Linear problems of all losses and intercepts, small enough for an independent solver."""

import numpy as np
from scipy import sparse

from hinge.formulations import linear_classification, linear_one_class, linear_regression
from hinge.problems import Bias

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "one_class")
BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)


def make_problem(loss, bias, C=1.0, n=60, d=5, seed=0, tube=0.1, kind="dense"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    weight = rng.uniform(0.3, 2.0, n)
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
        X[:3] = 0.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.4, X, 0.0))
    if kind == "wide":
        X = rng.normal(size=(n, 4 * n))
    if kind == "unscaled":
        X = X * 10.0 ** rng.integers(-2, 3, d)
    f = np.asarray(X[:, :2].sum(axis=1)).ravel()
    if loss == "one_class":
        return linear_one_class(X, weight, 0.3)
    if "epsilon" in loss:
        return linear_regression(X, f + rng.normal(size=n), C * weight, tube, loss, bias, 0.7)
    y = np.where(f + rng.normal(size=n) > np.median(f), 1.0, -1.0)
    return linear_classification(X, y, C * weight, loss, bias, 0.7)


def every_problem():
    """All combinations (loss, bias)."""
    return [(loss, bias) for loss in LOSSES for bias in BIASES if loss != "one_class" or bias is Bias.FREE]
