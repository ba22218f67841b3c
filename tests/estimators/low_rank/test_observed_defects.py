"""Time limits of low-rank estimators that made results worse in earlier versions."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import LowRankSVC


@pytest.mark.slow
def test_a_basis_that_is_reduced_by_the_time_limit_is_reported():
    """The model has all basis functions, or the warning gives their number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 10)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LowRankSVC(max_time=5.0).fit(X, y)
    assert time.monotonic() - start <= 5.5
    if len(model.support_) < 1000:
        messages = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
        assert any(str(len(model.support_)) in message for message in messages)


def test_dual_points_whose_squares_overflow_give_a_valid_certificate():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    model = LowRankSVC(n_basis=5).fit(X, y)
    optimum = model.certificate_.primal
    model._dual_points = [1e200 * point for point in model._dual_points]
    certificate = model.certify(X, y)
    assert certificate.dual <= optimum <= certificate.primal * (1 + 1e-9)
