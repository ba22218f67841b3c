"""Estimators with few basis functions."""

from hinge.estimators.low_rank.classification import LowRankSVC

__all__ = ["LowRankSVC"]
