"""Models: construction from the options, fitting, files, and the parts of a pipeline."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from hinge.cli.datafile import Samples
from hinge.cli.failures import CommandError, UsageError
from hinge.cli.output import shows_progress
from hinge.cli.parameters import check_estimator, estimator_class, parse_parameters
from hinge.io import load

#: First words of model files of LIBSVM and LIBLINEAR.
LIBSVM_STARTS = (b"svm_type ", b"solver_type ")

#: Options that set parameters of the estimator for this run only.
RUN_PARAMETERS = {"max_time": "max_time", "jobs": "n_jobs", "memory": "cache_size"}


# ---- construction ---------------------------------------------------------------------------------------------------


def make_estimator(arguments: Namespace) -> Any:
    """Return the estimator of --estimator with the parameters of -p, all of them checked."""
    cls = estimator_class(arguments.estimator)
    estimator = cls(**parse_parameters(cls, arguments.parameter))
    seed = getattr(arguments, "seed", None)
    if seed is not None and "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    if getattr(arguments, "max_time", None) is not None and not hasattr(estimator, "max_time"):
        raise UsageError(f"--max-time is not supported by {arguments.estimator}, which has no time limit")
    check_estimator(estimator)
    return estimator


@contextmanager
def run_parameters(estimator: Any, arguments: Namespace) -> Iterator[None]:
    """Set the resources and the progress line of this run; afterwards restore the parameters of the estimator."""
    given = {text.partition("=")[0].strip() for text in arguments.parameter}
    values = {name: getattr(arguments, option, None) for option, name in RUN_PARAMETERS.items()}
    values["verbose"] = True if shows_progress(arguments) else None
    known = estimator.get_params(deep=False)
    values = {k: v for k, v in values.items() if v is not None and k in known and k not in given}
    try:
        estimator.set_params(**values)
        yield
    finally:
        estimator.set_params(**{name: known[name] for name in values})


def make_scaler(method: str, X: Any) -> Any:
    """Return a scaler of scikit-learn for samples X; None for "none". Sparse samples are not centered."""
    if method == "none":
        return None
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler  # local: not needed by most commands

    if method == "standard":
        return StandardScaler(with_mean=not sp.issparse(X))
    if method == "maxabs":
        return MaxAbsScaler()
    if sp.issparse(X):
        raise UsageError("--scale minmax would make sparse data dense: use maxabs, or --storage dense")
    return MinMaxScaler()


# ---- fitting --------------------------------------------------------------------------------------------------------


def scaled(arguments: Namespace, samples: Samples) -> tuple[Any, Any]:
    """Return the scaler of --scale, fitted to the samples, and the scaled samples."""
    if samples.mapped and arguments.scale != "none":
        raise UsageError(
            f"--scale {arguments.scale} needs all data in memory, but {samples.name} is mapped from disk: scale the "
            "file first with `hinge scale`, or allow more memory"
        )
    scaler = make_scaler(arguments.scale, samples.X)
    return (None, samples.X) if scaler is None else (scaler, scaler.fit_transform(samples.X))


def fit_arguments(estimator: Any, samples: Samples) -> dict[str, Any]:
    """Return the keyword arguments of `fit`: sample weights and query numbers, if the estimator accepts them."""
    values = {"sample_weight": samples.sample_weight, "qid": samples.query_id}
    values = {name: value for name, value in values.items() if value is not None}
    accepted = set(type(estimator).fit.__annotations__)
    for name in values:
        if name not in accepted:
            option = {"sample_weight": "--sample-weight", "qid": "--query"}[name]
            raise UsageError(f"{option} is not supported by {type(estimator).__name__}")
    return values


def assemble(scaler: Any, estimator: Any, samples: Samples) -> Any:
    """Return the model: the estimator, or a pipeline with its scaler; with the names of the features."""
    if samples.feature_names is not None:
        for step in (scaler, estimator):
            if step is not None:
                step.feature_names_in_ = samples.feature_names_array()
    return estimator if scaler is None else Pipeline([("scaler", scaler), ("estimator", estimator)])


# ---- model files ----------------------------------------------------------------------------------------------------


def load_model(path: str, n_features: int | None = None) -> Any:
    """Load a model file: one of hinge, LIBSVM or LIBLINEAR. Models of LIBSVM may be given a number of features."""
    if is_libsvm_model(path):
        # imported lazily: most files are of hinge
        return import_module("hinge.io").load_libsvm_model(path, n_features=n_features)
    return load(path)


def load_with_data(path: str, texts: Sequence[str], X: Any, y: Any) -> Any:
    """Load a model of LIBSVM or LIBLINEAR with its training data and the parameters of -p, for its certificate."""
    load_libsvm_model = import_module("hinge.io").load_libsvm_model
    cls = type(load_libsvm_model(path))
    parameters = parse_parameters(cls, texts)
    return load_libsvm_model(path, X, None if cls.__name__.endswith("OneClassSVM") else y, **parameters)


def is_libsvm_model(path: str) -> bool:
    """Whether a file starts like a model of LIBSVM or LIBLINEAR."""
    with open(path, "rb") as file:
        return file.read(16).startswith(LIBSVM_STARTS)


def is_model(path: str) -> bool:
    """Whether a file is a model of hinge, LIBSVM or LIBLINEAR, by its first bytes and its name."""
    if path == "-" or path.lower().endswith(".npz"):
        return False
    with open(path, "rb") as file:
        start = file.read(16)
    return start.startswith((b"PK\x03\x04", *LIBSVM_STARTS))


@dataclass(frozen=True)
class Parts:
    """The parts of a model: the transformers of a pipeline, and the estimator."""

    transformers: tuple[Any, ...]
    estimator: Any

    @classmethod
    def of(cls, model: Any) -> Parts:
        """Split a model; the result of a search is its best estimator."""
        model = getattr(model, "best_estimator_", None) or model
        if isinstance(model, Pipeline):
            return cls(tuple(step for _, step in model.steps[:-1]), model.steps[-1][1])
        return cls((), model)

    def transform(self, X: Any) -> Any:
        """Apply the transformers."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        return X


def load_predictor(path: str, n_features: int | None = None) -> Any:
    """Load a model that predicts; other objects, such as a path or an estimator that was not fitted, are errors."""
    model = load_model(path, n_features)
    estimator = Parts.of(model).estimator
    if not hasattr(estimator, "predict") or not hasattr(estimator, "n_features_in_"):
        raise CommandError(f"{path} holds a {type(model).__name__} that does not predict; pass a fitted estimator")
    return model


@contextmanager
def without_name_warnings() -> Iterator[None]:
    """Columns are selected by the names of the features, so that arrays without names are in the right order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def file_size(path: str) -> int:
    """Return the size of a file in bytes."""
    return os.stat(path).st_size
