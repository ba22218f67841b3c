"""Estimators with the scikit-learn interface.

A family is imported when one of its names is first used, so that an estimator does not load the solvers and paths of
the other families.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hinge.estimators.common.progress import PathProgress
    from hinge.estimators.incremental import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR
    from hinge.estimators.kernel import SVC, SVR, NuSVC, NuSVR, OneClassSVM, ParzenClassifier
    from hinge.estimators.linear import LinearOneClassSVM, LinearSVC, LinearSVR
    from hinge.estimators.low_rank import LowRankSVC
    from hinge.estimators.lp import LPSVC, LPSVR
    from hinge.estimators.online import OnlineNoveltyDetector, OnlineNuSVC, OnlineSVC, OnlineSVR
    from hinge.estimators.ranking import RankingSVM
    from hinge.estimators.semiparametric import RegularizationNetwork, SemiparametricSVC, SemiparametricSVR
    from hinge.estimators.transductive import TransductiveSVC

__all__ = [
    "LPSVC",
    "LPSVR",
    "SVC",
    "SVR",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "IncrementalSVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "LowRankSVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OnlineNoveltyDetector",
    "OnlineNuSVC",
    "OnlineSVC",
    "OnlineSVR",
    "ParzenClassifier",
    "PathProgress",
    "RankingSVM",
    "RegularizationNetwork",
    "SemiparametricSVC",
    "SemiparametricSVR",
    "TransductiveSVC",
]

_FAMILIES = {
    "common.progress": ("PathProgress",),
    "incremental": ("IncrementalOneClassSVM", "IncrementalSVC", "IncrementalSVR"),
    "kernel": ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "ParzenClassifier"),
    "linear": ("LinearOneClassSVM", "LinearSVC", "LinearSVR"),
    "low_rank": ("LowRankSVC",),
    "lp": ("LPSVC", "LPSVR"),
    "online": ("OnlineNoveltyDetector", "OnlineNuSVC", "OnlineSVC", "OnlineSVR"),
    "ranking": ("RankingSVM",),
    "semiparametric": ("RegularizationNetwork", "SemiparametricSVC", "SemiparametricSVR"),
    "transductive": ("TransductiveSVC",),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the family of `name` on first use and keep its names as attributes."""
    if name not in _FAMILY_OF:
        raise AttributeError(f"module 'hinge.estimators' has no attribute {name!r}")
    family = import_module(f"hinge.estimators.{_FAMILY_OF[name]}")
    for member in _FAMILIES[_FAMILY_OF[name]]:
        globals()[member] = getattr(family, member)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
