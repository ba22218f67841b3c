"""Data in LIBSVM's text format: `load_libsvm`, `dump_libsvm`, and `iter_libsvm` for large files."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Iterator
from numbers import Integral
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.control import effective_n_jobs
from hinge.io.progress import Watch, reading
from hinge.io.replacement import Path, replacing
from hinge.kernels.samples import view
from hinge.validation import as_floats, as_samples

READ_BYTES = 32 << 20  # text read at a time
WHOLE_BYTES = 256 << 20  # text read at a time if all of it is read into memory
ROWS_PER_WRITE = 1 << 12  # rows converted to text at a time
MAX_FEATURES = 2**31 - 1  # indices are stored in 32 bits

Block = _core.LibsvmBlock32 | _core.LibsvmBlock64

#: A file to read: its name, or an open binary file such as ``sys.stdin.buffer``.
Source = Path | IO[bytes]


def load_libsvm(
    path: Source,
    *others: Source,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
    query_id: bool = False,
    strict: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> tuple[Any, ...]:
    """Read samples and labels from a file in LIBSVM's (svmlight's) text format.

    Parameters
    ----------
    path : str, path or binary file
        A text file, or one compressed with gzip or bzip2 (by its ending); or an open file with text, which may be
        compressed if it is buffered, as ``sys.stdin.buffer`` is.
    *others : str, path or binary file
        Further files, such as the test samples. The matrices of all files have the same number of features.
    n_features : int, optional
        Number of features; by default the largest index of all files. A larger index is an error.
    dtype : {float64, float32}
        Data type of the values.
    zero_based : bool, default=False
        Whether indices start at 0; they start at 1 in LIBSVM's files, where 0 is an error.
    query_id : bool, default=False
        Also return the numbers after ``qid:``.
    strict : bool, default=False
        If True, Windows line ends and a last line without a line end are errors: a file that was cut off at a value
        has such a last line.
    n_jobs : int, optional
        Number of threads.
    verbose : bool, default=False
        Whether to show a progress line with the megabytes that were read and the remaining time.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features)
    y : ndarray of float64
    qid : ndarray of int64
        Only if `query_id` is True.

    Of several files these arrays are returned one after the other: ``X, y, X_test, y_test = load_libsvm(train, test)``.

    Raises
    ------
    ValueError
        If a line is malformed; the message states its number. A line is malformed if it is not of the form
        ``label index:value ...``, if an index is negative, zero, too large or not ascending, if a label or value is not
        a finite number, or if the line is cut off. For a damaged compressed file the message states the first line
        that cannot be read.

    Examples
    --------
    >>> import os, tempfile, numpy as np, hinge
    >>> path = os.path.join(tempfile.mkdtemp(), "data.txt")
    >>> hinge.io.dump_libsvm(np.array([[0.0, 1.5], [2.0, 0.0]]), [1, -1], path)
    >>> X, y = hinge.io.load_libsvm(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.0, 1.5], [2.0, 0.0]], [1.0, -1.0])
    """
    options = {"dtype": dtype, "zero_based": zero_based, "strict": strict, "n_jobs": n_jobs, "verbose": verbose}
    files = [read_rows(source, n_features=n_features, **options) for source in (path, *others)]
    width = max(rows.width for rows in files) if n_features is None else int(n_features)
    result: list[Any] = []
    for rows in files:
        result += [rows.sparse(width), rows.column("label")]
        if query_id:
            result.append(rows.queries())
    return tuple(result)


def read_rows(
    path: Source,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool = False,
    strict: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> LibsvmRows:
    """Read a file in LIBSVM's text format; the parameters are those of `load_libsvm`."""
    options = (check_n_features(n_features), dtype, zero_based, strict, n_jobs)
    if not verbose:
        return LibsvmRows(path, list(read_blocks(path, *options, whole=True)))
    with reading(source_name(path)) as watch:
        return LibsvmRows(path, list(read_blocks(path, *options, watch=watch)))


class LibsvmRows:
    """The rows of a file in LIBSVM's text format, from which a sparse or a dense matrix is made.

    Only `sparse` needs scipy.sparse, which takes longer to import than a file of some megabytes to read.
    """

    def __init__(self, source: Source, blocks: list[Block]) -> None:
        self.source, self._blocks = source, blocks

    @property
    def width(self) -> int:
        """The largest index plus one."""
        return max(int(block.index.max(initial=-1)) for block in self._blocks) + 1

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return sum(len(block.length) for block in self._blocks)

    @property
    def n_values(self) -> int:
        """Number of values in the file."""
        return sum(len(block.value) for block in self._blocks)

    def column(self, name: str) -> NDArray[Any]:
        """Return the labels, lengths, indices or values of all rows."""
        parts = [getattr(block, name) for block in self._blocks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def queries(self) -> NDArray[np.int64]:
        """Return the numbers after ``qid:``."""
        query: NDArray[np.int64] = self.column("query")
        if len(query) != self.n_rows:
            raise ValueError(f"{source_name(self.source)} has lines without qid: use query_id=False")
        return query

    def sparse(self, n_features: int) -> Any:
        """Return the values as a CSR matrix."""
        starts = np.concatenate([[0], np.cumsum(self.column("length"))])
        return csr_of(self.column("value"), self.column("index"), starts, n_features)

    def dense(self, n_features: int) -> NDArray[Any]:
        """Return the values as an array."""
        parts = [block.dense(n_features) for block in self._blocks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def iter_libsvm(
    path: Source,
    *,
    n_features: int,
    dtype: Any = np.float64,
    zero_based: bool = False,
    strict: bool = False,
    n_jobs: int | None = None,
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Iterate over a file in LIBSVM's text format in blocks of about 32 MB of text.

    Parameters
    ----------
    path : str, path or binary file
        As in `load_libsvm`.
    n_features : int
        Number of features of every block; a larger index is an error.
    dtype, zero_based, strict, n_jobs
        As in `load_libsvm`.

    Yields
    ------
    X : csr_matrix
    y : ndarray of float64
    """
    features = check_n_features(n_features)
    if features is None:
        raise TypeError("n_features=None must be an integer: the blocks of a file have a common number of features")
    for block in read_blocks(path, features, dtype, zero_based, strict, n_jobs):
        starts = np.concatenate([[0], np.cumsum(block.length)])
        yield csr_of(block.value, block.index, starts, features), block.label


def dump_libsvm(X: Any, y: Any, path: Path, *, zero_based: bool = False, query_id: Any = None) -> None:
    """Write samples and labels in LIBSVM's text format. Reading them back gives bit-identical numbers.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Zeros are not written.
    y : array-like of shape (n_samples,)
    path : str or path
        An existing file is replaced once the new one is complete.
    zero_based : bool, default=False
        Whether indices start at 0.
    query_id : array-like of int, optional
        Written as ``qid:``.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.io import dump_libsvm, load_libsvm
    >>> dump_libsvm(np.array([[0.0, 1.5], [2.0, 0.0]]), [1, -1], "data.svm")
    >>> print(open("data.svm").read().rstrip())
    1 2:1.5
    -1 1:2
    """
    X = as_samples(X, dtypes=(np.float64, np.float32), min_samples=0)
    n = X.shape[0]
    labels = np.ascontiguousarray(as_floats(y, "y"))
    queries = np.ascontiguousarray([] if query_id is None else query_id, dtype=np.int64)
    if labels.shape != (n,) or (query_id is not None and queries.shape != (n,)):
        raise ValueError(f"y and query_id need one entry for each of the {n} samples, got shape {labels.shape}")
    if not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity, which LIBSVM's format cannot hold")
    samples = view(X)
    with replacing(path) as file:
        for first in range(0, n, ROWS_PER_WRITE):
            last = min(n, first + ROWS_PER_WRITE)
            file.write(_core.write_libsvm(samples.native, labels, queries, first, last, zero_based))


# ---- reading -----------------------------------------------------------------------------------------------------

def check_n_features(n_features: Any) -> int | None:
    """Return `n_features` as an int, at most the largest 32-bit index."""
    if n_features is None:
        return None
    if isinstance(n_features, bool | np.bool_) or not isinstance(n_features, Integral):
        raise TypeError(
            f"n_features={n_features!r} must be an integer, or None for the largest index of the file, "
            f"not {type(n_features).__name__}"
        )
    if not 0 <= int(n_features) <= MAX_FEATURES:
        raise ValueError(
            f"n_features={n_features!r} must lie in [0, {MAX_FEATURES}]: indices have 32 bits; "
            "use None for the largest index of the file"
        )
    return int(n_features)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} must be float32 or float64")
    return dtype


def read_blocks(
    path: Source,
    n_features: int | None,
    dtype: Any,
    zero_based: bool,
    strict: bool,
    n_jobs: int | None,
    whole: bool = False,
    watch: Watch | None = None,
) -> Iterator[Block]:
    """Yield the columns of the file in blocks. `watch` is called with the open file after every block."""
    read: Any = _core.read_libsvm32 if check_dtype(dtype) == np.float32 else _core.read_libsvm64
    options = {
        "zero_based": bool(zero_based),
        "strict": bool(strict),
        "features": -1 if n_features is None else n_features,
        "threads": effective_n_jobs(n_jobs),
    }
    line, name, has_query = 1, source_name(path), None
    try:
        for text in _texts(path, whole, watch):
            try:
                block = read(np.frombuffer(text, dtype=np.uint8), first_line=line, **options)
            except ValueError as error:
                raise ValueError(f"{name}, {error}") from None
            if len(block.label):
                if has_query is not None and has_query != bool(len(block.query)):
                    raise ValueError(f"{name}, line {line} or later: either all lines have a qid or none")
                has_query = bool(len(block.query))
            line += block.lines
            yield block
    except (EOFError, OSError, zlib.error) as error:
        if getattr(error, "errno", None) is not None:  # raised by the operating system, not by the decompressor
            raise
        raise ValueError(f"{name}, line {line} or later: the compressed file is damaged or cut off ({error})") from None


def source_name(path: Source) -> str:
    """Return the name of a file for messages."""
    if isinstance(path, str | os.PathLike):
        return os.fspath(path)
    return str(getattr(path, "name", "<file>"))


def _texts(path: Source, whole: bool, watch: Watch | None = None) -> Iterator[Any]:
    """Yield the text in blocks of complete lines; in larger ones if `whole`, which saves copies.

    The file is not mapped into memory: reading a map of a file that another process truncates ends the program.
    """
    if not isinstance(path, str | os.PathLike):
        yield from _line_blocks(decompressed(path), READ_BYTES, path, watch)
        return
    name = os.fspath(path)
    decompressors: dict[str, Any] = {".gz": lambda file: gzip.GzipFile(fileobj=file), ".bz2": bz2.BZ2File}
    decompress = decompressors.get(os.path.splitext(name)[1])
    with open(name, "rb") as file:
        if decompress is not None:
            with decompress(file) as text:
                yield from _line_blocks(text, READ_BYTES, file, watch)
            return
        size = READ_BYTES
        if whole:  # memory of the requested size is allocated before the file is read
            size = max(READ_BYTES, min(os.fstat(file.fileno()).st_size + 1, WHOLE_BYTES))
        yield from _line_blocks(file, size, file, watch)


def decompressed(file: IO[bytes]) -> Any:
    """Return the content of an open file, which is compressed if it begins like gzip or bzip2 and can be peeked at."""
    start: bytes = file.peek(3) if hasattr(file, "peek") else b""
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    return bz2.BZ2File(file) if start.startswith(b"BZh") else file


def _line_blocks(
    file: IO[bytes], size: int, source: IO[bytes] | None = None, watch: Watch | None = None
) -> Iterator[bytes]:
    """Yield complete lines in blocks of at least `size` bytes; `source` is the file itself, compressed or not."""
    rest: list[bytes] = []  # of a line that is not complete; joined once, because it may be long
    empty = True
    while block := file.read(size):
        empty = False
        if watch is not None:
            watch(source)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, block[:cut]])
            rest = [block[cut:]]
        else:
            rest.append(block)
    last = b"".join(rest)
    if last or empty:
        yield last


def csr_of(values: Any, indices: Any, starts: Any, features: int) -> Any:
    """Build a CSR matrix from these arrays without the copies and conversions of the constructor."""
    dtype = np.int64 if len(values) > np.iinfo(np.int32).max else np.int32
    matrix = sp.csr_matrix((len(starts) - 1, features), dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, indices, starts.astype(dtype, copy=False)
    matrix.has_canonical_format = True  # the reader checks that indices ascend
    return matrix
