"""Certificates of updated models that were not available in earlier versions."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import IncrementalSVC, IncrementalSVR, Status


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_certificate_is_available_after_weights_of_zero(kernel):
    """Coefficients of samples with weight zero are zero, and not of the size of rounding errors."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 2))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
        model = IncrementalSVC(C=10.0, gamma=1.0, kernel=kernel).fit(X, y)
        for _ in range(4):
            weight = rng.random(60) * (rng.random(60) < 0.7)
            model.reweight(weight)
            assert model.certificate_.relative_gap <= 1e-6
            assert not np.isin(np.flatnonzero(weight == 0), model.support_).any()


def test_the_certificate_of_regression_is_available_after_weights_of_zero():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 2))
        y = X[:, 0] + 0.5 * rng.normal(size=60)
        model = IncrementalSVR(C=10.0, gamma=1.0).fit(X, y)
        for _ in range(4):
            weight = rng.random(60) * (rng.random(60) < 0.7)
            model.reweight(weight)
            assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("estimator", [IncrementalSVC, IncrementalSVR], ids=lambda e: e.__name__)
def test_certify_accepts_the_arguments_of_fit_with_weights_of_zero(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    weight = np.where(np.arange(20) % 4 == 0, 0.0, 1.0)
    model = estimator().fit(X, y, sample_weight=weight)
    assert model.certify(X, y, weight).primal == model.certificate_.primal


class TestStatus:
    """SOLVED without a confirmation by the certificate."""

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, -1)

    def test_a_solution_that_rounding_errors_prevent_is_not_solved(self):
        with pytest.warns(ConvergenceWarning, match="Rounding errors prevent an exact solution"):
            model = IncrementalSVC(kernel="poly", degree=4, gamma=1.0, C=1e6).fit(1e8 * self.X + 1e9, self.y)
        assert model.status_ is Status.NUMERICAL
        assert model.fit_status_ == 1

    def test_the_status_follows_updates(self):
        model = IncrementalSVC().fit(self.X[:20], self.y[:20])
        assert model.status_ is Status.SOLVED
        before = model.certificate_
        assert model.certificate_ is before
        model.update(self.X[20:], self.y[20:])
        assert model.status_ is Status.SOLVED
        assert model.fit_status_ == 0
        assert model.certificate_.primal > before.primal

    def test_the_status_survives_pickling(self):
        model = pickle.loads(pickle.dumps(IncrementalSVC().fit(self.X, self.y)))
        assert model.status_ is Status.SOLVED
