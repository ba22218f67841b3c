"""`ParzenClassifier` assigns samples to the class with the nearest mean in feature space.  ν tutorial (10)"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.kernels import RBF
from reference.data_sets import binary_data


@parametrize_with_checks([hinge.ParzenClassifier()])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("data", binary_data())
def test_decision_values_are_those_of_the_formula(data, offset):
    X, y = binary_data()[data]
    model = hinge.ParzenClassifier(gamma=0.3, offset=offset).fit(X[::2], y[::2])
    A, B = X[::2][y[::2] > 0], X[::2][y[::2] < 0]
    values = []
    for x in X:
        near = [np.mean([np.exp(-0.3 * np.sum((x - z) ** 2)) for z in members]) for members in (A, B)]
        values.append(near[0] - near[1])
    K = RBF(0.3)
    b = 0.5 * (np.mean(K(B)) - np.mean(K(A))) if offset else 0.0
    np.testing.assert_allclose(model.decision_function(X), np.array(values) + b, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(np.array(values) + b > 0, 1.0, -1.0))


@pytest.mark.parametrize("data", binary_data())
def test_the_linear_kernel_gives_the_nearest_centroid(data):
    X, y = binary_data()[data]
    model = hinge.ParzenClassifier(kernel="linear").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), NearestCentroid().fit(X, y).predict(X))


def test_several_classes_and_their_decision_values():
    X, y = load_iris(return_X_y=True)
    model = hinge.ParzenClassifier(kernel="linear").fit(X, y)
    centroids = np.array([X[y == c].mean(axis=0) for c in range(3)])
    expected = X @ centroids.T - 0.5 * np.sum(centroids**2, axis=1)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), NearestCentroid().fit(X, y).predict(X))


def test_weights_are_repetitions_and_zero_leaves_a_sample_out():
    X, y = binary_data()["moons"]
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = hinge.ParzenClassifier(gamma=1.0).fit(X, y, sample_weight=weight)
    repeated = hinge.ParzenClassifier(gamma=1.0).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-12)


def test_sparse_precomputed_and_saved_models_agree(tmp_path):
    X, y = binary_data()["wine"]
    dense = hinge.ParzenClassifier(gamma=0.1).fit(X, y)
    values = dense.decision_function(X)
    thin = hinge.ParzenClassifier(gamma=0.1).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_matrix(X)), values, atol=1e-12)
    K = RBF(0.1)(X)
    matrix = hinge.ParzenClassifier(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(matrix.decision_function(K), values, atol=1e-12)
    hinge.save(dense, tmp_path / "model.hinge")
    np.testing.assert_array_equal(hinge.load(tmp_path / "model.hinge").decision_function(X), values)


def test_invalid_arguments_are_rejected():
    X, y = binary_data()["iris"]
    with pytest.raises((TypeError, ValueError), match="offset"):
        hinge.ParzenClassifier(offset="yes").fit(X, y)
    with pytest.raises(ValueError, match="class"):
        hinge.ParzenClassifier().fit(X, np.ones(len(y)))
