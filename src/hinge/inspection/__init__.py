"""Explanation of predictions: exact Shapley values."""

from hinge.inspection.shapley import ShapleyValues, shapley_values

__all__ = ["ShapleyValues", "shapley_values"]
