"""`hinge certify`: recompute the certificate of a model from its training data."""

from __future__ import annotations

from argparse import Namespace

from hinge.cli.certificates import as_dict, sentence
from hinge.cli.datafile import Expected, read_samples
from hinge.cli.failures import CommandError, ExitCode, UsageError
from hinge.cli.models import (
    Parts,
    fit_arguments,
    is_libsvm_model,
    load_predictor,
    load_with_data,
    without_name_warnings,
)
from hinge.cli.output import field, show


def run(arguments: Namespace) -> int:
    """Print the certificate; the exit code depends on --tol."""
    is_foreign = is_libsvm_model(arguments.model)
    if arguments.parameter and not is_foreign:
        raise UsageError(f"-p is for models of LIBSVM and LIBLINEAR; {arguments.model} contains its parameters")
    model = load_predictor(arguments.model)
    parts = Parts.of(model)
    estimator, kind = parts.estimator, type(parts.estimator).__name__
    if not hasattr(estimator, "certify"):
        raise CommandError(f"{arguments.model} holds a {kind}, which does not solve a problem with a certificate")
    expected = Expected() if is_foreign else Expected.of(model)
    samples = read_samples(arguments, expected=expected, queries=kind == "RankingSVM")
    if is_foreign:
        estimator = load_with_data(arguments.model, arguments.parameter, samples.X, samples.y)
    options = fit_arguments(estimator, samples)
    with without_name_warnings():
        X = parts.transform(samples.X)
        novelty = getattr(estimator, "_estimator_type", None) == "outlier_detector"
        certificate = estimator.certify(X, **options) if novelty else estimator.certify(X, samples.labels, **options)
    proven = arguments.tol is None or (certificate.relative_gap <= arguments.tol and certificate.convex is not False)
    stored = getattr(estimator, "certificate_", None)
    lines = [
        field("model", f"{arguments.model}: {' '.join(str(estimator).split())}"),
        field("data", f"{samples.name}: {samples.summary()}"),
        field("certificate", sentence(certificate)),
        field("KKT violation", f"{certificate.kkt_violation:.2g}"),
    ]
    if stored is not None:
        lines.append(field("stored by fit", sentence(stored)))
    if arguments.tol is not None:
        lines.append(field("tolerance", f"{arguments.tol:g}: {'reached' if proven else 'not reached'}"))
    result = {
        "model": arguments.model,
        "data": samples.description(),
        "certificate": as_dict(certificate),
        "stored": None if stored is None else as_dict(stored),
        "tol": arguments.tol,
        "reached": proven,
    }
    show(arguments, result, lines)
    return ExitCode.SUCCESS if proven else ExitCode.NOT_CONVERGED
