"""Estimators with exact updates: `IncrementalSVC` and `IncrementalSVR`."""
