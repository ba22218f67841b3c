"""Transduction: a classifier and the labels of given unlabeled samples, computed together."""

from hinge.transduction.positive_fraction import share_correction, stratified_folds
from hinge.transduction.switching import Stage, TimeLimitReached, Transduction

__all__ = ["Stage", "TimeLimitReached", "Transduction", "share_correction", "stratified_folds"]
