"""Estimators with the scikit-learn interface.

Names are imported when they are first used, so that an estimator does not load the solvers and paths of all others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hinge.estimators.common.progress import PathProgress
    from hinge.estimators.incremental.classification import IncrementalSVC
    from hinge.estimators.incremental.one_class import IncrementalOneClassSVM
    from hinge.estimators.incremental.regression import IncrementalSVR
    from hinge.estimators.kernel.classification import SVC
    from hinge.estimators.kernel.nu_classification import NuSVC
    from hinge.estimators.kernel.one_class import OneClassSVM
    from hinge.estimators.kernel.parzen import ParzenClassifier
    from hinge.estimators.kernel.regression import SVR, NuSVR
    from hinge.estimators.linear.classification import LinearSVC
    from hinge.estimators.linear.one_class import LinearOneClassSVM
    from hinge.estimators.linear.regression import LinearSVR
    from hinge.estimators.low_rank.classification import LowRankSVC
    from hinge.estimators.lp.classification import LPSVC
    from hinge.estimators.lp.regression import LPSVR
    from hinge.estimators.online.classification import OnlineNuSVC, OnlineSVC
    from hinge.estimators.online.novelty import OnlineNoveltyDetector
    from hinge.estimators.online.regression import OnlineSVR
    from hinge.estimators.ranking import RankingSVM
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
    "TransductiveSVC",
]

_MODULES = {
    "common.progress": ("PathProgress",),
    "incremental.classification": ("IncrementalSVC",),
    "incremental.one_class": ("IncrementalOneClassSVM",),
    "incremental.regression": ("IncrementalSVR",),
    "kernel.classification": ("SVC",),
    "kernel.nu_classification": ("NuSVC",),
    "kernel.one_class": ("OneClassSVM",),
    "kernel.parzen": ("ParzenClassifier",),
    "kernel.regression": ("SVR", "NuSVR"),
    "linear.classification": ("LinearSVC",),
    "linear.one_class": ("LinearOneClassSVM",),
    "linear.regression": ("LinearSVR",),
    "low_rank.classification": ("LowRankSVC",),
    "lp.classification": ("LPSVC",),
    "lp.regression": ("LPSVR",),
    "online.classification": ("OnlineNuSVC", "OnlineSVC"),
    "online.novelty": ("OnlineNoveltyDetector",),
    "online.regression": ("OnlineSVR",),
    "ranking": ("RankingSVM",),
    "transductive": ("TransductiveSVC",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import `name` on first use and keep it as an attribute."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hinge.estimators' has no attribute {name!r}")
    value = getattr(import_module(f"hinge.estimators.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
