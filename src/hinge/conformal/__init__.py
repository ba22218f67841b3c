"""Prediction intervals and sets with finite-sample guarantees."""

from hinge.conformal.cross import CVPlus, JackknifePlus
from hinge.conformal.quantiles import coverage

__all__ = ["CVPlus", "JackknifePlus", "coverage"]
