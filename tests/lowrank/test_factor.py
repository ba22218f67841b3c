"""Low-rank factors: positive semidefinite residuals, exact traces, stopping rules, storage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hinge.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, open_access
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, low_rank_access

METHODS = {
    "59 candidates": lambda **o: SGMA(**o),
    "exact search": lambda **o: SGMA(candidates="all", **o),
    "one candidate": lambda **o: SGMA(candidates=1, **o),
    "largest residual": lambda **o: PivotedCholesky(block=1, **o),
    "largest residual by blocks": lambda **o: PivotedCholesky(**o),
    "random": lambda **o: Nystrom(**o),
}
methods = pytest.mark.parametrize("make", METHODS.values(), ids=METHODS.keys())


def samples(m=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


@methods
@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Laplacian(0.5), Polynomial(2, 1.0, 1.0), RBF(0.1) + 2 * Linear()], ids=repr
)
def test_residual_is_positive_semidefinite_and_its_trace_is_exact(make, kernel):
    """LwK Theorem 10.2."""
    X = samples()
    K = kernel(X)
    factor = make(rank=20, tol=0.0).fit(kernel, X)
    residual = K - factor.L @ factor.L.T
    assert np.linalg.eigvalsh(residual)[0] >= -1e-10 * np.trace(K)
    assert factor.residual_trace == pytest.approx(np.trace(residual), abs=1e-10 * np.trace(K))
    np.testing.assert_allclose(factor.residual, np.diagonal(residual), atol=1e-10 * K.max())
    np.testing.assert_allclose(residual[factor.basis], 0.0, atol=1e-8 * K.max())  # basis columns are exact
    assert len(set(factor.basis.tolist())) == factor.rank


@methods
def test_coordinates_of_new_samples_give_the_values_of_the_function(make):
    X, Z = samples(), samples(7, seed=1)
    factor = make(rank=25, tol=0.0).fit(RBF(0.3), X)
    np.testing.assert_allclose(factor.transform(X), factor.L, atol=1e-12)
    w = np.random.default_rng(2).normal(size=factor.rank)
    f = RBF(0.3)(Z, X[factor.basis]) @ factor.coefficients(w)
    np.testing.assert_allclose(f, factor.transform(Z) @ w, rtol=1e-8, atol=1e-8)


@methods
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_degenerate_data_have_a_factor(make, data):
    """Duplicates, zero rows, one sample, and more basis functions than samples."""
    m, d = data.draw(st.integers(1, 25)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(m, d)) * 10.0 ** data.draw(st.integers(-6, 6))
    if data.draw(st.booleans()):
        X = X[rng.integers(0, m, m)]
    if data.draw(st.booleans()):
        X[rng.random(m) < 0.4] = 0.0
    kernel = data.draw(st.sampled_from([Polynomial(1, 1.0, 0.0), RBF(1.0), Polynomial(2, 1.0, 1.0)]))
    factor = make(rank=40, tol=0.0).fit(kernel, X)
    K = kernel(X)
    assert factor.rank <= min(m, np.linalg.matrix_rank(K, tol=0.0))
    np.testing.assert_allclose(factor.L @ factor.L.T, K, atol=1e-5 * max(np.max(K), 1e-300))
    assert np.all(factor.residual >= 0)


@methods
def test_rank_deficient_data_have_a_factor_of_their_rank(make):
    X = np.repeat(samples(20), 4, axis=0)
    assert make(rank=60, tol=0.0).fit(RBF(0.3), X).rank == 20
    flat = samples(60, 2) @ samples(2, 9, seed=3)
    assert make(rank=60, tol=0.0).fit(Polynomial(1, 1.0, 0.0), flat).rank == 2


@pytest.mark.parametrize("make", [METHODS[k] for k in ("59 candidates", "exact search", "largest residual", "random")])
def test_stopping_rule_is_the_residual_trace(make):
    X = samples(200)
    factor = make(rank=200, tol=0.05).fit(RBF(0.2), X)
    assert factor.relative_residual <= 0.05
    shorter = make(rank=factor.rank - 1, tol=0.05).fit(RBF(0.2), X)
    assert shorter.relative_residual > 0.05
    assert factor.traces[-1] == pytest.approx(factor.relative_residual, rel=1e-6)
    assert np.all(np.diff(factor.traces) <= 1e-12)


def test_exact_search_is_greedy():
    """Every step selects the sample with the smallest residual trace."""
    X, kernel = samples(40), RBF(0.4)
    K = kernel(X)
    chosen = []
    for _ in range(8):
        residual = {}
        for j in set(range(40)) - set(chosen):
            s = [*chosen, j]
            residual[j] = np.trace(K) - np.trace(K[:, s] @ np.linalg.solve(K[np.ix_(s, s)], K[s]))
        chosen.append(min(residual, key=residual.get))
    assert SGMA(rank=8, tol=0, candidates="all").fit(kernel, X).basis.tolist() == chosen


def test_more_candidates_decrease_the_residual():
    X, kernel = samples(400, 5), RBF(0.2)
    eigenvalues = np.sort(np.linalg.eigvalsh(kernel(X)))[::-1]
    bound = eigenvalues[60:].sum()
    full = SGMA(rank=60, tol=0, candidates="all").fit(kernel, X).residual_trace
    some = SGMA(rank=60, tol=0).fit(kernel, X).residual_trace
    any_ = SGMA(rank=60, tol=0, candidates=1).fit(kernel, X).residual_trace
    assert bound < full < 1.02 * some < any_
    assert np.log(some) - np.log(full) < 0.05 * (np.log(np.trace(kernel(X))) - np.log(full))


def test_input_formats_give_the_same_factor():
    X, kernel = samples(60), RBF(0.3)
    dense = SGMA(rank=15, tol=0).fit(kernel, X)
    others = [
        SGMA(rank=15, tol=0).fit(kernel, sparse.csr_matrix(X)),
        SGMA(rank=15, tol=0).fit(Precomputed(), kernel(X)),
        SGMA(rank=15, tol=0).fit(FunctionKernel(lambda A, B: RBF(0.3)(A, B)), X),
    ]
    for other in others:
        assert other.basis.tolist() == dense.basis.tolist()
        np.testing.assert_allclose(other.L, dense.L, atol=1e-7)
    np.testing.assert_allclose(others[1].transform(kernel(X)), dense.L, atol=1e-7)


def test_large_factor_is_stored_in_a_file(tmp_path):
    X = samples(500)
    in_memory = SGMA(rank=30, tol=0).fit(RBF(0.3), X)
    in_file = SGMA(rank=30, tol=0).fit(RBF(0.3), X, cache_size=0.01, folder=str(tmp_path))
    assert isinstance(in_file.L, np.memmap)
    np.testing.assert_array_equal(in_memory.L, np.asarray(in_file.L))
    assert list(tmp_path.iterdir()) == []  # the file is unlinked already
    single = SGMA(rank=30, tol=0).fit(RBF(0.3), X, dtype=np.float32)
    assert single.L.dtype == np.float32


def test_result_does_not_depend_on_threads():
    rows = low_rank_access(open_access(RBF(0.3), samples(5000)), SGMA(rank=300, tol=0, sample=500)).blocks
    weight = np.random.default_rng(0).random(5000)
    results = []
    for threads in (1, 2, 3):
        blocks = type(rows)(rows.values, None, threads)
        assert len(blocks.slices()) > 1
        v = np.ones((300, 2))
        results.append((blocks.gram(weight), blocks.weighted(weight, v), blocks.times(v), blocks.transposed(weight)))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()
    L = np.asarray(rows.values)
    np.testing.assert_allclose(results[0][0], L.T @ (weight[:, None] * L), rtol=1e-12, atol=1e-12)


def test_access_agrees_with_the_matrix():
    X = samples(90)
    access = low_rank_access(open_access(RBF(0.3), X), SGMA(rank=20, tol=0))
    matrix = access.origin.L @ access.origin.L.T
    part = access.subset([3, 50, 7]).subset([2, 0])
    assert isinstance(part, LowRankAccess)
    v = np.random.default_rng(1).normal(size=90)
    np.testing.assert_allclose(access.matvec(v), matrix @ v, atol=1e-12)
    np.testing.assert_allclose(access.diagonal(), np.diagonal(matrix), atol=1e-12)
    np.testing.assert_allclose(access.rows([4, 5]), matrix[[4, 5]], atol=1e-12)
    np.testing.assert_allclose(part.block([0, 1], [1]), matrix[np.ix_([7, 3], [3])], atol=1e-12)
    np.testing.assert_allclose(access.gram.diagonal(), np.diagonal(matrix), atol=1e-12)


@pytest.mark.parametrize(
    ("method", "error"),
    [
        (SGMA(rank=0), ValueError),
        (SGMA(rank=2.5), TypeError),
        (SGMA(tol=1.0), ValueError),
        (SGMA(tol="small"), TypeError),
        (SGMA(candidates=0), ValueError),
        (SGMA(candidates="some"), ValueError),
        (SGMA(sample=0), ValueError),
        (PivotedCholesky(block=0), ValueError),
        (Nystrom(rank=True), TypeError),
    ],
    ids=repr,
)
def test_invalid_arguments_are_named(method, error):
    with pytest.raises(error, match=r"rank|tol|candidates|sample|block"):
        method.fit(RBF(1.0), samples(5))


def test_unsupported_kernels_are_rejected():
    with pytest.raises(ValueError, match="positive semidefinite"):
        SGMA().fit(Sigmoid(1.0), samples(5))
    with pytest.raises(ValueError, match="square"):
        SGMA().fit(Precomputed(), samples(5))
    with pytest.raises(ValueError, match="candidates=59"):
        SGMA(candidates="all", sample=None).fit(Linear(), np.zeros((20_000, 1)))


@pytest.mark.parametrize(
    "method", [SGMA(rank=300, tol=0.0), PivotedCholesky(rank=300, tol=0.0), Nystrom(rank=300)], ids=repr
)
def test_a_time_limit_leaves_out_basis_functions(method):
    """The factor has at least one basis function, and states that others were left out."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    found = method.fit(RBF(0.1), X, max_time=1e-3)
    assert 1 <= found.rank < 300
    assert not found.complete
    whole = method.fit(RBF(0.1), X)
    assert whole.complete
    if isinstance(method, Nystrom):  # the first of the same basis functions
        np.testing.assert_array_equal(found.basis, whole.basis[: found.rank])
