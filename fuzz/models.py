"""One small model of every class that `hinge.save` accepts, as parts of a file and as an object."""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import hinge
from hinge.paths import PathError

FEATURES = 3


def samples(n: int = 14) -> tuple[Any, Any]:
    """Samples and labels of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def _examples() -> dict[str, Any]:
    X, y = samples()
    z = np.array(list("abc"))[np.arange(len(y)) % 3]
    kernel = hinge.kernels.RBF(0.5) + 2.0 * hinge.kernels.Linear()
    paths = {
        "SolutionPath": hinge.regularization_path(X, y, gamma=0.5, C_min=0.1, C_max=10.0),
        "ApproximatePath": hinge.approximate_path(X, y, gamma=0.5),
        "OneVsOnePaths": hinge.one_vs_one_paths(X, z, gamma=0.5, C_min=0.1, C_max=10.0),
        "QuadraticLossPath": hinge.quadratic_loss_path(X, y, gamma=0.5),
        "RankingPath": hinge.ranking_path(X, np.arange(len(y)) % 3, gamma=0.5),
        "PathModel": hinge.regularization_path(X, y, gamma=0.5, C_min=0.1, C_max=10.0).model(1.0),
        "epsilon path": hinge.epsilon_path(X, X[:, 0], gamma=0.5),
        "nu path": hinge.nu_path(X, y, gamma=0.5),
        "DensityRatio": hinge.recipes.density_ratio(X, X[:5] + 0.2),
        "CovariateShift": hinge.recipes.covariate_shift_path(X, y, X[:5] + 0.2),
        "GridResult": hinge.selection.grid(X, y, C=[0.5, 1.0], gamma=[0.5], cv=2),
    }
    models: dict[str, Any] = {
        "SVC": hinge.SVC(gamma=0.5),
        "SVC several classes": hinge.SVC(kernel=kernel),
        "SVC sparse": hinge.SVC(kernel="linear"),
        "SVC precomputed": hinge.SVC(kernel="precomputed"),
        "SVC warm": hinge.SVC(gamma=0.5, warm_start=True),
        "SVC probability": hinge.SVC(gamma=0.5, probability=True),
        "NuSVC": hinge.NuSVC(gamma=0.5),
        "ParzenClassifier": hinge.ParzenClassifier(gamma=0.5),
        "RegularizationNetwork": hinge.RegularizationNetwork(gamma=0.5),
        "SemiparametricSVC": hinge.SemiparametricSVC(gamma=0.5),
        "SemiparametricSVR": hinge.SemiparametricSVR(gamma=0.5),
        "SVR": hinge.SVR(gamma=0.5),
        "NuSVR": hinge.NuSVR(gamma=0.5),
        "OneClassSVM": hinge.OneClassSVM(gamma=0.5, nu=0.4),
        "LinearSVC": hinge.LinearSVC(),
        "LinearSVR": hinge.LinearSVR(),
        "LinearOneClassSVM": hinge.LinearOneClassSVM(nu=0.4),
        "LowRankSVC": hinge.LowRankSVC(gamma=0.5, n_basis=5),
        "LPSVC": hinge.LPSVC(gamma=0.5),
        "LPSVR": hinge.LPSVR(gamma=0.5),
        "IncrementalSVC": hinge.IncrementalSVC(gamma=0.5),
        "IncrementalSVR": hinge.IncrementalSVR(gamma=0.5),
        "IncrementalOneClassSVM": hinge.IncrementalOneClassSVM(gamma=0.5, nu=0.4),
        "OnlineSVC": hinge.OnlineSVC(gamma=0.5),
        "OnlineNuSVC": hinge.OnlineNuSVC(gamma=0.5),
        "OnlineSVR": hinge.OnlineSVR(gamma=0.5),
        "OnlineNoveltyDetector": hinge.OnlineNoveltyDetector(gamma=0.5, budget=6),
        "SlidingSVC": hinge.recipes.SlidingSVC(gamma=0.5),
        "SlidingSVR": hinge.recipes.SlidingSVR(gamma=0.5),
        "HeteroscedasticSVR": hinge.recipes.HeteroscedasticSVR(gamma=0.5),
        "RankingSVM": hinge.RankingSVM(gamma=0.5),
        "TransductiveSVC": hinge.TransductiveSVC(gamma=0.5),
        "Pipeline": make_pipeline(StandardScaler(), MinMaxScaler(), MaxAbsScaler(), hinge.SVC(gamma=0.5)),
    }
    data = {
        "SVC several classes": (X, z),
        "SVC probability": (np.tile(X, (2, 1)), np.tile(z, 2)),
        "LinearSVC": (X, z),
        "LPSVC": (X, z),
        "SVC sparse": (sp.csr_matrix(np.where(np.abs(X) < 0.3, 0, X)), y),
        "SVC precomputed": (X @ X.T, y),
        "RankingSVM": (X, np.arange(len(y)) % 3),
    }
    fitted = {}
    for name, model in models.items():
        fitted[name] = model.fit(*data.get(name, (X, y)))
    return fitted | paths


@cache
def files() -> dict[str, tuple[bytes, dict[str, Any], list[np.ndarray]]]:
    """Bytes, manifest and arrays of a file of every model."""
    result = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name, model in _examples().items():
            path = Path(folder) / "model.hinge"
            hinge.save(model, path)
            content = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                manifest = json.loads(archive.read("hinge.json"))
                count = len(archive.namelist()) - 1
                arrays = [np.load(io.BytesIO(archive.read(f"{i}.npy"))) for i in range(count)]
            result[name] = content, manifest, arrays
            os.unlink(path)
    return result


def use(model: Any) -> str:
    """Use a loaded model in every way that its class has; an exception other than the documented ones is an error."""
    X, y = samples(5)
    inputs = [X, X @ samples()[0].T, sp.csr_matrix(X), np.zeros((0, FEATURES)), np.ones((1, FEATURES))]
    allowed = (ValueError, TypeError, FloatingPointError, PathError, TimeoutError)
    answered = False
    for name in ("predict", "decision_function", "score_samples", "transform"):
        for each in inputs:
            try:
                if hasattr(model, name):
                    getattr(model, name)(each)
                    answered = True
            except allowed:
                pass
    calls = [
        lambda: model.partial_fit(X, y),
        lambda: model.forget([0]),
        lambda: model.certify(*samples()),
        lambda: model.decision_function(X, float(model.low)),
        lambda: model.validation_error(X, y).best(),
        lambda: model.model(float(model.high)).predict(X),
        lambda: model.alpha(float(model.low)),
        lambda: (model.support_, model.dual_coef_, model.coef_, model.n_support_, model.intercept_),
        lambda: repr(model),
        lambda: hinge.save(model, os.devnull + "/none"),
    ]
    for call in calls:
        try:
            call()
            answered = True
        except (*allowed, AttributeError, OSError):  # not every class has every method
            pass
    return "answers" if answered else "refuses"
