"""Explanation of predictions: exact Shapley values, influence of samples, gradients and partial dependence."""

from hinge.inspection.dependence import Dependence, gradient, partial_dependence
from hinge.inspection.influence import influence
from hinge.inspection.shapley import ShapleyValues, shapley_values

__all__ = ["Dependence", "ShapleyValues", "gradient", "influence", "partial_dependence", "shapley_values"]
