"""`hinge scale`: scale the features of a data file."""

from __future__ import annotations

from argparse import Namespace

from sklearn.base import TransformerMixin

from hinge.cli.datafile import Expected, read_samples, write_samples
from hinge.cli.failures import CommandError, ExitCode, UsageError
from hinge.cli.models import Parts, load_model, make_scaler, without_name_warnings
from hinge.cli.output import check_outputs, field, show
from hinge.io import save


def run(arguments: Namespace) -> int:
    """Scale and write; return the exit code."""
    if arguments.output is None and arguments.save is None:
        raise UsageError("there is nothing to write: pass -o FILE for the scaled data, --save FILE for the scaler")
    inputs = (arguments.data, arguments.restore)
    check_outputs(arguments.save, inputs=inputs)
    check_outputs(arguments.output, inputs=inputs, devices=True)
    if arguments.restore is None:
        samples = read_samples(arguments)
        scaler = make_scaler(arguments.method, samples.X).fit(samples.X)
        if samples.feature_names is not None:
            scaler.feature_names_in_ = samples.feature_names_array()
    else:
        scaler = _restored(arguments.restore)
        samples = read_samples(arguments, expected=Expected.of(scaler))
    if arguments.output is not None:
        with without_name_warnings():
            write_samples(samples, scaler.transform(samples.X), arguments.output)
    if arguments.save is not None:
        save(scaler, arguments.save)
    kind = type(scaler).__name__
    lines = [field("data", f"{samples.name}: {samples.summary()}"), field("scaler", kind)]
    lines += [field("scaled data", arguments.output)] if arguments.output is not None else []
    lines += [field("scaler file", arguments.save)] if arguments.save is not None else []
    result = {"data": samples.description(), "scaler": kind, "output": arguments.output, "saved": arguments.save}
    show(arguments, result, lines)
    return ExitCode.SUCCESS


def _restored(path: str) -> TransformerMixin:
    """Load a scaler, or take that of a model which `hinge train --scale` wrote."""
    model = load_model(path)
    parts = Parts.of(model)
    candidates = [*parts.transformers, parts.estimator]
    if not hasattr(candidates[0], "transform"):
        raise CommandError(f"{path} holds a {type(model).__name__} without a scaler; write one with --save")
    return candidates[0]
