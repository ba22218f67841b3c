"""Many features: descent keeps w in single precision where the tolerance allows, and proves its gap all the same."""

import numpy as np
import pytest
from scipy import sparse

from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, Status, certify_linear
from hinge.solvers import CoordinateDescent

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
BIASES = (Bias.NONE, Bias.PENALISED, Bias.FREE)


def wide(loss, bias=Bias.NONE, C=1.0, scale=1.0, n=500, d=20_000, dtype=np.float32):
    rng = np.random.default_rng(1)
    X = sparse.random(n, d, 0.002, format="csr", random_state=1, dtype=np.float64)
    X.data = (scale * rng.lognormal(size=X.nnz)).astype(dtype)
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape)
    f = np.asarray(X[:, : d // 3].sum(axis=1)).ravel() / scale
    f = f - np.median(f) + 0.1 * rng.normal(size=n)
    cost = np.full(n, C / scale**2)
    if "epsilon" in loss:
        return linear_regression(X, f, cost, 0.05, loss, bias)
    return linear_classification(X, np.where(f > 0, 1.0, -1.0), cost, loss, bias)


def relative(problem, found):
    return certify_linear(problem, found.weights, found.offset, found.beta).relative_gap


def is_single(weights):
    return bool((weights == weights.astype(np.float32)).all())


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_that_of_the_weights(loss, bias, C):
    problem = wide(loss, bias, C)
    best = CoordinateDescent(tol=1e-9).solve_linear(problem)
    assert best.status is Status.SOLVED
    for tol in (1e-2, 1e-5):
        found = CoordinateDescent(tol=tol, method="descent").solve_linear(problem)
        assert found.status is Status.SOLVED
        assert relative(problem, found) <= tol
        assert found.dual <= best.primal * (1 + 1e-12)
        assert found.primal >= best.dual * (1 - 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_fine_gaps_have_weights_in_double_precision(loss):
    problem = wide(loss)
    coarse = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    fine = CoordinateDescent(tol=1e-8, method="descent").solve_linear(problem)
    assert is_single(coarse.weights)
    assert not is_single(fine.weights)
    assert relative(problem, fine) <= 1e-8


@pytest.mark.parametrize("loss", LOSSES)
def test_the_bits_do_not_depend_on_threads(loss):
    problem = wide(loss, n=3000, d=40_000)
    runs = [CoordinateDescent(tol=1e-4, method="descent", threads=k).solve_linear(problem) for k in (1, 2, 3)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.weights, runs[0].weights)
        np.testing.assert_array_equal(run.beta, runs[0].beta)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
@pytest.mark.parametrize("loss", LOSSES)
def test_samples_beyond_single_precision_do_without_it(loss, scale):
    problem = wide(loss, scale=scale, dtype=np.float64)
    found = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    assert found.status is Status.SOLVED
    assert relative(problem, found) <= 1e-3
    assert not is_single(found.weights)


def test_weights_that_drift_are_not_kept():
    """A feature that all samples share, and whose weight is large: most of what steps add to it is rounded away."""
    rng = np.random.default_rng(2)
    n, d = 100_000, 20_000
    columns = np.column_stack([np.zeros(n, dtype=np.intp), rng.integers(1, d, (n, 4))])
    values = np.column_stack([np.full(n, 0.02), 0.1 * rng.normal(size=(n, 4))])
    places = (np.repeat(np.arange(n), 5), columns.ravel())
    X = sparse.csr_matrix((values.ravel().astype(np.float32), places), shape=(n, d))
    y = np.where(rng.random(n) < 0.97, 1.0, -1.0)
    problem = linear_classification(X, y, np.full(n, 0.1), "squared_hinge", Bias.NONE)
    found = CoordinateDescent(tol=1e-7, method="descent", max_iter=100).solve_linear(problem)
    assert found.status is Status.SOLVED
    assert relative(problem, found) <= 1e-7
    assert not is_single(found.weights)
