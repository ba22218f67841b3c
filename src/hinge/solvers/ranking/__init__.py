"""Solvers for problems over pairs of samples."""
