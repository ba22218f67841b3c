"""Transduction: labels for given samples, found together with the machine."""

from hinge.transduction.positive_fraction import correction, deal
from hinge.transduction.switching import OutOfTime, Stage, Transduction

__all__ = ["OutOfTime", "Stage", "Transduction", "correction", "deal"]
