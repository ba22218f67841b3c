"""Runs of all estimators, path functions, searches and recipes with a time limit, on synthetic data of any size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

import hinge
from hinge import lowrank, recipes, selection
from hinge.solvers.base import SOLVERS

FEATURES = 10


class Data:
    """Overlapping classes, a noisy regression target and grades of relevance for the same samples."""

    def __init__(self, n: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n = n
        self.X = rng.normal(size=(n, FEATURES)).astype(np.float32)
        value = self.X[:, 0] * self.X[:, 1] + self.X[:, 2] + rng.normal(size=n)
        self.y = np.where(value > 0, 1, -1)
        self.y[:2] = (-1, 1)
        self.classes = np.digitize(value, [-1.0, 1.0])
        self.classes[:3] = (0, 1, 2)
        self.target = value.astype(np.float64)
        self.relevance = np.clip(np.round(value), 0, 4).astype(int)
        self.qid = np.arange(n) // 20
        self.weight = rng.random(n) + 0.5
        self.new = self.X + np.float32(0.5)

    @cached_property
    def matrix(self) -> Any:
        """A precomputed linear kernel, computed before the measurement."""
        return (self.X @ self.X.T).astype(np.float64)


Case = Callable[[Data, float], Any]
CASES: dict[str, tuple[Case, int]] = {}


def fit(estimator: Any, *data: Any) -> Any:
    return estimator.fit(*data)


def add(name: str, run: Case, largest: int = 2_000_000) -> None:
    """Register a run; `largest` is the number of samples up to which its input fits into memory."""
    CASES[name] = run, largest


# ---- estimators -----------------------------------------------------------------------------------------------------

add("SVC", lambda d, t: fit(hinge.SVC(max_time=t), d.X, d.y))
add("SVC linear C=1e4", lambda d, t: fit(hinge.SVC(kernel="linear", C=1e4, max_time=t), d.X, d.y))
add("SVC squared_hinge", lambda d, t: fit(hinge.SVC(loss="squared_hinge", max_time=t), d.X, d.y))
add("SVC logistic", lambda d, t: fit(hinge.SVC(loss="logistic", max_time=t), d.X, d.y))
add("SVC three classes", lambda d, t: fit(hinge.SVC(max_time=t), d.X, d.classes))
add("SVC precomputed", lambda d, t: fit(hinge.SVC(kernel="precomputed", max_time=t), d.matrix, d.y), 20_000)
add("SVR", lambda d, t: fit(hinge.SVR(max_time=t), d.X, d.target))
add("NuSVC", lambda d, t: fit(hinge.NuSVC(nu=0.3, max_time=t), d.X, d.y))
add("NuSVR", lambda d, t: fit(hinge.NuSVR(max_time=t), d.X, d.target))
add("OneClassSVM", lambda d, t: fit(hinge.OneClassSVM(max_time=t), d.X))
add("LinearSVC", lambda d, t: fit(hinge.LinearSVC(max_time=t, C=100.0, loss="hinge", tol=1e-9), d.X, d.y))
add(
    "LinearSVC crammer_singer",
    lambda d, t: fit(hinge.LinearSVC(max_time=t, multi_class="crammer_singer", tol=1e-9), d.X, d.classes),
)
add("LinearSVR", lambda d, t: fit(hinge.LinearSVR(max_time=t, tol=1e-9), d.X, d.target))
add("LinearOneClassSVM", lambda d, t: fit(hinge.LinearOneClassSVM(max_time=t, tol=1e-9), d.X))
add("LowRankSVC", lambda d, t: fit(hinge.LowRankSVC(max_time=t), d.X, d.y))
add("LPSVC", lambda d, t: fit(hinge.LPSVC(max_time=t), d.X, d.y))
add("LPSVR", lambda d, t: fit(hinge.LPSVR(max_time=t), d.X, d.target))
add("IncrementalSVC", lambda d, t: fit(hinge.IncrementalSVC(max_time=t), d.X, d.y))
add("IncrementalSVR", lambda d, t: fit(hinge.IncrementalSVR(max_time=t), d.X, d.target))
add("RankingSVM", lambda d, t: hinge.RankingSVM(max_time=t).fit(d.X, d.relevance, qid=d.qid))
add(
    "RankingSVM squared_hinge",
    lambda d, t: hinge.RankingSVM(max_time=t, loss="squared_hinge").fit(d.X, d.relevance, qid=d.qid),
)
add("TransductiveSVC", lambda d, t: hinge.TransductiveSVC(max_time=t).fit(d.X[: d.n // 2], d.y[: d.n // 2], d.new))
add("OnlineSVC", lambda d, t: fit(hinge.OnlineSVC(max_time=t, budget=1000), d.X, d.y))
add("OnlineNuSVC", lambda d, t: fit(hinge.OnlineNuSVC(max_time=t, budget=1000), d.X, d.y))
add("OnlineSVR", lambda d, t: fit(hinge.OnlineSVR(max_time=t, budget=1000), d.X, d.target))
add("OnlineNoveltyDetector", lambda d, t: fit(hinge.OnlineNoveltyDetector(max_time=t, budget=1000), d.X))
for _name in sorted(SOLVERS):
    if _name in ("auto", "pair_descent", "pair_newton"):
        continue
    _loss = "squared_hinge" if _name in ("lagrangian", "newton", "regularized_risk") else "hinge"
    _kernel = "linear" if _name == "coordinate_descent" else "rbf"
    add(
        f"SVC solver={_name}",
        lambda d, t, s=_name, loss=_loss, kernel=_kernel: fit(
            hinge.SVC(solver=s, loss=loss, kernel=kernel, max_time=t, fit_intercept=s != "coordinate_descent"), d.X, d.y
        ),
    )

# ---- paths ----------------------------------------------------------------------------------------------------------

add("regularization_path", lambda d, t: hinge.regularization_path(d.X, d.y, max_time=t))
add("weight_path", lambda d, t: hinge.weight_path(d.X, d.y, 1.0, d.weight, max_time=t))
add("epsilon_path", lambda d, t: hinge.epsilon_path(d.X, d.target, max_time=t))
add("nu_path", lambda d, t: hinge.nu_path(d.X, d.y, max_time=t))
add("one_vs_one_paths", lambda d, t: hinge.one_vs_one_paths(d.X, d.classes, max_time=t))
add("quadratic_loss_path", lambda d, t: hinge.quadratic_loss_path(d.X, d.y, max_time=t))
add("approximate_path", lambda d, t: hinge.approximate_path(d.X, d.y, max_time=t))
add("ranking_path", lambda d, t: hinge.ranking_path(d.X, d.relevance, d.qid, max_time=t))

# ---- searches and recipes -------------------------------------------------------------------------------------------

COSTS, WIDTHS = [0.1, 1.0, 10.0, 100.0], [0.01, 0.1, 1.0]
add("grid", lambda d, t: selection.grid(d.X, d.y, C=COSTS, gamma=WIDTHS, max_time=t))
add("grid SVR", lambda d, t: selection.grid(d.X, d.target, C=COSTS, gamma=WIDTHS, max_time=t))
add(
    "grid LinearSVC",
    lambda d, t: selection.grid(d.X, d.y, C=COSTS, estimator=hinge.LinearSVC(loss="hinge"), max_time=t),
)
add("path_search", lambda d, t: selection.path_search(d.X, d.y, gamma=WIDTHS, max_time=t))
add("leave_one_out", lambda d, t: selection.leave_one_out(d.X, d.y, max_time=t))
add("loo_bounds", lambda d, t: selection.loo_bounds(d.X, d.y, max_time=t))
add("density_ratio", lambda d, t: recipes.density_ratio(d.X, d.new, max_time=t))
add("density_ratio kliep", lambda d, t: recipes.density_ratio(d.X, d.new, method="kliep", max_time=t))
add("covariate_shift_path", lambda d, t: recipes.covariate_shift_path(d.X, d.y, d.new, max_time=t))
add("HeteroscedasticSVR", lambda d, t: fit(recipes.HeteroscedasticSVR(max_time=t), d.X, d.target))
add("SlidingSVC", lambda d, t: fit(recipes.SlidingSVC(window=500, max_time=t), d.X, d.y))
add("SlidingSVR", lambda d, t: fit(recipes.SlidingSVR(window=500, max_time=t), d.X, d.target))
for _method in ("SGMA", "PivotedCholesky", "Nystrom"):
    add(
        f"lowrank.{_method}",
        lambda d, t, m=_method: getattr(lowrank, m)(rank=500).fit(hinge.kernels.RBF(0.1), d.X, max_time=t),
    )


def outcome(name: str, data: Data, max_time: float) -> str:
    """Run a case and describe its result: a status, or the type of its error."""
    run, _ = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = run(data, max_time)
        except (MemoryError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
            return f"{type(error).__name__}: {error}".split("\n")[0][:90]
    status = getattr(result, "status_", getattr(result, "status", None))
    text = "" if status is None else hinge.Status(status).name
    certificate = getattr(result, "certificate_", None)
    if certificate is not None:
        text += f", gap {certificate.relative_gap:.2g}"
    for attribute in ("best_score_", "complete_", "complete", "high", "low"):
        if isinstance(getattr(result, attribute, None), float | bool):
            text += f", {attribute.strip('_')} {getattr(result, attribute):.4g}"
    return text.strip(", ")
