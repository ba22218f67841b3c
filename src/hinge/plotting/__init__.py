"""Plots of models and paths, and interactive pages of paths.

The plots have the Display convention of scikit-learn and require matplotlib (the extra `plot`). The pages do not.
"""

from hinge.plotting.animation import animate
from hinge.plotting.boundary import DecisionBoundary
from hinge.plotting.calibration import CalibrationDisplay, CoverageDisplay
from hinge.plotting.convergence import Convergence
from hinge.plotting.explorer import explore
from hinge.plotting.grid import GridDisplay
from hinge.plotting.intervals import IntervalDisplay
from hinge.plotting.learning import LearningCurveDisplay
from hinge.plotting.paths import PathDisplay
from hinge.plotting.shapley import ShapleyDisplay

__all__ = [
    "CalibrationDisplay",
    "Convergence",
    "CoverageDisplay",
    "DecisionBoundary",
    "GridDisplay",
    "IntervalDisplay",
    "LearningCurveDisplay",
    "PathDisplay",
    "ShapleyDisplay",
    "animate",
    "explore",
]
