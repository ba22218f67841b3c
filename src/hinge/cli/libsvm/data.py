"""Training and test data of the commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.cli.libsvm.command import CommandError
from hinge.cli.libsvm.options import TrainOptions
from hinge.io.libsvm import LibsvmRows, read_rows
from hinge.io.libsvm_models.record import make_libsvm_kernel
from hinge.io.libsvm_models.text import has_few_zeros
from hinge.kernels import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Training data.

    Attributes
    ----------
    X : array or CSR matrix
        The samples, or the matrix of a precomputed kernel.
    y : ndarray
    kernel : Kernel
    serial : ndarray of int or None
        Serial numbers of the samples of a precomputed kernel.
    """

    X: Any
    y: Array
    kernel: Kernel
    serial: NDArray[np.int64] | None = None

    def vectors(self, rows: NDArray[np.intp]) -> Any:
        """Support vectors for a model file: samples, or their serial numbers."""
        return self.X[rows] if self.serial is None else self.serial[rows]


def read_training_data(options: TrainOptions) -> Samples:
    """Read the training file; the default of gamma is 1 / number of features."""
    precomputed = options.kernel_type == "precomputed"
    rows = read_file(options.data_file, zero_based=precomputed)
    y = rows.column("label")
    if len(y) == 0:
        raise CommandError(f"{options.data_file} contains no samples")
    if precomputed:
        serial, values = split_serials(rows.sparse(rows.width), options.data_file)
        if np.any((serial < 1) | (serial > values.shape[1])):
            line = int(np.flatnonzero((serial < 1) | (serial > values.shape[1]))[0]) + 1
            raise CommandError(
                f"Wrong input format: sample_serial_number out of range ({options.data_file}, sample {line})"
            )
        matrix = np.ascontiguousarray(values[:, serial - 1].toarray())
        return Samples(matrix, y, make_libsvm_kernel("precomputed", 0, 0.0, 0.0), serial)
    width = max(rows.width, 1)  # samples without features: kernels need one column
    gamma = options.gamma if options.gamma is not None else 1.0 / width
    kernel = make_libsvm_kernel(options.kernel_type, options.degree, gamma, options.coef0)
    X = rows.dense(width) if has_few_zeros(rows.n_values, len(y), width) else rows.sparse(width)
    return Samples(X, y, kernel)


def read_file(path: str, zero_based: bool = False) -> LibsvmRows:
    """Read samples and labels; errors are those of the commands."""
    try:
        return read_rows(path, zero_based=zero_based)
    except OSError as error:
        raise CommandError(f"can't open input file {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise CommandError(f"Wrong input format: {error}") from None


def split_serials(X: Any, path: str) -> tuple[NDArray[np.int64], Any]:
    """Split data of a precomputed kernel into the serial numbers in column 0 and the kernel values."""
    if X.shape[1] == 0 or np.any(np.diff(X.indptr) == 0) or np.any(X.indices[X.indptr[:-1]] != 0):
        raise CommandError(f"Wrong input format: first column must be 0:sample_serial_number ({path})")
    return X.data[X.indptr[:-1]].astype(np.int64), X[:, 1:]
