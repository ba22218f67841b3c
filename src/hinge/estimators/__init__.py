"""scikit-learn estimators: validate, formulate, solve, recover."""

from hinge.estimators.classification import SVC, NuSVC
from hinge.estimators.incremental import IncrementalSVC, IncrementalSVR
from hinge.estimators.linear import LinearOneClassSVM, LinearSVC, LinearSVR
from hinge.estimators.ranking import RankingSVM
from hinge.estimators.single import SVR, NuSVR, OneClassSVM
from hinge.estimators.transductive import TransductiveSVC

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
    "RankingSVM",
    "TransductiveSVC",
]
