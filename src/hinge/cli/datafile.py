"""Data files of all formats as samples: the only place where commands read data."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import zipfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Thread
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.cli.failures import CommandError, UsageError
from hinge.cli.output import label_text, open_output
from hinge.io import dump_libsvm, dump_table, iter_libsvm, load_table, map_libsvm
from hinge.io.libsvm import LibsvmRows, Source, read_rows
from hinge.io.tables import format_of
from hinge.kernels import available_bytes

#: LIBSVM data with at least this share of values other than zero become dense arrays (--storage auto).
DENSE_SHARE = 0.5

#: Estimate of the memory of a LIBSVM file relative to its size, for text and for compressed text.
MEMORY_PER_BYTE = {"": 2.0, ".gz": 8.0, ".bz2": 10.0}

#: Size of files up to which they are read while the estimators are imported.
EARLY_BYTES = 64 << 20

#: Estimators that train on files larger than memory.
MAPPED_ESTIMATORS = frozenset({"LinearSVC", "LinearSVR", "LinearOneClassSVM"})


@dataclass(frozen=True)
class Samples:
    """Samples read from a file.

    Attributes
    ----------
    X : ndarray or csr_matrix
    y : ndarray or None
        Labels or targets, if the file has them.
    name : str
        Name of the file for messages.
    feature_names : tuple of str or None
        Names of the columns of a table with a header.
    sample_weight, query_id : ndarray or None
    mapped : bool
        Whether X is a memory map of files on disk.
    target_name : str or None
        Name of the target column of a table.
    read_seconds : float or None
        Time of the reading, if it began before the command.
    """

    X: Any
    y: NDArray[Any] | None
    name: str
    feature_names: tuple[str, ...] | None = None
    sample_weight: NDArray[Any] | None = None
    query_id: NDArray[Any] | None = None
    mapped: bool = False
    target_name: str | None = None
    read_seconds: float | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """Labels or targets; an error if the file has none."""
        if self.y is None:
            raise CommandError(
                f"{self.name} has no labels: name their column with --target (tables), or add an array y (.npz)"
            )
        return self.y

    def feature_names_array(self) -> NDArray[Any]:
        """Names of the features as scikit-learn stores them."""
        return np.array(self.feature_names, dtype=object)

    def summary(self) -> str:
        """Return the numbers of samples and features as text."""
        kind = "mapped from disk" if self.mapped else "sparse" if sp.issparse(self.X) else "dense"
        return f"{self.X.shape[0]} samples, {self.X.shape[1]} features ({kind})"

    def description(self) -> dict[str, Any]:
        """Return the same for JSON."""
        n, d = map(int, self.X.shape)
        return {"file": self.name, "samples": n, "features": d, "sparse": sp.issparse(self.X), "mapped": self.mapped}


@dataclass(frozen=True)
class Expected:
    """Requirements of a model on its data: number and names of the features, and whether they must be dense."""

    n_features: int | None = None
    feature_names: Sequence[str] | None = None
    dense: bool = False

    @classmethod
    def of(cls, model: Any) -> Expected:
        """The number and the names of the features of a fitted model, and their storage."""
        names = getattr(model, "feature_names_in_", None)
        count = getattr(model, "n_features_in_", None)
        steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
        return cls(count, None if names is None else [str(name) for name in names], any(map(_needs_dense, steps)))


def _needs_dense(step: Any) -> bool:
    """Whether a fitted estimator or scaler accepts dense samples only, because it was fitted to them."""
    is_dense_model = getattr(step, "_sparse", True) is False
    return is_dense_model or getattr(step, "with_mean", False) is True or hasattr(step, "data_min_")


def data_format(arguments: Namespace, path: str) -> str:
    """Return the format of a data file: --format, or by the ending of its name."""
    if arguments.format != "auto":
        return str(arguments.format)
    if path.lower().endswith(".npz"):
        return "npz"
    return format_of(path) or "libsvm"


def read_samples(
    arguments: Namespace,
    path: str | None = None,
    *,
    expected: Expected | None = None,
    queries: bool = False,
    estimator: str | None = None,
    resources: ExitStack | None = None,
) -> Samples:
    """Read the data file of a command.

    Parameters
    ----------
    arguments : Namespace
        The parsed options for data.
    path : str, optional
        Another file than `arguments.data`, in the same format unless its ending says otherwise.
    expected : Expected, optional
        Number and names of the features of a model.
    queries : bool
        Whether query numbers are needed.
    estimator : str, optional
        The estimator that is trained: files larger than memory are mapped for those that support it.
    resources : ExitStack, optional
        Keeps the temporary directory of a map until the end of the command.
    """
    expected = expected or Expected()
    path = arguments.data if path is None else path
    kind = data_format(arguments, path)
    if kind == "libsvm":
        return _read_libsvm(arguments, path, expected, queries, estimator, resources)
    if kind == "npz":
        return _read_npz(arguments, path)
    return _read_table(arguments, path, kind, expected)


def display_name(path: str) -> str:
    """Return the name of a data file for messages."""
    return "<stdin>" if path == "-" else path


def source(path: str) -> str | IO[bytes]:
    """Return the name of a file, or standard input for "-"."""
    return sys.stdin.buffer if path == "-" else path


# ---- LIBSVM text ----------------------------------------------------------------------------------------------------


def _read_libsvm(
    arguments: Namespace,
    path: str,
    expected: Expected,
    queries: bool,
    estimator: str | None,
    resources: ExitStack | None,
) -> Samples:
    options = libsvm_options(arguments, expected)
    weight = _weights_of_file(arguments)
    if resources is not None and estimator in MAPPED_ESTIMATORS and _exceeds_memory(arguments, path):
        folder = getattr(arguments, "map", None) or resources.enter_context(tempfile.TemporaryDirectory("hinge"))
        X, y = map_libsvm(path, folder, dtype=np.float64, **options)
        return Samples(X, y, path, sample_weight=weight, mapped=True)
    if getattr(arguments, "map", None) is not None and estimator not in MAPPED_ESTIMATORS:
        raise UsageError(f"--map is for {', '.join(sorted(MAPPED_ESTIMATORS))}; {estimator} needs all data in memory")
    early, seconds = getattr(arguments, "early_reading", None), None
    if early is not None and early.is_of(path, options):
        (rows, X), seconds = early.result(), early.seconds
    else:
        rows, X = _read_dense(source(path), options, arguments, expected)
    name = display_name(path)
    if rows.n_rows == 0:
        raise CommandError(f"{name} has no samples")
    if X is None:
        X = rows.sparse(options["n_features"] or rows.width)
    qid = rows.queries() if queries else None
    return Samples(X, rows.column("label"), name, sample_weight=weight, query_id=qid, read_seconds=seconds)


def _read_dense(
    path: Source, options: dict[str, Any], arguments: Namespace, expected: Expected
) -> tuple[LibsvmRows, NDArray[Any] | None]:
    """Read a file, and make an array of its values; None if they are to be sparse."""
    rows = read_rows(path, **options)
    width = options["n_features"] or rows.width
    is_dense = _is_dense(rows.n_values / max(1, rows.n_rows * width), arguments, expected)
    return rows, rows.dense(width) if is_dense else None


class EarlyReading:
    """A data file that a thread reads while the estimators are imported."""

    def __init__(self, arguments: Namespace) -> None:
        self._path, self._options = arguments.data, libsvm_options(arguments, Expected())
        self._result: Any = None
        self.seconds = 0.0
        self._thread = Thread(target=self._read, args=(arguments,))
        self._thread.start()

    def _read(self, arguments: Namespace) -> None:
        # Nothing is imported here: two threads that import the same packages could wait for each other.
        start = time.perf_counter()
        try:
            self._result = _read_dense(self._path, self._options, arguments, Expected())
            self.seconds = time.perf_counter() - start
        except BaseException as error:
            self._result = error

    def is_of(self, path: str, options: dict[str, Any]) -> bool:
        """Whether this is the reading of a file with these options."""
        return path == self._path and options == self._options

    def result(self) -> tuple[LibsvmRows, NDArray[Any] | None]:
        """Wait for the end; return the rows, and their array if they are dense."""
        self._thread.join()
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result  # type: ignore[no-any-return]


def start_reading(arguments: Namespace) -> None:
    """Begin to read the data file of a command if it is LIBSVM text of moderate size."""
    path = arguments.data
    has_limits = any(getattr(arguments, name, None) is not None for name in ("memory", "map"))
    if path == "-" or has_limits or data_format(arguments, path) != "libsvm" or not os.path.isfile(path):
        return
    if os.path.getsize(path) <= EARLY_BYTES and os.path.splitext(path)[1] not in (".gz", ".bz2"):
        arguments.early_reading = EarlyReading(arguments)


def libsvm_options(arguments: Namespace, expected: Expected) -> dict[str, Any]:
    """Return the options of `load_libsvm` and its relatives.

    Windows line ends and a missing last line end are accepted: text that comes through a pipe has them often.
    """
    count = arguments.features or expected.n_features
    jobs = getattr(arguments, "jobs", -1)
    return {"n_features": count, "zero_based": arguments.zero_based, "strict": False, "n_jobs": jobs}


def iterate_libsvm(arguments: Namespace, expected: Expected) -> Iterator[Any]:
    """Iterate over the samples of a LIBSVM file in blocks."""
    for X, _ in iter_libsvm(source(arguments.data), **libsvm_options(arguments, expected)):
        if X.shape[0]:
            share = X.nnz / max(1, X.shape[0] * X.shape[1])
            yield X.toarray() if _is_dense(share, arguments, expected) else X


def _is_dense(share: float, arguments: Namespace, expected: Expected) -> bool:
    """Whether data with this share of values other than zero become an array."""
    if arguments.storage == "auto":
        return expected.dense or share >= DENSE_SHARE
    return bool(arguments.storage == "dense")


def _exceeds_memory(arguments: Namespace, path: str) -> bool:
    """Whether a file has to be mapped: --map is given, or its arrays are estimated to need more than the memory."""
    if path == "-":
        return False
    if arguments.map is not None:
        return True
    budget = available_bytes() if arguments.memory is None else 1e6 * arguments.memory
    factor = MEMORY_PER_BYTE.get(os.path.splitext(path)[1], MEMORY_PER_BYTE[""])
    return factor * os.path.getsize(path) > budget


def _weights_of_file(arguments: Namespace) -> NDArray[Any] | None:
    """Read the file of --sample-weight: one number per line."""
    name = getattr(arguments, "sample_weight", None)
    if name is None:
        return None
    with open(name, encoding="utf-8") as file:
        values = []
        for line, text in enumerate(file, 1):
            try:
                values.append(float(text))
            except ValueError:
                raise CommandError(f"{name}, line {line}: {text.strip()!r} is not a number") from None
    return np.array(values)


# ---- tables and arrays ----------------------------------------------------------------------------------------------


def _read_table(arguments: Namespace, path: str, kind: str, expected: Expected) -> Samples:
    table = load_table(
        source(path),
        target=arguments.target,
        features=expected.feature_names,
        drop=arguments.drop,
        sample_weight=arguments.sample_weight,
        query_id=arguments.query,
        format=kind,
        delimiter=arguments.delimiter,
        header=not arguments.no_header,
    )
    names = None if arguments.no_header else table.feature_names
    return Samples(
        table.X, table.y, display_name(path), names, table.sample_weight, table.query_id, target_name=table.target_name
    )


def _read_npz(arguments: Namespace, path: str) -> Samples:
    if path == "-":
        raise UsageError("an .npz file cannot be read from standard input; pass its name")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError, AttributeError):  # also arrays of Python objects
        raise CommandError(f"{path}: not an .npz file of numbers and text, or damaged; np.savez writes it") from None
    names = {"y": arguments.target or "y", "sample_weight": arguments.sample_weight, "query_id": arguments.query}
    for option, name in (("--target", arguments.target), ("--sample-weight", arguments.sample_weight),
                         ("--query", arguments.query)):  # fmt: skip
        if name is not None and name not in arrays:
            raise CommandError(f"{option} {name!r} is not an array of {path}; its arrays are {', '.join(arrays)}")
    parts = {role: None if name is None else arrays.get(name) for role, name in names.items()}
    return Samples(_matrix(arrays, path), parts["y"], path, None, parts["sample_weight"], parts["query_id"])


def _matrix(arrays: dict[str, Any], path: str) -> Any:
    """Return the array X, or the matrix that `scipy.sparse.save_npz` wrote."""
    if "X" in arrays:
        if arrays["X"].ndim != 2:
            raise CommandError(f"{path}: X has the shape {arrays['X'].shape}; two dimensions are needed")
        return arrays["X"]
    if {"data", "indices", "indptr", "shape"} <= set(arrays):
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        kind = bytes(arrays.get("format", np.array(b"csr")).item())
        matrix: Any = {b"csr": sp.csr_matrix, b"csc": sp.csc_matrix}.get(kind, sp.csr_matrix)
        return matrix(parts, shape=tuple(arrays["shape"])).tocsr()
    raise CommandError(
        f"{path}: it needs an array X, or a CSR matrix as data, indices, indptr and shape; its arrays are "
        f"{', '.join(arrays) or 'none'}"
    )


# ---- writing --------------------------------------------------------------------------------------------------------


def write_samples(samples: Samples, X: Any, path: str, kind: str | None = None) -> None:
    """Write samples with other features X to a data file; its format is `kind`, or determined by the ending."""
    kind = kind or ("npz" if path.lower().endswith(".npz") else format_of(path) or "libsvm")
    if kind == "npz":
        _write_npz(samples, X, path)
    elif kind == "libsvm":
        dump_libsvm(X, _numeric_labels(samples), path, query_id=samples.query_id)
    else:
        target = samples.target_name or "target"
        dump_table(X, samples.y, path, feature_names=samples.feature_names, target=target, format=kind)


def _write_npz(samples: Samples, X: Any, path: str) -> None:
    arrays: dict[str, Any] = {"X": X}
    if sp.issparse(X):
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        arrays["format"] = np.array(b"csr")
    extra = {"y": samples.y, "sample_weight": samples.sample_weight, "query_id": samples.query_id}
    arrays |= {name: value for name, value in extra.items() if value is not None}
    with open_output(path) as file:
        np.savez(file, **arrays)


def _numeric_labels(samples: Samples) -> Any:
    """Return labels as numbers, zeros for data without labels; text is an error, since LIBSVM text has numbers only."""
    if samples.y is None:
        return np.zeros(samples.X.shape[0])
    if samples.y.dtype.kind in "biuf":
        return samples.y
    raise CommandError(
        f"{samples.name} has labels that are not numbers, such as {label_text(samples.y[0])!r}; LIBSVM text holds "
        "numbers only: write .csv, .parquet or .npz"
    )
