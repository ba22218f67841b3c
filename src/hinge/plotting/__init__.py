"""Plots of models and paths with the Display convention of scikit-learn. Requires matplotlib (the extra `plot`)."""

from hinge.plotting.boundary import DecisionBoundary
from hinge.plotting.convergence import Convergence
from hinge.plotting.paths import PathDisplay

__all__ = ["Convergence", "DecisionBoundary", "PathDisplay"]
