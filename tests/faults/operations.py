"""Public operations that can take long, each as a function of no arguments that works on an estimator or a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hinge

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
Y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1, -1)
Z = np.arange(80) % 3

#: Methods of estimators that change them.
CHANGES = (
    "fit", "partial_fit", "update", "forget", "reweight", "slide", "calibrate", "learn_one", "predict_then_learn",
)  # fmt: skip


def estimators() -> dict[str, type]:
    """All public estimators of hinge."""
    names = [(hinge, name) for name in hinge.__all__] + [(hinge.recipes, name) for name in hinge.recipes.__all__]
    found = {name: getattr(module, name) for module, name in names}
    return {name: cls for name, cls in found.items() if inspect.isclass(cls) and hasattr(cls, "get_params")}


def changes() -> list[tuple[str, str]]:
    """(estimator, method) for all methods that change an estimator."""
    return [(name, method) for name, cls in estimators().items() for method in CHANGES if hasattr(cls, method)]


def fitted(name: str) -> Any:
    """An estimator that is fitted to half of the samples."""
    cls = estimators()[name]
    options = {"gamma": 0.5, "cv": 2}
    known = inspect.signature(cls.__init__).parameters
    model = cls(**{key: value for key, value in options.items() if key in known})
    return model.fit(X[:40], targets(name)[:40])


def targets(name: str) -> Any:
    """Labels, numbers or grades."""
    if name == "RankingSVM":
        return Z
    regression = "SVR" in name or name == "RegularizationNetwork"
    return X[:, 0] if regression else Y


def change(model: Any, name: str, method: str) -> None:
    """Call a method with the other half of the samples."""
    y = targets(name)
    if method == "forget":
        model.forget([0, 1, 2])
    elif method == "reweight":
        model.reweight(np.full(40, 0.5))
    elif method == "calibrate":
        model.calibrate(X)
    elif method == "learn_one":
        model.learn_one(X[40]) if "Novelty" in name else model.learn_one(X[40], y[40])
    elif method == "fit":
        model.fit(X, y)
    else:
        getattr(model, method)(X[40:], y[40:])


def results(folder: Path) -> dict[str, Callable[[], Any]]:
    """Public functions that return a result or write a file; each leaves its arguments unchanged."""
    model = hinge.SVC(gamma=0.5).fit(X, Y)
    path = hinge.regularization_path(X, Y, gamma=0.5)
    data = folder / "data.txt"
    hinge.io.dump_libsvm(X, Y, data)
    axes = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0], "cv": 2}
    found: dict[str, Callable[[], Any]] = {
        name: (lambda name=name: getattr(hinge, name)(X, Y, gamma=0.5))
        for name in ("regularization_path", "approximate_path", "one_vs_one_paths", "quadratic_loss_path", "nu_path",
                     "epsilon_path", "ranking_path")
    }  # fmt: skip
    return found | {
        "lp_path": lambda: hinge.lp_path(X[:12], Y[:12], gamma=0.5),
        "lasso_path": lambda: hinge.lasso_path(X, X[:, 0]),
        "lasso_weight_path": lambda: hinge.lasso_weight_path(X, X[:, 0], np.ones(4), np.full(4, 2.0), lam=0.1),
        "reweighted_lasso": lambda: hinge.reweighted_lasso(X, X[:, 0], lam=0.1),
        "weight_path": lambda: hinge.weight_path(X, Y, np.ones(80), 1 + rng.random(80), gamma=0.5),
        "grid": lambda: hinge.selection.grid(X, Y, **axes),
        "pairwise_grid": lambda: hinge.selection.pairwise_grid(X, Y, **axes),
        "nu_grid": lambda: hinge.selection.nu_grid(X, Y, nu=[0.1, 0.2], gamma=[0.5], cv=2),
        "nu_range": lambda: hinge.selection.nu_range(X, Y, gamma=0.5),
        "learning_curve": lambda: hinge.selection.learning_curve(X[:60], Y[:60], X[60:], Y[60:]),
        "path_search": lambda: hinge.selection.path_search(X, Y, gamma=0.5, cv=2),
        "leave_one_out": lambda: hinge.selection.leave_one_out(X, Y, gamma=0.5),
        "loo_bounds": lambda: hinge.selection.loo_bounds(X, Y, gamma=0.5),
        "covariate_shift_path": lambda: hinge.recipes.covariate_shift_path(X, Y, X[:20] + 0.2, gamma=0.5),
        "density_ratio": lambda: hinge.recipes.density_ratio(X, X[:20] + 0.2),
        "noise_tube": lambda: hinge.recipes.noise_tube(hinge.SVR(gamma=0.5), X, X[:, 0]),
        "shapley_values": lambda: hinge.inspection.shapley_values(model, X[:10], X[:20]),
        "influence": lambda: hinge.inspection.influence(model, X[:4], X, Y),
        "flip": lambda: hinge.inspection.flip(model, X[0], X, Y),
        "gradient": lambda: hinge.inspection.gradient(model, X),
        "partial_dependence": lambda: hinge.inspection.partial_dependence(model, X, 0),
        "prequential": lambda: hinge.online.prequential(hinge.OnlineSVC(gamma=0.5), X, Y, classes=[-1, 1]),
        "certify": lambda: model.certify(X, Y),
        "validation_error": lambda: path.validation_error(X, Y),
        "load_libsvm": lambda: hinge.io.load_libsvm(data),
        "map_libsvm": lambda: hinge.io.map_libsvm(data, folder / "map"),
    }


#: Public functions of these packages that take less than a millisecond, or that other tests interrupt.
SHORT = {
    "certify", "load", "save", "patch_sklearn", "unpatch_sklearn", "predictor", "recency_weights", "epsilon_for_noise",
    "nu_for_noise",
}  # fmt: skip


def public_functions() -> set[str]:
    """Names of all public functions that compute something from data."""
    modules = (hinge, hinge.selection, hinge.recipes, hinge.inspection)
    found = {name for module in modules for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    return found - SHORT
