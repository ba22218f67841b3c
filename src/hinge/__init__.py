"""hinge: support vector machines with a proof in every answer."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from hinge import io, kernels, solvers
from hinge.estimators import SVC, SVR, LinearOneClassSVM, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.io import ModelFileError, load, save
from hinge.problems import Certificate, Status, certify

__version__ = version("hinge")

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "ModelFileError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "certify",
    "io",
    "kernels",
    "load",
    "save",
    "solvers",
]


def __getattr__(name: str) -> Any:
    """`hinge.plotting` is imported when it is first asked for: it needs matplotlib."""
    if name == "plotting":
        return import_module("hinge.plotting")
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")
