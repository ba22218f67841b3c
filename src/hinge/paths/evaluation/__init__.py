"""Evaluation of paths at arrays of values, weights of features, and tables."""
