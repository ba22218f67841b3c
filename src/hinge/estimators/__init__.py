"""scikit-learn estimators: validate, formulate, solve, recover."""

from hinge.estimators.classification import SVC, NuSVC
from hinge.estimators.incremental import IncrementalSVC, IncrementalSVR
from hinge.estimators.linear_classification import LinearSVC
from hinge.estimators.linear_single import LinearOneClassSVM, LinearSVR
from hinge.estimators.low_rank_classification import LowRankSVC
from hinge.estimators.lp import LPSVC, LPSVR
from hinge.estimators.one_class import OneClassSVM
from hinge.estimators.online_classification import OnlineNuSVC, OnlineSVC
from hinge.estimators.online_single import OnlineNoveltyDetector, OnlineSVR
from hinge.estimators.progress import PathProgress
from hinge.estimators.ranking import RankingSVM
from hinge.estimators.single import SVR, NuSVR
from hinge.estimators.transductive import TransductiveSVC

__all__ = [
    "LPSVC",
    "LPSVR",
    "SVC",
    "SVR",
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
    "PathProgress",
    "RankingSVM",
    "TransductiveSVC",
]
