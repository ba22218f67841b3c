"""Prediction intervals and sets with finite-sample guarantees."""

from hinge.conformal.adaptive import AdaptiveIntervals, IntervalHistory
from hinge.conformal.classification import ConformalClassifier
from hinge.conformal.cross import CVPlus, JackknifePlus
from hinge.conformal.full import FullConformal
from hinge.conformal.one_class import ConformalDetector
from hinge.conformal.quantiles import coverage

__all__ = [
    "AdaptiveIntervals",
    "CVPlus",
    "ConformalClassifier",
    "ConformalDetector",
    "FullConformal",
    "IntervalHistory",
    "JackknifePlus",
    "coverage",
]
