"""Every public estimator, path, search and transformation that trains on data accepts `max_time`."""

import importlib
import inspect
import time
import warnings

import numpy as np
import pytest

import hinge
from hinge import lowrank, recipes, selection

PACKAGES = ("hinge", "hinge.selection", "hinge.recipes", "hinge.lowrank", "hinge.conformal", "hinge.inspection")

#: Callables with data but without `max_time`, and why.
EXCEPTIONS = {
    "ParzenClassifier": "no optimization: one pass over the kernel matrix",
    "certify": "computes what a time limit left out",
    "nu_range": "one linear program or a count",
    "Approximation": "abstract base class",
    "low_rank_access": "open: the limit belongs to the solver that asks for the factor",
    "AdaptiveIntervals": "open: conformal methods take the limit of the estimator they wrap",
    "CVPlus": "open",
    "ConformalClassifier": "open",
    "ConformalDetector": "open",
    "FullConformal": "open",
    "JackknifePlus": "open",
    "flip": "open: follows a path without a limit",
    "influence": "open: follows a path without a limit",
    "shapley_values": "open: evaluates a fitted model",
    "partial_dependence": "evaluates a fitted model",
    "gradient": "evaluates a fitted model",
    "coverage": "counts",
}


def without_limit():
    """Names of callables that take samples and do not accept `max_time`."""
    found = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member):
                if not hasattr(member, "fit") or issubclass(member, BaseException):
                    continue
                names = {*inspect.signature(member).parameters, *inspect.signature(member.fit).parameters}
            elif callable(member):
                names = set(inspect.signature(member).parameters)
                if not names & {"X", "y", "problem", "x", "X_train", "access"}:
                    continue
            else:
                continue
            if "max_time" not in names:
                found.add(name)
    return found


def test_every_callable_accepts_a_time_limit():
    assert without_limit() <= set(EXCEPTIONS)


N = 400
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 5))
VALUE = X[:, 0] * X[:, 1] + rng.normal(size=N)
Y = np.where(VALUE > 0, 1, -1)
RELEVANCE, QUERY = np.clip(np.round(VALUE), 0, 4), np.arange(N) // 20

#: Runs with the limit t. Each returns, or raises TimeoutError, close to the limit.
RUNS = {
    **{
        name: lambda t, e=getattr(hinge, name): e(max_time=t).fit(X, Y)
        for name in ("SVC", "NuSVC", "LinearSVC", "LowRankSVC", "LPSVC", "IncrementalSVC", "OnlineSVC", "OnlineNuSVC")
    },
    **{
        name: lambda t, e=getattr(hinge, name): e(max_time=t).fit(X, VALUE)
        for name in ("SVR", "NuSVR", "LinearSVR", "LPSVR", "IncrementalSVR", "OnlineSVR")
    },
    **{
        name: lambda t, e=getattr(hinge, name): e(max_time=t).fit(X)
        for name in ("OneClassSVM", "LinearOneClassSVM", "IncrementalOneClassSVM", "OnlineNoveltyDetector")
    },
    "RankingSVM": lambda t: hinge.RankingSVM(max_time=t).fit(X, RELEVANCE, qid=QUERY),
    "TransductiveSVC": lambda t: hinge.TransductiveSVC(max_time=t).fit(X[:200], Y[:200], X[200:]),
    "SVCCV": lambda t: hinge.SVCCV(max_time=t).fit(X, Y),
    "SVRCV": lambda t: hinge.SVRCV(max_time=t).fit(X, VALUE),
    "LinearSVCCV": lambda t: hinge.LinearSVCCV(max_time=t).fit(X, Y),
    "LinearSVRCV": lambda t: hinge.LinearSVRCV(max_time=t).fit(X, VALUE),
    "regularization_path": lambda t: hinge.regularization_path(X, Y, max_time=t),
    "weight_path": lambda t: hinge.weight_path(X, Y, 1.0, rng.random(N) + 0.5, max_time=t),
    "epsilon_path": lambda t: hinge.epsilon_path(X, VALUE, max_time=t),
    "nu_path": lambda t: hinge.nu_path(X, Y, max_time=t),
    "one_vs_one_paths": lambda t: hinge.one_vs_one_paths(X, np.digitize(VALUE, [-1, 1]), max_time=t),
    "quadratic_loss_path": lambda t: hinge.quadratic_loss_path(X, Y, max_time=t),
    "approximate_path": lambda t: hinge.approximate_path(X, Y, max_time=t),
    "ranking_path": lambda t: hinge.ranking_path(X, RELEVANCE, QUERY, max_time=t),
    "lp_path": lambda t: hinge.lp_path(X, Y, max_time=t),
    "lasso_path": lambda t: hinge.lasso_path(X, VALUE, max_time=t),
    "grid": lambda t: selection.grid(X, Y, max_time=t),
    "path_search": lambda t: selection.path_search(X, Y, max_time=t),
    "leave_one_out": lambda t: selection.leave_one_out(X, Y, max_time=t),
    "loo_bounds": lambda t: selection.loo_bounds(X, Y, max_time=t),
    "density_ratio": lambda t: recipes.density_ratio(X, X + 0.5, max_time=t),
    "HeteroscedasticSVR": lambda t: recipes.HeteroscedasticSVR(max_time=t).fit(X, VALUE),
    "SlidingSVC": lambda t: recipes.SlidingSVC(max_time=t).fit(X, Y),
    "Nystrom": lambda t: lowrank.Nystrom(rank=100).fit(hinge.kernels.RBF(0.1), X, max_time=t),
    "SGMA": lambda t: lowrank.SGMA(rank=100).fit(hinge.kernels.RBF(0.1), X, max_time=t),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_end_at_their_limit(name):
    """CPU time: other programs delay a run. Small limits show work that is not limited."""
    limit, allowed = 0.05, 0.25
    for _ in range(3):
        start = time.process_time(), time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                RUNS[name](limit)
            except TimeoutError:
                pass
        seconds = min(time.process_time() - start[0], time.monotonic() - start[1])
        if seconds <= allowed:
            return
    assert seconds <= allowed
