"""Estimators with an ℓ1 penalty on the coefficients."""

from hinge.estimators.lp.classification import LPSVC
from hinge.estimators.lp.regression import LPSVR

__all__ = ["LPSVC", "LPSVR"]
