"""`hinge predict`: apply a model to a data file."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from hinge.cli.datafile import Expected, data_format, iterate_libsvm, read_samples
from hinge.cli.failures import CommandError, ExitCode
from hinge.cli.models import Parts, load_predictor, without_name_warnings
from hinge.cli.output import check_outputs, label_text, note, open_output, plain

METHODS = {"labels": "predict", "decision": "decision_function", "probability": "predict_proba"}


def run(arguments: Namespace) -> int:
    """Predict and write one line per sample; return the exit code."""
    inputs = (arguments.model, arguments.data)
    check_outputs(arguments.output, inputs=inputs, devices=True, standard_output=True)
    model = load_predictor(arguments.model, arguments.features)
    predict = _method(model, arguments)
    _set_threads(model, arguments.jobs)
    start, count = time.perf_counter(), 0
    with without_name_warnings(), open_output(arguments.output) as file:
        write = _write_json if arguments.json else _write_lines
        count = write(file, (predict(X) for X in _blocks(arguments, model)), arguments)
    if arguments.output is not None:
        seconds = time.perf_counter() - start
        target = "standard output" if arguments.output == "-" else arguments.output
        note(arguments, f"{count} samples predicted in {seconds:.2f} s, written to {target}")
    return ExitCode.SUCCESS


def _method(model: Any, arguments: Namespace) -> Any:
    """Return the method for --values; an estimator without it is an error."""
    name = METHODS[arguments.values]
    method = getattr(model, name, None)
    if method is None:
        kind = type(Parts.of(model).estimator).__name__
        available = [values for values, other in METHODS.items() if hasattr(model, other)]
        raise CommandError(f"--values {arguments.values} is not available for {kind}; use {' or '.join(available)}")
    return method


def _set_threads(model: Any, jobs: int) -> None:
    estimator = Parts.of(model).estimator
    if "n_jobs" in estimator.get_params(deep=False):
        estimator.set_params(n_jobs=jobs)


def _blocks(arguments: Namespace, model: Any) -> Iterator[Any]:
    """Iterate over the samples in blocks: LIBSVM files may be larger than memory."""
    expected = Expected.of(model)
    if data_format(arguments, arguments.data) == "libsvm" and expected.n_features is not None:
        yield from iterate_libsvm(arguments, expected)
    else:
        yield read_samples(arguments, expected=expected).X


def _write_lines(file: IO[bytes], blocks: Iterator[Any], arguments: Namespace) -> int:
    count = 0
    for values in blocks:
        rows = np.asarray(values)
        count += len(rows)
        if rows.ndim == 1:
            text = "".join(f"{label_text(value)}\n" for value in rows.tolist())
        else:
            text = "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist())
        file.write(text.encode("utf-8"))
    return count


def _write_json(file: IO[bytes], blocks: Iterator[Any], arguments: Namespace) -> int:
    values = [value for block in blocks for value in plain(np.asarray(block))]
    result = {"command": "predict", "model": arguments.model, "data": arguments.data, arguments.values: values}
    file.write(json.dumps(result, allow_nan=False, ensure_ascii=False).encode("utf-8") + b"\n")
    return len(values)
