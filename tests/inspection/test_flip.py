"""Changes of weights and labels that change a prediction, compared with refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.inspection import flip


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 0.8 * rng.normal(size=n) > 0


def refit(X, y, weight, x, C):
    return hinge.SVC(C=C, gamma=0.5, tol=1e-10).fit(X, y, weight).decision_function(x[None])[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.3, 3.0])
def test_values_vanish_at_the_reported_weights(seed, C):
    X, y = data(seed=seed)
    model = hinge.IncrementalSVC(C=C, gamma=0.5).fit(X, y)
    candidates = np.random.default_rng(seed).normal(size=(300, 2))
    x = candidates[np.argmin(np.abs(model.decision_function(candidates)))] + 0.02
    found = model.flip(x, max_weight=4.0)
    assert_allclose(found.value, model.decision_function(x[None])[0], atol=1e-9)
    assert len(found.ranking) > 0
    for i in range(len(y)):
        weight = np.ones(len(y))
        weight[i] = 0
        assert_allclose(found.value_without[i], refit(X, y, weight, x, C), atol=1e-7)
        changed = y.copy()
        changed[i] = ~changed[i]
        assert_allclose(found.value_relabelled[i], refit(X, changed, None, x, C), atol=1e-7)
        assert found.relabel[i] == (found.value_relabelled[i] * found.value < 0)
        if np.isfinite(found.weight[i]):
            weight[i] = found.weight[i]
            assert_allclose(refit(X, y, weight, x, C), 0.0, atol=1e-6)
            weight[i] = 1 + 0.9 * (found.weight[i] - 1)  # not before
            assert refit(X, y, weight, x, C) * found.value > -1e-7
        else:
            for w in (0.0, 0.5, 2.0, 4.0):
                weight[i] = w
                assert refit(X, y, weight, x, C) * found.value > -1e-7
    assert (np.diff(np.abs(found.weight - 1)[found.ranking]) >= 0).all()
    assert_array_equal(model.decision_function(x[None]), model.decision_function(x[None]))


def test_a_mislabelled_sample_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] > 0
    wrong = int(np.argmin(np.abs(X - [1.2, 0.0]).sum(axis=1)))
    y[wrong] = False
    model = hinge.IncrementalSVC(C=100.0, gamma=2.0).fit(X, y)
    assert not model.predict(X[wrong : wrong + 1])[0]
    found = model.flip(X[wrong] + 0.05)
    assert found.value < 0
    assert found.ranking[0] == wrong
    assert found.relabel[wrong]


def test_svc_zero_weights_and_single_samples():
    X, y = data()
    weight = np.ones(30)
    weight[4] = 0
    labels = np.array(["no", "yes"])[y.astype(int)]
    model = hinge.SVC(C=2.0, class_weight={"yes": 2.0}).fit(X, labels, weight)
    found = flip(model, X[0], X, labels, weight)
    assert_allclose(found.value, hinge.SVC(C=2.0, class_weight={"yes": 2.0}, tol=1e-9).fit(X, labels, weight)
                    .decision_function(X[:1])[0], atol=1e-6)  # fmt: skip
    assert found.weight.shape == found.relabel.shape == (30,)
    assert found.value_without[4] == found.value
    assert np.isnan(found.value_relabelled[4])
    without = weight.copy()
    without[7] = 0
    expected = hinge.SVC(C=2.0, class_weight={"yes": 2.0}, gamma=model.model_.kernel.gamma, tol=1e-10)
    assert_allclose(found.value_without[7], expected.fit(X, labels, without).decision_function(X[:1])[0], atol=1e-7)
    one = np.arange(30) == 5
    found = flip(hinge.SVC().fit(X, one), X[0], X, one)
    assert np.isnan(found.value_without[5])
    assert np.isnan(found.weight[5])
    assert not found.relabel[5]


def test_a_relabelled_sample_has_the_weight_of_its_new_class():
    X, y = data()
    options = dict(C=2.0, gamma=0.5, class_weight={True: 3.0})
    found = hinge.IncrementalSVC(**options).fit(X, y).flip(X[0])
    for i in range(30):
        changed = np.where(np.arange(30) == i, ~y, y)
        expected = hinge.SVC(**options, tol=1e-10).fit(X, changed).decision_function(X[:1])[0]
        assert_allclose(found.value_relabelled[i], expected, atol=1e-8)


def test_duplicates_have_equal_effects():
    X, y = data(12)
    model = hinge.IncrementalSVC(gamma=0.5).fit(np.vstack([X, X]), np.append(y, y))
    found = model.flip(X[3])
    assert_allclose(found.value_without[:12], found.value_without[12:], atol=1e-8)


def test_invalid_arguments():
    X, y = data()
    model = hinge.IncrementalSVC().fit(X, y)
    with pytest.raises(ValueError, match="one sample"):
        model.flip(X)
    with pytest.raises(ValueError, match="max_weight"):
        model.flip(X[0], max_weight=0.5)
    with pytest.raises(ValueError, match="two classes"):
        hinge.IncrementalSVC().fit(X, np.arange(30) % 3).flip(X[0])
    with pytest.raises(TypeError, match="hinge loss"):
        flip(hinge.SVC(loss="squared_hinge").fit(X, y), X[0], X, y)
