"""`hinge train`: fit an estimator and write a model file."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hinge.cli.certificates import as_dict, sentence
from hinge.cli.datafile import Samples, read_samples
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.models import assemble, file_size, fit_arguments, make_estimator, run_parameters, scaled
from hinge.cli.output import check_outputs, field, show, size_text
from hinge.io import save
from hinge.problems import Status


def run(arguments: Namespace) -> int:
    """Read, fit, save and report; return the exit code."""
    if arguments.output is None:
        raise UsageError("the name of the model file is missing: pass it with -o FILE")
    check_outputs(arguments.output, inputs=(arguments.data, arguments.unlabeled, arguments.sample_weight))
    estimator = make_estimator(arguments)
    clock = [time.perf_counter()]
    with ExitStack() as resources:
        samples = read_samples(
            arguments,
            queries=arguments.estimator == "RankingSVM",
            estimator=arguments.estimator,
            resources=resources,
        )
        extra = _unlabeled(arguments, samples)
        clock.append(time.perf_counter())
        scaler, X = scaled(arguments, samples)
        if scaler is not None and extra:
            extra = {"X_unlabeled": scaler.transform(extra["X_unlabeled"])}
        with run_parameters(estimator, arguments):
            fit(estimator, X, samples, extra)
        clock.append(time.perf_counter())
        model = assemble(scaler, estimator, samples)
        save(model, arguments.output)
        clock.append(time.perf_counter())
    seconds = dict(zip(("read", "fit", "save"), np.diff(clock).tolist(), strict=True))
    if samples.read_seconds is not None:
        seconds["read"] = samples.read_seconds
    status = getattr(estimator, "status_", Status.SOLVED)
    result = description(estimator, samples, arguments, seconds)
    show(arguments, result, _lines(estimator, samples, arguments, seconds))
    return ExitCode.SUCCESS if status is Status.SOLVED else ExitCode.NOT_CONVERGED


def fit(estimator: Any, X: Any, samples: Samples, extra: dict[str, Any]) -> None:
    """Fit the estimator to samples X; novelty detectors need no labels."""
    options = {**fit_arguments(estimator, samples), **extra}
    if getattr(estimator, "_estimator_type", None) == "outlier_detector":
        estimator.fit(X, **options)
    else:
        estimator.fit(X, samples.labels, **options)


def _unlabeled(arguments: Namespace, samples: Samples) -> dict[str, Any]:
    """Read the unlabeled samples of TransductiveSVC."""
    if arguments.unlabeled is None:
        return {}
    if arguments.estimator != "TransductiveSVC":
        raise UsageError(f"--unlabeled is for TransductiveSVC, not for {arguments.estimator}")
    options = Namespace(**{**vars(arguments), "features": samples.X.shape[1], "sample_weight": None, "target": None})
    return {"X_unlabeled": read_samples(options, arguments.unlabeled).X}


def description(
    estimator: Any, samples: Samples, arguments: Namespace, seconds: dict[str, float]
) -> dict[str, Any]:
    """Return the result for JSON."""
    certificate = getattr(estimator, "certificate_", None)
    return {
        "data": samples.description(),
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "scale": arguments.scale,
        "classes": estimator.classes_ if is_classifier(estimator) else None,
        "status": getattr(estimator, "status_", None),
        "iterations": getattr(estimator, "n_iter_", None),
        "support_vectors": support_vectors(estimator),
        "certificate": None if certificate is None else as_dict(certificate),
        "seconds": seconds,
        "output": arguments.output,
        "bytes": file_size(arguments.output),
    }


def support_vectors(estimator: Any) -> int | None:
    """Return the number of support vectors; None for estimators without them."""
    counts = getattr(estimator, "n_support_", None)
    return None if counts is None else int(np.sum(counts))


def _lines(estimator: Any, samples: Samples, arguments: Namespace, seconds: dict[str, float]) -> Iterator[str]:
    status = getattr(estimator, "status_", None)
    yield field("data", f"{samples.name}: {samples.summary()}, read in {seconds['read']:.2f} s")
    if is_classifier(estimator):
        yield field("classes", f"{len(estimator.classes_)}")
    if arguments.scale != "none":
        centered = ", not centered because the data are sparse" if _is_uncentered(arguments, samples) else ""
        yield field("scaling", f"{arguments.scale}{centered}")
    end = "" if status is None else f"{status.name}, "
    yield field("estimator", " ".join(str(estimator).split()))
    yield field("fit", f"{end}{seconds['fit']:.2f} s{_iterations(estimator)}")
    count = support_vectors(estimator)
    if count is not None:
        yield field("support vectors", f"{count} ({count / samples.X.shape[0]:.1%} of the samples)")
    if getattr(estimator, "certificate_", None) is not None:
        yield field("certificate", sentence(estimator.certificate_))
    yield field("model", f"{arguments.output} ({size_text(file_size(arguments.output))})")


def _is_uncentered(arguments: Namespace, samples: Samples) -> bool:
    return arguments.scale == "standard" and bool(samples.description()["sparse"])


def _iterations(estimator: Any) -> str:
    count = getattr(estimator, "n_iter_", None)
    return "" if count is None else f", {int(np.max(count)):,d} iterations"
