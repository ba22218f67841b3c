"""Exact paths of ℓ1-regularized problems: linear programs and the weighted lasso."""
