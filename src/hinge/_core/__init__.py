"""The compiled core: kernel rows, solvers, paths and prediction on arrays, without labels."""

from hinge._core.native import *  # noqa: F403
