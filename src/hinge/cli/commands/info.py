"""`hinge info`: the installation, an estimator, a model file or a data file."""

from __future__ import annotations

import os
import platform
from argparse import Namespace
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count

from hinge.cli.certificates import as_dict, sentence
from hinge.cli.datafile import read_samples
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.models import Parts, file_size, is_model, load_model
from hinge.cli.options import ESTIMATORS
from hinge.cli.output import field, label_text, number, show, size_text, table
from hinge.cli.parameters import defaults_of, estimator_class
from hinge.kernels import available_bytes

#: Packages in the report on the installation; the last ones are optional.
PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl")
OPTIONAL_PACKAGES = ("matplotlib", "rich", "pyarrow", "onnx")

#: Labels whose counts are printed.
MAX_PRINTED_LABELS = 20


def run(arguments: Namespace) -> int:
    """Describe the subject; return the exit code."""
    subject = arguments.subject
    if subject is None:
        result, lines = _installation()
    elif subject in ESTIMATORS:
        result, lines = _estimator(subject)
    elif subject == "-" or os.path.exists(subject):
        result, lines = _model(subject) if is_model(subject) else _data(arguments)
    else:
        raise UsageError(f"{subject!r} is neither a file nor an estimator; the estimators are {', '.join(ESTIMATORS)}")
    show(arguments, result, lines)
    return ExitCode.SUCCESS


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _installation() -> tuple[dict[str, Any], list[str]]:
    versions = {name: _version(name) for name in ("hinge", *PACKAGES, *OPTIONAL_PACKAGES)}
    memory = int(available_bytes())
    result = {
        "versions": {"python": platform.python_version(), **versions},
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": cpu_count(),
        "available_bytes": memory,
    }
    lines = [
        field("hinge", versions.pop("hinge") or "not installed"),
        field("python", f"{platform.python_version()} on {platform.platform()}"),
        field("cores", str(cpu_count())),
        field("free memory", size_text(memory)),
    ]
    lines += [field(name, version or "not installed (optional)") for name, version in versions.items()]
    return result, lines


def _estimator(name: str) -> tuple[dict[str, Any], list[str]]:
    cls = estimator_class(name)
    defaults = defaults_of(cls)
    summary = " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())
    width = max(map(len, defaults))
    lines = [f"{name}: {summary}", "", "parameters and default values:"]
    lines += [f"  {key:<{width}}  {value!r}" for key, value in defaults.items()]
    return {"estimator": name, "summary": summary, "parameters": defaults}, lines


def _model(path: str) -> tuple[dict[str, Any], list[str]]:
    model = load_model(path)
    parts = Parts.of(model)
    estimator = parts.estimator
    size = file_size(path)
    lines = [field("model", f"{path} ({size_text(size)}): {type(model).__name__}")]
    lines += [field("transformer", " ".join(str(step).split())) for step in parts.transformers]
    lines.append(field("estimator", " ".join(str(estimator).split())))
    result: dict[str, Any] = {
        "model": path,
        "bytes": size,
        "class": type(model).__name__,
        "transformers": [str(step) for step in parts.transformers],
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False) if hasattr(estimator, "get_params") else None,
        "features": getattr(model, "n_features_in_", None),
        "feature_names": getattr(model, "feature_names_in_", None),
        "classes": getattr(estimator, "classes_", None),
        "status": getattr(estimator, "status_", None),
        "support_vectors": getattr(estimator, "n_support_", None),
        "certificate": None,
    }
    for key, name in (("features", "features"), ("feature_names", "feature names"), ("classes", "classes"),
                      ("support_vectors", "support vectors")):  # fmt: skip
        if result[key] is not None:
            values = np.atleast_1d(result[key]).tolist()
            lines.append(field(name, ", ".join(map(label_text, values[:MAX_PRINTED_LABELS]))))
    if result["status"] is not None:
        lines.append(field("status", result["status"].name))
    certificate = getattr(estimator, "certificate_", None)
    if certificate is not None:
        result["certificate"] = as_dict(certificate)
        lines.append(field("certificate", sentence(certificate)))
    return result, lines


def _data(arguments: Namespace) -> tuple[dict[str, Any], list[str]]:
    samples = read_samples(arguments, arguments.subject)
    X = samples.X
    values = X.data if sp.issparse(X) else X
    nonzero = int(np.count_nonzero(values))
    share = nonzero / max(1, X.shape[0] * X.shape[1])
    result = {**samples.description(), "nonzero": nonzero, "feature_names": samples.feature_names}
    lines = [
        field("data", f"{samples.name}: {samples.summary()}"),
        field("not zero", f"{nonzero} values ({share:.1%})"),
        field("range of values", f"{number(np.min(values, initial=0.0))} to {number(np.max(values, initial=0.0))}"),
    ]
    if samples.feature_names is not None:
        lines.append(field("features", ", ".join(samples.feature_names[:MAX_PRINTED_LABELS])))
    if samples.y is not None:
        labels, counts = np.unique(samples.y, return_counts=True)
        result["labels"] = {label_text(k): v for k, v in zip(labels.tolist(), counts.tolist(), strict=True)}
        if len(labels) <= MAX_PRINTED_LABELS:
            rows = [[label_text(k), str(v)] for k, v in zip(labels.tolist(), counts.tolist(), strict=True)]
            lines += ["", *table(["label", "samples"], rows)]
        else:
            lines.append(field("labels", f"{len(labels)} different values"))
    return result, lines
