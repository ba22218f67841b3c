"""Regularization paths of quadratic losses, which are piecewise rational."""
