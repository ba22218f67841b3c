"""`hinge convert`: convert model files and data files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from typing import Any

from hinge.cli.datafile import read_samples, write_samples
from hinge.cli.failures import CommandError, ExitCode, UsageError
from hinge.cli.models import file_size, is_model, load_model
from hinge.cli.output import check_outputs, field, show, size_text
from hinge.io import save
from hinge.io.tables import format_of

#: Formats of models by the ending of the name.
MODEL_ENDINGS = {".hinge": "hinge", ".model": "libsvm", ".libsvm": "libsvm", ".onnx": "onnx", ".c": "c"}

#: Functions of `hinge.io` that write other formats of models.
WRITERS = {"libsvm": "save_libsvm_model", "onnx": "to_onnx", "c": "to_c"}


def run(arguments: Namespace) -> int:
    """Convert a model or a data file; return the exit code."""
    check_outputs(arguments.output, inputs=(arguments.input,), devices=True)
    if is_model(arguments.input):
        kind = _convert_model(arguments)
    else:
        kind = _convert_data(arguments)
    size = file_size(arguments.output)
    lines = [field("input", arguments.input), field("output", f"{arguments.output}: {kind}, {size_text(size)}")]
    show(arguments, {"input": arguments.input, "output": arguments.output, "format": kind, "bytes": size}, lines)
    return ExitCode.SUCCESS


def _convert_model(arguments: Namespace) -> str:
    kind = arguments.to or next((v for k, v in MODEL_ENDINGS.items() if arguments.output.lower().endswith(k)), None)
    if kind not in ("hinge", *WRITERS):
        raise UsageError(
            f"{arguments.output!r} does not say to which format the model is converted: use an ending "
            f"({', '.join(MODEL_ENDINGS)}), or --to {{hinge,{','.join(WRITERS)}}}"
        )
    write = save if kind == "hinge" else _writer(kind)
    write(load_model(arguments.input), arguments.output)
    return str(kind)


def _writer(kind: str) -> Callable[[Any, str], Any]:
    """Return the function that writes a model in another format; its module is imported when it is needed."""
    function: Callable[[Any, str], Any] = getattr(import_module("hinge.io"), WRITERS[kind])
    return function


def _convert_data(arguments: Namespace) -> str:
    path = arguments.output
    kind = arguments.to or ("npz" if path.lower().endswith(".npz") else format_of(path) or "libsvm")
    named_as_model = arguments.to is None and path.lower().endswith((".hinge", ".model", ".onnx", ".c"))
    if kind not in ("libsvm", "csv", "parquet", "npz") or named_as_model:
        raise CommandError(f"{arguments.input} is a data file, which cannot be converted to {path!r}")
    samples = read_samples(arguments, arguments.input)
    write_samples(samples, samples.X, path, kind)
    return str(kind)
