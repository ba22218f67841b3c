"""Probabilities from decision values: Platt's sigmoid, pairwise coupling, and models of noise and density."""

from hinge.calibration.coupling import couple, couple_iteratively
from hinge.calibration.density import density_marks, inlier_probability
from hinge.calibration.laplace import laplace_scale
from hinge.calibration.platt import PlattSigmoid, fit_sigmoid

__all__ = [
    "PlattSigmoid",
    "couple",
    "couple_iteratively",
    "density_marks",
    "fit_sigmoid",
    "inlier_probability",
    "laplace_scale",
]
