"""Estimators with exact updates: `IncrementalSVC`, `IncrementalSVR` and `IncrementalOneClassSVM`."""
