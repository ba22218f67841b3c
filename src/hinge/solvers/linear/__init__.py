"""Solvers for linear models: coordinate descent, centering, small problems and linear programming."""
