"""Least-squares approximation of kernel functions in the values at the samples.                   LwK Problem 10.4"""

import numpy as np
import pytest
from scipy import sparse

from hinge.kernels import RBF, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from hinge.lowrank import SGMA, expand_values
from reference.data_sets import binary_data, regression_data

DATA = {**binary_data(), **regression_data()}
KERNEL = RBF(0.1)


@pytest.mark.parametrize("name", DATA)
def test_coefficients_are_the_least_squares_solution(name):
    X = DATA[name][0][:70]
    K, factor = KERNEL(X), SGMA(rank=12, tol=1e-6).fit(KERNEL, X)
    basis = factor.basis
    found = expand_values(KERNEL, X, basis)
    expected, *_ = np.linalg.lstsq(K[:, basis], K, rcond=None)
    np.testing.assert_allclose(K[:, found.basis] @ found.coefficients, K[:, basis] @ expected, atol=1e-9)
    np.testing.assert_allclose(found.error, np.sum((K - K[:, basis] @ expected) ** 2, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.norm, np.sum(K**2, axis=0))
    np.testing.assert_allclose(found.values(X[:5]), (K[:, basis] @ expected)[:5], atol=1e-9)
    # each approximation is the best one in its own norm: values, and feature space
    in_feature_space = np.linalg.solve(K[np.ix_(basis, basis)], K[basis])
    assert np.all(found.error <= np.sum((K - K[:, basis] @ in_feature_space) ** 2, axis=0) + 1e-12)
    A, chosen = found.coefficients, found.basis
    products = -2 * K[chosen] + K[np.ix_(chosen, chosen)] @ A
    distance = np.diagonal(K) + np.sum(A * products, axis=0)  # its rounding errors are proportional to α
    assert np.all(distance >= factor.residual - 1e-6 * np.sum(np.abs(A), axis=0))


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Laplacian(0.5), Polynomial(2, 1.0, 1.0), Linear(), Sigmoid(0.1, 0.2)], ids=repr
)
def test_targets_and_blocks_and_sparse_samples(kernel):
    X = np.random.default_rng(0).normal(size=(300, 4))  # more targets than a block
    K, basis = kernel(X), [5, 3, 290, 17]
    every = expand_values(kernel, X, basis, threads=2)
    some = expand_values(kernel, sparse.csr_matrix(X), basis, targets=[7, 299, 0])
    np.testing.assert_array_equal(every.basis, basis)
    np.testing.assert_allclose(some.coefficients, every.coefficients[:, [7, 299, 0]], atol=1e-9)
    np.testing.assert_allclose(K[:, basis].T @ (K - K[:, basis] @ every.coefficients), 0.0, atol=1e-8 * len(K))
    precomputed = expand_values(Precomputed(), K, basis)
    np.testing.assert_allclose(precomputed.coefficients, every.coefficients, atol=1e-9)
    np.testing.assert_allclose(precomputed.values(K[:3][:, basis]), every.values(X[:3]), atol=1e-9)


def test_dependent_basis_functions_are_left_out():
    X = np.repeat(np.random.default_rng(1).normal(size=(10, 2)), 3, axis=0)
    found = expand_values(KERNEL, X, [0, 1, 2, 9, 3])
    assert len(found.basis) == 3
    np.testing.assert_allclose(found.error[[0, 1, 2, 3, 9]], 0.0, atol=1e-20)
    assert 0 < found.relative_error < 1
    assert "3 others" in repr(found)
    zero = expand_values(Linear(), np.zeros((4, 2)), [0])
    assert len(zero.basis) == 0
    assert zero.relative_error == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((KERNEL, np.ones((3, 2)), [3]), IndexError, "basis has the position 3, but there are 3 samples"),
        ((KERNEL, np.ones((3, 2)), [0], [-1]), IndexError, "targets has the position -1"),
        ((KERNEL, np.ones((3, 2)), []), TypeError, "basis must be a list of positions"),
        ((KERNEL, np.ones((3, 2)), [0.5]), TypeError, "basis must be a list of positions"),
        ((KERNEL, np.ones((3, 2)), 1), TypeError, "basis must be a list of positions"),
        ((Precomputed(), np.ones((3, 2)), [0]), ValueError, "must be square"),
        ((Linear(), np.full((3, 2), np.inf), [0]), ValueError, "X contains NaN or infinity"),
        ((Linear(), np.full((3, 2), 1e200), [0]), ValueError, "kernel values of X are not finite"),
    ],
)
def test_invalid_input(arguments, error, message):
    with pytest.raises(error, match=message), np.errstate(invalid="ignore", over="ignore"):
        expand_values(*arguments)
    with pytest.raises(ValueError, match="needs 1 columns"):
        expand_values(Precomputed(), np.eye(3), [0]).values(np.ones((2, 3)))
