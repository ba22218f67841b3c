"""Classes that may appear in a model file. A file cannot refer to any other class."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import repeat
from typing import Any

import numpy as np

from hinge import (
    calibration,
    estimators,
    kernels,
    losses,
    lowrank,
    model,
    online,
    paths,
    problems,
    ranking,
    recipes,
    selection,
    solvers,
)
from hinge.estimators.common.reduced_model import LowRankReport
from hinge.estimators.common.warm_start import WarmStart

#: Estimators that `save` accepts.
ESTIMATORS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        estimators.SVC,
        estimators.NuSVC,
        estimators.SVR,
        estimators.NuSVR,
        estimators.OneClassSVM,
        estimators.IncrementalSVC,
        estimators.IncrementalSVR,
        estimators.IncrementalOneClassSVM,
        estimators.LinearSVC,
        estimators.LinearSVR,
        estimators.LinearOneClassSVM,
        estimators.LowRankSVC,
        estimators.LPSVC,
        estimators.LPSVR,
        estimators.OnlineSVC,
        estimators.OnlineNuSVC,
        estimators.OnlineSVR,
        estimators.OnlineNoveltyDetector,
        recipes.SlidingSVC,
        recipes.SlidingSVR,
        recipes.HeteroscedasticSVR,
        estimators.RankingSVM,
        estimators.TransductiveSVC,
    )
}

#: Paths and results that `save` accepts; they are dataclasses.
WHOLE: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        paths.SolutionPath,
        paths.QuadraticLossPath,
        paths.ApproximatePath,
        paths.OneVsOnePaths,
        ranking.RankingPath,
        selection.GridResult,
        recipes.DensityRatio,
        recipes.CovariateShift,
    )
}

#: Classes of scikit-learn that may be saved alone or as steps of a pipeline, with their modules. They are imported when
#: a file contains them. `hinge.io.pipelines` has the attributes that a fitted one may have.
STEPS: dict[str, str] = {
    "Pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
}

#: Names of all classes that `save` accepts.
SAVED = frozenset({*ESTIMATORS, *STEPS, *WHOLE})

#: Dataclasses that may appear inside an estimator; they are written field by field. `FunctionKernel` holds code and is
#: not among them.
RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *kernels.KERNELS.values(),
        kernels.Sum,
        kernels.Product,
        kernels.Scaled,
        model.KernelModel,
        problems.Certificate,
        problems.History,
        WarmStart,
        solvers.SMO,
        solvers.Auto,
        solvers.InteriorPoint,
        solvers.WorkingSet,
        solvers.Chunking,
        paths.ParametricProblem,
        paths.Pieces,
        paths.Counts,
        *WHOLE.values(),
        solvers.CoordinateDescent,
        solvers.LowRankInteriorPoint,
        solvers.Newton,
        solvers.Lagrangian,
        solvers.GradientDescent,
        solvers.AdaTron,
        lowrank.SGMA,
        lowrank.PivotedCholesky,
        lowrank.Nystrom,
        LowRankReport,
        model.DictionaryModel,
        *losses.MARGIN_LOSSES.values(),
        *losses.RESIDUAL_LOSSES.values(),
        online.OnlineOptions,
        online.OnlineState,
        solvers.PairDescent,
        calibration.PairwiseSigmoids,
        calibration.SoftmaxScaling,
        calibration.OneVsRestSigmoids,
        calibration.RankedScores,
    )
}

#: JSON types that stand for themselves in a model file.
PLAIN = frozenset((type(None), bool, int, str))

#: Names of classes in files written by earlier versions.
FORMER_NAMES = {"Stand": "WarmStart", "Motion": "ParametricProblem"}

#: Attributes of estimators in files of former versions: their present names, or None if they are not used any more.
FORMER_ATTRIBUTES: dict[str, str | None] = {"_stand": "_last_solution", "_error": None}

#: Names of fields in files written by earlier versions.
FORMER_FIELDS = {"motion": "parametric"}

ENUMS: dict[str, type[Enum]] = {cls.__name__: cls for cls in (problems.Status,)}


def name_of(cls: type, among: Mapping[str, type]) -> str | None:
    """Return the name under which exactly this class is registered; None for others, including subclasses."""
    return cls.__name__ if among.get(cls.__name__) is cls else None


def estimator_name(cls: type) -> str | None:
    """Return the name under which an estimator of hinge or a class of scikit-learn is registered; None for others."""
    name = cls.__name__
    if name in STEPS and cls.__module__.startswith("sklearn.") and step_class(name) is cls:
        return name
    return name_of(cls, ESTIMATORS)


def estimator_class(name: str) -> Any:
    """Return the registered estimator or class of scikit-learn with this name; None for other names."""
    return step_class(name) if name in STEPS else ESTIMATORS.get(name)


def step_class(name: str) -> Any:
    """Import a registered class of scikit-learn."""
    return getattr(import_module(STEPS[name]), name)


@cache
def fields_of(record: type) -> dict[str, tuple[Any, bool]]:
    """Return the constructor fields of a dataclass: {name: (type hint, whether it has a default)}."""
    hints = typing.get_type_hints(record)
    missing = dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is not missing or field.default_factory is not missing)
        for field in dataclasses.fields(record)
        if field.init
    }


@cache
def required_fields(record: type) -> frozenset[str]:
    """Return the constructor fields of a dataclass that have no default."""
    return frozenset([name for name, (_, optional) in fields_of(record).items() if not optional])


def fits(value: object, hint: Any) -> bool:
    """Whether `value` matches a type hint. Hints that cannot be checked accept every value."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return True in map(fits, repeat(value), arguments)
    if origin is typing.Literal:
        return any(type(value) is type(argument) and value == argument for argument in arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return isinstance(value, tuple) and all(fits(item, arguments[0]) for item in value)
    if hint is None:
        return value is None
    cls = origin or hint
    if cls is Any or not isinstance(cls, type) or getattr(cls, "_is_protocol", False):
        return True
    if cls is float:
        return isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    if cls is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if cls is bool:
        return isinstance(value, bool | np.bool_ | int)
    return isinstance(value, cls)
