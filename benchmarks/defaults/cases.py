"""Default estimators on the data that new users try first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from sklearn import datasets

Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Case:
    """An estimator of both libraries, its parameters, and data."""

    name: str
    estimator: str
    data: Callable[[], Data]
    parameters: dict[str, Any] = field(default_factory=dict)


@cache
def blobs(n: int, d: int = 20) -> Data:
    return datasets.make_classification(n, d, random_state=0)


@cache
def line(n: int, d: int = 5) -> Data:
    return datasets.make_regression(n, d, noise=1.0, random_state=0)


def kernel_matrix() -> Data:
    X, y = blobs(300)
    squares = ((X[:, None] - X[None, :]) ** 2).sum(axis=2)
    return np.exp(-squares / (X.shape[1] * X.var())), y


def load(name: str) -> Callable[[], Data]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


iris, wine, digits = load("iris"), load("wine"), load("digits")
diabetes, cancer = load("diabetes"), load("breast_cancer")

CASES = (
    Case("SVC, iris", "SVC", iris),
    Case("SVC, iris, C=1e9, gamma=1e-5", "SVC", iris, dict(C=1e9, gamma=1e-5)),
    Case("SVC, iris, linear", "SVC", iris, dict(kernel="linear")),
    Case("SVC, wine", "SVC", wine),
    Case("SVC, breast_cancer", "SVC", cancer),
    Case("SVC, breast_cancer, poly", "SVC", cancer, dict(kernel="poly")),
    Case("SVC, digits", "SVC", digits),
    Case("SVC, digits, linear", "SVC", digits, dict(kernel="linear")),
    Case("SVC, digits, poly", "SVC", digits, dict(kernel="poly")),
    Case("SVC, 100 x 20", "SVC", lambda: blobs(100)),
    Case("SVC, 1000 x 20", "SVC", lambda: blobs(1000)),
    Case("SVC, 1000 x 20, linear", "SVC", lambda: blobs(1000), dict(kernel="linear")),
    Case("SVC, 5000 x 20", "SVC", lambda: blobs(5000)),
    Case("SVC, precomputed, 300", "SVC", kernel_matrix, dict(kernel="precomputed")),
    Case("NuSVC, iris", "NuSVC", iris),
    Case("NuSVC, wine, nu=0.2", "NuSVC", wine, dict(nu=0.2)),
    Case("NuSVC, 1000 x 20", "NuSVC", lambda: blobs(1000)),
    Case("SVR, diabetes", "SVR", diabetes),
    Case("SVR, diabetes, C=100", "SVR", diabetes, dict(C=100.0)),
    Case("SVR, 500 x 5, linear", "SVR", lambda: line(500), dict(kernel="linear")),
    Case("SVR, 2000 x 5", "SVR", lambda: line(2000)),
    Case("NuSVR, diabetes", "NuSVR", diabetes),
    Case("OneClassSVM, iris", "OneClassSVM", iris),
    Case("OneClassSVM, breast_cancer", "OneClassSVM", cancer),
    Case("OneClassSVM, breast_cancer, linear", "OneClassSVM", cancer, dict(kernel="linear")),
    Case("LinearSVC, iris", "LinearSVC", iris),
    Case("LinearSVC, breast_cancer", "LinearSVC", cancer),
    Case("LinearSVC, digits", "LinearSVC", digits),
    Case("LinearSVR, diabetes", "LinearSVR", diabetes),
    Case("LinearSVR, 2000 x 5", "LinearSVR", lambda: line(2000)),
)
