"""Probabilities from decision values: Platt's sigmoid, pairwise coupling, and models of noise and density."""

from hinge.calibration.agreement import agree
from hinge.calibration.coupling import couple, couple_iteratively
from hinge.calibration.density import density_marks, inlier_probability
from hinge.calibration.laplace import laplace_scale
from hinge.calibration.models import (
    OneVsRestSigmoids,
    PairwiseSigmoids,
    RankedScores,
    SoftmaxScaling,
    fit_one_vs_rest,
)
from hinge.calibration.platt import PlattSigmoid, fit_sigmoid

__all__ = [
    "OneVsRestSigmoids",
    "PairwiseSigmoids",
    "PlattSigmoid",
    "RankedScores",
    "SoftmaxScaling",
    "agree",
    "couple",
    "couple_iteratively",
    "density_marks",
    "fit_one_vs_rest",
    "fit_sigmoid",
    "inlier_probability",
    "laplace_scale",
]
