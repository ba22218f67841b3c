"""Convex losses: value, derivative, conjugate, and the convention at kinks.                docs/math (301)–(305)"""

from hinge.losses.check import check_loss
from hinge.losses.custom import CustomLoss, as_loss
from hinge.losses.loss import Array, Form, Loss, Piece
from hinge.losses.margin import Exponential, Hinge, HuberizedHinge, Logistic, ModifiedHuber, SquaredHinge
from hinge.losses.residual import (
    EpsilonInsensitive,
    Gaussian,
    Huber,
    Laplace,
    PiecewisePolynomial,
    PolynomialLoss,
    SquaredEpsilonInsensitive,
)

#: Losses of classification by name, those without parameters.
MARGIN_LOSSES: dict[str, type[Loss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "modified_huber": ModifiedHuber,
    "huberized_hinge": HuberizedHinge,
    "logistic": Logistic,
    "exponential": Exponential,
}

#: Losses of regression by name.
RESIDUAL_LOSSES: dict[str, type[Loss]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "laplace": Laplace,
    "gaussian": Gaussian,
    "huber": Huber,
    "polynomial": PolynomialLoss,
    "piecewise_polynomial": PiecewisePolynomial,
}

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
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
    "check_loss",
]
