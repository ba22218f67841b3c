"""Reduced-basis Newton method: skinny products, kernel columns, agreement with a dense solution."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hinge import Status, _core
from hinge.control import RunControl
from hinge.kernels import RBF, FunctionKernel, Linear, Polynomial, Precomputed
from hinge.lowrank.columns import make_columns
from hinge.lowrank.source import Source
from hinge.solvers import ReducedBasisNewton
from hinge.solvers.basis.problem import ReducedBasisProblem, dual_point

ALL_ROWS = np.empty(0, dtype=np.int64)


@settings(deadline=None, max_examples=40)
@given(
    m=st.integers(1, 700), n=st.integers(1, 40), k=st.integers(1, 20), threads=st.integers(1, 3), some=st.booleans(),
    half=st.booleans(),
)  # fmt: skip
def test_skinny_products_agree_with_numpy(m, n, k, threads, some, half):
    rng = np.random.default_rng(m * n * k)
    K, W = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, n), (n, k)))
    if half and _core.has_float16_loops():
        narrow = K.astype(np.float16)
        wide_K, K = narrow.astype(np.float32), narrow.view(np.uint16)
    else:
        wide_K = K
    rows = np.sort(rng.permutation(m)[: max(1, m // 3)]).astype(np.int64) if some else ALL_ROWS
    part = wide_K[rows] if some else wide_K
    R = rng.standard_normal((len(part), k)).astype(np.float32)
    product, out = np.empty((len(part), k), np.float32), np.empty((n, k))
    _core.skinny_product(K, rows, W, product, threads)
    wide = part.astype(np.float64) @ W
    np.testing.assert_allclose(product, wide, atol=1e-5 * (1 + np.abs(wide).max()))
    _core.skinny_transposed_product(K, rows, R, out, threads)
    transposed = part.T.astype(np.float64) @ R
    np.testing.assert_allclose(out, transposed, atol=1e-5 * (1 + np.abs(transposed).max()))
    _core.skinny_weighted_product(K, rows, W, R, product, out, threads)
    transposed = part.T.astype(np.float64) @ (R * wide)
    np.testing.assert_allclose(out, transposed, atol=1e-5 * (1 + np.abs(transposed).max()))
    one_thread = np.empty_like(out)
    _core.skinny_weighted_product(K, rows, W, R, product, one_thread, 1)
    np.testing.assert_array_equal(out, one_thread)  # threads have no effect


def test_skinny_products_check_their_arguments():
    K, W, out = np.zeros((5, 3), np.float32), np.zeros((3, 2), np.float32), np.zeros((5, 2), np.float32)
    with pytest.raises(ValueError, match="shapes"):
        _core.skinny_product(K, ALL_ROWS, W[:2].copy(), out, 1)
    with pytest.raises(IndexError, match="rows of K"):
        _core.skinny_product(K, np.array([0, 5]), W, out[:2].copy(), 1)


@pytest.mark.skipif(not _core.has_float16_loops(), reason="this processor has no float16")
@pytest.mark.parametrize("form", ["dense", "mostly zeros", "csr", "float64"])
def test_half_precision_columns_are_rounded_kernel_values(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30)).astype(np.float64 if form == "float64" else np.float32)
    if form in ("mostly zeros", "csr"):
        X[rng.random(X.shape) < 0.9] = 0
    solution = make_columns(RBF(0.05), sp.csr_matrix(X) if form == "csr" else X, np.array([3, 50, 299]), half=True)
    assert solution.values.dtype == np.float16
    np.testing.assert_allclose(solution.values, RBF(0.05)(X, X[[3, 50, 299]]), rtol=2**-11 + 1e-5, atol=1e-7)
    rows = np.arange(7, 200)
    some = solution.values[rows].astype(np.float64)
    np.testing.assert_allclose(solution.gram(rows, np.full(len(rows), 2.0)), 2 * some.T @ some, rtol=1e-5)


def test_values_that_may_be_negative_are_float32():
    X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    for kernel in (Polynomial(3, 10.0, 1.0), 1e-3 * RBF(0.5), FunctionKernel(lambda A, B: A @ B.T)):
        assert make_columns(kernel, X, np.arange(5), half=True).values.dtype == np.float32
    assert make_columns(RBF(0.5), X, np.arange(5)).values.dtype == np.float32


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Linear(), FunctionKernel(lambda A, B: A @ B.T)], ids=["rbf", "linear", "function"]
)
@pytest.mark.parametrize("m", [1, 4096, 5000])
def test_diagonal_is_computed_in_blocks(kernel, m):
    X = np.random.default_rng(0).standard_normal((m, 2)).astype(np.float32)
    np.testing.assert_array_equal(Source(kernel, X).diagonal(), kernel.diag(X))
    if kernel.nodes() is not None:
        np.testing.assert_allclose(Source(kernel, sp.csr_matrix(X)).diagonal(), kernel.diag(X), rtol=1e-6)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (63, 3), (10_000, 10)])
def test_slack_sums_agree_with_numpy(m, k):
    rng = np.random.default_rng(m)
    f, sign, cost = rng.normal(size=(m, k)), rng.choice([-1.0, 1.0], (m, k)), rng.uniform(0, 2, (m, k))
    f, sign, cost = (a.astype(np.float32) for a in (f, sign, cost))
    b, slack, sums = rng.normal(size=k), np.empty((m, k), np.float32), np.empty((3, k))
    _core.slack_sums(f, sign, cost, b, slack, sums, 2)
    expected = np.maximum(1 - sign * (f + b), 0)
    np.testing.assert_allclose(slack, expected, atol=1e-6)
    of = np.stack([cost * (slack > 0), cost * sign * expected, cost * expected**2]).sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(sums, of, rtol=1e-5, atol=1e-4)
    one_thread = np.empty((3, k))
    _core.slack_sums(f, sign, cost, b, slack, one_thread, 1)
    np.testing.assert_array_equal(sums, one_thread)  # threads have no effect
    with pytest.raises(ValueError, match="shapes"):
        _core.slack_sums(f, sign, cost, b, slack, np.empty((2, k)), 1)


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(2, 0.5, 1.0), Linear()], ids=repr)
@pytest.mark.parametrize("form", ["dense", "mostly zeros", "csr", "float64"])
def test_columns_are_kernel_values(kernel, form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30)).astype(np.float64 if form == "float64" else np.float32)
    if form in ("mostly zeros", "csr"):
        X[rng.random(X.shape) < 0.9] = 0
    basis = np.array([3, 50, 51, 299])
    solution = make_columns(kernel, sp.csr_matrix(X) if form == "csr" else X, basis, threads=2)
    exact = kernel(X.astype(np.float64), X[basis].astype(np.float64))
    np.testing.assert_allclose(solution.values, exact, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(solution.inner, exact[basis], rtol=1e-6, atol=1e-6)


def test_columns_of_callable_kernels_are_correct_and_stored_in_files(tmp_path):
    X = np.random.default_rng(1).standard_normal((90, 4))
    basis = np.arange(0, 90, 9)
    K = RBF(0.3)(X)
    plain = FunctionKernel(lambda A, B: RBF(0.3)(A, B))
    for kernel, data in ((plain, X), (Precomputed(), K)):
        solution = make_columns(kernel, data, basis, budget_bytes=1, folder=str(tmp_path))
        assert isinstance(solution.values, np.memmap)
        np.testing.assert_allclose(solution.values, K[:, basis], rtol=1e-6)


def problem_of(m, n, k, bias=True, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3))
    sign = np.where(np.sin(2 * X @ rng.standard_normal((3, k))) + 0.3 * rng.standard_normal((m, k)) > 0, 1, -1)
    cost = 3.0 * np.exp(spread * rng.standard_normal(m))
    columns = make_columns(RBF(0.7), X, np.sort(rng.permutation(m)[:n]))
    return ReducedBasisProblem(columns, sign.astype(np.float32), cost, bias)


def dense_optimum(problem, output):
    """Optimal value by a quasi-Newton method of SciPy in float64."""
    K, inner = problem.columns.values.astype(np.float64), problem.inner
    sign, n = problem.sign[:, output].astype(np.float64), K.shape[1]

    def risk(v):
        w, b = v[:n], v[n] if problem.bias else 0.0
        slack = np.maximum(1 - sign * (K @ w + b), 0)
        slope = -2 * problem.cost * sign * slack
        value = 0.5 * w @ inner @ w + problem.cost @ slack**2
        return value, np.append(inner @ w + K.T @ slope, slope.sum() if problem.bias else 0.0)

    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-14, "gtol": 1e-7, "maxcor": 50}
    return minimize(risk, np.zeros(n + 1), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(400, 12, 1), (400, 25, 3), (30, 30, 2)], ids=str)
def test_agrees_with_a_dense_solution(shape, bias):
    problem = problem_of(*shape, bias=bias)
    solution = ReducedBasisNewton(tol=1e-6).solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.error is None
    beta = dual_point(problem.sign, problem.cost, solution.outputs, solution.offsets)
    certificates = problem.certificates(solution.weights, solution.offsets, solution.outputs, beta)
    for output, certificate in enumerate(certificates):
        best = dense_optimum(problem, output)
        assert certificate.dual - 1e-5 * best <= best <= certificate.primal + 1e-5 * best
        assert certificate.relative_gap < 1e-3
        assert certificate.primal == pytest.approx(best, rel=1e-4)


def test_bounds_are_valid_at_any_iteration_limit():
    problem = problem_of(600, 20, 2)
    best = sum(dense_optimum(problem, output) for output in range(2))
    for steps in range(4):
        solution = ReducedBasisNewton(tol=1e-9, max_iter=steps).solve(problem)
        assert solution.status is Status.MAX_ITER
        beta = dual_point(problem.sign, problem.cost, solution.outputs, solution.offsets)
        certificates = problem.certificates(solution.weights, solution.offsets, solution.outputs, beta)
        assert sum(p.dual for p in certificates) <= best * (1 + 1e-5)
        assert sum(p.primal for p in certificates) >= best * (1 - 1e-5)
        assert np.all(np.diff(solution.history.primal) < 0)


def test_limits_and_callbacks_keep_the_best_point():
    problem = problem_of(2000, 50, 2)
    assert ReducedBasisNewton(tol=1e-9, max_time=1e-9).solve(problem).status is Status.TIME_LIMIT
    seen = []
    control = RunControl(callback=lambda record: seen.append(record) or len(seen) < 3)
    stopped = ReducedBasisNewton(tol=1e-9).solve(problem, control)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.error is None

    def interrupt(record):
        raise KeyboardInterrupt

    broken = ReducedBasisNewton(tol=1e-9).solve(problem, RunControl(callback=interrupt))
    assert isinstance(broken.error, KeyboardInterrupt)
    assert np.isfinite(broken.weights).all()


def test_indefinite_kernels_are_rejected():
    X = np.random.default_rng(0).standard_normal((40, 2))
    columns = make_columns(FunctionKernel(lambda A, B: -RBF(1.0)(A, B)), X, np.arange(10))
    problem = ReducedBasisProblem(columns, np.ones((40, 1), np.float32), np.ones(40))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        ReducedBasisNewton().solve(problem)


def test_newton_steps_of_the_offset_do_not_cycle():
    """One class has no loss at b = 1, the other at b = −1: plain Newton steps for b would alternate."""
    X = np.array([[2.0], [3.0], [0.0], [3.0], [1.0]])
    sign = np.array([[1], [1], [-1], [1], [-1]], np.float32)
    columns = make_columns(RBF(0.5), X, np.array([0]))
    problem = ReducedBasisProblem(columns, sign, np.array([1.0, 10.0, 10.0, 10.0, 1.0]))
    solution = ReducedBasisNewton(tol=1e-4).solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.history.primal[-1] == pytest.approx(dense_optimum(problem, 0), rel=1e-4)
