"""`hinge explain`: the solver that a fit would use, and why."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from hinge.cli.datafile import read_samples
from hinge.cli.failures import ExitCode
from hinge.cli.models import fit_arguments, make_estimator, run_parameters, scaled
from hinge.cli.output import field, show
from hinge.solvers import explain


def run(arguments: Namespace) -> int:
    """Print the explanation; return the exit code."""
    estimator = make_estimator(arguments)
    samples = read_samples(arguments, queries=arguments.estimator == "RankingSVM")
    _, X = scaled(arguments, samples)
    with run_parameters(estimator, arguments):
        explanation = explain(estimator, X, samples.y, **fit_arguments(estimator, samples))
    lines = [
        field("data", f"{samples.name}: {samples.summary()}"),
        field("estimator", " ".join(str(estimator).split())),
        field("kernel matrix", f"{explanation.memory:.1f} MB in double precision"),
        str(explanation),
    ]
    show(arguments, {"data": samples.description(), **asdict(explanation)}, lines)
    return ExitCode.SUCCESS
