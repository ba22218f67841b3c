"""Reading and writing of LIBSVM model files.

A file has a header of lines ``key values...``, the line ``SV``, and a line ``coefficients... index:value ...`` for each
support vector. If the model has one coefficient per support vector, these lines have the format of LIBSVM's data files,
and the compiled reader parses them; further coefficients are split off first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.io.errors import ModelFileError
from hinge.io.libsvm_models.record import CLASSIFIERS, KERNEL_TYPES, SVM_TYPES, LibsvmModel, make_libsvm_kernel
from hinge.io.replacement import Path, writing
from hinge.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from hinge.kernels.samples import view

MIN_DENSE_FRACTION = 1 / 3  # matrices with fewer nonzero values remain sparse
MAX_DENSE_BYTES = 1 << 31  # larger matrices remain sparse

Array = NDArray[np.float64]


# ---- reading --------------------------------------------------------------------------------------------------------


def read_model(path: Path, n_features: int = 0) -> LibsvmModel:
    """Read a model file.

    Parameters
    ----------
    path : str or path
    n_features : int
        The number of features, if it is larger than the largest index in the file.

    Raises
    ------
    ModelFileError
        If a line is malformed; the message states the file and the line.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        text = file.read()
    try:
        header, body, line = split_header(text, _KEYS, "SV")
        return _model(header, body, line, n_features)
    except Malformed as error:
        raise ModelFileError(f"{name}, {error}; a LIBSVM model file is required") from None
    except ValueError as error:
        raise ModelFileError(f"{name}: {error}") from None


class Malformed(ValueError):
    """A malformed line; the message starts with its number."""


Header = dict[str, tuple[int, list[str]]]


def split_header(text: bytes, keys: Sequence[str], end_of_header: str) -> tuple[Header, bytes, int]:
    """Values of the header by key with their line numbers, the text after its last line, and the number of that."""
    header: Header = {}
    position = 0
    for number in range(1, text.count(b"\n") + 2):
        end = text.find(b"\n", position)
        end = len(text) if end < 0 else end
        words = text[position:end].decode("latin-1").split()
        if not words and end == len(text):
            raise Malformed(f"line {number}: the line {end_of_header!r} is missing")
        position = end + 1
        if words == [end_of_header]:
            return header, text[position:], number + 1
        if not words or words[0] not in keys:
            found = f"{words[0][:40]!r}" if words else "an empty line"
            raise Malformed(f"line {number}: {found} is not a key of the header")
        if words[0] in header:
            raise Malformed(f"line {number}: {words[0]!r} appears twice")
        header[words[0]] = (number, words[1:])
    raise Malformed(f"line {number}: the line {end_of_header!r} is missing")


_KEYS = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA", "probB",
    "prob_density_marks", "nr_sv",
)  # fmt: skip


def values(header: Header, key: str, convert: Callable[[str], Any], count: int | None = None) -> Any:
    """The converted values of a key; `count` values are required, or as many as there are if it is None."""
    if key not in header:
        raise Malformed(f"line {len(header) + 1}: the key {key!r} is missing in the header")
    number, words = header[key]
    try:
        converted = [convert(word) for word in words]
    except ValueError:
        raise Malformed(f"line {number}: {' '.join(words)[:60]!r} are not valid values of {key!r}") from None
    if count is not None and len(converted) != count:
        raise Malformed(f"line {number}: {key!r} needs {count} values, found {len(converted)}")
    return converted


def choice(header: Header, key: str, choices: tuple[str, ...]) -> str:
    """The value of a key that must be one of several words."""
    (value,) = values(header, key, str, 1)
    if value not in choices:
        raise Malformed(f"line {header[key][0]}: {key} {value[:40]!r} must be one of {', '.join(choices)}")
    return str(value)


def integer(word: str) -> int:
    """Convert an integer, which may be written as a floating-point number."""
    return int(float(word)) if float(word).is_integer() else int(word)


def finite(word: str) -> float:
    """Convert a finite number."""
    value = float(word)
    if not np.isfinite(value):
        raise ValueError(word)
    return value


def _model(header: Header, body: bytes, line: int, n_features: int) -> LibsvmModel:
    svm_type = choice(header, "svm_type", SVM_TYPES)
    (n_classes,), (total,) = values(header, "nr_class", int, 1), values(header, "total_sv", int, 1)
    if total < 0 or n_classes < 1:
        raise Malformed(f"line {header['total_sv'][0]}: 'total_sv' and 'nr_class' must be positive")
    n_pairs = n_classes * (n_classes - 1) // 2
    labels = n_sv = None
    if svm_type in CLASSIFIERS:
        labels = np.array(values(header, "label", integer, n_classes), dtype=np.int64)
        n_sv = np.array(values(header, "nr_sv", int, n_classes) if "nr_sv" in header else [0] * n_classes)
        if len(np.unique(labels)) != n_classes:
            raise Malformed(f"line {header['label'][0]}: 'label' contains a class twice")
        if n_sv.sum() != total or (n_sv < 0).any():
            place = header.get("nr_sv", header["total_sv"])[0]
            raise Malformed(f"line {place}: 'nr_sv' must add up to 'total_sv' = {total}")
    elif n_classes != 2:
        raise Malformed(f"line {header['nr_class'][0]}: 'nr_class' of {svm_type} must be 2")
    rho = np.array(values(header, "rho", finite, n_pairs), dtype=np.float64)
    n_rows = max(n_classes - 1, 1)
    kernel = _kernel(header)
    vectors, coefficients = _support_vectors(body, line, total, n_rows, n_features, isinstance(kernel, Precomputed))
    return LibsvmModel(
        svm_type,
        kernel,
        vectors,
        coefficients,
        rho,
        labels,
        n_sv,
        prob_a=_optional(header, "probA", n_pairs),
        prob_b=_optional(header, "probB", n_pairs),
        density_marks=_optional(header, "prob_density_marks", 10),
    )


def _optional(header: Header, key: str, count: int) -> Array | None:
    return np.array(values(header, key, finite, count), dtype=np.float64) if key in header else None


def _kernel(header: Header) -> Kernel:
    kind = choice(header, "kernel_type", KERNEL_TYPES)
    degree = values(header, "degree", int, 1)[0] if kind == "polynomial" else 0
    gamma = values(header, "gamma", finite, 1)[0] if kind in ("polynomial", "rbf", "sigmoid") else 0.0
    coef0 = values(header, "coef0", finite, 1)[0] if kind in ("polynomial", "sigmoid") else 0.0
    return make_libsvm_kernel(kind, degree, gamma, coef0)


def _support_vectors(
    body: bytes, line: int, total: int, n_rows: int, n_features: int, precomputed: bool
) -> tuple[Any, Array]:
    """Support vectors and coefficients, (n_rows × total), from the lines after ``SV``; `line` is the first of them."""
    coefficients = np.zeros((n_rows, total))
    if n_rows > 1:
        body = _split_coefficients(body, line, coefficients)
    block = _core.read_libsvm64(
        np.frombuffer(body, dtype=np.uint8), first_line=line, zero_based=True, strict=False, features=-1, threads=1
    )
    if len(block.label) != total:
        raise Malformed(f"line {line}: {len(block.label)} support vectors follow, but 'total_sv' is {total}")
    coefficients[-1] = block.label
    if precomputed:
        serial = block.value.astype(np.int64)
        if len(serial) != total or np.any(block.index != 0) or np.any(serial != block.value) or np.any(serial < 1):
            raise Malformed(f"line {line} or later: support vectors of a precomputed kernel must be '0:serial_number'")
        return serial, coefficients
    if len(block.index) and block.index.min() < 1:
        raise Malformed(f"line {line} or later: index 0 is not supported; indices must start at 1")
    width = max(int(block.index.max(initial=0)), n_features)
    if has_few_zeros(len(block.value), total, width):
        return np.ascontiguousarray(block.dense(width + 1)[:, 1:]), coefficients
    starts = np.concatenate([[0], np.cumsum(block.length)])
    return sp.csr_matrix((block.value, block.index - 1, starts), shape=(total, width)), coefficients


def _split_coefficients(body: bytes, line: int, coefficients: Array) -> bytes:
    """Move all coefficients but the last of each line to the array; return the lines without them."""
    count = len(coefficients) - 1
    rest: list[bytes] = []
    for k, text in enumerate(body.splitlines()):
        words = text.split(None, count)
        if not words:
            continue
        if len(words) <= count or len(rest) == coefficients.shape[1]:
            reason = f"more than {count} coefficients" if len(words) <= count else "no further support vector"
            raise Malformed(f"line {line + k}: {reason} expected")
        try:
            coefficients[:-1, len(rest)] = [float(word) for word in words[:-1]]
        except ValueError:
            raise Malformed(f"line {line + k}: a coefficient is not a number") from None
        rest.append(words[-1])
    return b"\n".join(rest) + b"\n"


def has_few_zeros(n_values: int, n_rows: int, n_features: int) -> bool:
    """Whether data become an array instead of a CSR matrix: kernels are computed faster from arrays."""
    size = n_rows * n_features
    return 8 * size <= MAX_DENSE_BYTES and n_values >= MIN_DENSE_FRACTION * size


# ---- writing --------------------------------------------------------------------------------------------------------


def write_model(model: LibsvmModel, path: Path) -> None:
    """Write a model file, completely or not at all. Numbers are written such that they are read back exactly."""
    with writing(path) as file:
        file.write(model_text(model))


def model_text(model: LibsvmModel) -> bytes:
    """The content of a model file."""
    lines = [f"svm_type {model.svm_type}", *_kernel_lines(model.kernel)]
    lines += [f"nr_class {model.n_classes}", f"total_sv {model.coefficients.shape[1]}", _numbers("rho", model.rho)]
    if model.labels is not None:
        lines.append(f"label {' '.join(map(str, model.labels.tolist()))}")
    for key, values in (("probA", model.prob_a), ("probB", model.prob_b), ("prob_density_marks", model.density_marks)):
        if values is not None:
            lines.append(_numbers(key, values))
    if model.n_sv is not None:
        lines.append(f"nr_sv {' '.join(map(str, model.n_sv.tolist()))}")
    return "\n".join([*lines, "SV", ""]).encode() + _support_vector_lines(model)


def _numbers(key: str, values: Array) -> str:
    return f"{key} {' '.join(f'{value:.17g}' for value in values.tolist())}"


def _kernel_lines(kernel: Kernel) -> list[str]:
    if isinstance(kernel, Polynomial):
        return ["kernel_type polynomial", f"degree {int(kernel.degree)}", f"gamma {kernel.gamma:.17g}",
                f"coef0 {kernel.coef0:.17g}"]  # fmt: skip
    if isinstance(kernel, RBF):
        return ["kernel_type rbf", f"gamma {kernel.gamma:.17g}"]
    if isinstance(kernel, Sigmoid):
        return ["kernel_type sigmoid", f"gamma {kernel.gamma:.17g}", f"coef0 {kernel.coef0:.17g}"]
    return ["kernel_type linear" if isinstance(kernel, Linear) else "kernel_type precomputed"]


def _support_vector_lines(model: LibsvmModel) -> bytes:
    *others, last = model.coefficients if len(model.coefficients) else [np.empty(0)]
    total = len(last)
    if model.is_precomputed:
        vectors: Any = sp.csr_matrix(np.asarray(model.vectors, dtype=np.float64)[:, None])
    else:
        vectors = model.vectors
    last, no_queries = np.ascontiguousarray(last), np.empty(0, dtype=np.int64)
    text = bytes(_core.write_libsvm(view(vectors).native, last, no_queries, 0, total, model.is_precomputed))
    if not others:
        return text
    firsts = [" ".join(f"{value:.17g}" for value in row) for row in np.array(others).T.tolist()]
    lines = text.split(b"\n")
    return b"\n".join([first.encode() + b" " + line for first, line in zip(firsts, lines[:-1], strict=True)] + [b""])
