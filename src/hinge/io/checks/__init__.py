"""Checks of the objects in a model file: what every attribute must hold, and how the attributes belong together."""
