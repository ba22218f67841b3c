"""Estimators with exact updates."""

from hinge.estimators.incremental.classification import IncrementalSVC
from hinge.estimators.incremental.one_class import IncrementalOneClassSVM
from hinge.estimators.incremental.regression import IncrementalSVR

__all__ = ["IncrementalOneClassSVM", "IncrementalSVC", "IncrementalSVR"]
