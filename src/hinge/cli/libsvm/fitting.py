"""The work of `hinge-svm-train`: read the data, solve the subproblems, write the model file or print scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from hinge.cli.libsvm.batch import Batch
from hinge.cli.libsvm.command import CommandError
from hinge.cli.libsvm.data import Samples, read_training_data
from hinge.cli.libsvm.folds import CRandom, group_classes
from hinge.cli.libsvm.options import TrainOptions
from hinge.cli.libsvm.scores import accuracy, regression_scores
from hinge.cli.libsvm.training import CrossValidationPlan, Report, plan_model
from hinge.io.libsvm_models.record import REGRESSORS, LibsvmModel
from hinge.io.libsvm_models.text import write_model


def run_training(options: TrainOptions) -> None:
    """Train, or cross-validate if folds are given."""
    samples = read_training_data(options)
    check_nu(samples, options)
    report = _silent if options.quiet else _print
    if options.n_folds:
        print_cross_validation(samples, options, report)
        return
    model = train_model(samples, options, report)
    try:
        write_model(model, options.model_file)
    except OSError as error:
        raise CommandError(f"can't save model to file {options.model_file}: {error.strerror or error}") from None


def train_model(samples: Samples, options: TrainOptions, report: Report) -> LibsvmModel:
    """Train on all samples."""
    batch = Batch(samples, options)
    plan = plan_model(batch, np.arange(len(samples.y)), options, CRandom())
    batch.solve()
    model = plan.build(report)
    return replace(model, vectors=samples.vectors(model.vectors))


def print_cross_validation(samples: Samples, options: TrainOptions, report: Report) -> None:
    """Cross-validate and print the scores."""
    batch = Batch(samples, options)
    plan = CrossValidationPlan(batch, np.arange(len(samples.y)), options, options.n_folds, CRandom())
    batch.solve()
    predictions = plan.build(report)
    if options.svm_type in REGRESSORS:
        error, correlation = regression_scores(samples.y, predictions)
        print(f"Cross Validation Mean squared error = {error:g}")
        print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
    else:
        print(f"Cross Validation Accuracy = {100 * accuracy(samples.y, predictions):g}%")


def check_nu(samples: Samples, options: TrainOptions) -> None:
    """Raise the error of svm-train if ν is too large for a pair of classes."""
    if options.svm_type != "nu_svc":
        return
    labels, groups = group_classes(samples.y)
    for (a, first), (b, second) in combinations(zip(labels, map(len, groups), strict=True), 2):
        if options.nu * (first + second) / 2 > min(first, second):
            raise CommandError(
                f"ERROR: specified nu is infeasible: nu = {options.nu:g}, but classes {a} and {b} with {first} and "
                f"{second} samples allow at most {2 * min(first, second) / (first + second):g}"
            )


def _print(text: str) -> None:
    print(text, end="", flush=True)


def _silent(text: str) -> None:
    """Print nothing: the option -q."""
