"""Convex losses: value, derivative, conjugate, and the convention at kinks.                docs/math (301)–(305)"""

from hinge.losses.check import check_loss
from hinge.losses.custom import CustomLoss, as_loss
from hinge.losses.loss import Array, Form, Loss, Piece, QuadraticConjugate
from hinge.losses.margin import (
    Exponential,
    Hinge,
    HuberizedHinge,
    Logistic,
    ModifiedHuber,
    QuadraticMarginLoss,
    SmoothedHinge,
    SquaredHinge,
)
from hinge.losses.registry import MARGIN_LOSSES, RESIDUAL_LOSSES, loss_names, losses_of, make_loss, register
from hinge.losses.residual import (
    EpsilonInsensitive,
    Gaussian,
    Huber,
    Laplace,
    PiecewisePolynomial,
    PolynomialLoss,
    QuadraticResidualLoss,
    SquaredEpsilonInsensitive,
)

__all__ = [
    "MARGIN_LOSSES",
    "RESIDUAL_LOSSES",
    "Array",
    "CustomLoss",
    "EpsilonInsensitive",
    "Exponential",
    "Form",
    "Gaussian",
    "Hinge",
    "Huber",
    "HuberizedHinge",
    "Laplace",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Piece",
    "PiecewisePolynomial",
    "PolynomialLoss",
    "QuadraticConjugate",
    "QuadraticMarginLoss",
    "QuadraticResidualLoss",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
    "check_loss",
    "loss_names",
    "losses_of",
    "make_loss",
    "register",
]
