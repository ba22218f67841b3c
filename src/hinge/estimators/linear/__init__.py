"""Linear estimators."""

from hinge.estimators.linear.classification import LinearSVC
from hinge.estimators.linear.one_class import LinearOneClassSVM
from hinge.estimators.linear.regression import LinearSVR

__all__ = ["LinearOneClassSVM", "LinearSVC", "LinearSVR"]
