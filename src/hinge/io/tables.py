"""CSV and Parquet files: `load_table` and `dump_table`. They need pyarrow, the extra `tables`."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.io.libsvm import READ_BYTES, Source, decompressed, source_name
from hinge.io.progress import Watch, reading
from hinge.io.replacement import Path, replacing
from hinge.matrices import check_sparse

#: A column by its name, or by its number from 1, negative from the end.
Column = str | int

CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class Table:
    """Samples read from a table; ``X, y = table`` unpacks them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray or None
        The target column: numbers, booleans or text. None if there is no target.
    feature_names : tuple of str
        Names of the columns of X.
    sample_weight : ndarray or None
    query_id : ndarray of int64 or None
    target_name : str or None
        Name of the target column.
    """

    X: NDArray[np.float64]
    y: NDArray[Any] | None
    feature_names: tuple[str, ...]
    sample_weight: NDArray[np.float64] | None = None
    query_id: NDArray[np.int64] | None = None
    target_name: str | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


def load_table(
    path: Source,
    *,
    target: Column | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[Column] = (),
    sample_weight: Column | None = None,
    query_id: Column | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    verbose: bool = False,
) -> Table:
    """Read samples and targets from a CSV or Parquet file. Needs pyarrow (the extra `tables`).

    Parameters
    ----------
    path : str, path or binary file
        A file, also a CSV file compressed with gzip (by its ending); or an open file.
    target : str or int, optional
        The column with labels or target values: its name, or its number from 1 (negative: from the end).
    features : sequence of str, optional
        Names of the columns of X, in this order; all other columns are ignored. By default all columns of numbers or
        truth values that no other argument names; another type of column is an error.
    drop : sequence of str or int
        Columns that are not features.
    sample_weight, query_id : str or int, optional
        Columns with sample weights and query numbers.
    format : {"csv", "parquet"}, optional
        By default determined by the ending of the name.
    delimiter : str, optional
        Delimiter of a CSV file; a tab for names with the ending .tsv, else a comma.
    header : bool, default=True
        Whether the first line of a CSV file has the names of the columns; without it they are "1", "2", ...
    verbose : bool, default=False
        Whether to show a progress line with the megabytes that were read and the remaining time.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If a value is missing or not a number; the message states the line and the column.
    ImportError
        If pyarrow is not installed.

    Examples
    --------
    >>> import os, tempfile, hinge
    >>> path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("width,length,kind\\n1.5,2,rose\\n3,0.5,tulip\\n")
    >>> X, y = hinge.io.load_table(path, target="kind")
    >>> X.tolist(), y.tolist()
    ([[1.5, 2.0], [3.0, 0.5]], ['rose', 'tulip'])
    """
    with reading(source_name(path)) if verbose else nullcontext() as watch:
        reader = _reader(path, format, delimiter, header, watch)
    roles = {"target": target, "sample_weight": sample_weight, "query_id": query_id}
    special = {role: reader.position(column, role) for role, column in roles.items() if column is not None}
    left_out = {*special.values(), *(reader.position(column, "drop") for column in drop)}
    if features is None:
        positions = [j for j in range(len(reader.names)) if j not in left_out]
    else:
        positions = [reader.position(str(name), "features") for name in features]
    if not positions:
        raise ValueError(f"{reader.name} has no feature columns; its columns are {_listed(reader.names)}")
    X = np.empty((reader.rows, len(positions)))
    for k, j in enumerate(positions):
        X[:, k] = reader.numbers(j)
    weight = reader.numbers(special["sample_weight"]) if "sample_weight" in special else None
    queries = reader.integers(special["query_id"]) if "query_id" in special else None
    y = reader.labels(special["target"]) if "target" in special else None
    name = reader.names[special["target"]] if "target" in special else None
    return Table(X, y, tuple(reader.names[j] for j in positions), weight, queries, name)


def dump_table(
    X: Any,
    y: Any,
    path: Path,
    *,
    feature_names: Sequence[str] | None = None,
    target: str = "target",
    format: str | None = None,
) -> None:
    """Write samples and targets to a CSV or Parquet file. Needs pyarrow (the extra `tables`).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Written as one column per feature.
    y : array-like of shape (n_samples,) or None
        Written as the last column.
    path : str or path
        An existing file is replaced once the new one is complete.
    feature_names : sequence of str, optional
        Names of the columns; "1", "2", ... by default.
    target : str, default="target"
        Name of the column of y.
    format : {"csv", "parquet"}, optional
        By default determined by the ending of the name.
    """
    pa = _pyarrow("pyarrow")
    if sp.issparse(X):
        check_sparse(X)
    dense = np.asarray(X.toarray() if sp.issparse(X) else X)
    if dense.ndim != 2 or dense.shape[1] == 0:
        raise ValueError(f"X has shape {dense.shape}, but a table needs rows and columns")
    names = [str(j + 1) for j in range(dense.shape[1])] if feature_names is None else list(map(str, feature_names))
    columns = {name: np.ascontiguousarray(dense[:, j]) for j, name in enumerate(names)}
    if y is not None:
        if target in columns:
            raise ValueError(f"target={target!r} is also the name of a feature; pass another name")
        columns[target] = np.asarray(y)
    table = pa.table(columns)
    with replacing(path) as file:
        if (format or format_of(os.fspath(path))) == "parquet":
            _pyarrow("pyarrow.parquet").write_table(table, file)
        else:
            _pyarrow("pyarrow.csv").write_csv(table, file)


def format_of(name: str) -> str | None:
    """Return "csv" or "parquet" by the ending of a name, None for others."""
    lower = name.lower()
    return "csv" if lower.endswith(CSV_ENDINGS) else "parquet" if lower.endswith(PARQUET_ENDINGS) else None


def _pyarrow(module: str) -> Any:
    """Import a module of pyarrow, which is optional."""
    try:
        import pyarrow.csv
        import pyarrow.parquet  # local: an optional package
    except ImportError as error:
        raise ImportError(
            f"CSV and Parquet files need pyarrow ({error}): install it with pip install 'hinge[tables]'"
        ) from error
    return {"pyarrow": pyarrow, "pyarrow.csv": pyarrow.csv, "pyarrow.parquet": pyarrow.parquet}[module]


def _reader(
    path: Source, format: str | None, delimiter: str | None, header: bool, watch: Watch | None
) -> _Reader:
    name = source_name(path)
    kind = format or format_of(name)
    if kind not in ("csv", "parquet"):
        raise ValueError(f"format={format!r} of {name} must be 'csv' or 'parquet'")
    if kind == "parquet":
        return _Reader(name, _read_parquet(path, name, watch), None)
    tab = name.lower().endswith((".tsv", ".tsv.gz"))
    text = _read_bytes(path, watch)
    table = _read_csv(text, name, delimiter or ("\t" if tab else ","), header)
    return _Reader(name, table, _Lines(text, header))


def _read_bytes(path: Source, watch: Watch | None) -> bytes:
    try:
        if not isinstance(path, str | os.PathLike):
            return _content(decompressed(path), path, watch)
        with open(path, "rb") as file:
            if not os.fspath(path).lower().endswith(".gz"):
                return _content(file, file, watch)
            with gzip.GzipFile(fileobj=file) as text:
                return _content(text, file, watch)
    except (EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{source_name(path)}: the compressed file is damaged or cut off ({error})") from None


def _content(file: Any, source: Any, watch: Watch | None) -> bytes:
    """Return the rest of a file; `watch` is called with `source`, the file itself, after every block."""
    if watch is None:
        content: bytes = file.read()
        return content
    blocks = []
    while block := file.read(READ_BYTES):
        blocks.append(block)
        watch(source)
    return b"".join(blocks)


def _read_parquet(path: Source, name: str, watch: Watch | None) -> Any:
    pa, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    content = _read_bytes(path, watch)
    try:
        return parquet.read_table(pa.BufferReader(content))
    except pa.ArrowException as error:
        raise ValueError(f"{name}: not a valid Parquet file ({error})") from None


def _read_csv(text: bytes, name: str, delimiter: str, header: bool) -> Any:
    pa, csv = _pyarrow("pyarrow"), _pyarrow("pyarrow.csv")
    parse = csv.ParseOptions(delimiter=delimiter)
    for use_threads in (True, False):  # only errors of a single thread state the row
        options = csv.ReadOptions(use_threads=use_threads, autogenerate_column_names=not header)
        try:
            return csv.read_csv(pa.BufferReader(text), read_options=options, parse_options=parse)
        except pa.ArrowException as error:
            if not use_threads:
                raise ValueError(_csv_message(name, text, str(error))) from None
    raise AssertionError("the second reading returns or raises")


def _csv_message(name: str, text: bytes, reason: str) -> str:
    match = re.search(r"Row #(\d+): (.*)", reason, re.S)
    if match is None:
        return f"{name}: not a valid CSV file ({reason})"
    line = _Lines(text, header=False).line(int(match[1]) - 1)
    return f"{name}, line {line}: {match[2][:200]}"


@dataclass(frozen=True)
class _Lines:
    """Numbers of the lines of a CSV file; empty lines are skipped by its reader."""

    text: bytes
    header: bool

    def line(self, row: int) -> int:
        """Return the number of the line of a row of data, counted from 0."""
        left = row + (1 if self.header else 0)
        for number, line in enumerate(io.BytesIO(self.text), 1):
            if line.strip(b"\r\n"):
                if left == 0:
                    return number
                left -= 1
        return row + 1


class _Reader:
    """Columns of a table, converted on request."""

    def __init__(self, name: str, table: Any, lines: _Lines | None) -> None:
        self.name, self.table, self.lines = name, table, lines
        header = lines is None or lines.header
        self.names = table.column_names if header else [str(j + 1) for j in range(table.num_columns)]
        self.rows = table.num_rows
        if self.rows == 0:
            raise ValueError(f"{name} has no rows of data")

    def position(self, column: Column, role: str) -> int:
        """Return the position of a column, given by its name or number."""
        if isinstance(column, str) and self.names.count(column) == 1:
            return int(self.names.index(column))
        if isinstance(column, str) and self.names.count(column) > 1:
            raise ValueError(f"{self.name} has {self.names.count(column)} columns {column!r}; pass the number of one")
        if isinstance(column, int) or re.fullmatch(r"-?\d+", column):
            number, count = int(column), len(self.names)
            if 1 <= abs(number) <= count:
                return number - 1 if number > 0 else count + number
        raise ValueError(f"{role}={column!r} is not a column of {self.name}; its columns are {_listed(self.names)}")

    def numbers(self, j: int) -> NDArray[np.float64]:
        """Return a column as float64."""
        pa = _pyarrow("pyarrow")
        column, kind = self.table.column(j), self.table.column(j).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = column.to_pylist()
            row, value = next(((i, v) for i, v in enumerate(texts) if not _is_number(v)), (0, texts[0]))
            raise ValueError(
                f"{self._place(row, j)}: {value!r} is not a number; encode the column as numbers, or drop it"
            )
        if column.null_count:
            row = column.is_null().to_numpy().argmax()
            raise ValueError(f"{self._place(int(row), j)}: the value is missing; impute it, or remove the row")
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
                or pa.types.is_decimal(kind)):  # fmt: skip
            raise ValueError(
                f"{self.name}, column {self.names[j]!r} has the type {kind}, which is not a number; encode it as "
                "numbers, or drop it"
            )
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"{self._place(row, j)}: {values[row]} is not a finite number")
        return values

    def integers(self, j: int) -> NDArray[np.int64]:
        """Return a column as int64."""
        values = self.numbers(j)
        if (values != np.floor(values)).any():
            row = int(np.argmax(values != np.floor(values)))
            raise ValueError(f"{self._place(row, j)}: {values[row]} is not an integer")
        return values.astype(np.int64)

    def labels(self, j: int) -> NDArray[Any]:
        """Return a column as numbers, truth values or text."""
        column = self.table.column(j)
        if column.null_count:
            row = column.is_null().to_numpy().argmax()
            raise ValueError(f"{self._place(int(row), j)}: the value is missing; remove the row")
        values = column.to_numpy()
        if values.dtype.kind == "f":
            return self.numbers(j)
        if values.dtype != object:
            return np.asarray(values)
        labels = values.tolist()
        if "" in labels:  # an empty field of a column with text
            raise ValueError(f"{self._place(labels.index(''), j)}: the value is missing; remove the row")
        return np.array(labels)

    def _place(self, row: int, j: int) -> str:
        """Return the file, the line or row, and the column of a value."""
        place = f"row {row + 1}" if self.lines is None else f"line {self.lines.line(row)}"
        return f"{self.name}, {place}, column {self.names[j]!r}"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _listed(names: Sequence[str], limit: int = 20) -> str:
    """Return the first names as a list."""
    text = ", ".join(map(repr, names[:limit]))
    return text + (f" and {len(names) - limit} more" if len(names) > limit else "")
