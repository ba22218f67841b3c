"""Estimators with a kernel expansion."""

from hinge.estimators.kernel.classification import SVC
from hinge.estimators.kernel.nu_classification import NuSVC
from hinge.estimators.kernel.one_class import OneClassSVM
from hinge.estimators.kernel.parzen import ParzenClassifier
from hinge.estimators.kernel.regression import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "ParzenClassifier"]
