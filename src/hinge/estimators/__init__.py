"""scikit-learn estimators: validate, formulate, solve, recover."""

from hinge.estimators.classification import SVC, NuSVC
from hinge.estimators.linear import LinearOneClassSVM, LinearSVC, LinearSVR
from hinge.estimators.single import SVR, NuSVR, OneClassSVM

__all__ = ["SVC", "SVR", "LinearOneClassSVM", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
