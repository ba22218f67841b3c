"""Estimators with the scikit-learn interface."""

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
