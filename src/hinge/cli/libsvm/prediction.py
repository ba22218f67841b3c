"""The work of `hinge-svm-predict`: read the model and the data, write predictions, print scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.cli.libsvm.command import CommandError, thread_count
from hinge.cli.libsvm.data import read_file, split_serials
from hinge.cli.libsvm.predict import PredictOptions
from hinge.cli.libsvm.scores import regression_scores
from hinge.io.errors import ModelFileError
from hinge.io.libsvm import LibsvmRows
from hinge.io.libsvm_models.record import REGRESSORS, LibsvmModel
from hinge.io.libsvm_models.text import read_model
from hinge.io.replacement import writing

Array = NDArray[np.float64]

BLOCK_BYTES = 1 << 27  # size of a dense block of test samples


def run_prediction(options: PredictOptions) -> None:
    """Predict, write the output file and print the scores."""
    model = _read_model(options, 0)
    rows = read_file(options.data_file, zero_based=model.is_precomputed)
    if not model.is_precomputed and rows.width > model.vectors.shape[1]:
        model = _read_model(options, rows.width)  # features that the support vectors do not have are zero
    if options.probability and not model.has_probabilities:
        raise CommandError(f"Model does not support probability estimates: {options.model_file}")
    if not options.probability and model.has_probabilities and not options.quiet:
        print("Model supports probability estimates, but disabled in prediction.")
    if options.probability and model.svm_type in REGRESSORS and not options.quiet:
        assert model.prob_a is not None
        print("Prob. model for test data: target value = predicted value + z,")
        print(f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={model.prob_a[0]:g}")
    predictions, text = _predict(model, _decision_values(model, rows), options.probability)
    try:
        with writing(options.output_file) as file:
            file.write(text.encode())
    except OSError as error:
        raise CommandError(f"can't open output file {options.output_file}: {error.strerror or error}") from None
    if not options.quiet and rows.n_rows:
        _print_scores(model, rows.column("label"), predictions)


def _read_model(options: PredictOptions, n_features: int) -> LibsvmModel:
    try:
        return read_model(options.model_file, n_features)
    except OSError as error:
        raise CommandError(f"can't open model file {options.model_file}: {error.strerror or error}") from None
    except ModelFileError as error:
        raise CommandError(f"can't open model file: {error}") from None


def _kernel_values(X: Any, model: LibsvmModel, path: str) -> Any:
    """The kernel values of test samples; column k belongs to the training sample with serial number k + 1."""
    values = split_serials(X, path)[1]
    largest = int(np.max(model.vectors, initial=0))
    if values.shape[1] < largest:
        raise CommandError(
            f"Wrong input format: {path} has kernel values with {values.shape[1]} training samples, but the model "
            f"needs those with sample {largest}"
        )
    return values


def _decision_values(model: LibsvmModel, rows: LibsvmRows) -> Array:
    """Decision values of the samples, as arrays if the support vectors are an array."""
    threads = thread_count()
    if model.is_precomputed:
        X = rows.sparse(rows.width)
        return model.decision_values(_kernel_values(X, model, str(rows.source)), threads)
    width = model.vectors.shape[1]
    if not isinstance(model.vectors, np.ndarray):
        return model.decision_values(rows.sparse(width), threads)
    if 8 * rows.n_rows * width <= BLOCK_BYTES:
        return model.decision_values(rows.dense(width), threads)
    X, size = rows.sparse(width), max(1, BLOCK_BYTES // (8 * width))
    blocks = [model.decision_values(X[k : k + size].toarray(), threads) for k in range(0, rows.n_rows, size)]
    return np.concatenate(blocks)


def _predict(model: LibsvmModel, values: Array, probability: bool) -> tuple[Array, str]:
    """Predictions, and the text of the output file."""
    if not probability or model.svm_type in REGRESSORS:
        predictions = model.predict(values)
        return predictions, "".join([f"{value:.17g}\n" for value in predictions.tolist()])
    probabilities = model.probabilities(values)
    if model.labels is None:
        names, predictions = "normal outlier", model.predict(values)
    else:
        names = " ".join(map(str, model.labels.tolist()))
        predictions = model.labels[np.argmax(probabilities, axis=1)].astype(np.float64)
    row = "%g" + " %g" * probabilities.shape[1] + "\n"
    rows = [row % (label, *values) for label, values in zip(predictions.tolist(), probabilities.tolist(), strict=True)]
    return predictions, "".join([f"labels {names}\n", *rows])


def _print_scores(model: LibsvmModel, y: Array, predictions: Array) -> None:
    if model.svm_type in REGRESSORS:
        error, correlation = regression_scores(y, predictions)
        print(f"Mean squared error = {error:g} (regression)")
        print(f"Squared correlation coefficient = {correlation:g} (regression)")
        return
    correct = int(np.count_nonzero(predictions == y))
    print(f"Accuracy = {100 * correct / len(y):g}% ({correct}/{len(y)}) (classification)")
