"""Completion of loaded models with their training data, which certificates need.

A model file does not contain the positions of the support vectors in the training data, the margins of ν-classification
and the tube of ν-regression. All of them follow from the training data.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, compute_class_weight

from hinge.estimators import NuSVC, NuSVR, OneClassSVM
from hinge.estimators.common.validation import mark_training_data
from hinge.estimators.kernel.classification import KernelClassifier
from hinge.kernels import Precomputed
from hinge.validation import check_sides

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

VALUE_TOL = 1e-7  # relative error of values in files: LIBSVM writes eight digits
BOUND_TOL = 1e-6  # coefficients may exceed their bounds by this fraction
N_PROJECTIONS = 4  # samples with equal projections on this many random vectors are regarded as equal


def complete(estimator: Any, X: Any, y: Any, name: str) -> None:
    """Set the attributes of a loaded estimator that depend on the training data X and y.

    Raises
    ------
    ValueError
        If a support vector is not among the samples, or if the parameters of the estimator contradict its coefficients.
    """
    is_precomputed = isinstance(estimator.model_.kernel, Precomputed)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    n = X.shape[0]
    labels: Any = None if isinstance(estimator, OneClassSVM) else check_targets(y, n)
    if is_precomputed:
        support = estimator.support_.astype(np.intp)
        if len(support) and support.max() >= n:
            raise ValueError(f"{name} has a support vector with serial number {support.max() + 1}, but X has {n} rows")
    else:
        support = _positions(estimator, X, labels, name)
    estimator.support_ = support.astype(np.int32)
    estimator.shape_fit_ = X.shape
    mark_training_data(estimator, known=True)
    if is_precomputed:
        estimator.n_features_in_ = X.shape[1]
    _check_bounds(estimator, labels, n, name)
    if isinstance(estimator, NuSVC):
        _set_margins(estimator, labels, name)
    elif isinstance(estimator, NuSVR):
        residuals = np.sort(np.abs(labels - estimator.predict(X)))[::-1]
        outside = int(np.floor(estimator.nu * n * (1 + 1e-12)))
        estimator._tube = float(residuals[outside]) if outside < n else 0.0


def check_targets(y: Any, n: int) -> Any:
    """Return labels or targets as an array; raise a ValueError if there are not `n`."""
    if y is None:
        raise ValueError("y=None: pass the labels or targets of the training data X")
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has the shape {y.shape}, but X has {n} samples: pass one label per sample")
    return y


# ---- positions of the support vectors -------------------------------------------------------------------------------


def _positions(estimator: Any, X: Any, y: Any, name: str) -> Rows:
    """Positions of the support vectors among the samples.

    Equal samples of a class are exchangeable. Among equal samples of a regression, the largest coefficients belong to
    the largest targets.
    """
    vectors, count = estimator.model_.vectors, len(estimator.support_)
    if vectors.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} was loaded with {vectors.shape[1]}: pass n_features={X.shape[1]}"
        )
    support = np.full(count, -1, dtype=np.intp)
    classes = None
    if isinstance(estimator, KernelClassifier):
        classes = np.repeat(estimator.classes_, estimator.n_support_)
    weight = estimator.model_.coefficients[:, 0]
    for members, candidates in _equal_samples(vectors, X):
        for label in [None] if classes is None else np.unique(classes[members]).tolist():
            mine = members if classes is None else members[classes[members] == label]
            rows = candidates if classes is None else candidates[y[candidates] == label]
            if len(rows) < len(mine):
                kind = "" if label is None else f" of class {label}"
                raise ValueError(
                    f"support vector {int(mine[-1]) + 1} of {name} is not among the samples{kind}: pass the samples "
                    "with which the model was trained, scaled as they were"
                )
            if classes is None and y is not None:
                mine, rows = _matched(mine, weight[mine], rows, y[rows])
            support[mine] = rows[: len(mine)]
    return support


def _matched(members: Rows, weight: Array, rows: Rows, y: Array) -> tuple[Rows, Rows]:
    """Order the support vectors and the rows of equal samples: positive coefficients belong to the largest targets."""
    members, rows = members[np.argsort(-weight, kind="stable")], rows[np.argsort(-y, kind="stable")]
    n_positive = int(np.count_nonzero(weight > 0))
    last = len(members) - n_positive
    return members, np.concatenate([rows[:n_positive], rows[len(rows) - last :]])


def _equal_samples(vectors: Any, X: Any) -> list[tuple[Rows, Rows]]:
    """Pairs of support vectors with equal values and the samples with these values, up to the digits of a file."""
    random = np.random.default_rng(0)
    directions = random.normal(size=(X.shape[1], N_PROJECTIONS))
    of_samples, of_vectors = np.asarray(X @ directions), np.asarray(vectors @ directions)
    tolerance = VALUE_TOL * np.asarray(abs(vectors) @ np.abs(directions)) + np.finfo(float).tiny
    order = np.argsort(of_samples[:, 0], kind="stable")
    sorted_values = of_samples[order, 0]
    low = np.searchsorted(sorted_values, of_vectors[:, 0] - tolerance[:, 0])
    high = np.searchsorted(sorted_values, of_vectors[:, 0] + tolerance[:, 0], side="right")
    groups: dict[bytes, list[int]] = defaultdict(list)
    candidates: dict[bytes, Rows] = {}
    for k in range(len(of_vectors)):
        near = order[low[k] : high[k]]
        rows = np.sort(near[np.all(np.abs(of_samples[near] - of_vectors[k]) <= tolerance[k], axis=1)])
        groups[rows.tobytes()].append(k)
        candidates[rows.tobytes()] = rows
    return [(np.array(members), candidates[key]) for key, members in groups.items()]


# ---- parameters -----------------------------------------------------------------------------------------------------


def _check_bounds(estimator: Any, y: Any, n: int, name: str) -> None:
    """Raise a ValueError if C or ν cannot be the values with which the model was trained."""
    coefficients = np.abs(estimator.model_.coefficients)
    if isinstance(estimator, OneClassSVM):
        found = float(coefficients.sum()) / n
        if abs(found - estimator.nu) > max(BOUND_TOL, 1 / n) * max(found, estimator.nu):
            raise ValueError(
                f"nu={estimator.nu:g} is not the value with which {name} was trained: the coefficients of the {n} "
                f"samples add up to {found * n:.6g}; pass nu={found:.6g}"
            )
        return
    if isinstance(estimator, KernelClassifier):
        estimator.class_weight_ = compute_class_weight(estimator.class_weight, classes=estimator.classes_, y=y)
    if isinstance(estimator, NuSVC):
        return
    if np.ndim(estimator.C):
        raise ValueError(f"C={estimator.C!r} must be one number: LIBSVM has the same cost above and below the function")
    bound = np.full(len(coefficients), float(estimator.C))
    if isinstance(estimator, KernelClassifier):
        bound = estimator.C * np.repeat(estimator.class_weight_, estimator.n_support_)
    elif np.ndim(getattr(estimator, "epsilon", 0.0)):
        check_sides("epsilon", estimator.epsilon, n)
    largest = float(coefficients.max(initial=0.0))
    if np.any(coefficients > bound[:, None] * (1 + BOUND_TOL)):
        raise ValueError(
            f"C={estimator.C:g} is not the value with which {name} was trained: its largest coefficient is "
            f"{largest:.6g}; pass the C of the training (and class_weight, if there were weights)"
        )


def _set_margins(estimator: Any, y: Any, name: str) -> None:
    """Set ρ of every pair, by which the coefficients are divided: they add up to νm/ρ for m samples.

    LIBSVM divides by a negative ρ as well. The signs of such a function are wrong, and it has no certificate.
    """
    counts = np.array([np.count_nonzero(y == label) for label in estimator.classes_], dtype=np.float64)
    first, second = np.triu_indices(len(counts), 1)
    sums = np.abs(estimator.model_.coefficients).sum(axis=0)
    class_of = np.repeat(np.arange(len(counts)), estimator.n_support_)
    of_first = estimator._label_sign() * estimator.model_.coefficients * (class_of[:, None] == first)
    if np.any(of_first.sum(axis=0) < 0):
        raise ValueError(
            f"nu={estimator.nu:g} of {name} is below the smallest admissible value for its kernel: the margin is not "
            "positive, and LIBSVM inverts the signs of the function; train with a larger nu or a richer kernel"
        )
    sizes = counts[first] + counts[second]
    nu = np.minimum(estimator.nu, 2 * np.minimum(counts[first], counts[second]) / sizes)
    margins = np.divide(nu * sizes, sums, out=np.zeros(len(sums)), where=sums > 0)
    estimator._margins = estimator.margin_ = margins
    estimator.equivalent_C_ = np.divide(1.0, margins, out=np.full(len(sums), np.inf), where=margins > 0)


