"""LIBLINEAR model files: their content, reading and writing.

A file has a header of lines ``key values...``, the line ``w``, and a line of weights for each feature, one for each
function. With a bias of at least 0, a last line holds the weights of a constant feature with this value.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.io.errors import ModelFileError
from hinge.io.libsvm_models.text import Header, Malformed, choice, finite, integer, split_header, values
from hinge.io.replacement import Path, writing

Array = NDArray[np.float64]

CLASSIFIERS = ("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "MCSVM_CS", "L1R_L2LOSS_SVC")
REGRESSORS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL")
ONE_CLASS = "ONECLASS_SVM"

#: Types that are not estimators of hinge: other losses and penalties.
OTHERS = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")

_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


@dataclass(frozen=True)
class LiblinearModel:
    """The values of a LIBLINEAR model file.

    Attributes
    ----------
    solver_type : str
        Name of the type, which states the loss.
    weights : ndarray of shape (n_functions, n_features)
        One function for two classes and for other models; one per class with more classes, and always for MCSVM_CS.
    intercept : ndarray of shape (n_functions,)
        Weight of the constant feature times `bias`; minus `rho` of a one-class model.
    bias : float
        Value of the constant feature; negative for functions without an intercept.
    labels : ndarray of int or None
        The classes in the order of the file; the first of two is positive. None unless classifier.
    """

    solver_type: str
    weights: Array
    intercept: Array
    bias: float
    labels: NDArray[np.int64] | None = None


# ---- reading --------------------------------------------------------------------------------------------------------


def read_liblinear(path: Path, n_features: int = 0) -> LiblinearModel:
    """Read a model file; a malformed line is a `ModelFileError` that states the file and the line."""
    name = os.fspath(path)
    with open(name, "rb") as file:
        text = file.read()
    try:
        header, body, line = split_header(text, _KEYS, "w")
        return _model(header, body, line, n_features)
    except Malformed as error:
        raise ModelFileError(f"{name}, {error}; a LIBLINEAR model file is required") from None


def _model(header: Header, body: bytes, line: int, n_features: int) -> LiblinearModel:
    kind = choice(header, "solver_type", (*CLASSIFIERS, *REGRESSORS, ONE_CLASS, *OTHERS))
    if kind in OTHERS:
        raise Malformed(
            f"line {header['solver_type'][0]}: hinge has no estimator for {kind}; supported types are "
            f"{', '.join((*CLASSIFIERS, *REGRESSORS, ONE_CLASS))}"
        )
    (n_classes,), (count,) = values(header, "nr_class", int, 1), values(header, "nr_feature", int, 1)
    (bias,) = values(header, "bias", finite, 1)
    if n_classes < 2 or count < 1:
        raise Malformed(f"line {header['nr_class'][0]}: 'nr_class' must be at least 2, and 'nr_feature' at least 1")
    labels = None
    if kind in CLASSIFIERS:
        labels = np.array(values(header, "label", integer, n_classes), dtype=np.int64)
        if len(np.unique(labels)) != n_classes:
            raise Malformed(f"line {header['label'][0]}: 'label' contains a class twice")
    n_functions = n_classes if kind == "MCSVM_CS" or (labels is not None and n_classes > 2) else 1
    rows = count + (bias >= 0)
    table = _table(body, line, rows, n_functions)
    weights = np.zeros((n_functions, max(count, n_features)))
    weights[:, :count] = table[:count].T
    intercept = bias * table[count] if bias >= 0 else np.zeros(n_functions)
    if kind == ONE_CLASS:
        intercept = intercept - np.array(values(header, "rho", finite, 1))
    return LiblinearModel(kind, weights, intercept, bias, labels)


def _table(body: bytes, line: int, rows: int, columns: int) -> Array:
    """The weights, (rows × columns); `line` is the number of the first line."""
    table = np.empty((rows, columns))
    lines = body.split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != rows:
        raise Malformed(f"line {line + min(len(lines), rows)}: {rows} lines of weights expected, found {len(lines)}")
    for k, text in enumerate(lines):
        try:
            numbers = [finite(word) for word in text.decode("latin-1").split()]
        except ValueError:
            raise Malformed(f"line {line + k}: a weight is not a finite number") from None
        if len(numbers) != columns:
            raise Malformed(f"line {line + k}: {columns} weights expected, found {len(numbers)}")
        table[k] = numbers
    return table


# ---- writing --------------------------------------------------------------------------------------------------------


def write_liblinear(model: LiblinearModel, path: Path) -> None:
    """Write a model file, completely or not at all. Numbers are written such that they are read back exactly."""
    with writing(path) as file:
        file.write(liblinear_text(model).encode("ascii"))


def liblinear_text(model: LiblinearModel) -> str:
    """The content of a model file."""
    n_classes = 2 if model.labels is None else len(model.labels)
    lines = [f"solver_type {model.solver_type}", f"nr_class {n_classes}"]
    if model.labels is not None:
        lines.append(f"label {' '.join(map(str, model.labels.tolist()))}")
    lines += [f"nr_feature {model.weights.shape[1]}", f"bias {model.bias:.17g}"]
    table = model.weights.T
    if model.solver_type == ONE_CLASS:
        lines.append(f"rho {0.0 - float(model.intercept[0]):.17g}")
    elif model.bias >= 0:
        table = np.vstack([table, model.intercept / model.bias if model.bias > 0 else 0.0 * model.intercept])
    rows = ["".join(f"{value:.17g} " for value in row) for row in table.tolist()]
    return "\n".join([*lines, "w", *rows, ""])
