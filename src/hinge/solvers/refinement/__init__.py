"""Refinement of approximate solutions: polishing, crossover, iterative refinement and verification."""
