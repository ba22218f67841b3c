"""The work of `hinge-svm-scale`: ranges of features, range files, and scaled data as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.cli.libsvm.command import CommandError
from hinge.cli.libsvm.data import read_file
from hinge.cli.libsvm.scale import ScaleOptions
from hinge.io.libsvm import LibsvmRows
from hinge.io.libsvm_models.text import has_few_zeros
from hinge.io.replacement import writing

Array = NDArray[np.float64]

BLOCK_VALUES = 1 << 20  # values that are scaled and converted to text at a time


@dataclass(frozen=True)
class Ranges:
    """Ranges of the features and the intervals to which they are mapped.

    Attributes
    ----------
    lower, upper : float
        Interval of the scaled features.
    low, high : ndarray
        Smallest and largest value of each feature; equal for features that are left out.
    target : tuple of float or None
        Interval of the scaled targets.
    target_range : tuple of float
        Smallest and largest target.
    """

    lower: float
    upper: float
    low: Array
    high: Array
    target: tuple[float, float] | None = None
    target_range: tuple[float, float] = (0.0, 0.0)

    def scale(self, values: Array, features: Any) -> Array:
        """Map values of the given features. The ends of a range are mapped to the ends of the interval exactly."""
        low, high = self.low[features], self.high[features]
        return _map(values, low, high, self.lower, self.upper)

    def scale_targets(self, y: Array) -> Array:
        """Map targets, if they are scaled."""
        if self.target is None:
            return y
        low, high = self.target_range
        return _map(y, np.asarray(low), np.asarray(high), *self.target)


def _map(values: Array, low: Array, high: Array, lower: float, upper: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):  # constant features, which are left out
        scaled = lower + (upper - lower) * (values - low) / (high - low)
    return np.where(values == low, lower, np.where(values == high, upper, scaled))


def run_scaling(options: ScaleOptions) -> None:
    """Read the data, write the range file if asked to, and print the scaled data."""
    try:
        rows = read_file(options.data_file)
    except CommandError as error:
        raise CommandError(str(error).replace("can't open input file", "can't open file")) from None
    ranges = _ranges_of(rows, options)
    if options.restore_file:
        ranges = _restore(ranges, options)
    elif options.save_file:
        _save(ranges, options.save_file)
    count = 0
    for text, written in _scaled_lines(rows, ranges):
        sys.stdout.write(text)
        count += written
    sys.stdout.flush()
    if count > rows.n_values:
        print(
            f"WARNING: original #nonzeros {rows.n_values}\n       > new      #nonzeros {count}\nIf feature values are "
            "non-negative and sparse, use -l 0 rather than the default -l -1",
            file=sys.stderr,
        )


def _ranges_of(rows: LibsvmRows, options: ScaleOptions) -> Ranges:
    """Ranges of the data, where values that are not in the file are zero."""
    n, d = rows.n_rows, rows.width
    y = rows.column("label")
    extremes = (float(y.min()), float(y.max())) if n else (0.0, 0.0)
    low, high = np.zeros(d), np.zeros(d)
    if n and has_few_zeros(rows.n_values, n, d):
        X = rows.dense(d)
        low, high = X.min(axis=0), X.max(axis=0)
    elif n:
        columns = rows.sparse(d).tocsc()
        counts = np.diff(columns.indptr)
        some = np.flatnonzero(counts)
        low[some] = np.minimum.reduceat(columns.data, columns.indptr[some])
        high[some] = np.maximum.reduceat(columns.data, columns.indptr[some])
        has_zeros = counts < n
        low[has_zeros], high[has_zeros] = np.minimum(low[has_zeros], 0.0), np.maximum(high[has_zeros], 0.0)
    return Ranges(options.lower, options.upper, low, high, options.target, extremes)


def _scaled_lines(rows: LibsvmRows, ranges: Ranges) -> Iterator[tuple[str, int]]:
    """Yield the scaled data as text and the number of values in it, in blocks of rows."""
    used = ranges.low < ranges.high
    zeros = np.where(used, ranges.scale(np.zeros(len(used)), slice(None)), 0.0)
    sparse = not zeros.any()  # zero remains zero: only the values of the file are written
    width, n = len(used), rows.n_rows
    labels = [f"{value:.17g} " for value in ranges.scale_targets(rows.column("label")).tolist()]
    index, value = rows.column("index"), rows.column("value")
    starts = np.concatenate([[0], np.cumsum(rows.column("length"))])
    size = max(1, BLOCK_VALUES // max(1, rows.n_values // max(n, 1) if sparse else width))
    for first in range(0, n, size):
        last = min(n, first + size)
        part = slice(starts[first], starts[last])
        indices, values, begins = index[part], value[part], starts[first : last + 1] - starts[first]
        if sparse:
            values = np.where(used[indices], ranges.scale(values, indices), 0.0)
        else:
            dense = np.zeros((last - first, width))
            dense[np.repeat(np.arange(last - first), np.diff(begins)), indices] = values
            values = np.where(used, ranges.scale(dense, slice(None)), 0.0).ravel()
            indices, begins = np.tile(np.arange(width), last - first), np.arange(last - first + 1) * width
        kept = values != 0
        ends = np.concatenate([[0], np.cumsum(kept)])[begins].tolist()
        pairs = list(map("%d:%g ".__mod__, zip((indices[kept] + 1).tolist(), values[kept].tolist(), strict=True)))
        lines = [
            label + "".join(pairs[start:end]) + "\n"
            for label, start, end in zip(labels[first:last], ends[:-1], ends[1:], strict=True)
        ]
        yield "".join(lines), len(pairs)


# ---- range files ----------------------------------------------------------------------------------------------------


def _save(ranges: Ranges, path: str) -> None:
    lines = []
    if ranges.target is not None:
        lines += ["y", *(f"{low:.17g} {high:.17g}" for low, high in (ranges.target, ranges.target_range))]
    lines += ["x", f"{ranges.lower:.17g} {ranges.upper:.17g}"]
    for k in np.flatnonzero(ranges.low < ranges.high).tolist():
        lines.append(f"{k + 1} {ranges.low[k]:.17g} {ranges.high[k]:.17g}")
    try:
        with writing(path) as file:
            file.write("\n".join([*lines, ""]).encode())
    except OSError as error:
        raise CommandError(f"can't open file {path}: {error.strerror or error}") from None


def _restore(found: Ranges, options: ScaleOptions) -> Ranges:
    """The ranges of the range file; features that it does not contain are left out."""
    path = options.restore_file
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError as error:
        raise CommandError(f"can't open file {path}: {error.strerror or error}") from None
    target, target_range, at = None, (0.0, 0.0), 0
    if lines and lines[0] == ["y"]:
        target, target_range, at = _two(lines, 1, path), _two(lines, 2, path), 3
    if len(lines) <= at or lines[at] != ["x"]:
        raise CommandError(f"{path}, line {at + 1}: 'x' expected; a range file of svm-scale is required")
    lower, upper = _two(lines, at + 1, path)
    index, low, high = _features(lines, at + 2, path)
    width = max([len(found.low), *index])
    lows, highs = np.zeros(width), np.zeros(width)
    position = np.array(index, dtype=np.intp) - 1
    unseen = np.setdiff1d(np.flatnonzero(found.low != found.high), position)
    for k in unseen.tolist():
        print(
            f"WARNING: feature index {k + 1} appeared in file {options.data_file} was not seen in the scaling factor "
            f"file {path}. The feature is scaled to 0.",
            file=sys.stderr,
        )
    lows[position], highs[position] = low, high
    return Ranges(lower, upper, lows, highs, target, target_range)


def _two(lines: list[list[str]], at: int, path: str) -> tuple[float, float]:
    try:
        first, second = map(float, lines[at])
    except (ValueError, IndexError):
        raise CommandError(f"{path}, line {at + 1}: two numbers expected") from None
    return first, second


def _features(lines: list[list[str]], start: int, path: str) -> tuple[list[int], list[float], list[float]]:
    index, low, high = [], [], []
    for at, words in enumerate(lines[start:], start):
        if not words:
            continue
        try:
            number, smallest, largest = words
            index.append(int(number))
            low.append(float(smallest))
            high.append(float(largest))
        except ValueError:
            raise CommandError(f"{path}, line {at + 1}: an index and two numbers expected") from None
        if index[-1] < 1:
            raise CommandError(f"{path}, line {at + 1}: indices must start at 1")
    return index, low, high
