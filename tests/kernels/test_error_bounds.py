"""Bounds on the rounding errors of kernel values, compared with exact arithmetic."""

import time
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import sparse

from hinge import SVC, Status
from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, Sigmoid, open_access
from hinge.kernels.access import GramAccess
from reference.exact.kernels import gram

KERNELS = [
    Linear(),
    RBF(0.7),
    Laplacian(0.3),
    Polynomial(3, 0.7, 1.0),
    Polynomial(2, 0.3, 0.0),
    Sigmoid(0.3, 0.1),
    BSpline(3, 0.3),
    RBF(0.7) + 0.3 * Linear(),
    RBF(0.7) * Linear(),
]


def samples(seed):
    """Random samples of very different sizes and offsets, with duplicates; dense or sparse."""
    rng = np.random.default_rng(seed)
    X = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(8, int(rng.integers(1, 6))))
    X += 10.0 ** rng.uniform(-3, 6) * (rng.random() < 0.5)
    X[3] = X[2]
    return sparse.csr_matrix(np.where(rng.random(X.shape) < 0.5, X, 0.0)) if seed % 3 == 2 else X


def exceeded(values, errors, exact):
    """Number of values whose error is larger than its bound."""
    n = len(values)
    return sum(bool(abs(arb(values[i, j]) - exact[i, j]) > arb(errors[i, j])) for i in range(n) for j in range(n))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_of_numpy_are_within_their_bounds(kernel):
    for seed in range(12):
        X = samples(seed)
        values, errors = kernel.bounded(X, X)
        assert np.isfinite(errors).all()
        assert exceeded(values, errors, gram(kernel, X)) == 0
        other, other_errors = kernel.bounded(X, X.copy())  # distances are then computed on the diagonal too
        assert exceeded(other, other_errors, gram(kernel, X)) == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_of_the_core_are_within_the_common_bound(kernel):
    for seed in range(12):
        access = open_access(kernel, samples(seed))
        rows = np.arange(access.n)
        values, error = access.block(rows, rows), access.gram.value_error()
        assert exceeded(values, np.full(values.shape, error), gram(kernel, access.data)) == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_bounds_are_not_much_larger_than_rounding_errors(kernel):
    """On scaled data: a bound of one would be true as well."""
    X = np.random.default_rng(0).normal(size=(8, 3))
    values, errors = kernel.bounded(X, X)
    assert np.max(errors) <= 1e-13 * np.max(np.abs(values))
    assert open_access(kernel, X).gram.value_error() <= (1e-6 if isinstance(kernel, BSpline) else 1e-12)


@pytest.mark.parametrize("kernel", [RBF(1e12), Laplacian(1e9)], ids=repr)
def test_values_that_underflow_have_a_small_bound(kernel):
    """The error of γ‖x − z‖² is about 10⁶, but its value is 10¹²."""
    X = sparse.csr_matrix(np.array([[3e4, 0.0], [3e4 + 2.7e-5, 0.0], [3e4 + 1.0, 0.0]]))
    values, errors = kernel.bounded(X, X)
    assert np.isfinite(errors).all()
    assert exceeded(values, errors, gram(kernel, X)) == 0
    assert values[0, 2] == 0
    assert errors[0, 2] <= 1e-300


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.7), Polynomial(2, 0.3, 0.0)], ids=repr)
def test_bounds_do_not_grow_with_features_that_are_zero(kernel):
    X = sparse.random(8, 60, density=0.1, format="csr", random_state=0)
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(8, 100_000))
    np.testing.assert_array_equal(kernel.bounded(wide, wide)[1], kernel.bounded(X, X)[1])
    assert open_access(kernel, wide).gram.value_error() <= open_access(kernel, X).gram.value_error()


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.7)], ids=repr)
def test_an_accurate_product_ends_before_its_deadline(kernel):
    X = np.random.default_rng(0).normal(size=(6000, 40))
    access, v = open_access(kernel, X), np.ones(6000)
    began = time.process_time()
    with pytest.raises(TimeoutError):
        access.accurate_matvec(v, deadline=time.monotonic() + 0.02)
    assert time.process_time() - began <= 0.3  # the whole product takes longer
    few = open_access(kernel, X[:300])
    complete, _ = few.accurate_matvec(v[:300], deadline=time.monotonic() + 600)
    np.testing.assert_allclose(complete, few.matvec(v[:300]), rtol=1e-9)


@pytest.mark.parametrize("storage", [np.asarray, np.float32, sparse.csr_matrix], ids=["double", "float", "csr"])
def test_the_product_with_a_linear_matrix_is_within_its_bound(storage):
    """It needs two passes over the samples, not n² kernel values; in rational arithmetic."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = storage(10.0 ** rng.uniform(-3, 3) * rng.normal(size=(30, 4)) + 10.0 ** rng.uniform(-3, 5))
        v = rng.normal(size=30) * (rng.random(30) < 0.8)
        access, rows = open_access(Linear(), X), rng.permutation(30)[:20]
        dense = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        for part, index, values in ((access, np.arange(30), v), (access.subset(rows), rows, v[:20])):
            product, error = part.bounded_matvec(values)
            samples = [[Fraction(x) for x in row] for row in dense[index].tolist()]
            pairs = list(zip(samples, map(Fraction, values.tolist()), strict=True))
            w = [sum(c * row[j] for row, c in pairs) for j in range(4)]
            for found, row in zip(product, samples, strict=True):
                assert abs(Fraction(found) - sum(a * b for a, b in zip(row, w, strict=True))) <= Fraction(error[0])


def test_a_certificate_with_a_linear_kernel_needs_no_kernel_values(monkeypatch):
    monkeypatch.setattr(GramAccess, "matvec", lambda self, v: pytest.fail("kernel values were computed"))
    X = np.random.default_rng(0).normal(size=(2500, 3))
    model = SVC(kernel="linear", solver="coordinate_descent", fit_intercept=False).fit(X, X[:, 0] > 0)
    assert model.status_ is Status.SOLVED
