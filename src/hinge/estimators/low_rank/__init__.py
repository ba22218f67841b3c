"""Estimators with few basis functions: `LowRankSVC`."""
