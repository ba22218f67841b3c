"""Selection of rows, and the kernels of full conformal prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.estimators.common.validation import n_rows, take
from hinge.estimators.incremental.removal import estimator_kernel
from hinge.kernels import FunctionKernel, Kernel, Precomputed

#: Largest number of new samples that are in a window at the same time.
MAX_NEW_SAMPLES = 64


def indexable(X: Any) -> Any:
    """Return X as an array, a sparse matrix with rows that can be selected, or a DataFrame."""
    if sp.issparse(X):
        return X.tocsr()
    return X if isinstance(X, np.ndarray) or hasattr(X, "iloc") else np.asarray(X)


def select_rows(X: Any, rows: NDArray[np.intp] | slice) -> Any:
    """Return rows of an array, sparse matrix or DataFrame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def sample_blocks(X: Any) -> Iterator[Any]:
    """Return the rows of X in blocks of at most MAX_NEW_SAMPLES."""
    for first in range(0, n_rows(X), MAX_NEW_SAMPLES):
        yield take(X, np.arange(first, min(first + MAX_NEW_SAMPLES, n_rows(X))))


def kernel_with_formula(estimator: Any) -> Kernel:
    """Return the kernel of an estimator; raise a ValueError if new samples have no kernel values."""
    kernel = estimator_kernel(estimator)
    if isinstance(kernel, Precomputed | FunctionKernel):
        raise ValueError(f"kernel={estimator.kernel!r} has no formula for new samples; use a kernel of hinge.kernels")
    return kernel
