"""scikit-learn estimators: validate, formulate, solve, recover."""

from hinge.estimators.classification import SVC, NuSVC
from hinge.estimators.incremental import IncrementalSVC, IncrementalSVR
from hinge.estimators.linear_classification import LinearSVC
from hinge.estimators.linear_single import LinearOneClassSVM, LinearSVR
from hinge.estimators.single import SVR, NuSVR, OneClassSVM

__all__ = [
    "SVC",
    "SVR",
    "IncrementalSVC",
    "IncrementalSVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
