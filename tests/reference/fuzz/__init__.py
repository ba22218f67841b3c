"""Random fits of all estimators, and checks of their certificates, statuses and time limits with exact arithmetic."""

from .cases import ESTIMATORS, Case, random_case
from .verdict import Verdict, judge

__all__ = ["ESTIMATORS", "Case", "Verdict", "judge", "random_case"]
