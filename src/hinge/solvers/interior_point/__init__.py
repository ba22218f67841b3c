"""Primal–dual interior-point methods for dense, low-rank and Crammer–Singer problems."""
