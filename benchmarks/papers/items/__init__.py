"""Comparisons of each method with an independent computation: generators of (method, difference) for one data set."""
