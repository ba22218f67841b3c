"""Kernel formulas in NumPy agree with independent sums and scikit-learn; gamma, algebra and names of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal, sparse
from sklearn import svm
from sklearn.metrics import pairwise

from hinge.kernels import (
    RBF,
    BSpline,
    FunctionKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    ProductBSpline,
    Scaled,
    Sigmoid,
    Sum,
    cross,
    make_kernel,
    open_access,
)
from hinge.kernels.distances import squared_distances
from kernels.cases import KERNELS, LEAVES, values


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Linear(), pairwise.linear_kernel),
        (RBF(0.7), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.7)),
        (Laplacian(0.7), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.7)),
        (Sigmoid(0.7, 0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.7, coef0=0.2)),
        (Polynomial(4, 0.7, 0.2), lambda X, Z: pairwise.polynomial_kernel(X, Z, 4, gamma=0.7, coef0=0.2)),
    ],
    ids=["linear", "rbf", "laplacian", "sigmoid", "polynomial"],
)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_formula_agrees_with_scikit_learn(kernel, peer, storage):
    X, Z = values(13, 5), values(9, 5, seed=1)
    np.testing.assert_allclose(kernel(storage(X), storage(Z)), peer(X, Z), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(storage(X)), peer(X, X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_diag_is_the_diagonal(kernel, storage):
    X = storage(values(17, 6))
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-14)


@given(offset=st.floats(-1e6, 1e6), n=st.integers(1, 12), d=st.integers(1, 5))
def test_rbf_is_translation_invariant(offset, n, d):
    X = np.round(values(n, d) * 256) / 256
    moved = X + np.round(offset)
    np.testing.assert_allclose(RBF(0.5)(moved), RBF(0.5)(X), atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_distances_of_close_samples_are_accurate(storage):
    X = values(20, 5) + 1.0
    moved = X + 1e-7 * values(20, 5, seed=1)
    exact = ((X - moved) ** 2).sum(axis=1)
    np.testing.assert_allclose(np.diagonal(squared_distances(storage(X), storage(moved))), exact, rtol=1e-12)


# ---- B-splines ----


@pytest.mark.parametrize("q", [1, 3, 5, 7])
def test_spline_is_the_convolution_of_boxes(q):
    step = 1 / 400
    box = np.ones(400)
    spline = box
    for _ in range(q):
        spline = signal.fftconvolve(spline, box) * step
    t = (np.arange(len(spline)) - (len(spline) - 1) / 2) * step
    direct = BSpline(degree=q)(t[:, None], np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(direct, spline, atol=2 * step)
    assert direct.sum() * step == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("q", range(1, 16, 2))
@pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
def test_spline_of_one_feature_is_positive_semidefinite(q, gamma):
    X = np.random.default_rng(q).uniform(-3, 3, size=(60, 1))
    K = BSpline(degree=q, gamma=gamma)(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.trace(K)


@pytest.mark.parametrize("q", [1, 3])
def test_spline_of_several_features_may_be_indefinite(q):
    grid = 0.7 * np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3)
    assert np.linalg.eigvalsh(BSpline(degree=q)(grid))[0] < -1e-2
    assert BSpline().psd is None


@pytest.mark.parametrize("degree", [0, 2, 4, 17, -1, 3.5, "3"])
def test_spline_rejects_even_degrees(degree):
    with pytest.raises(ValueError, match="odd"):
        BSpline(degree=degree)


# ---- gamma ----


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
def test_gamma_agrees_with_scikit_learn(storage, gamma):
    X = values(30, 4) + 0.5
    y = np.arange(30) % 2
    peer = svm.SVC(gamma=gamma).fit(storage(X), y)
    assert RBF(gamma).resolve(storage(X)).gamma == pytest.approx(peer._gamma, rel=1e-14)


def test_gamma_of_constant_data_is_one():
    weight = np.random.default_rng(0).random(47)
    for value in (7.0, 1.0, 0.1, 1e-200):
        for X in (np.full((47, 5), value), sparse.csr_array(np.full((47, 5), value))):
            for some in (None, weight, np.where(weight < 0.3, 0.0, weight)):
                assert RBF("scale").resolve(X, some).gamma == 1.0


def test_gamma_of_nearly_constant_data_is_not_one():
    X = np.full((47, 5), 1.0)
    X[0, 0] += 1e-9
    assert RBF("scale").resolve(X).gamma == pytest.approx(1 / (5 * X.var()), rel=1e-6)
    assert RBF("scale").resolve(X, np.linspace(1, 2, 47)).gamma > 1e15


def test_resolve_applies_to_all_parts_of_a_combination():
    X = values(20, 4)
    kernel = (RBF("auto") + 2 * Sigmoid("scale") * Laplacian("auto")).resolve(X)
    assert kernel.nodes() is not None
    assert kernel.parts[0].gamma == 0.25


def test_unresolved_gamma_is_an_error_with_a_remedy():
    with pytest.raises(ValueError, match="resolve"):
        RBF("scale")(values(3, 2))


@pytest.mark.parametrize("q", [1, 3, 7])
def test_product_spline_is_the_product_of_splines_of_single_features(q):
    rng = np.random.default_rng(q)
    X, Z = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    single = [BSpline(q, 0.3)(X[:, [j]], Z[:, [j]]) / BSpline(q, 0.3)(np.zeros((1, 1)))[0, 0] for j in range(4)]
    np.testing.assert_allclose(ProductBSpline(q, 0.3)(X, Z), np.prod(single, axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(ProductBSpline(q, 0.3).diag(X), 1.0)
    far = X + np.array([0, 0, 1.001 * (q + 1) / (2 * np.sqrt(0.3)), 0])
    np.testing.assert_array_equal(np.diagonal(ProductBSpline(q, 0.3)(X, far)), 0.0)


@pytest.mark.parametrize("gamma", [-0.1, np.nan, np.inf, "best"])
@pytest.mark.parametrize("kind", [RBF, Sigmoid, Laplacian, Polynomial, BSpline])
def test_invalid_gamma_is_rejected(kind, gamma):
    with pytest.raises(ValueError, match="gamma"):
        kind(gamma=gamma)


@pytest.mark.parametrize("gamma", [None, True, [1.0]])
def test_gamma_of_a_wrong_type_is_rejected(gamma):
    with pytest.raises(TypeError, match="gamma"):
        RBF(gamma)


# ---- algebra ----


@pytest.mark.parametrize("a", LEAVES, ids=repr)
@pytest.mark.parametrize("b", [Linear(), RBF(0.3), RBF(0.1) + Linear()], ids=repr)
def test_operators_act_on_matrices(a, b):
    X, Z = values(8, 3), values(5, 3, seed=1)
    np.testing.assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z), rtol=1e-15)
    np.testing.assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z), rtol=1e-15)
    np.testing.assert_allclose((2 * a)(X, Z), 2 * a(X, Z), rtol=1e-15)
    assert a * 2 == 2 * a == np.float64(2) * a == np.int64(2) * a


def test_sums_and_products_are_flat():
    a, b, c = Linear(), RBF(1.0), Laplacian(1.0)
    assert a + b + c == a + (b + c) == Sum((a, b, c))
    assert a * b * c == Product((a, b, c))
    assert 2 * a == Scaled(2.0, a)


@pytest.mark.parametrize("multiple", [0, -1.0, np.nan, np.inf])
def test_multiples_must_be_positive(multiple):
    with pytest.raises(ValueError, match="positive"):
        multiple * RBF(1.0)


@pytest.mark.parametrize("other", ["rbf", None, [1.0], True, np.dot])
def test_only_kernels_and_numbers_can_be_combined(other):
    with pytest.raises(TypeError):
        RBF(1.0) * other
    with pytest.raises(TypeError):
        RBF(1.0) + other


def test_precomputed_cannot_be_combined():
    K, remedy = Precomputed(), "combine the matrices yourself"
    for combine in (lambda: K + RBF(1.0), lambda: 2 * K, lambda: RBF(1.0) * K):
        with pytest.raises(ValueError, match=remedy):
            combine()


def test_psd_of_combinations_follows_from_the_parts():
    assert all(kernel.psd is True for kernel in (Linear(), RBF(1.0), Laplacian(1.0)))
    assert Polynomial(degree=2, coef0=0.0).psd
    assert not Polynomial(degree=2, coef0=-1.0).psd
    assert not Polynomial(degree=2.5, coef0=1.0).psd
    assert Sigmoid(1.0).psd is False
    assert (RBF(1.0) + 2 * Linear() * RBF(0.5)).psd is True
    assert (RBF(1.0) + Sigmoid(1.0)).psd is None
    assert (2 * Sigmoid(1.0)).psd is False
    assert Precomputed().psd is None
    assert FunctionKernel(np.dot).psd is None


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.psd], ids=repr)
def test_psd_kernels_have_no_negative_eigenvalues(kernel):
    K = kernel(values(40, 3))
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.trace(K)


def test_combination_with_a_function_has_no_program():
    assert (FunctionKernel(pairwise.linear_kernel) + RBF(1.0)).nodes() is None
    assert (RBF(1.0) * FunctionKernel(pairwise.linear_kernel)).nodes() is None
    assert (2 * FunctionKernel(pairwise.linear_kernel)).nodes() is None


# ---- names ----


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=5, gamma=0.5, coef0=1.0)),
        ("rbf", RBF(0.5)),
        ("sigmoid", Sigmoid(0.5, 1.0)),
        ("laplacian", Laplacian(0.5)),
        ("bspline", BSpline(degree=5, gamma=0.5)),
        ("product_bspline", ProductBSpline(degree=5, gamma=0.5)),
        ("precomputed", Precomputed()),
        (np.dot, FunctionKernel(np.dot)),
        (RBF(3.0), RBF(3.0)),
    ],
)
def test_make_kernel_returns_the_kernel_with_its_parameters(name, kernel):
    assert make_kernel(name, degree=5, gamma=0.5, coef0=1.0) == kernel


@pytest.mark.parametrize("kernel", ["gaussian", None, 3])
def test_unknown_kernels_are_rejected_with_the_choices(kernel):
    with pytest.raises(ValueError, match="'precomputed', 'bspline', 'product_bspline'"):
        make_kernel(kernel)


@pytest.mark.parametrize("kernel", [RBF(0.0), Laplacian(0.0), BSpline(3, 0.0), Sum((RBF(0.0), Linear())), 2 * RBF(0.0)])
def test_gamma_zero_ignores_distances_that_overflow(kernel):
    """exp(−0 · ∞) is not a number, but the kernel is constant."""
    X = np.array([[1e200, 0.0], [-1e200, 1.0], [0.0, 3.0]])
    with np.errstate(over="ignore"):
        if not isinstance(kernel, Sum):
            np.testing.assert_array_equal(kernel(X), np.full((3, 3), kernel.diag(X)[0]))
            np.testing.assert_array_equal(kernel.bounded(X)[0], kernel(X))
        compiled = open_access(kernel, X[1:]).block(np.arange(2), np.arange(2))
        np.testing.assert_allclose(compiled, kernel(X[1:]), rtol=1e-14)
        np.testing.assert_allclose(cross(kernel, X, X[1:]), kernel(X, X[1:]), rtol=1e-14)
