"""Selection of rows, sizes of calibration parts, and the kernels of full conformal prediction."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier

from hinge.estimators.common.validation import n_rows, take
from hinge.estimators.incremental.removal import estimator_kernel
from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.matrices import check_sparse
from hinge.validation import check_integer, check_number

#: Largest number of new samples that are in a window at the same time.
MAX_NEW_SAMPLES = 64


def indexable(X: Any) -> Any:
    """Return X as an array, a sparse matrix with rows that can be selected, or a DataFrame."""
    if sp.issparse(X):
        check_sparse(X)
        return X.tocsr()
    X = X if isinstance(X, np.ndarray) or hasattr(X, "iloc") else np.asarray(X)
    n_rows(X)  # raises a TypeError if X has no rows
    return X


def select_rows(X: Any, rows: NDArray[np.intp] | slice) -> Any:
    """Return rows of an array, sparse matrix or DataFrame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def sample_blocks(X: Any) -> Iterator[Any]:
    """Return the rows of X in blocks of at most MAX_NEW_SAMPLES."""
    for first in range(0, n_rows(X), MAX_NEW_SAMPLES):
        yield take(X, np.arange(first, min(first + MAX_NEW_SAMPLES, n_rows(X))))


def check_calibration_size(size: Any, n: int, smallest: int = 1) -> int:
    """Return the number of calibration samples among n.

    Raise unless both parts have at least `smallest` samples: one, or one of each class.
    """
    check_number("calibration_size", size, 0.0, open_low=True)
    if size >= 1 and size != int(size):
        raise ValueError(f"calibration_size={size!r} must be a share between 0 and 1, or a number of samples")
    count = ceil(size * n) if size < 1 else int(size)
    if (isinstance(size, float) and size == 1.0) or not smallest <= count <= n - smallest:
        each = "one sample" if smallest == 1 else f"one sample of each of the {smallest} classes"
        raise ValueError(
            f"calibration_size={size!r} must leave at least {each} for training and for calibration, but X has {n} "
            f"{'sample' if n == 1 else 'samples'}"
        )
    return count


def check_folds(cv: Any, n: int) -> None:
    """Raise unless n samples can be divided into `cv` folds."""
    check_integer("cv", cv, 2)
    if cv > n:
        samples = "1 sample" if n == 1 else f"{n} samples"
        raise ValueError(f"cv={cv} needs at least {cv} samples, but X has {samples}; use fewer folds")


def check_regressor(estimator: Any) -> None:
    """Raise if the estimator is a classifier, whose labels have no residuals."""
    if is_classifier(estimator):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, which is a classifier; intervals need a regressor. Use "
            "ConformalClassifier for sets of classes"
        )


def kernel_with_formula(estimator: Any) -> Kernel:
    """Return the kernel of an estimator; raise a ValueError if new samples have no kernel values."""
    kernel = estimator_kernel(estimator)
    if isinstance(kernel, Precomputed | FunctionKernel):
        raise ValueError(f"kernel={estimator.kernel!r} has no formula for new samples; use a kernel of hinge.kernels")
    return kernel
