"""Small benchmark data sets from a folder `shared/data` next to the repository, as cases for comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from .agreement import Case

BINARY = (
    "australian",
    "breast_cancer",
    "colon_cancer",
    "diabetes",
    "fourclass",
    "german_numer",
    "heart",
    "ionosphere",
    "liver_disorders",
    "pima_raw",
    "rcv1_small",
    "sonar",
    "splice",
)
MULTICLASS = ("glass", "iris", "svmguide2", "vehicle", "vowel", "wine")
REGRESSION = ("beer", "boston_raw", "diabetes_progression", "housing")


def data_folder():
    """The folder with the data, or None if it does not exist."""
    repository = Path(__file__).resolve().parents[2]
    folder = repository.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def load(name):
    """(X, y) of the training part in float64; sparse data stay sparse."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as arrays:
        y = arrays["y"]
        if "X" in arrays:
            return np.asarray(arrays["X"], dtype=np.float64), y
        pieces = tuple(arrays[f"X_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(pieces, shape=tuple(arrays["X_shape"])).astype(np.float64), y


def small_cases():
    """Data sets with n ≤ 1000, for every kind of estimator.

    Of several classes, the largest is separated from the rest. Labels are used as regression targets too, so that
    regression is tested on all X.
    """
    if data_folder() is None:
        return []
    cases = []
    for name in BINARY + MULTICLASS + REGRESSION:
        X, y = load(name)
        gamma = 1.0 / (X.shape[1] * (X.var() if not sparse.issparse(X) else _variance(X)))
        rbf = dict(kernel="rbf", gamma=float(gamma))
        if name in REGRESSION:
            labels, target = None, y.astype(float)
        else:
            classes, counts = np.unique(y, return_counts=True)
            labels = (y == classes[np.argmax(counts)]).astype(int)
            target = 2.0 * labels - 1.0
        spread = float(target.std())
        if labels is not None:
            nu = 0.4 * 2 * min(labels.mean(), 1 - labels.mean())
            cases += [Case(name, "SVC", X, labels, None, rbf | dict(C=C)) for C in (1.0, 100.0)]
            cases += [Case(name, "NuSVC", X, labels, None, rbf | dict(nu=nu))]
        cases += [
            Case(name, "SVR", X, target, None, rbf | dict(C=10.0 * spread, epsilon=0.1 * spread)),
            Case(name, "NuSVR", X, target, None, rbf | dict(C=spread, nu=0.3)),
            Case(name, "OneClassSVM", X, target, None, rbf | dict(nu=0.2)),
        ]
    return cases


def _variance(X):
    return X.multiply(X).mean() - X.mean() ** 2
