"""Support vector machines with a certificate of optimality for every solution.

Names are imported when they are first used: `import hinge` itself loads neither scikit-learn nor SciPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hinge import conformal, inspection, io, kernels, losses, lowrank, online, ranking, recipes, selection, solvers
    from hinge.estimators import (
        LPSVC,
        LPSVR,
        SVC,
        SVR,
        IncrementalOneClassSVM,
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
        ParzenClassifier,
        PathProgress,
        RankingSVM,
        RegularizationNetwork,
        SemiparametricSVC,
        SemiparametricSVR,
        TransductiveSVC,
    )
    from hinge.export.predictor import predictor
    from hinge.io import ModelFileError, load, save
    from hinge.patch import patch_sklearn, unpatch_sklearn
    from hinge.paths import (
        ApproximatePath,
        LassoPath,
        LPPath,
        OneVsOnePaths,
        QuadraticLossPath,
        SolutionPath,
        approximate_path,
        epsilon_path,
        lasso_path,
        lasso_weight_path,
        lp_path,
        nu_path,
        one_vs_one_paths,
        quadratic_loss_path,
        regularization_path,
        reweighted_lasso,
        weight_path,
    )
    from hinge.problems import Certificate, Status, certify
    from hinge.ranking import RankingPath, ranking_path
    from hinge.selection import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV

__all__ = [
    "LPSVC",
    "LPSVR",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "ApproximatePath",
    "Certificate",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "IncrementalSVR",
    "LPPath",
    "LassoPath",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
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
    "ParzenClassifier",
    "PathProgress",
    "QuadraticLossPath",
    "RankingPath",
    "RankingSVM",
    "RegularizationNetwork",
    "SemiparametricSVC",
    "SemiparametricSVR",
    "SolutionPath",
    "Status",
    "TransductiveSVC",
    "approximate_path",
    "certify",
    "conformal",
    "epsilon_path",
    "inspection",
    "io",
    "kernels",
    "lasso_path",
    "lasso_weight_path",
    "load",
    "losses",
    "lowrank",
    "lp_path",
    "nu_path",
    "one_vs_one_paths",
    "online",
    "patch_sklearn",
    "predictor",
    "quadratic_loss_path",
    "ranking",
    "ranking_path",
    "recipes",
    "regularization_path",
    "reweighted_lasso",
    "save",
    "selection",
    "solvers",
    "unpatch_sklearn",
    "weight_path",
]

#: Packages that are attributes of `hinge`. `plotting` needs matplotlib and is therefore not in `__all__`.
_PACKAGES = (
    "conformal", "inspection", "io", "kernels", "losses", "lowrank", "online", "plotting", "ranking", "recipes",
    "selection", "solvers",
)  # fmt: skip

#: Public names of the other packages; all remaining names of `__all__` are estimators.
_OWNERS = {
    "hinge.export.predictor": ("predictor",),
    "hinge.io": ("ModelFileError", "load", "save"),
    "hinge.paths": (
        "ApproximatePath",
        "LPPath",
        "LassoPath",
        "OneVsOnePaths",
        "QuadraticLossPath",
        "SolutionPath",
        "approximate_path",
        "epsilon_path",
        "lasso_path",
        "lasso_weight_path",
        "lp_path",
        "nu_path",
        "one_vs_one_paths",
        "quadratic_loss_path",
        "regularization_path",
        "reweighted_lasso",
        "weight_path",
    ),
    "hinge.patch": ("patch_sklearn", "unpatch_sklearn"),
    "hinge.problems": ("Certificate", "Status", "certify"),
    "hinge.ranking": ("RankingPath", "ranking_path"),
    "hinge.selection": ("LinearSVCCV", "LinearSVRCV", "SVCCV", "SVRCV"),
}
_OWNER = {name: module for module, names in _OWNERS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import `name` on first use and keep it as an attribute."""
    value: Any
    if name in _PACKAGES:
        value = import_module(f"hinge.{name}")
    elif name == "__version__":
        from importlib.metadata import version  # local: reading the metadata takes as long as all other imports

        value = version("hinge")
    elif name in __all__:
        module = import_module(_OWNER.get(name, "hinge.estimators"))
        value = getattr(module, name)
        for other in vars(module).keys() & set(__all__) - set(_PACKAGES):  # names that were imported with it
            globals()[other] = getattr(module, other)
    else:
        raise AttributeError(f"module 'hinge' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "plotting"})
