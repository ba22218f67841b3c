"""Formulations: labels, costs and signs become problem (1), and its solution a function."""

from hinge.formulations.base import Formulation, proof_of
from hinge.formulations.c_svc import CSVC, equivalent_nu
from hinge.formulations.convex_loss import ConvexLoss
from hinge.formulations.linear import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    linear_classification,
    linear_one_class,
    linear_regression,
)
from hinge.formulations.lp import lp_classification, lp_regression
from hinge.formulations.nu_svc import BALANCES, NuSVC, equivalent_C
from hinge.formulations.nu_svr import NuSVR
from hinge.formulations.one_class import OneClass
from hinge.formulations.ranking import WEIGHTINGS, Ranking, pair_weights, preferences
from hinge.formulations.svr import SVR

__all__ = [
    "BALANCES",
    "CLASSIFICATION_LOSSES",
    "CSVC",
    "REGRESSION_LOSSES",
    "SVR",
    "WEIGHTINGS",
    "ConvexLoss",
    "Formulation",
    "NuSVC",
    "NuSVR",
    "OneClass",
    "Ranking",
    "equivalent_C",
    "equivalent_nu",
    "linear_classification",
    "linear_one_class",
    "linear_regression",
    "lp_classification",
    "lp_regression",
    "pair_weights",
    "preferences",
    "proof_of",
]
