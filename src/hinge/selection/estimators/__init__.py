"""Estimators with built-in model selection."""
