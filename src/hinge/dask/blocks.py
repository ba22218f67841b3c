"""Blocks: the validated rows of one partition, and the conversion of Dask collections to tasks that compute them.

A block is the result of a task whose inputs are the tasks of the collections. Dask therefore recomputes the blocks of a
lost worker from their source. No block is sent to or from the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from hinge.estimators.common.validation import FLOATS, class_labels, real_targets
from hinge.kernels.samples import canonical
from hinge.matrices import check_sparse
from hinge.validation import check_sample_weight, is_finite, nonfinite

#: Type of the targets: class labels, or real numbers.
Targets = Literal["labels", "numbers"]


@dataclass(frozen=True)
class Block:
    """The rows of one partition with positive weight.

    Attributes
    ----------
    X : ndarray or csr_matrix
        In C order, float32 or float64, without NaN or infinity.
    y, weight : ndarray
    rows : int
        Number of rows of the partition, including those of weight zero.
    names : tuple of str or None
        Columns of a DataFrame.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64]
    rows: int
    names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])


def partition_tasks(X: Any, y: Any, sample_weight: Any, targets: Targets, label: str) -> list[Delayed]:
    """Return one task per partition, which computes its `Block`.

    Parameters
    ----------
    X : dask Array, DataFrame
        Partitioned by rows. Blocks of an array may be CSR matrices, and chunk sizes may be unknown.
    y, sample_weight : dask Array, Series or None
        With the partitions of X, or an ndarray if the chunk sizes of X are known.
    targets : {"labels", "numbers"}
    label : str
        Prefix of the names of the tasks.
    """
    parts = row_tasks(X, "X")
    columns = [column_tasks(y, "y", X, len(parts)), column_tasks(sample_weight, "sample_weight", X, len(parts))]
    return [
        delayed(make_block, pure=False)(i, *each, targets, dask_key_name=f"{label}-block-{i}")
        for i, each in enumerate(zip(parts, *columns, strict=True))
    ]


def row_tasks(X: Any, name: str) -> list[Delayed]:
    """Return the tasks that compute the partitions of a two-dimensional collection."""
    if not is_dask_collection(X):
        raise TypeError(
            f"{name} must be a Dask array or DataFrame, not {type(X).__name__}; convert it with "
            "dask.array.from_array, or train on data in memory with the estimators of hinge"
        )
    if not isinstance(X, da.Array):  # a DataFrame
        return list(X.to_delayed())
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (samples × features), got {X.ndim}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def column_tasks(values: Any, name: str, X: Any, count: int) -> list[Any]:
    """Return the tasks that compute the partitions of a column with the row partitions of X; Nones for None."""
    if values is None:
        return [None] * count
    known = isinstance(X, da.Array) and not np.isnan(X.shape[0])
    if not is_dask_collection(values):
        if not known:
            raise TypeError(
                f"{name} must be a Dask collection with the partitions of X, not {type(values).__name__}, because the "
                "sizes of the partitions of X are not known; call X.compute_chunk_sizes() first to pass an array"
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got {values.ndim}")
        if known and not np.isnan(values.shape[0]):
            if values.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, but {name} has {values.shape[0]}")
            values = values.rechunk({0: X.chunks[0]})
    tasks = list(np.ravel(values.to_delayed()))
    if len(tasks) != count:
        raise ValueError(
            f"{name} has {len(tasks)} partitions, but X has {count}; repartition them such that both have the "
            "same rows in every partition"
        )
    return tasks


# ---- tasks ----------------------------------------------------------------------------------------------------------


def make_block(index: int, X: Any, y: Any, sample_weight: Any, targets: Targets) -> Block:
    """Validate the rows of partition `index`, and leave out those of weight zero."""
    try:
        samples, names = as_samples(X)
        n = int(samples.shape[0])
        labels = np.ones(n) if y is None else as_column(y, targets)
        if len(labels) != n:
            raise ValueError(f"X has {n} rows, but y has {len(labels)}; both must have the same partitions")
        weight = np.ones(n)
        if sample_weight is not None and n:
            given = np.asarray(sample_weight, dtype=np.float64).ravel()
            # a partition may contain weights of zero only
            weight = check_sample_weight(given, n) if given.any() or len(given) != n else given
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {index}: {error}") from None
    kept = np.flatnonzero(weight > 0)
    if len(kept) < n:
        samples, labels, weight = samples[kept], labels[kept], weight[kept]
    return Block(samples, labels, weight, n, names)


def as_samples(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return the rows of a partition as an array or CSR matrix of finite floats, and the names of the columns."""
    names = None
    if hasattr(X, "columns"):  # a pandas DataFrame
        names, X = tuple(map(str, X.columns)), X.to_numpy(dtype=np.float64)
    if sp.issparse(X):
        check_sparse(X)
        X = X.tocsr()
        if X.dtype not in FLOATS:
            X = X.astype(np.float64)
        X = canonical(X)
        if not is_finite(X.data):
            raise ValueError(nonfinite(X, "X"))
        return X, names
    X = np.asarray(X)
    X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype in FLOATS else np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples × features), got shape {X.shape}")
    if not is_finite(X):
        raise ValueError(nonfinite(X, "X"))
    return X, names


def as_column(y: Any, targets: Targets) -> NDArray[Any]:
    """Return labels or targets of a partition as an array; categories become their values."""
    values = np.asarray(y)
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if not values.size:
        return values.ravel().astype(np.float64)
    return class_labels("fit", values, len(values)) if targets == "labels" else real_targets("fit", values, len(values))
