"""Transduction: labels for given samples, found together with the machine."""

from hinge.transduction.switching import Stage, Transduction

__all__ = ["Stage", "Transduction"]
