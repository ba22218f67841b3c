"""Plots of models and paths with the Display convention of scikit-learn. Requires matplotlib (the extra `plot`)."""

from hinge.plotting.boundary import DecisionBoundary
from hinge.plotting.convergence import Convergence
from hinge.plotting.grid import GridDisplay
from hinge.plotting.intervals import IntervalDisplay
from hinge.plotting.paths import PathDisplay
from hinge.plotting.shapley import ShapleyDisplay

__all__ = ["Convergence", "DecisionBoundary", "GridDisplay", "IntervalDisplay", "PathDisplay", "ShapleyDisplay"]
