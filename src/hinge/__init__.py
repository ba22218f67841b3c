"""hinge: support vector machines with a proof in every answer."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from hinge import io, kernels, losses, lowrank, online, ranking, recipes, selection, solvers
from hinge.estimators import (
    LPSVC,
    LPSVR,
    SVC,
    SVR,
    IncrementalSVC,
    IncrementalSVR,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    LowRankSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OnlineNoveltyDetector,
    OnlineNuSVC,
    OnlineSVC,
    OnlineSVR,
    PathProgress,
    RankingSVM,
    TransductiveSVC,
)
from hinge.io import ModelFileError, load, save
from hinge.paths import (
    ApproximatePath,
    OneVsOnePaths,
    QuadraticLossPath,
    SolutionPath,
    approximate_path,
    epsilon_path,
    nu_path,
    one_vs_one_paths,
    quadratic_loss_path,
    regularization_path,
    weight_path,
)
from hinge.problems import Certificate, Status, certify
from hinge.ranking import RankingPath, ranking_path

__version__ = version("hinge")

__all__ = [
    "LPSVC",
    "LPSVR",
    "SVC",
    "SVR",
    "ApproximatePath",
    "Certificate",
    "IncrementalSVC",
    "IncrementalSVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "LowRankSVC",
    "ModelFileError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OneVsOnePaths",
    "OnlineNoveltyDetector",
    "OnlineNuSVC",
    "OnlineSVC",
    "OnlineSVR",
    "PathProgress",
    "QuadraticLossPath",
    "RankingPath",
    "RankingSVM",
    "SolutionPath",
    "Status",
    "TransductiveSVC",
    "approximate_path",
    "certify",
    "epsilon_path",
    "io",
    "kernels",
    "load",
    "losses",
    "lowrank",
    "nu_path",
    "one_vs_one_paths",
    "online",
    "quadratic_loss_path",
    "ranking",
    "ranking_path",
    "recipes",
    "regularization_path",
    "save",
    "selection",
    "solvers",
    "weight_path",
]


def __getattr__(name: str) -> Any:
    """`hinge.plotting` is imported when it is first asked for: it needs matplotlib."""
    if name == "plotting":
        return import_module("hinge.plotting")
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")
