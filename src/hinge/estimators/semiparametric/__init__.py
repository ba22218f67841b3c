"""Estimators with unpenalized functions besides the kernel expansion, and with other penalties of the expansion."""

from hinge.estimators.semiparametric.classification import SemiparametricSVC
from hinge.estimators.semiparametric.network import RegularizationNetwork
from hinge.estimators.semiparametric.regression import SemiparametricSVR

__all__ = ["RegularizationNetwork", "SemiparametricSVC", "SemiparametricSVR"]
