"""Compiled kernel values agree with the NumPy formulas for every kernel and storage."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise

from hinge import _core
from hinge.kernels import RBF, Laplacian, Linear, Polynomial, Scaled, cross, expand, open_access
from hinge.kernels.samples import view
from kernels.cases import KERNELS, STORAGES, stored, values

SHAPES = [(1, 1), (2, 1), (19, 3), (40, 7), (33, 20), (30, 65), (12, 600)]


def close(actual, expected, tolerance):
    size = 1 + np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("storage", STORAGES)
def test_rows_blocks_and_products_agree_with_numpy(kernel, storage):
    for n, d in SHAPES:
        X = values(n, d)
        access = open_access(kernel, stored(X, storage))
        K = kernel(X)
        close(access.rows(np.arange(n)), K, 1e-12)
        close(access.rows([n - 1, 0]), K[[n - 1, 0]], 1e-12)
        rows, cols = np.arange(n)[::2], np.arange(n)[::-1][: n // 2 + 1]
        close(access.block(rows, cols), K[np.ix_(rows, cols)], 1e-12)
        v = np.sin(np.arange(n, dtype=float))
        close(access.matvec(v), K @ v, 1e-12)
        np.testing.assert_array_equal(access.diagonal(), np.diagonal(access.rows(np.arange(n))))
        close(np.array([access.gram.row32(i) for i in range(n)]), K, 2e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("left", STORAGES)
@pytest.mark.parametrize("right", ["float64", "float32", "csr64", "csr32-int64"])
def test_cross_and_expand_agree_with_numpy(kernel, left, right):
    for n, m, d in [(1, 1, 1), (3, 300, 4), (30, 7, 9), (130, 270, 20), (20, 30, 700)]:
        density = 0.02 if d == 700 else 0.6  # sparse enough for the gather kernel
        X, Z = values(n, d, density), values(m, d, density, seed=1)
        K = kernel(X, Z)
        x, z = stored(X, left), stored(Z, right)
        close(cross(kernel, x, z), K, 1e-12)
        coef = np.random.default_rng(0).normal(size=(m, 18)) / m
        tolerance = 2e-5 if "32" in left and "32" in right else 1e-12
        close(expand(kernel, x, z, coef), K @ coef, tolerance)
        close(expand(kernel, x, z, coef[:, 0]), K @ coef[:, 0], tolerance)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("storage", STORAGES)
def test_blocks_of_rows_agree_with_numpy(kernel, storage):
    for n, d, density in [(1, 1, 1.0), (20, 3, 0.6), (300, 7, 0.6), (520, 20, 0.6), (40, 700, 0.02)]:
        X = values(n, d, density)
        gram = open_access(kernel, stored(X, storage)).gram
        K = kernel(X)
        for count in {0, 1, 3, min(n, 30), n}:
            which = np.random.default_rng(count).permutation(n)[:count]
            close(gram.block_rows(which), K[which], 1e-12)
            close(gram.block_rows32(which), K[which], 5e-5)
            np.testing.assert_array_equal(gram.block_rows(which, 3), gram.block_rows(which, 1))
            np.testing.assert_array_equal(gram.block_rows32(which, 3), gram.block_rows32(which, 1))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear() * Laplacian(0.1)], ids=repr)
def test_zero_coefficients_are_skipped(storage, kernel):
    for n, d, density in [(90, 5, 0.6), (90, 12, 0.6), (40, 700, 0.02)]:
        X = stored(values(n, d, density), storage)
        K = cross(kernel, X)
        for used in (0, 1, n // 3, n - 1):
            coef = np.zeros((n, 2))
            coef[np.random.default_rng(used).permutation(n)[:used]] = [1.0, -0.5]
            tolerance = 2e-5 if "32" in storage else 1e-12
            close(expand(kernel, X, X, coef), K @ coef, tolerance)
            close(expand(kernel, X[:2], X, coef), K[:2] @ coef, tolerance)
            close(open_access(kernel, X).matvec(coef[:, 0]), K @ coef[:, 0], 1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("storage", STORAGES)
def test_matrices_are_symmetric_to_the_bit(kernel, storage):
    for n, d in [(21, 1), (21, 6), (30, 13), (25, 40)]:
        access = open_access(kernel, stored(values(n, d), storage))
        K = access.rows(np.arange(n))
        np.testing.assert_array_equal(K, K.T)
        K32 = np.array([access.gram.row32(i) for i in range(n)])
        np.testing.assert_array_equal(K32, K32.T)


@pytest.mark.parametrize("kernel", [RBF(1e30), Laplacian(1e30)], ids=repr)
@pytest.mark.parametrize("storage", STORAGES)
@given(d=st.integers(1, 40), n=st.integers(2, 20))
def test_equal_rows_have_distance_exactly_zero(kernel, storage, d, n):
    X = np.random.default_rng([d, n]).normal(size=(n, d)).astype(np.float32).astype(float)
    X = np.concatenate([X, X])
    x = stored(X, storage)
    expected = (np.arange(2 * n)[:, None] % n == np.arange(2 * n) % n).astype(float)
    access = open_access(kernel, x)
    np.testing.assert_array_equal(access.rows(np.arange(2 * n)), expected)
    np.testing.assert_array_equal([access.gram.row32(i) for i in range(2 * n)], expected)
    np.testing.assert_array_equal(cross(kernel, x, x), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(d=st.integers(1, 30))
def test_dense_rbf_is_translation_invariant(dtype, d):
    offset = 2.0**20 if dtype == np.float64 else 2.0**10
    X = (np.round(values(15, d) * 64) / 64).astype(dtype)
    original, shifted = open_access(RBF(0.3), X), open_access(RBF(0.3), X + dtype(offset))
    np.testing.assert_array_equal(shifted.rows(range(15)), original.rows(range(15)))
    np.testing.assert_array_equal(shifted.gram.row32(3), original.gram.row32(3))
    v = np.ones(15)
    np.testing.assert_allclose(shifted.matvec(v), original.matvec(v), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Linear(), lambda X: pairwise.linear_kernel(X)),
        (RBF(0.7), lambda X: pairwise.rbf_kernel(X, gamma=0.7)),
        (Laplacian(0.7), lambda X: pairwise.laplacian_kernel(X, gamma=0.7)),
        (Polynomial(3, 0.7, 0.2), lambda X: pairwise.polynomial_kernel(X, degree=3, gamma=0.7, coef0=0.2)),
    ],
    ids=["linear", "rbf", "laplacian", "polynomial"],
)
def test_core_agrees_with_scikit_learn(kernel, peer):
    X = values(200, 17)
    close(open_access(kernel, X).rows(range(200)), peer(X), 1e-12)


def test_fractional_degree_agrees_with_the_formula():
    X = np.abs(values(10, 4)) + 0.1
    kernel = Polynomial(degree=2.5, gamma=0.5, coef0=1.0)
    close(open_access(kernel, X).rows(range(10)), (0.5 * X @ X.T + 1.0) ** 2.5, 1e-13)


@pytest.mark.parametrize("storage", STORAGES)
def test_large_gamma_underflows_to_zero(storage):
    x = stored(values(20, 5) + np.arange(20)[:, None], storage)
    for gamma in (1e4, 1e100, 1.7e308):
        K = open_access(RBF(gamma), x).rows(range(20))
        np.testing.assert_array_equal(K, np.eye(20))
        np.testing.assert_array_equal(open_access(RBF(gamma), x).gram.row32(4), np.eye(20)[4])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear() + Laplacian(0.1)], ids=repr)
def test_result_does_not_depend_on_threads(storage, kernel):
    X, Z = stored(values(700, 12), storage), stored(values(600, 12, seed=1), storage)
    coef = np.random.default_rng(0).normal(size=(600, 3))
    one = expand(kernel, X, Z, coef, threads=1)
    for threads in (2, 3, 8):
        np.testing.assert_array_equal(expand(kernel, X, Z, coef, threads=threads), one)
    v = np.ones(700)
    np.testing.assert_array_equal(
        open_access(kernel, X, threads=4).matvec(v), open_access(kernel, X, threads=1).matvec(v)
    )


def test_one_gram_may_be_used_from_several_threads():
    X = stored(values(300, 20), "csr64")
    access = open_access(RBF(0.3), X)
    expected = access.rows(range(300))
    wrong = []

    def work():
        for _ in range(5):
            if not np.array_equal(access.rows(range(300)), expected):
                wrong.append(True)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize(
    "work",
    [
        lambda X: open_access(RBF(0.01), X, threads=2).matvec(np.ones(len(X))),
        lambda X: open_access(RBF(0.01), X).rows(np.arange(5000)),
        lambda X: cross(Laplacian(0.01), X[:5000], X, threads=2),
    ],
    ids=["matvec", "rows", "cross"],
)
def test_interrupt_stops_the_computation(work):
    X = np.random.default_rng(0).normal(size=(20000, 300))
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work(X)
    assert time.perf_counter() - sent[0] < 1.0  # 0.1 without other load
    timer.join()


# ---- copies ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_arrays_are_not_copied(dtype):
    X = np.zeros((5, 3), dtype)
    X.flags.writeable = False
    samples = view(X)
    assert samples.native.address == X.ctypes.data
    assert samples.data is X


@pytest.mark.parametrize("storage", ["csr64", "csr32", "csr64-int64", "csr32-int64"])
def test_sparse_arrays_are_not_copied(storage):
    X = stored(values(6, 4), storage)
    samples = view(X)
    assert samples.native.address == X.data.ctypes.data
    assert samples.native.sparse
    assert (samples.native.n, samples.native.n_features) == (6, 4)


@pytest.mark.parametrize(
    "X",
    [
        np.arange(12).reshape(4, 3),
        np.asfortranarray(values(4, 3)),
        values(4, 3).astype(">f8"),
        values(8, 3)[::2],
    ],
    ids=["integers", "fortran", "big-endian", "strided"],
)
def test_other_arrays_are_copied_once(X):
    np.testing.assert_array_equal(open_access(Linear(), X).rows(range(4)), Linear()(X))


def test_unsorted_sparse_matrices_are_sorted_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    X = sparse.csr_matrix((data.copy(), indices.copy(), indptr.copy()), shape=(2, 3))
    K = open_access(Linear(), X).rows([0, 1])
    np.testing.assert_array_equal(K, [[20.0, 0.0], [0.0, 16.0]])
    np.testing.assert_array_equal(X.data, data)
    np.testing.assert_array_equal(X.indices, indices)
    for other in (X.tocsc(), X.tocoo(), X.astype(np.int32)):
        np.testing.assert_array_equal(open_access(Linear(), other).rows([0, 1]), K)


def test_arrays_live_as_long_as_their_gram():
    gram = open_access(RBF(0.5), values(50, 4)).gram
    K = RBF(0.5)(values(50, 4))
    junk = [np.full((50, 4), np.nan) for _ in range(50)]
    close(gram.rows(np.arange(50)), K, 1e-12)
    del junk


# ---- invalid arguments ----


def test_indices_out_of_range_are_rejected():
    access = open_access(RBF(0.5), values(5, 2))
    for bad in ([5], [-1], [0, 1 << 40]):
        with pytest.raises(IndexError, match="outside"):
            access.rows(bad)
        with pytest.raises(IndexError, match="outside"):
            access.block([0], bad)


def test_empty_blocks_have_the_requested_shape():
    access = open_access(RBF(0.5), values(5, 2))
    assert access.rows([]).shape == (0, 5)
    assert access.block([1, 2], []).shape == (2, 0)
    assert access.block([], [1]).shape == (0, 1)


def test_invalid_csr_is_rejected():
    data, indices = np.ones(2), np.array([0, 7], np.int32)
    with pytest.raises(ValueError, match="ascend"):
        _core.Samples.csr(data, indices, np.array([0, 2], np.int32), 3)
    with pytest.raises(ValueError, match="indptr"):
        _core.Samples.csr(data, indices, np.array([0, 9], np.int32), 30)
    with pytest.raises(ValueError, match="indptr"):
        _core.Samples.csr(data, indices, np.array([0, 2, 1, 2], np.int32), 30)


def test_inconsistent_shapes_are_rejected():
    with pytest.raises(ValueError, match="features"):
        cross(RBF(1.0), values(3, 2), values(3, 4))
    with pytest.raises(ValueError, match="coef"):
        expand(RBF(1.0), values(3, 2), values(4, 2), np.ones(3))
    with pytest.raises(ValueError, match="two dimensions"):
        open_access(RBF(1.0), np.ones(3))


def test_kernel_programs_are_checked():
    linear, total = _core.KernelNode("linear"), _core.KernelNode("sum")
    with pytest.raises(ValueError, match="cosine"):
        _core.KernelNode("cosine")
    for nodes, message in [
        ([], "one value"),
        ([linear, total], "operand"),
        ([_core.KernelNode("rbf", gamma=float("nan"))], "finite"),
        ([linear] * 30 + [total] * 29, "nest"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.Kernel(nodes)


def test_sums_of_many_kernels_agree_with_the_formula():
    kernel = RBF(0.1)
    for k in range(2, 60):
        kernel = kernel + Scaled(1 / k, RBF(0.1 * k))
    X = values(10, 3)
    close(open_access(kernel, X).rows(range(10)), kernel(X), 1e-12)
