"""Formulations: conversion of labels and costs to problem (1), and of its solution to a decision function."""

from hinge.formulations.base import Formulation
from hinge.formulations.c_svc import CSVC, equivalent_nu, linear_classification
from hinge.formulations.convex_loss import ConvexLoss
from hinge.formulations.lp import lp_classification, lp_regression
from hinge.formulations.nu_svc import BALANCES, NuSVC, equivalent_C
from hinge.formulations.nu_svr import NuSVR
from hinge.formulations.one_class import OneClass, OneClassCost, linear_one_class, without_half_space
from hinge.formulations.ranking import WEIGHTINGS, Ranking, pair_weights, preferences
from hinge.formulations.semiparametric import Semiparametric, SemiparametricExpansion, independent_functions
from hinge.formulations.svr import SVR, linear_regression

__all__ = [
    "BALANCES",
    "CSVC",
    "SVR",
    "WEIGHTINGS",
    "ConvexLoss",
    "Formulation",
    "NuSVC",
    "NuSVR",
    "OneClass",
    "OneClassCost",
    "Ranking",
    "Semiparametric",
    "SemiparametricExpansion",
    "equivalent_C",
    "equivalent_nu",
    "independent_functions",
    "linear_classification",
    "linear_one_class",
    "linear_regression",
    "lp_classification",
    "lp_regression",
    "pair_weights",
    "preferences",
    "without_half_space",
]
