"""What the attributes of paths, models and reports hold. Their types are in the annotations of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hinge.io.checks.fields import (
    ANYTHING,
    FLAG,
    NOTHING,
    Column,
    Either,
    Field,
    Instance,
    Integers,
    Items,
    Labels,
    Matrix,
    Names,
    Number,
    Numbers,
    OneOf,
    Part,
    Size,
    Sizes,
    Table,
    check_all,
)

#: The classes of a classifier with two classes; None otherwise.
TWO_CLASSES = Either(NOTHING, Labels((2,)))
NAMES = Either(NOTHING, Names(("features",)))
KERNEL = Instance(("Kernel",))
SAMPLES = Matrix(("samples", "features"))
STATUS = Instance(("Status",))

PARAMETRIC = Part(
    "ParametricProblem",
    {
        "linear": Numbers((2, "variables"), finite=True),
        "lower": Numbers((2, "variables"), finite=True),
        "upper": Numbers((2, "variables"), finite=True),
        "total": Numbers((2, "groups"), finite=True),
        "group": Integers(("variables",), -1, "groups", dtypes=("int8",)),
        "sign": Numbers(("variables",), -1, 1),
    },
)
PIECES = Part(
    "Pieces",
    {
        "start": Numbers(("segments",), finite=True, ascending=True),
        "stop": Numbers(("segments",), finite=True, ascending=True),
        "mu": Numbers(("segments", "groups")),
        "mu_rate": Numbers(("segments", "groups")),
        "margin": Integers(("entries",), 0, "variables", dtypes=("int32",)),
        "offset": Integers(("segments+1",), 0, "entries+1", ascending=True, dtypes=("int64",)),
        "value": Numbers(("entries",), finite=True),
        "rate": Numbers(("entries",), finite=True),
        "changed_at": Integers(("changes",), 0, "segments+1", ascending=True, dtypes=("int64",)),
        "changed": Integers(("changes",), 0, "variables", dtypes=("int32",)),
        "place": Integers(("changes",), 0, 3, dtypes=("int8",)),
        "violation": Numbers(("segments",)),
    },
)
COUNTS = Part(
    "Counts",
    {
        **dict.fromkeys(("events", "exchanges", "idle", "repairs", "refactorings"), Number(0, integer=True)),
        **dict.fromkeys(("violation", "mean_margin"), Number(0, nan=True)),
    },
)
INTERVAL: dict[str, Field] = dict.fromkeys(("low", "high"), Number(-1e308, 1e308))
PIECEWISE: dict[str, Field] = {
    "kernel": KERNEL, "X": SAMPLES, "parametric": PARAMETRIC, "pieces": PIECES, "counts": COUNTS, **INTERVAL,
    "status": STATUS, "feature_names": NAMES,
}  # fmt: skip

SOLUTION_PATH: dict[str, Field] = {
    "parameter": OneOf(("C", "theta", "epsilon", "nu")),
    "task": OneOf(("classification", "regression", "one_class")),
    "y": Numbers(("samples",), finite=True),
    "classes": TWO_CLASSES,
    **PIECEWISE,
}
RANKING_PATH: dict[str, Field] = {
    **PIECEWISE,
    "first": Integers(("variables",), 0, "samples", dtypes=("int32",)),
    "second": Integers(("variables",), 0, "samples", dtypes=("int32",)),
}
APPROXIMATE_PATH: dict[str, Field] = {
    "task": OneOf(("classification", "regression")), "kernel": KERNEL, "X": SAMPLES,
    "y": Numbers(("samples",), finite=True), "classes": TWO_CLASSES, "low": Number(0, 1e308), "high": Number(0, 1e308),
    "gap": Number(0), "knots": Numbers(("knots",), 0, 1e308, ascending=True), "betas": Numbers(("knots", "samples")),
    **dict.fromkeys(("intercepts", "linear", "losses", "norms"), Numbers(("knots",))),
    "products": Numbers(("intervals",)), "status": STATUS, "feature_names": NAMES,
}  # fmt: skip
QUADRATIC_LOSS_PATH: dict[str, Field] = {
    "kernel": KERNEL, "X": SAMPLES, "y": Numbers(("samples",), -1, 1), "classes": Labels((2,)), "rho": Number(),
    "h": Number(0), "bias": FLAG, "knots": Numbers(("knots",), finite=True),
    "changed": Integers(("changes",), 0, "samples"), "place": Integers(("changes",), 0, 3, dtypes=("int8",)),
    "offset": Integers(("knots",), 0, "changes+1", ascending=True), "kkt_violation": Number(nan=True),
    "mean_evaluations": Number(nan=True), "feature_names": NAMES,
}  # fmt: skip
KERNEL_MODEL: dict[str, Field] = {
    "kernel": KERNEL,
    "vectors": Either(NOTHING, Matrix(("vectors", "features"))),
    "coefficients": Numbers(("vectors", "functions")),
    "intercept": Numbers(("functions",)),
}
PATH_MODEL: dict[str, Field] = {
    "machine": Part("KernelModel", {**KERNEL_MODEL, "intercept": Numbers((1,))}),
    "classes": TWO_CLASSES,
    "support": Integers(("vectors",), 0, "samples", dtypes=("int32", "int64")),
    "n_train": Size("samples"),
    "rounding": Either(
        NOTHING, Part("Rounding", {"kernel": KERNEL, "norms": Numbers(("samples",), 0), "features": Number(0, 2**53)})
    ),
    "feature_names": NAMES,
}
DENSITY_RATIO: dict[str, Field] = {
    "method": OneOf(("ulsif", "kliep")), "centers": Matrix(("centers", "features")),
    "coefficients": Numbers(("centers",), finite=True), "gamma": Number(5e-324, 1e308), "penalty": Number(nan=True),
    "score": Number(nan=True), "gap": Number(nan=True),
}  # fmt: skip
#: Sizes that belong to one path of several.
OF_ONE_PATH = ("samples", "variables", "groups", "segments", "entries", "changes")

_COLUMNS = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active")
HISTORY: dict[str, Field] = {
    **dict.fromkeys(_COLUMNS, Column("snapshots")),
    "exact": Labels(("snapshots",), "b"),
}
CERTIFICATE: dict[str, Field] = {
    **dict.fromkeys(("primal", "dual", "gap", "relative_gap", "kkt_violation", "infeasibility"), Number(nan=True)),
    **dict.fromkeys(("best_primal", "best_dual", "rounding"), Number(nan=True)),
    "mu": Numbers(("multipliers",)),
    "convex": OneOf((None, True, False, np.True_, np.False_)),
}
_SIGMOIDS: dict[str, Field] = {"A": Numbers(("sigmoids",), finite=True), "B": Numbers(("sigmoids",), finite=True)}
ONLINE_STATE: dict[str, Field] = {
    "vectors": Matrix(("terms", "features")), "coefficients": Numbers(("machines", "terms"), finite=True),
    "norms": Numbers(("terms",), finite=True), "offset": Numbers(("machines",)), "level": Numbers(("machines",)),
    "dropped": Numbers(("machines",)), "beyond": Integers(("machines",)), "scale": Number(), "largest": Number(),
    "seen": Number(0, 2**63 - 1, integer=True), "head": Number(0, 2**53, integer=True),
}  # fmt: skip


def _check_solution_path(path: Any, sizes: Sizes) -> None:
    samples, variables = sizes["samples"], sizes["variables"]
    if samples == 0 or variables == 0 or variables % samples:
        raise ValueError(f"the problem has {variables} variables for {samples} samples")
    if (path.task == "classification") != (path.classes is not None):
        raise ValueError(f"a path of {path.task} has the classes {path.classes}")
    if path.parameter == "nu" and sizes["groups"] != (1 if path.task == "one_class" else 2):
        raise ValueError(f"a path over nu has {sizes['groups']} equality constraints")
    _check_piecewise(path, sizes)


def _check_piecewise(path: Any, sizes: Sizes) -> None:
    pieces = path.pieces
    if sizes["segments"] == 0 or pieces.offset[0] != 0 or pieces.offset[-1] != sizes["entries"]:
        raise ValueError("the segments of the path do not have all entries of the margin sets")
    if np.any(np.abs(path.parametric.sign) != 1):
        raise ValueError("the signs of the variables are not 1 or -1")
    first = pieces.changed[pieces.changed_at == 0]
    if not np.array_equal(np.unique(first), np.arange(sizes["variables"])):
        raise ValueError("the path does not start with the places of all variables")
    if not (path.low <= path.high and pieces.start[0] <= path.high and np.all(pieces.start <= pieces.stop)):
        raise ValueError("the interval of the path is not that of its segments")


def _check_ranking_path(path: Any, sizes: Sizes) -> None:
    if sizes["variables"] == 0:
        raise ValueError("the path has no pairs")
    _check_piecewise(path, sizes)


def _check_approximate_path(path: Any, sizes: Sizes) -> None:
    if sizes["knots"] != sizes["intervals"] + 1 or sizes["intervals"] < 1 or sizes["samples"] < 1:
        raise ValueError(f"the path has {sizes['knots']} knots and {sizes['intervals']} intervals")
    if (path.task == "classification") != (path.classes is not None):
        raise ValueError(f"a path of {path.task} has the classes {path.classes}")
    if not (np.all(np.diff(path.knots) > 0) and path.low <= path.high):
        raise ValueError("the knots of the path are not ascending")


def _check_quadratic_loss_path(path: Any, sizes: Sizes) -> None:
    knots = path.knots
    if len(knots) < 2 or knots[-1] <= 0 or np.any(np.diff(knots) > 0) or path.offset[0] != 0:
        raise ValueError("the knots of the path are not positive and descending")
    if sizes["changes"] < sizes["samples"] or sizes["samples"] < 1 or np.any(np.abs(path.y) != 1):
        raise ValueError("the path does not have the places of all samples")


def _check_one_vs_one(paths: Any, sizes: Sizes) -> None:
    classes = sizes["classes"]
    if sizes["pairs"] != classes * (classes - 1) // 2 or classes < 2:
        raise ValueError(f"there are {sizes['pairs']} paths for {classes} classes")
    for path, rows in zip(paths.paths, paths.members, strict=True):
        check_record(path)
        if len(rows) != path.n_samples:
            raise ValueError(f"a path has {path.n_samples} samples and {len(rows)} rows")


def _check_grid(result: Any, sizes: Sizes) -> None:
    rows = result.cv_results_.get("params")
    if type(rows) is not list or not all(type(row) is dict for row in rows):
        raise ValueError("cv_results_ has no candidates")
    columns = result.cv_results_.values()
    if not all(isinstance(each, np.ndarray | list) and np.shape(each)[:1] == (len(rows),) for each in columns):
        raise ValueError("the columns of cv_results_ have different lengths")
    index = result.best_index_
    if index is not None and not (0 <= index < len(rows) and rows[index] == result.best_params_):
        raise ValueError("best_params_ is not the candidate best_index_")
    if result.best_estimator_ is not None and not hasattr(result.best_estimator_, "predict"):
        raise ValueError("best_estimator_ cannot predict")


def _check_shift(shift: Any, sizes: Sizes) -> None:
    check_record(shift.path)
    check_record(shift.ratio)
    if shift.weights.shape != (shift.path.n_samples,) or shift.ratio.centers.shape[1] != shift.path.X.shape[1]:
        raise ValueError("the path, the ratio and the weights belong to different samples")


def _check_kernel_model(model: Any, sizes: Sizes) -> None:
    if model.vectors is None and type(model.kernel).__name__ != "Precomputed":
        raise ValueError("the model has no support vectors")


def _check_path_model(model: Any, sizes: Sizes) -> None:
    _check_kernel_model(model.machine, sizes)


#: What the attributes of each class hold, and a check of their relations.
RECORDS: Mapping[str, tuple[Mapping[str, Field], Callable[[Any, Sizes], None] | None]] = {
    "SolutionPath": (SOLUTION_PATH, _check_solution_path),
    "RankingPath": (RANKING_PATH, _check_ranking_path),
    "ApproximatePath": (APPROXIMATE_PATH, _check_approximate_path),
    "QuadraticLossPath": (QUADRATIC_LOSS_PATH, _check_quadratic_loss_path),
    "OneVsOnePaths": (
        {
            "classes": Labels(("classes",)),
            "paths": Items(tuple, Instance(("SolutionPath",)), "pairs"),
            "members": Items(tuple, Integers(("samples",), 0), "pairs", fresh=("samples",)),
        },
        _check_one_vs_one,
    ),
    "PathModel": (PATH_MODEL, _check_path_model),
    "DensityRatio": (DENSITY_RATIO, None),
    "CovariateShift": (
        {
            "path": Instance(("SolutionPath",)),
            "ratio": Instance(("DensityRatio",)),
            "weights": Numbers(("samples",), finite=True),
        },
        _check_shift,
    ),
    "GridResult": (
        {
            "cv_results_": Table(ANYTHING, keys=lambda key: type(key) is str),
            "n_splits_": Number(0, integer=True),
            "best_index_": Either(NOTHING, Number(0, integer=True)),
            "best_params_": Either(NOTHING, Table(ANYTHING, keys=lambda key: type(key) is str)),
            "best_score_": Number(nan=True),
            "complete_": FLAG,
            "best_estimator_": ANYTHING,
        },
        _check_grid,
    ),
    "KernelModel": (KERNEL_MODEL, _check_kernel_model),
    "DictionaryModel": (
        {
            "parts": Items(tuple, Part("KernelModel", KERNEL_MODEL), fresh=("vectors",)),
            "intercept": Numbers(("functions",)),
        },
        None,
    ),
    "History": (HISTORY, None),
    "Certificate": (CERTIFICATE, None),
    "LowRankReport": (
        {
            "rank": Number(0, integer=True), "residual_trace": Number(nan=True), "trace": Number(nan=True),
            "certificate": Instance(("Certificate",)), "exact_bound": FLAG,
        },
        None,
    ),
    "WarmStart": (
        {
            "alpha": Items(list, Numbers(("variables",)), "subproblems", fresh=("variables",)),
            "upper": Items(list, Numbers(("variables",)), "subproblems", fresh=("variables",)),
        },
        lambda start, sizes: _check_warm_start(start),
    ),
    "PairwiseSigmoids": (_SIGMOIDS, None),
    "OneVsRestSigmoids": (_SIGMOIDS, None),
    "SoftmaxScaling": ({"scale": Number(), "offset": Numbers(("classes",), finite=True)}, None),
    "RankedScores": ({"scores": Numbers(("scores",), finite=True, ascending=True)}, None),
    "OnlineState": (ONLINE_STATE, None),
}  # fmt: skip


def _check_warm_start(start: Any) -> None:
    if any(alpha.shape != upper.shape for alpha, upper in zip(start.alpha, start.upper, strict=True)):
        raise ValueError("the variables of a warm start have other numbers than their bounds")


def check_record(value: Any) -> None:
    """Raise a ValueError if the attributes of a path, a model or a report are not valid."""
    declared = RECORDS.get(type(value).__name__)
    if declared is None:
        return
    fields, relation = declared
    sizes: Sizes = {}
    check_all(fields, vars(value), sizes)
    if relation is not None:
        relation(value, sizes)

