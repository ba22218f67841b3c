"""hinge: support vector machines with a proof in every answer."""

from importlib.metadata import version

from hinge import kernels, solvers
from hinge.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from hinge.io import ModelFileError, load, save
from hinge.problems import Certificate, Status, certify

__version__ = version("hinge")

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "ModelFileError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "certify",
    "kernels",
    "load",
    "save",
    "solvers",
]
