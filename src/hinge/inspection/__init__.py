"""Explanation of predictions: exact Shapley values, influence of samples, gradients and partial dependence."""

from hinge.inspection.dependence import Dependence, gradient, partial_dependence
from hinge.inspection.shapley import ShapleyValues, shapley_values
from hinge.inspection.training_samples import flip, influence

__all__ = ["Dependence", "ShapleyValues", "flip", "gradient", "influence", "partial_dependence", "shapley_values"]
