"""`IncrementalOneClassSVM`: updates agree with fits from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge import IncrementalOneClassSVM, OneClassSVM


@parametrize_with_checks([IncrementalOneClassSVM()])
def test_common_checks(estimator, check):
    check(estimator)


def data_sets():
    rng = np.random.default_rng(0)
    yield pytest.param(load_iris().data[:70], 0.5, id="iris")
    wine = load_wine().data[::3]
    yield pytest.param((wine - wine.mean(0)) / wine.std(0), 0.1, id="wine")
    yield pytest.param(make_blobs(60, random_state=1)[0], 0.3, id="blobs")
    yield pytest.param(make_moons(50, noise=0.1, random_state=2)[0], 2.0, id="moons")
    yield pytest.param(rng.normal(size=(40, 2)).round(0), 1.0, id="duplicates")


def assert_fitted(model, X, weight, nu, gamma):
    """Compare with a fit at tol=1e-10 by its optimal value and its function."""
    fitted = OneClassSVM(nu=nu, gamma=gamma, tol=1e-10).fit(X, sample_weight=weight)
    certificate = model.certificate_
    assert certificate.relative_gap < 1e-8
    np.testing.assert_allclose(certificate.primal, fitted.certificate_.primal, rtol=1e-8)
    scores = model.decision_function(X) + model.offset_  # offsets may not be unique
    np.testing.assert_allclose(scores, fitted.decision_function(X) + fitted.offset_, atol=1e-6)


@pytest.mark.parametrize(("X", "gamma"), list(data_sets()))
@pytest.mark.parametrize("nu", [0.05, 0.31, 0.8, 0.97])
def test_updates_agree_with_fits(X, gamma, nu, tmp_path):
    rng = np.random.default_rng(3)
    n = len(X)
    weight = rng.uniform(0.5, 2.0, n)
    half = n // 2
    model = IncrementalOneClassSVM(nu=nu, gamma=gamma).fit(X[:half], sample_weight=weight[:half])
    assert_fitted(model, X[:half], weight[:half], nu, gamma)
    model.partial_fit(X[half:], sample_weight=weight[half:])
    assert_fitted(model, X, weight, nu, gamma)
    kept = np.sort(rng.permutation(n)[: n - 9])
    model.forget(np.setdiff1d(np.arange(n), kept))
    assert_fitted(model, X[kept], weight[kept], nu, gamma)
    weight = rng.uniform(0.1, 3.0, len(kept))
    assert_fitted(model.reweight(weight), X[kept], weight, nu, gamma)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-12)
    loaded.update(X[:4], sample_weight=[1.0, 2.0, 1.0, 0.5], forget=[0, 1])
    rows = np.concatenate([kept[2:], np.arange(4)])
    assert_fitted(loaded, X[rows], np.append(weight[2:], [1.0, 2.0, 1.0, 0.5]), nu, gamma)
    assert loaded.n_samples_ == len(rows)


def test_sliding_window():
    """Many small updates release the memory of removed samples."""
    X = make_blobs(300, random_state=4)[0]
    model = IncrementalOneClassSVM(nu=0.2, gamma=0.2).fit(X[:60])
    for first in range(60, 300, 5):
        model.update(X[first : first + 5], forget=range(5))
    assert_fitted(model, X[240:], None, 0.2, 0.2)


def test_updates_are_exact_if_nu_is_one():
    """All variables are at their bounds; integer weights keep the sum exact."""
    X = make_blobs(40, random_state=5)[0]
    model = IncrementalOneClassSVM(nu=1.0, gamma=0.2).fit(X[:30]).update(X[30:], forget=[3])
    kept = np.delete(np.arange(40), 3)
    assert_fitted(model, X[kept], None, 1.0, 0.2)


def test_weight_zero_removes_a_sample():
    X = make_blobs(40, random_state=4)[0]
    model = IncrementalOneClassSVM(nu=0.3, gamma=0.2).fit(X)
    weight = np.ones(40)
    weight[::5] = 0.0
    model.reweight(weight)
    assert_fitted(model, X[weight > 0], None, 0.3, 0.2)


def test_invalid_input():
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(ValueError, match=r"nu=1\.5 must lie in"):
        IncrementalOneClassSVM(nu=1.5).fit(X)
    model = IncrementalOneClassSVM(nu=0.5, gamma=1.0).fit(X)
    with pytest.raises(ValueError, match="forget would leave no sample"):
        model.forget(range(5))
    with pytest.raises(ValueError, match=r"nu=0\.2 was 0\.5 when the model was fitted"):
        model.set_params(nu=0.2).update(X[:1])
    with pytest.raises(ValueError, match="precomputed"):
        IncrementalOneClassSVM(kernel="precomputed").fit(X @ X.T)
