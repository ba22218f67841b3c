"""CONTRIBUTING.md, "How to add a kernel": one class and its registration make a kernel available everywhere."""

from dataclasses import dataclass

import numpy as np
import pytest

import hinge
from hinge.io import registry as files
from hinge.kernels import KERNELS
from hinge.kernels.algebra import UNIT_ROUNDOFF, register
from hinge.kernels.distances import bounded_squared_distances, pair, squared_distances
from hinge.kernels.functions import DistanceKernel, Gamma


@dataclass(frozen=True)
class Cauchy(DistanceKernel):
    """k(x, z) = 1 / (1 + γ‖x − z‖²)"""

    gamma: Gamma = "scale"

    def __call__(self, X, Z=None):
        return 1.0 / (1.0 + self._gamma * squared_distances(*pair(X, Z)))

    def bounded(self, X, Z=None):
        squared, error = bounded_squared_distances(*pair(X, Z))
        values = 1.0 / (1.0 + self._gamma * squared)
        return values, 1.01 * self._gamma * error + 4 * UNIT_ROUNDOFF * values

    @property
    def psd(self):
        return True

    def nodes(self):
        return None


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    register("cauchy")(Cauchy)
    monkeypatch.setitem(files.RECORDS, "Cauchy", Cauchy)  # is built from KERNELS when hinge.io is imported
    yield
    del KERNELS["cauchy"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1, -1)


ESTIMATORS = [hinge.SVC, hinge.NuSVC, hinge.SVR, hinge.NuSVR, hinge.LPSVC, hinge.IncrementalSVC]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_accept_the_name_and_the_object(estimator, data):
    X, y = data
    by_name = estimator(kernel="cauchy", gamma=0.7).fit(X, y)
    by_object = estimator(kernel=Cauchy(0.7)).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))


def test_certificate_is_recomputed_from_the_formula(data):
    X, y = data
    model = hinge.SVC(kernel="cauchy", tol=1e-8).fit(X, y)
    certificate = model.certify(X, y)
    assert certificate.relative_gap < 1e-6
    assert certificate.rounding > 0  # the errors of `bounded` are part of the bounds


def test_sums_paths_and_grids_accept_the_kernel(data):
    X, y = data
    hinge.SVC(kernel=Cauchy(0.5) + 2 * hinge.kernels.Linear()).fit(X, y)
    assert hinge.regularization_path(X, y, C_min=0.5, C_max=1.0, kernel="cauchy", gamma=0.7).kkt_violation < 1e-8
    search = hinge.selection.grid(X, y, C=[1.0, 10.0], gamma=[0.1, 1.0], estimator=hinge.SVC(kernel="cauchy"), cv=3)
    assert search.best_score_ > 0.5


def test_model_files_hold_the_kernel(data, tmp_path):
    X, y = data
    model = hinge.SVC(kernel="cauchy").fit(X, y)
    hinge.save(model, tmp_path / "model.hinge")
    np.testing.assert_array_equal(hinge.load(tmp_path / "model.hinge").decision_function(X), model.decision_function(X))


def test_an_unknown_name_lists_the_registered_ones(data):
    with pytest.raises(ValueError, match=r"'rbf'.*'cauchy'"):
        hinge.SVC(kernel="couchy").fit(*data)
