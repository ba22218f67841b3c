"""Stochastic estimators for streams."""

from hinge.estimators.online.classification import OnlineNuSVC, OnlineSVC
from hinge.estimators.online.novelty import OnlineNoveltyDetector
from hinge.estimators.online.regression import OnlineSVR

__all__ = ["OnlineNoveltyDetector", "OnlineNuSVC", "OnlineSVC", "OnlineSVR"]
