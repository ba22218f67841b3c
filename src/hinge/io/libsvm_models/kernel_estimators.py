"""Kernel estimators as LIBSVM models, and LIBSVM models as kernel estimators.

The classes of an estimator are sorted. In a LIBSVM file they have any order, the first class of a pair is positive, and
the support vectors are ordered by class.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from hinge.calibration import PairwiseSigmoids
from hinge.estimators import SVC, SVR, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR, NuSVC, NuSVR, OneClassSVM
from hinge.estimators.common.training import store_expansion
from hinge.estimators.common.validation import TrainingData, mark_training_data
from hinge.estimators.kernel.classification import KernelClassifier
from hinge.io.errors import ModelFileError
from hinge.io.libsvm_models.record import (
    CLASSIFIERS,
    REGRESSORS,
    LibsvmModel,
    libsvm_coefficients,
    pair_coefficients,
)
from hinge.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid

Array = NDArray[np.float64]

#: `svm_type` of the estimators, and the estimators of every `svm_type`.
SVM_TYPE: dict[type, str] = {
    SVC: "c_svc",
    IncrementalSVC: "c_svc",
    NuSVC: "nu_svc",
    OneClassSVM: "one_class",
    IncrementalOneClassSVM: "one_class",
    SVR: "epsilon_svr",
    IncrementalSVR: "epsilon_svr",
    NuSVR: "nu_svr",
}
ESTIMATOR: dict[str, Any] = {
    "c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR,
}  # fmt: skip

LARGEST_LABEL = 2**31 - 1  # LIBSVM stores labels as int


# ---- from an estimator ----------------------------------------------------------------------------------------------


def record_of(estimator: Any) -> LibsvmModel:
    """Return the LIBSVM model of a fitted estimator."""
    check_is_fitted(estimator)
    model, svm_type = estimator.model_, SVM_TYPE[type(estimator)]
    check_kernel(model.kernel)
    if isinstance(model.kernel, Precomputed):
        vectors: Any = estimator.support_.astype(np.int64) + 1
    else:
        vectors = model.vectors.astype(np.float64)
    if not isinstance(estimator, KernelClassifier):
        scale = getattr(estimator, "probA_", None)
        marks = getattr(estimator, "density_marks_", None)
        return LibsvmModel(
            svm_type, model.kernel, vectors, model.coefficients.T, -model.intercept, prob_a=scale, density_marks=marks
        )
    labels = integer_labels(estimator.classes_)
    calibration = vars(estimator).get("calibration_")
    probabilities = (None, None) if calibration is None else (calibration.A, calibration.B)
    counts, pairs = estimator.n_support_.astype(np.int64), model.coefficients
    if len(labels) == 2:  # positive values mean the second class, which is written first: ties are decided as by hinge
        order = np.concatenate([np.arange(counts[0], counts.sum()), np.arange(counts[0])])
        labels, counts, vectors, pairs = labels[::-1], counts[::-1], vectors[order], pairs[order]
        if calibration is not None:
            probabilities = calibration.A, -calibration.B
    elif not _is_by_class(pairs, counts):
        vectors, counts, pairs = _repeated(vectors, pairs, len(labels))
    layout = libsvm_coefficients(pairs, counts)
    return LibsvmModel(svm_type, model.kernel, vectors, layout, -model.intercept, labels, counts, *probabilities)


def check_kernel(kernel: Kernel) -> None:
    """Raise a TypeError if LIBSVM does not have the kernel."""
    known = isinstance(kernel, Linear | RBF | Sigmoid | Precomputed)
    if not known and not (isinstance(kernel, Polynomial) and float(kernel.degree).is_integer()):
        raise TypeError(
            f"the kernel {kernel} cannot be written to a LIBSVM file, which holds linear, polynomial (with an integer "
            "degree), RBF, sigmoid and precomputed kernels: use one of these, or hinge.save, to_onnx or to_c"
        )


def integer_labels(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the labels as integers; raise a TypeError if they are not."""
    is_number = classes.dtype.kind in "biuf"
    if not is_number or not all(float(c).is_integer() and abs(float(c)) <= LARGEST_LABEL for c in classes.tolist()):
        raise TypeError(
            f"the label {classes.tolist()[0]!r} cannot be written to a model file of LIBSVM or LIBLINEAR, which holds "
            "integers of 32 bits only: train with the positions of the labels, np.unique(y, return_inverse=True)[1]"
        )
    return classes.astype(np.int64)


def _is_by_class(pairs: Array, counts: NDArray[np.int64]) -> bool:
    """Whether every support vector has coefficients only in the functions of its class."""
    class_of = np.repeat(np.arange(len(counts)), counts)
    return all(
        not np.any(pairs[(class_of != i) & (class_of != j), k]) for k, (i, j) in enumerate(_pairs(len(counts)))
    )


def _repeated(vectors: Any, pairs: Array, n_classes: int) -> tuple[Any, NDArray[np.int64], Array]:
    """Repeat basis functions that all pairs share once for every class but the last.

    The function of a pair then uses the copies of its first class.
    """
    n, copies = len(pairs), n_classes - 1
    parts = [vectors] * copies
    stacked = sp.vstack(parts, format="csr") if sp.issparse(vectors) else np.concatenate(parts)
    spread = np.zeros((n * copies, pairs.shape[1]))
    for k, (i, _) in enumerate(_pairs(n_classes)):
        spread[n * i : n * (i + 1), k] = pairs[:, k]
    return stacked, np.array([n] * copies + [0]), spread


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    return list(combinations(range(n_classes), 2))


# ---- to an estimator ------------------------------------------------------------------------------------------------


def estimator_of(record: LibsvmModel, parameters: dict[str, Any], name: str) -> Any:
    """Return a fitted estimator. `support_` has the positions of the support vectors in the file.

    Parameters
    ----------
    record : LibsvmModel
    parameters : dict
        Parameters of the estimator that the file does not contain.
    name : str
        Name of the file for messages.
    """
    if record.labels is not None and len(record.labels) < 2:
        raise ModelFileError(f"{name} has one class only, which {ESTIMATOR[record.svm_type].__name__} does not support")
    estimator = ESTIMATOR[record.svm_type](**{**kernel_parameters(record.kernel), **parameters})
    estimator._check_parameters()
    if record.svm_type in CLASSIFIERS:
        _store_classifier(estimator, record)
    else:
        _store(estimator, record, np.arange(record.coefficients.shape[1]), record.coefficients.T, -record.rho)
        estimator._margin, estimator._tube = float(record.rho[0]), 0.0
        if record.svm_type == "one_class":
            estimator.offset_ = -estimator.intercept_
    mark_training_data(estimator, known=False)  # until `training_data.complete` or `fit`
    estimator._sparse = True  # LIBSVM does not distinguish dense and sparse samples: both are accepted
    if record.svm_type in REGRESSORS and record.prob_a is not None:
        estimator.probA_ = record.prob_a
    if record.density_marks is not None:
        estimator.density_marks_ = record.density_marks
    return estimator


def kernel_parameters(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of an estimator for the kernel of a LIBSVM model."""
    if isinstance(kernel, Polynomial):
        return {"kernel": "poly", "degree": int(kernel.degree), "gamma": kernel.gamma, "coef0": kernel.coef0}
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": kernel.gamma}
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    return {"kernel": "linear" if isinstance(kernel, Linear) else "precomputed"}


def _store_classifier(estimator: Any, record: LibsvmModel) -> None:
    """Set the fitted attributes of a classifier, with sorted classes."""
    assert record.labels is not None
    assert record.n_sv is not None
    place = np.argsort(record.labels)  # positions of the sorted classes in the file
    n_classes, ends = len(place), np.cumsum(record.n_sv)
    order = np.concatenate([np.arange(ends[p] - record.n_sv[p], ends[p]) for p in place])
    column = {pair: k for k, pair in enumerate(_pairs(n_classes))}
    of_file = pair_coefficients(record.coefficients, record.n_sv)[order]
    pairs, intercept, sign_b = np.empty_like(of_file), np.empty(len(column)), np.ones(len(column))
    file_column = np.empty(len(column), dtype=np.intp)
    for k, (i, j) in enumerate(column):
        first, second = int(place[i]), int(place[j])
        sign = 1.0 if first < second else -1.0
        file_column[k] = column[min(first, second), max(first, second)]
        pairs[:, k], intercept[k] = sign * of_file[:, file_column[k]], -sign * record.rho[file_column[k]]
        sign_b[k] = sign
    counts = record.n_sv[place]
    layout = libsvm_coefficients(pairs, counts)
    if n_classes == 2:  # positive values mean the second class
        pairs, intercept, layout = 0.0 - pairs, 0.0 - intercept, 0.0 - layout
    estimator.classes_ = record.labels[place]
    weight = estimator.class_weight
    is_fixed = weight is None or isinstance(weight, dict)  # "balanced" needs the labels of the samples
    estimator.class_weight_ = (
        compute_class_weight(weight, classes=estimator.classes_, y=estimator.classes_)
        if is_fixed
        else np.ones(n_classes)
    )
    estimator._margins = np.ones(len(intercept))
    if isinstance(estimator, NuSVC):
        estimator.margin_ = np.ones(len(intercept))
    _store(estimator, record, order, pairs, intercept, counts, layout)
    if record.prob_a is not None and record.prob_b is not None:
        # The first class of a pair in the file has the probability 1 / (1 + exp(A f + B)).  If it is the second one of
        # the sorted classes, f and B change their signs.
        estimator.calibration_ = PairwiseSigmoids(record.prob_a[file_column], sign_b * record.prob_b[file_column])
        estimator.probability = True


def _store(
    estimator: Any,
    record: LibsvmModel,
    order: NDArray[np.intp],
    coefficients: Array,
    intercept: Array,
    counts: Any = None,
    layout: Array | None = None,
) -> None:
    """Set the fitted attributes; `order` are the positions of the support vectors in the file."""
    total = len(order)
    if record.is_precomputed:
        positions, vectors = np.asarray(record.vectors)[order] - 1, np.empty((total, 0))
        estimator.shape_fit_ = (int(positions.max(initial=0)) + 1,) * 2
        estimator.n_features_in_ = estimator.shape_fit_[1]
    else:
        positions, vectors = np.arange(total), record.vectors[order]
        estimator.shape_fit_ = (max(total, 1), vectors.shape[1])
        estimator.n_features_in_ = vectors.shape[1]
    data = TrainingData(vectors, np.zeros(total), np.ones(total), positions)
    coefficients, intercept = np.ascontiguousarray(coefficients), np.asarray(intercept, dtype=np.float64)
    layout = coefficients.T.copy() if layout is None else layout
    counts = [total] if counts is None else counts
    store_expansion(estimator, data, record.kernel, np.arange(total), counts, coefficients, intercept, layout)
