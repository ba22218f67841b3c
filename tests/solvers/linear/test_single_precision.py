"""Descent with weights in single precision: certified gaps, and double precision where it is needed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, Status, linear_optimality
from hinge.solvers import CoordinateDescent

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)


def wide(loss, bias=Bias.NONE, C=1.0, scale=1.0, n=500, d=20_000, dtype=np.float32):
    rng = np.random.default_rng(1)
    row_length = d // 500
    positions = (np.repeat(np.arange(n), row_length), rng.integers(0, d, n * row_length))
    X = sparse.csr_matrix(((scale * rng.lognormal(size=n * row_length)).astype(dtype), positions), shape=(n, d))
    f = np.asarray(X[:, : d // 3].sum(axis=1)).ravel() / scale
    f = f - np.median(f) + 0.1 * rng.normal(size=n)
    cost = np.full(n, C / scale**2)
    if "epsilon" in loss:
        return linear_regression(X, f, cost, 0.05, loss, bias)
    return linear_classification(X, np.where(f > 0, 1.0, -1.0), cost, loss, bias)


def relative_gap(problem, solution):
    return linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap


def is_single(weights):
    return bool((weights == weights.astype(np.float32)).all())


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_gap_is_certified(loss, bias, C):
    problem = wide(loss, bias, C)
    best = CoordinateDescent(tol=1e-9).solve_linear(problem)
    assert best.status is Status.SOLVED
    for tol in (1e-2, 1e-5):
        solution = CoordinateDescent(tol=tol, method="descent").solve_linear(problem)
        assert solution.status is Status.SOLVED
        assert relative_gap(problem, solution) <= tol
        assert solution.dual <= best.primal * (1 + 1e-12)
        assert solution.primal >= best.dual * (1 - 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_small_gaps_use_double_precision(loss):
    problem = wide(loss)
    coarse = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    fine = CoordinateDescent(tol=1e-8, method="descent").solve_linear(problem)
    assert is_single(coarse.weights)
    assert not is_single(fine.weights)
    assert relative_gap(problem, fine) <= 1e-8


@pytest.mark.parametrize("loss", LOSSES)
def test_result_does_not_depend_on_threads(loss):
    problem = wide(loss, n=6000, d=40_000)  # enough values for column sums
    runs = [CoordinateDescent(tol=1e-4, method="descent", threads=k).solve_linear(problem) for k in (1, 2, 3)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.weights, runs[0].weights)
        np.testing.assert_array_equal(run.beta, runs[0].beta)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
@pytest.mark.parametrize("loss", LOSSES)
def test_samples_beyond_the_range_of_single_precision_use_double_precision(loss, scale):
    problem = wide(loss, scale=scale, dtype=np.float64)
    solution = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert relative_gap(problem, solution) <= 1e-3
    assert not is_single(solution.weights)


def common_feature(bias):
    """A feature that all samples share has a large weight, so that most of its updates are rounded away."""
    rng = np.random.default_rng(2)
    n, d = 100_000, 20_000
    columns = np.column_stack([np.zeros(n, dtype=np.intp), rng.integers(1, d, (n, 4))])
    values = np.column_stack([np.full(n, 0.02), 0.1 * rng.normal(size=(n, 4))])
    y = np.where(rng.random(n) < 0.97, 1.0, -1.0)
    if bias is not Bias.NONE:  # the offset would compensate it
        values[:, 0] *= np.where(rng.random(n) < 0.97, y, -y)
    positions = (np.repeat(np.arange(n), 5), columns.ravel())
    X = sparse.csr_matrix((values.ravel().astype(np.float32), positions), shape=(n, d))
    return linear_classification(X, y, np.full(n, 0.1), "squared_hinge", bias)


@pytest.mark.parametrize("bias", BIASES)
def test_inaccurate_weights_are_replaced(bias):
    problem = common_feature(bias)
    solution = CoordinateDescent(tol=1e-7, method="descent", max_iter=60).solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert relative_gap(problem, solution) <= 1e-7
    assert bias is Bias.PENALIZED or not is_single(solution.weights)


@pytest.mark.parametrize("bias", BIASES)
def test_gap_of_a_stopped_run_is_certified(bias):
    problem = common_feature(bias)
    for max_iter in (1, 3, 5, 6):
        solution = CoordinateDescent(tol=1e-7, method="descent", max_iter=max_iter).solve_linear(problem)
        certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
        assert solution.gap == pytest.approx(certificate.gap, rel=1e-3, abs=1e-13 * abs(solution.primal))


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_starts_and_expansions_are_certified(loss):
    problem = wide(loss)
    first = CoordinateDescent(tol=1e-2, method="descent").solve_linear(problem)
    solver = CoordinateDescent(tol=1e-4, method="descent")
    for solution in (
        solver.solve_linear(problem, start=first.beta),
        solver.solve_linear(problem, expansion=True),
    ):
        assert solution.status is Status.SOLVED
        assert relative_gap(problem, solution) <= 1e-4
    expanded = solver.solve_linear(problem, expansion=True)
    np.testing.assert_allclose(expanded.weights, problem.X.T.astype(np.float64) @ expanded.beta, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_single_precision_is_used_on_a_memory_map(loss, bias, tmp_path):
    problem = wide(loss, bias, C=0.1, n=3000)
    parts = {}
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(problem.X, name))
        parts[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    X = sparse.csr_matrix(problem.X.shape, dtype=np.float32)
    X.data, X.indices, X.indptr = parts["data"], parts["indices"], parts["indptr"]
    mapped = replace(problem, X=X)
    solution = CoordinateDescent(tol=1e-2, block_bytes=1 << 16).solve_linear(mapped)
    assert solution.status is Status.SOLVED
    assert is_single(solution.weights) == (bias is not Bias.FREE)  # with a free offset w is recomputed at every check
    assert relative_gap(problem, solution) <= 1e-2
    for name in parts:
        np.testing.assert_array_equal(parts[name], getattr(problem.X, name))


@pytest.mark.parametrize("dense", [False, True])
def test_blocks_require_memory_maps(dense):
    """Pages of a file can be dropped and read again, pages of memory cannot."""
    problem = wide("hinge", n=3000)
    if dense:
        problem = replace(problem, X=problem.X[:, :200].toarray())
    before = problem.X.copy()
    with pytest.raises(ValueError, match=r"read-only memory maps of files.*block_bytes=0"):
        CoordinateDescent(tol=1e-3, block_bytes=1 << 16).solve_linear(problem)
    assert (before != problem.X).sum() == 0
