"""`save_libsvm_model` and `load_libsvm_model`: estimators and model files of LIBSVM and LIBLINEAR."""

from __future__ import annotations

import os
from typing import Any

from sklearn.pipeline import Pipeline

from hinge.estimators import LinearOneClassSVM, LinearSVC, LinearSVR
from hinge.io.errors import ModelFileError
from hinge.io.libsvm_models import kernel_estimators, linear_estimators, training_data
from hinge.io.libsvm_models.liblinear import read_liblinear, write_liblinear
from hinge.io.libsvm_models.text import read_model, write_model
from hinge.io.replacement import Path
from hinge.validation import check_integer

LINEAR = (LinearSVC, LinearSVR, LinearOneClassSVM)


def save_libsvm_model(model: Any, path: Path) -> None:
    """Write a fitted estimator as a model file of LIBSVM, or of LIBLINEAR if it is a linear estimator.

    The programs svm-predict and predict of these libraries load the file and give the same predictions. Numbers are
    written with all their digits.

    Parameters
    ----------
    model : estimator
        A fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, or IncrementalSVC, IncrementalSVR or IncrementalOneClassSVM,
        with a linear, polynomial, RBF, sigmoid or precomputed kernel; or LinearSVC, LinearSVR or LinearOneClassSVM.
        Labels must be integers.
    path : str or path
        An existing file is replaced once the new one is complete.

    Raises
    ------
    TypeError
        If the formats cannot hold the model, because of its type, kernel or labels.

    Notes
    -----
    The files contain the functions, but not C, ν, ε or the loss: a loss that the libraries do not have is written as
    C-SVC, ε-SVR or L2-loss. One-class models of the libraries regard samples with a decision value of exactly zero as
    outliers, those of hinge as inliers.

    Examples
    --------
    >>> import os, tempfile, hinge
    >>> path = os.path.join(tempfile.mkdtemp(), "svc.model")
    >>> model = hinge.SVC(C=10.0, gamma=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> hinge.io.save_libsvm_model(model, path)
    >>> hinge.io.load_libsvm_model(path).predict([[0.5], [2.5]]).tolist()
    [-1, 1]
    """
    if isinstance(model, Pipeline):
        raise TypeError(
            "model is a Pipeline, but files of LIBSVM and LIBLINEAR hold no scaling or other steps: pass the last "
            "step, model[-1], and scale the data with svm-scale, or use hinge.save, to_onnx or to_c"
        )
    if type(model) in kernel_estimators.SVM_TYPE:
        write_model(kernel_estimators.record_of(model), path)
    elif type(model) in LINEAR:
        write_liblinear(linear_estimators.record_of(model), path)
    else:
        known = ", ".join(cls.__name__ for cls in (*kernel_estimators.SVM_TYPE, *LINEAR))
        raise TypeError(
            f"model is a {type(model).__name__}, which LIBSVM and LIBLINEAR do not have: supported are {known}"
        )


def load_libsvm_model(
    path: Path, X: Any = None, y: Any = None, *, n_features: int | None = None, **parameters: Any
) -> Any:
    """Load a model file of LIBSVM or LIBLINEAR as a fitted estimator.

    Parameters
    ----------
    path : str or path
    X, y : array-like, optional
        The training data (kernel values for a precomputed kernel). They are needed for `certify`, because the file
        contains neither the positions of the support vectors nor the dual point of a linear model.
    n_features : int, optional
        Number of features, if it is larger than the largest index in the file. By default that of X.
    **parameters
        Parameters of the training that the file does not contain, such as ``C=10``, ``nu=0.2``, ``epsilon=0.01`` or
        ``class_weight={1: 2.0}``. The defaults of the estimators are those of LIBSVM. Only `certify` and a new `fit`
        use them.

    Returns
    -------
    estimator
        SVC, NuSVC, OneClassSVM, SVR or NuSVR; LinearSVC, LinearSVR or LinearOneClassSVM. Dense and sparse samples are
        accepted. With probability estimates, `probA_` and `probB_` belong to the sorted classes.

    Raises
    ------
    ModelFileError
        If the file is malformed; the message states the line.
    ValueError
        If a support vector is not among the samples X, or if the parameters contradict the coefficients.

    Notes
    -----
    If several classes have the same number of votes, the first of the sorted classes is predicted; svm-predict
    predicts the first class in the order of the file, as does `hinge-svm-predict`.

    Examples
    --------
    A model that LIBSVM trained with ``svm-train -c 10 train.txt``, and its distance from the optimum:

    >>> X, y = hinge.io.load_libsvm("train.txt")  # doctest: +SKIP
    >>> model = hinge.io.load_libsvm_model("train.txt.model", X, y, C=10)  # doctest: +SKIP
    >>> model.certify(X, y).relative_gap  # doctest: +SKIP
    """
    if n_features is not None:
        check_integer("n_features", n_features, 1)
    width = n_features or (0 if X is None else _width(X))
    name = os.fspath(path)
    is_linear = _is_liblinear(name)
    record: Any = read_liblinear(path, width) if is_linear else read_model(path, width)
    found = _features(record, is_linear)
    if width and found > width:
        raise ValueError(f"{name} has {found} features, but {width} were expected")
    try:
        if is_linear:
            estimator = linear_estimators.estimator_of(record, parameters)
        else:
            estimator = kernel_estimators.estimator_of(record, parameters, name)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    if X is not None and is_linear:
        linear_estimators.complete(estimator, X, y)
    elif X is not None:
        training_data.complete(estimator, X, y, name)
    return estimator


def _width(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X[0])
    return int(shape[1])


def _features(record: Any, is_linear: bool) -> int:
    if is_linear:
        return int(record.weights.shape[1])
    return 0 if record.is_precomputed else int(record.vectors.shape[1])


def _is_liblinear(path: str) -> bool:
    """Whether a file is a model of LIBLINEAR; raise a `ModelFileError` if it is not a model of LIBSVM either."""
    with open(path, "rb") as file:
        words = file.read(64).split()
    if not words or words[0] not in (b"svm_type", b"solver_type"):
        raise ModelFileError(
            f"{path}, line 1: a model file of LIBSVM starts with 'svm_type', one of LIBLINEAR with 'solver_type'"
        )
    return words[0] == b"solver_type"
