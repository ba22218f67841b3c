"""Classes that may appear in a model file. A file cannot refer to any other class."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import UserDict
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import repeat
from typing import Any

import numpy as np

from hinge import kernels, losses, lowrank, model, problems
from hinge.estimators.common.reduced_model import LowRankReport
from hinge.estimators.common.warm_start import WarmStart
from hinge.io.steps.classes import FUNCTIONS, STEPS


class Classes(UserDict[str, Any]):
    """Classes by name. A class that is given by the name of its module is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        """Return the class."""
        value = self.data[name]
        if isinstance(value, str):
            value = self.data[name] = getattr(import_module(value), name)
        return value

    @classmethod
    def of_modules(cls, modules: Mapping[str, tuple[str, ...]]) -> Classes:
        """Classes of modules; the modules are not imported yet."""
        return cls({name: module for module, names in modules.items() for name in names})


#: Estimators that `save` accepts.
ESTIMATORS = Classes.of_modules(
    {
        "hinge.estimators": (
            "SVC",
            "NuSVC",
            "SVR",
            "NuSVR",
            "OneClassSVM",
            "ParzenClassifier",
            "IncrementalSVC",
            "IncrementalSVR",
            "IncrementalOneClassSVM",
            "LinearSVC",
            "LinearSVR",
            "LinearOneClassSVM",
            "LowRankSVC",
            "LPSVC",
            "LPSVR",
            "OnlineSVC",
            "OnlineNuSVC",
            "OnlineSVR",
            "OnlineNoveltyDetector",
            "RankingSVM",
            "RegularizationNetwork",
            "SemiparametricSVC",
            "SemiparametricSVR",
            "TransductiveSVC",
        ),
        "hinge.recipes": ("SlidingSVC", "SlidingSVR", "HeteroscedasticSVR"),
        "hinge.selection": ("SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"),
    }
)

#: Paths and results that `save` accepts; they are dataclasses.
WHOLE = Classes.of_modules(
    {
        "hinge.paths": ("SolutionPath", "QuadraticLossPath", "ApproximatePath", "OneVsOnePaths"),
        "hinge.paths.path_model": ("PathModel",),
        "hinge.ranking": ("RankingPath",),
        "hinge.selection": ("GridResult",),
        "hinge.recipes": ("DensityRatio", "CovariateShift"),
    }
)

#: Names of all classes that `save` accepts.
SAVED = frozenset({*ESTIMATORS, *STEPS, *WHOLE})

#: Dataclasses that may appear inside an estimator; they are written field by field. `FunctionKernel` holds code and is
#: not among them.
RECORDS = Classes(
    {
        **WHOLE.data,
        **Classes.of_modules(
            {
                "hinge.calibration": (
                    "PairwiseSigmoids",
                    "SoftmaxScaling",
                    "OneVsRestSigmoids",
                    "RankedScores",
                ),
                "hinge.online": ("OnlineOptions", "OnlineState"),
                "hinge.paths": ("ParametricProblem", "Pieces", "Counts"),
                "hinge.paths.ties": ("Rounding",),
                "hinge.solvers": (
                    "SMO",
                    "AdaTron",
                    "Auto",
                    "Chunking",
                    "CoordinateDescent",
                    "GradientDescent",
                    "InteriorPoint",
                    "Lagrangian",
                    "LowRankInteriorPoint",
                    "Newton",
                    "PairDescent",
                    "WorkingSet",
                ),
            }
        ).data,
    }
)
_RECORDS: tuple[type, ...] = (
    *kernels.KERNELS.values(),
    kernels.Sum,
    kernels.Product,
    kernels.Scaled,
    model.KernelModel,
    problems.Certificate,
    problems.History,
    WarmStart,
    lowrank.SGMA,
    lowrank.PivotedCholesky,
    lowrank.Nystrom,
    LowRankReport,
    model.DictionaryModel,
    *losses.MARGIN_LOSSES.values(),
    *losses.RESIDUAL_LOSSES.values(),
)
RECORDS.update((cls.__name__, cls) for cls in _RECORDS)

#: JSON types that stand for themselves in a model file.
PLAIN = frozenset((type(None), bool, int, str))

#: Types of the nodes of a tree that `Archive.manifest` returns which are values; the archive decodes floats.
DECODED = PLAIN | {float}

#: Names of classes in files written by earlier versions.
FORMER_NAMES = {"Stand": "WarmStart", "Motion": "ParametricProblem"}

#: Attributes of estimators in files of former versions: their present names, or None if they are not used any more.
FORMER_ATTRIBUTES: dict[str, str | None] = {"_stand": "_last_solution", "_error": None}

#: Names of fields in files written by earlier versions.
FORMER_FIELDS = {"motion": "parametric"}

#: Types that may be parameters, such as the `dtype` of an encoder: those of Python and the scalar types of NumPy.
TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, complex, str, bytes, object)},
    **{f"numpy.{cls.__name__}": cls for cls in {*np.sctypeDict.values(), np.number, np.integer, np.floating}},
}
TYPE_NAMES = {cls: name for name, cls in TYPES.items()}

ENUMS: dict[str, type[Enum]] = {cls.__name__: cls for cls in (problems.Status,)}


def name_of(cls: type, among: Mapping[str, Any]) -> str | None:
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
    return getattr(import_module(STEPS[name].module), name)


def function_name(value: object) -> str | None:
    """Return the name of a registered function of scikit-learn; None for other objects."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) and name in FUNCTIONS and function(name) is value else None


def function(name: str) -> Any:
    """Import a registered function of scikit-learn."""
    return getattr(import_module(FUNCTIONS[name]), name)


@cache
def fields_of(record: type) -> dict[str, tuple[Any, Any, bool]]:
    """Return the constructor fields of a dataclass: {name: (type hint, class, whether it has a default)}.

    An object of the class itself matches the hint.
    """
    hints = typing.get_type_hints(record)
    missing = dataclasses.MISSING
    return {
        field.name: (
            hints[field.name],
            np.ndarray if typing.get_origin(hints[field.name]) is np.ndarray else hints[field.name],
            field.default is not missing or field.default_factory is not missing,
        )
        for field in dataclasses.fields(record)
        if field.init
    }


@cache
def required_fields(record: type) -> frozenset[str]:
    """Return the constructor fields of a dataclass that have no default."""
    return frozenset([name for name, (*_, optional) in fields_of(record).items() if not optional])


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
