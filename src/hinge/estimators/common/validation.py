"""Validation of the parameters and training data of estimators.

`check_parameters` compares parameters with their rules (`hinge.estimators.common.rules`). `validate_training_data` and
`validate_classification` turn user arrays into `TrainingData`. Checks that do not need scikit-learn are in
`hinge.validation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, compute_class_weight
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from hinge.estimators.common.rules import Rule
from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.kernels.samples import all_finite
from hinge.matrices import check_kernel_names, check_sparse, check_symmetric, column_names
from hinge.problems import Array
from hinge.validation import as_floats, as_rows, check_sample_weight, nonfinite, too_large

#: Types of X that are used without conversion; others become the first one.
FLOATS = [np.float64, np.float32]

#: Larger arrays are checked for NaN and infinity by the compiled core, which needs no array of flags.
MAX_MASK_SIZE = 1 << 20

#: Error of functions that need the training data of an estimator which was loaded from a file of another library.
LACKS_TRAINING_DATA = (
    "this model was loaded from a file of LIBSVM or LIBLINEAR, which does not contain the solution of the dual problem "
    "for the training samples: load it with its training data, load_libsvm_model(path, X, y)"
)


# ---- parameters -----------------------------------------------------------------------------------------------------


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Raise an InvalidParameterError for the first parameter of the estimator that violates its rule.

    It is a ValueError and a TypeError, as in scikit-learn. Defaults satisfy the rules, so that only other values are
    checked.
    """
    defaults = _defaults(type(estimator))  # type: ignore[arg-type]
    for name, rule in rules.items():
        value = getattr(estimator, name)
        if name not in defaults or value is not defaults[name]:
            try:
                rule.check(name, value)
            except (TypeError, ValueError) as error:
                raise InvalidParameterError(str(error)) from None


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """Return the default values of the parameters of a class."""
    parameters = signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not Parameter.empty}


# ---- training data --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingData:
    """Validated training data without the samples of weight zero.

    Attributes
    ----------
    X : array, CSR matrix or array of objects
        The samples, or the kernel matrix of a precomputed kernel.
    y : ndarray
        Labels or targets.
    weight : ndarray
        Sample weights, all positive.
    rows : ndarray of int
        The positions of these samples among those given to `fit`.
    """

    X: Any
    y: NDArray[Any]
    weight: Array
    rows: NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.rows)


@dataclass(frozen=True)
class ClassificationData(TrainingData):
    """Training data with class labels: `classes` in sorted order and one weight per class."""

    classes: NDArray[Any]
    class_weight: Array

    def cost(self) -> Array:
        """Sample weight times class weight, one value per sample."""
        return self.weight * self.class_weight[np.searchsorted(self.classes, self.y)]


def mark_training_data(estimator: Any, *, known: bool) -> None:
    """Record whether the fitted attributes that depend on the training data are set; LIBSVM models lack them."""
    if known:
        vars(estimator).pop("_lacks_training_data", None)
    else:
        estimator._lacks_training_data = True


#: Converts y: (name of the estimator, y, number of samples) → array.
CheckTargets = Callable[[str, Any, int], NDArray[Any]]


def validate_training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    kernel: Kernel,
    check_targets: CheckTargets,
    reset: bool = True,
    n_fitted: int | None = None,
) -> TrainingData:
    """Validate X, y and the sample weights, and leave out samples of weight zero.

    Parameters
    ----------
    estimator : estimator
        Receives `n_features_in_`, `feature_names_in_` and `shape_fit_` if `reset` is True. If `reset` is False, X is
        compared with them.
    X, y, sample_weight
        The arguments of `fit`.
    kernel : Kernel
        Determines what X may be: kernel values, samples of any type for a Python function, or numbers.
    check_targets : callable
        Converts y.
    reset : bool
        False for the training data of a fitted estimator.
    n_fitted : int, optional
        The number of samples that a fitted estimator was given, if it is not that of `shape_fit_`.
    """
    X = validate_samples(estimator, X, kernel, reset)
    n = int(X.shape[0])
    y = check_targets(type(estimator).__name__, y, n)
    if len(y) != n:
        check_consistent_length(X, y)
    if isinstance(kernel, Precomputed):
        check_symmetric(X)
    if reset:
        estimator.shape_fit_ = X.shape
        mark_training_data(estimator, known=True)
    elif "_lacks_training_data" in vars(estimator):
        raise ValueError(LACKS_TRAINING_DATA)
    else:
        expected = estimator.shape_fit_[0] if n_fitted is None else n_fitted
        if n != expected:
            raise ValueError(f"X has {n} samples, but fit was given {expected}; pass the training data")
    if sample_weight is None:
        return TrainingData(X, y, np.ones(n), np.arange(n))
    weight = check_sample_weight(sample_weight, n)
    rows = np.flatnonzero(weight > 0)
    if len(rows) == n:
        return TrainingData(X, y, weight, rows)
    X = X[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else X[rows]
    return TrainingData(X, y[rows], weight[rows], rows)


def validate_classification(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    kernel: Kernel,
    class_weight: Any = None,
    reset: bool = True,
    one_class_error: str = "",
    n_fitted: int | None = None,
) -> ClassificationData:
    """Validate training data with class labels; see `validate_training_data`.

    `one_class_error` precedes the error message if sample weights leave samples of one class only.
    """
    data = validate_training_data(estimator, X, y, sample_weight, kernel, class_labels, reset, n_fitted)
    return with_classes(data, y, class_weight, None if reset else estimator, one_class_error)


def with_classes(
    data: TrainingData, y: Any, class_weight: Any, fitted: Any = None, one_class_error: str = ""
) -> ClassificationData:
    """Add the classes and their weights to training data.

    Parameters
    ----------
    data : TrainingData
    y : array-like
        The labels that `fit` was given, including those of samples of weight zero.
    class_weight : None, "balanced" or dict
    fitted : estimator, optional
        A fitted estimator, whose classes and class weights are used.
    one_class_error : str
        Precedes the error message if sample weights leave samples of one class only.
    """
    if fitted is not None:
        classes, by_class = fitted.classes_, fitted.class_weight_
        if np.shape(by_class) != (len(classes),) or by_class.dtype.kind != "f":
            raise ValueError(f"The internal representation of {type(fitted).__name__} was altered")
        if not np.isin(data.y, classes).all():
            raise ValueError(f"y has labels that fit was not given; the classes are {classes.tolist()}")
    else:
        classes = labels_of(data.y)
        if len(classes) < 2:
            raise _too_few_classes(classes, y, one_class_error)
        equal = class_weight is None
        by_class = np.ones(len(classes)) if equal else compute_class_weight(class_weight, classes=classes, y=data.y)
    return ClassificationData(data.X, data.y, data.weight, data.rows, classes, by_class)


def _too_few_classes(classes: NDArray[Any], y: Any, prefix: str) -> ValueError:
    """The error for training data with one class only; `y` are the labels that `fit` was given."""
    given = np.unique(column_or_1d(y))
    if len(given) >= 2:
        return ValueError(
            f"{prefix}Invalid input - all samples with positive weights belong to the same class; give some samples of "
            f"another of the {len(given)} classes a positive sample_weight"
        )
    return ValueError(
        f"The number of classes has to be greater than one; got {len(classes)} class: every sample is labeled "
        f"{classes.tolist()[0]!r}"
    )


# ---- targets --------------------------------------------------------------------------------------------------------


def class_labels(estimator_name: str, y: Any, n: int) -> NDArray[Any]:
    """Validate class labels of any type."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None")
    y = one_column(y)
    if y.dtype.kind not in "biuSU" and not (y.dtype.kind == "f" and np.all(y == np.rint(y))):
        check_classification_targets(y)  # whole numbers and text are labels; scikit-learn decides about other types
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a label")
    return y


def real_targets(estimator_name: str, y: Any, n: int) -> NDArray[Any]:
    """Validate targets of a regression: finite numbers."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None")
    y = one_column(y)
    try:
        y = y if y.dtype == np.float64 else as_floats(y, "y")
    except TypeError as error:
        raise ValueError(str(error)) from None
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
    return y


def no_targets(estimator_name: str, y: Any, n: int) -> NDArray[Any]:
    """Return ones in place of the targets of an outlier detector, which are ignored."""
    return np.ones(n)


def one_column(y: Any) -> NDArray[Any]:
    """Return y as a 1-D array, and y itself if it is one already."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufSU"
    return y if plain else column_or_1d(y, warn=True)


def labels_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in sorted order; two numeric labels are found without sorting y."""
    if y.dtype.kind in "iuf" and y.size:
        low, high = y.min(), y.max()
        if low < high and np.count_nonzero(y == low) + np.count_nonzero(y == high) == y.size:
            return np.array([low, high])
    return np.unique(y)


def signs_of(y: NDArray[Any], label: Any, classes: NDArray[Any]) -> Array:
    """Return 1 where y is this label and −1 elsewhere, and y itself if it holds these values already."""
    if y.dtype == np.float64 and len(classes) == 2 and tuple(classes) == (-1.0, 1.0) and label == 1.0:
        return y
    return 2.0 * (y == label) - 1.0


# ---- samples --------------------------------------------------------------------------------------------------------


def validate_samples(estimator: Any, X: Any, kernel: Kernel, reset: bool) -> Any:
    """Validate X for a kernel; with `reset` the estimator receives the number and the names of the features."""
    if isinstance(kernel, FunctionKernel):  # a kernel function may accept any sequence of samples
        X = as_rows(X)
        if n_rows(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if reset and len(getattr(X, "shape", ())) == 2:
            estimator.n_features_in_ = X.shape[1]
        return X
    if is_plain(X):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
            return X
        if X.shape[1] == estimator.n_features_in_ and "feature_names_in_" not in vars(estimator):
            return X
    elif sp.issparse(X):
        if isinstance(kernel, Precomputed):
            raise TypeError("Sparse precomputed kernels are not supported; pass K.toarray()")
    elif isinstance(kernel, Precomputed):
        check_kernel_names(X)
    return validate_features(estimator, X, reset)


def validate_features(estimator: Any, X: Any, reset: bool, dtype: Any = FLOATS) -> Any:
    """Convert X to an array or a CSR matrix of finite floats; the estimator's number and names of features apply.

    scikit-learn's checks are used. In addition, the indices of sparse matrices are checked, which must not reach
    compiled code if they are invalid, and the errors name the row and column of NaN.
    """
    if sp.issparse(X):
        check_sparse(X)
    try:
        return validate_data(estimator, X, dtype=dtype, order="C", accept_sparse="csr", reset=reset)
    except OverflowError:
        raise too_large("a number in X") from None
    except ValueError as error:
        message = str(error)
        if not message.startswith("Input X contains"):
            raise
        columns = column_names(X)
        X = X.tocsr() if sp.issparse(X) else as_floats(X, "X")
        remedy = "".join(message.partition("\n")[1:])  # scikit-learn's advice about missing values
        raise ValueError(nonfinite(X, "X", columns) + remedy) from None


def is_plain(X: Any, threads: int = 1) -> bool:
    """Whether X needs no conversion: a 2-D array of finite floats in C order, with samples and features."""
    if not (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and X.flags.c_contiguous
        and X.size > 0
    ):
        return False
    if threads > 1 or X.size > MAX_MASK_SIZE:
        return all_finite(X, threads)
    return bool(np.isfinite(X).all())


def n_rows(X: Any) -> int:
    """Number of samples of an array, a sparse matrix or a sequence."""
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if not shape:
        raise TypeError(f"X is a {type(X).__name__}, but samples are needed: an array with one row for each")
    return int(shape[0])


def take(X: Any, rows: NDArray[np.intp] | None) -> Any:
    """Return X[rows], or X itself if `rows` is None."""
    return X if rows is None else X[rows]


def row_index(rows: NDArray[np.intp] | None) -> NDArray[np.intp] | slice:
    """Return an index of the samples of a subproblem; None stands for all samples."""
    return slice(None) if rows is None else rows
