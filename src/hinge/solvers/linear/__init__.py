"""Solvers for linear models: coordinate descent, ℓ1 penalties, small problems and linear programming."""
