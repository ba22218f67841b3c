"""All public functions and methods that take data, with valid arguments, and damaged data for each argument.

A function or method is found by the names of its parameters. A new one without valid arguments here fails the tests.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

import hinge

MODULES = ("paths", "selection", "ranking", "recipes", "conformal", "inspection", "io", "kernels", "lowrank", "online")

#: Names of parameters that are matrices with a row for each sample, one sample, or values of all samples.
MATRICES = ("X", "X_train", "X_target", "X_unlabeled", "X_val", "Z", "background", "K")
SAMPLE = ("x",)
VECTORS = (
    "y", "y_train", "y_val", "relevance", "sample_weight", "qid", "query_weight", "scores", "side_weight", "target",
)  # fmt: skip
DATA = (*MATRICES, *SAMPLE, *VECTORS)

N, FEATURES = 24, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, FEATURES))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=N) > 0, 1, -1)
Z = np.arange(N) % 3

#: Public names that take data of another kind than samples, or that are not meant for data of users.
EXEMPT = {
    "kernels.GramAccess", "kernels.RidgedAccess", "kernels.DirectAccess", "kernels.Kernel", "lowrank.Approximation",
    "kernels.open_access",  # kernel access of the solvers, for samples that were validated
    "lowrank.low_rank_access", "lowrank.Factor", "online.Learner", "paths.Motion", "paths.ParametricProblem",
    "ranking.make_pairs", "io.load_libsvm_model", "selection.SearchResult", "ranking.check_query_weight",
    "kernels.is_symmetric", "ranking.check_queries", "ranking.check_relevance",
    "conformal.coverage", "io.load_table", "kernels.Precomputed", "lowrank.ValueExpansion", "lowrank.expand_values",
    "conformal.FullConformal",  # tested in tests/conformal
}  # fmt: skip


#: Functions that compute values of a formula for all numbers, and tables, which may have missing values. Their results
#: for NaN and infinity are not finite.
FORMULAS = ("kernels.", "lowrank.", "io.dump_table")
VALUES = ("nan", "inf", "-inf", "no rows", "no columns", "text")

#: Methods that use at most the number of rows of X.
_NOT_READ = ("diag", "resolve")


@dataclass(frozen=True)
class Call:
    """A public function or method, and valid arguments."""

    name: str
    prepare: Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
    data: tuple[str, ...]
    trains: bool  # whether the arguments determine the number of features

    def damaged(self, argument: str) -> Iterator[tuple[str, Any]]:
        """Damaged values of an argument, with a description."""
        call, valid = self.prepare()
        default = inspect.signature(call).parameters[argument].default
        for what, value in damaged(argument, valid, self.trains, default is None):
            if what == "negative" and self.name.endswith(".score"):  # scikit-learn computes scores
                continue
            if not (self.name.startswith(FORMULAS) and what in VALUES):
                yield what, value


def arguments(name: str, parameters: tuple[str, ...], regression: bool) -> dict[str, Any]:
    """Valid values of the parameters with these names."""
    y = X[:, 0].copy() if regression else Y
    known: dict[str, Any] = {
        "X": X, "X_train": X, "X_target": X[:6] + 0.2, "X_unlabeled": X[:5], "Z": X[:7], "background": X[:5], "x": X[0],
        "y": y, "y_train": y, "relevance": Z, "scores": X[:, 0], "sample_weight": np.ones(N), "qid": np.zeros(N, int),
        "gamma": 0.5, "start": np.ones(N), "end": np.ones(N) + 0.5, "lam": 1.0, "C": 1.0, "theta": 1.0, "alpha": 0.2,
        "value": 1.0, "classes": None, "feature": 0, "output": 0, "weights": np.ones((2, FEATURES)),
        "coef": np.ones((7, 1)), "kernel": hinge.kernels.RBF(0.5), "basis": np.arange(4),
    }  # fmt: skip
    return {key: known[key] for key in parameters if key in known}


def estimators() -> dict[str, type]:
    """All public estimators."""
    found = {name: getattr(hinge, name) for name in hinge.__all__ if inspect.isclass(getattr(hinge, name))}
    found |= {name: getattr(hinge.recipes, name) for name in hinge.recipes.__all__}
    return {name: cls for name, cls in found.items() if inspect.isclass(cls) and hasattr(cls, "get_params")}


def make(cls: type) -> tuple[Any, bool]:
    """An estimator that is not fitted, and whether its targets are numbers."""
    options = {"gamma": 0.5, "max_iter": None, "cv": 2}
    names = inspect.signature(cls.__init__).parameters
    options = {key: value for key, value in options.items() if key in names and value is not None}
    if "probability" in names:
        options["probability"] = True
    model = cls(**options)
    return model, not is_classifier(model) and "Novelty" not in cls.__name__


def fitted(cls: type) -> tuple[Any, bool]:
    """The estimator fitted to valid data."""
    model, regression = make(cls)
    if cls is hinge.TransductiveSVC:
        return model.fit(X, Y, X[:5]), False
    return model.fit(X, Z if cls is hinge.RankingSVM else X[:, 0] if regression else Y), regression


@cache
def objects() -> dict[str, tuple[Callable[[], Any], bool]]:
    """Objects with methods that take data, and whether their targets are numbers."""
    svc = hinge.SVC(gamma=0.5)
    svr, stream = hinge.SVR(gamma=0.5), hinge.IncrementalSVR(gamma=0.5)
    conformal, recipes, selection, kernels = hinge.conformal, hinge.recipes, hinge.selection, hinge.kernels
    found: dict[str, tuple[Callable[[], Any], bool]] = {
        "paths.SolutionPath": (lambda: hinge.regularization_path(X, Y, gamma=0.5), False),
        "paths.ApproximatePath": (lambda: hinge.approximate_path(X, Y, gamma=0.5), False),
        "paths.OneVsOnePaths": (lambda: hinge.one_vs_one_paths(X, Y, gamma=0.5), False),
        "paths.QuadraticLossPath": (lambda: hinge.quadratic_loss_path(X, Y, gamma=0.5), False),
        "paths.LPPath": (lambda: hinge.lp_path(X, Y, gamma=0.5), False),
        "paths.LassoPath": (lambda: hinge.lasso_path(X, X[:, 0]), True),
        "paths.ReweightedLasso": (lambda: hinge.reweighted_lasso(X, X[:, 0], 0.1), True),
        "paths.PathModel": (lambda: hinge.regularization_path(X, Y, gamma=0.5).model(1.0), False),
        "ranking.RankingPath": (lambda: hinge.ranking_path(X, Z, gamma=0.5), False),
        "selection.GridResult": (lambda: selection.grid(X, Y, C=[1.0], gamma=[0.5], cv=2), False),
        "selection.PairwiseResult": (lambda: selection.pairwise_grid(X, Y, C=[1.0], gamma=[0.5], cv=2), False),
        "selection.PathSearch": (lambda: selection.path_search(X, Y, gamma=0.5, cv=2), False),
        "recipes.CovariateShift": (lambda: recipes.covariate_shift_path(X, Y, X[:6] + 0.2), False),
        "recipes.DensityRatio": (lambda: recipes.density_ratio(X, X[:6] + 0.2), False),
        "recipes.NoiseTube": (lambda: recipes.noise_tube(svr, X, X[:, 0]), True),
        "conformal.AdaptiveIntervals": (lambda: conformal.AdaptiveIntervals(stream).fit(X, X[:, 0]), True),
        "conformal.CVPlus": (lambda: conformal.CVPlus(svr).fit(X, X[:, 0]), True),
        "conformal.JackknifePlus": (lambda: conformal.JackknifePlus(svr).fit(X, X[:, 0]), True),
        "conformal.ConformalClassifier": (lambda: conformal.ConformalClassifier(svc).fit(X, Y), False),
        "conformal.ConformalDetector": (lambda: conformal.ConformalDetector().fit(X), False),
        "conformal.FullConformal": (lambda: conformal.FullConformal(svr).fit(X, X[:, 0]), True),
        "lowrank.SGMA": (lambda: hinge.lowrank.SGMA(5), False),
        "lowrank.Nystrom": (lambda: hinge.lowrank.Nystrom(5), False),
        "lowrank.PivotedCholesky": (lambda: hinge.lowrank.PivotedCholesky(5), False),
        "kernels.RBF": (lambda: kernels.RBF(0.5), False),
        "kernels.BSpline": (lambda: kernels.BSpline(3, 0.5), False),
        "kernels.FunctionKernel": (lambda: kernels.FunctionKernel(lambda A, B: A @ B.T), False),
        "kernels.Laplacian": (lambda: kernels.Laplacian(0.5), False),
        "kernels.Linear": (lambda: kernels.Linear(), False),
        "kernels.Polynomial": (lambda: kernels.Polynomial(2, 0.5), False),
        "kernels.ProductBSpline": (lambda: kernels.ProductBSpline(3, 0.5), False),
        "kernels.Sigmoid": (lambda: kernels.Sigmoid(0.5), False),
        "kernels.Scaled": (lambda: 2.0 * kernels.RBF(0.5), False),
        "kernels.Sum": (lambda: kernels.RBF(0.5) + kernels.Linear(), False),
        "kernels.Product": (lambda: kernels.RBF(0.5) * kernels.Linear(), False),
    }
    for name, cls in estimators().items():
        found[name] = (lambda cls=cls: fitted(cls)[0], make(cls)[1])
    return found


def functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any], bool]]:
    """Public functions that need other arguments than those of their names, and whether their targets are numbers."""
    svc = hinge.SVC(gamma=0.5).fit(X, Y)
    small, stream = hinge.LinearSVC().fit(X, Y), hinge.OnlineSVC(gamma=0.5)
    return {
        "selection.grid": (hinge.selection.grid, {"C": [1.0], "gamma": [0.5], "cv": 2}, False),
        "selection.pairwise_grid": (hinge.selection.pairwise_grid, {"C": [1.0], "gamma": [0.5], "cv": 2}, False),
        "selection.nu_grid": (hinge.selection.nu_grid, {"nu": [0.2], "gamma": [0.5], "cv": 2}, False),
        "selection.path_search": (hinge.selection.path_search, {"gamma": 0.5, "cv": 2}, False),
        "selection.learning_curve": (hinge.selection.learning_curve, {"X_val": X[:8], "y_val": Y[:8]}, False),
        "recipes.noise_tube": (hinge.recipes.noise_tube, {"estimator": hinge.SVR(gamma=0.5)}, True),
        "paths.lasso_weight_path": (
            hinge.lasso_weight_path, {"start": np.ones(FEATURES), "end": np.full(FEATURES, 2.0), "lam": 0.1}, True
        ),
        "recipes.covariate_shift_path": (hinge.recipes.covariate_shift_path, {}, False),
        "inspection.flip": (hinge.inspection.flip, {"model": svc}, False),
        "inspection.gradient": (hinge.inspection.gradient, {"model": svc}, False),
        "inspection.influence": (hinge.inspection.influence, {"model": svc, "X": X[:4]}, False),
        "inspection.partial_dependence": (hinge.inspection.partial_dependence, {"model": svc, "output": None}, False),
        "inspection.shapley_values": (hinge.inspection.shapley_values, {"model": small, "X": X[:4]}, False),
        "io.dump_libsvm": (hinge.io.dump_libsvm, {"path": "data.txt"}, False),
        "io.dump_table": (hinge.io.dump_table, {"path": "data.csv"}, False),
        "online.prequential": (hinge.online.prequential, {"model": stream, "classes": [-1, 1]}, False),
        "lowrank.expand_values": (hinge.lowrank.expand_values, {"targets": X[:, 0]}, True),
        "kernels.products": (hinge.kernels.products, {}, False),
    }  # fmt: skip


#: Estimators of which y is not used.
UNSUPERVISED = ("OneClassSVM", "LinearOneClassSVM", "IncrementalOneClassSVM", "OnlineNoveltyDetector",
                "conformal.ConformalDetector")  # fmt: skip


def _data_of(function: Any) -> tuple[str, ...]:
    try:
        names = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in names if name in DATA)


#: Methods of scikit-learn's classes, which set options.
_NOT_DATA = ("set_", "get_")


def public() -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Names of all public functions and methods with parameters that are data."""
    seen = set()
    for module_name in ("", *MODULES):
        module = importlib.import_module(f"hinge.{module_name}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or id(value) in seen or not callable(value):
                continue
            if module_name == "" and not hasattr(value, "get_params"):  # found again in its own module
                continue
            seen.add(id(value))
            where = f"{module_name}.{name}".lstrip(".")
            if hasattr(value, "get_params") and name in estimators():
                where = name
            if where in EXEMPT:
                continue
            if not inspect.isclass(value):
                if _data_of(value):
                    yield where, value, _data_of(value)
                continue
            for method, function in inspect.getmembers(value, inspect.isfunction):
                hidden = method.startswith("_") and method != "__call__"
                hidden |= where.startswith("kernels.") and method in _NOT_READ
                if not hidden and not method.startswith(_NOT_DATA) and _data_of(function):
                    yield f"{where}.{method}", function, _data_of(function)


#: Arguments of single methods.
METHODS: dict[str, dict[str, Any]] = {
    "paths.SolutionPath.explore": {"file": "page.html", "X_val": X[:8], "y_val": Y[:8]},
    "paths.LassoPath.predict": {"value": 0.1},
    "paths.QuadraticLossPath.decision_function": {"lam": 1.0},
    "paths.QuadraticLossPath.predict": {"lam": 1.0},
    "ranking.RankingPath.predict": {"theta": 0.5},
    "OnlineSVC.learn_one": {"y": 1},
    "OnlineNuSVC.learn_one": {"y": 1},
    "OnlineSVR.learn_one": {"y": 1.0},
    "recipes.HeteroscedasticSVR.update": {"X": X, "y": X[:, 0]},
}


def calls() -> list[Call]:
    """All public functions and methods that take data."""
    result, cached = [], {}
    special = functions()
    for name, function, data in public():
        owner, _, method = name.rpartition(".")
        if name in special:
            call, options, regression = special[name]
            parameters = tuple(inspect.signature(call).parameters)
            names = tuple(key for key in parameters if key in data or key in options)
            valid = {**arguments(name, _needed(call, data), regression), **options}
            given = _given(data, valid, names)
            result.append(Call(name, lambda call=call, valid=valid: (call, dict(valid)), given, True))
        elif owner in objects():
            factory, regression = objects()[owner]
            valid = {**arguments(name, _needed(function, data), regression), **METHODS.get(name, {})}
            if owner in ("RankingSVM",) and "y" in valid:
                valid["y"] = Z
            trains = method in ("fit", "fit_predict", "resolve") or owner.startswith("kernels.")

            if owner in UNSUPERVISED:
                data = tuple(key for key in data if key != "y")

            make_once = cached.setdefault(owner, cache(factory))

            def prepare(make_once=make_once, method=method, valid=valid):
                made = make_once()  # estimators are copied, because updates change them
                return getattr(copy.deepcopy(made) if hasattr(made, "get_params") else made, method), dict(valid)

            result.append(Call(name, prepare, _given(data, valid, data), trains))
        else:
            valid = arguments(name, _needed(function, data), any(word in name for word in ("lasso", "epsilon_path")))
            if "resolve" not in name and "gamma" in inspect.signature(function).parameters:
                valid["gamma"] = 0.5
            given = _given(data, valid, data)
            result.append(Call(name, lambda function=function, valid=valid: (function, dict(valid)), given, True))
    return result


def _given(data: tuple[str, ...], valid: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(key for key in names if key in data and key in valid)


def _needed(function: Any, data: tuple[str, ...]) -> tuple[str, ...]:
    """Parameters without a default, X, y and weights."""
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return tuple(dict.fromkeys([name for name in needed if name != "self"] + [n for n in data if n != "query_weight"]))


def damaged(name: str, valid: dict[str, Any], trains: bool, optional: bool) -> Iterator[tuple[str, Any]]:
    """Damaged values of the argument `name`; `optional`: it may be None."""
    value = np.asarray(valid[name])
    if name in MATRICES:
        for part, place, wrong in (("indices", 5, 10**6), ("indptr", 7, 10**6), ("indptr", 7, -1), ("indices", 2, -3)):
            if value.shape[0] > 7 or part == "indices":
                matrix = sp.csr_matrix(value)
                getattr(matrix, part)[place] = wrong
                yield f"damaged {part}: {wrong}", matrix
        yield "three dimensions", value[None]
        yield "text", np.full(value.shape, "text")
        if not optional:
            yield "None", None
        yield "an object", object()
        if not trains:
            yield "a column less", value[:, :-1]
        if trains and name == "X":
            yield "no rows", value[:0]
            yield "no columns", value[:, :0]
    elif name in SAMPLE:
        yield "a feature less", value[:-1]
    elif name not in ("scores", "target") and value.ndim:
        yield "three columns", np.stack([value, value, value], axis=1)
        if name != "sample_weight":  # scikit-learn allows a number
            yield "one number", 1.0
    aligned = {"X", "y", "relevance"} & set(valid) and name in ("y", "sample_weight", "relevance", "qid")
    if aligned and value.shape == (N,):
        yield "one value less", value[:-1]
    if value.dtype.kind == "f" and value.size > 1:
        for bad in (np.nan, np.inf, -np.inf):
            wrong_values = np.array(value, dtype=float)
            wrong_values.flat[1] = bad
            yield str(bad), wrong_values
    if name == "sample_weight":
        yield "negative", np.where(np.arange(N) == 3, -1.0, 1.0)
