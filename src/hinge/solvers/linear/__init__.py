"""Solvers for linear models: coordinate descent, small problems and linear programming."""
