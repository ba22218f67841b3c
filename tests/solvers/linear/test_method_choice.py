"""Choice of the method: easy and hard problems, expensive Newton steps, warm starts, storage of the samples."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

import hinge
from hinge.control import RunControl
from hinge.estimators.common.validation import labels_of
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, Status, linear_optimality
from hinge.solvers import CoordinateDescent

BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)


def easy_problem(bias, regression=False, n=3000, d=60):
    """Small costs relative to the norms of the rows, and Newton steps that cost more than an epoch.   (130)"""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    cost = np.full(n, 0.1)
    if regression:
        return linear_regression(X, y, cost, 0.1, "epsilon_insensitive", bias)
    return linear_classification(X, np.sign(y), cost, "hinge", bias)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("regression", [False, True])
def test_easy_problems_start_with_descent(bias, regression):
    problem = easy_problem(bias, regression)
    coarse = CoordinateDescent(tol=1e-2).solve_linear(problem)
    assert coarse.counters["newton_steps"] == 0
    fine = CoordinateDescent(tol=1e-10).solve_linear(problem)
    assert fine.counters["epochs"] > 0  # continued with band steps
    certificate = linear_optimality(problem, fine.weights, fine.offset, fine.beta)
    assert certificate.relative_gap <= 1.01e-10
    assert np.isclose(certificate.primal, coarse.primal, rtol=1e-2)


def test_hard_problems_start_with_a_subsample():
    problem = easy_problem(Bias.NONE)
    harder = linear_classification(problem.X, problem.target, np.full(problem.n, 10.0), "hinge", Bias.NONE)
    assert CoordinateDescent(tol=1e-2).solve_linear(harder).counters["epochs"] == 0


def test_squared_losses_use_descent_if_newton_is_expensive():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 900)).astype(np.float32) / 30
    y = np.sign(X @ rng.normal(size=900) + 0.1)
    problem = linear_classification(X, y, np.full(1500, 0.01), "squared_hinge", Bias.NONE)
    solution = CoordinateDescent(tol=1e-5).solve_linear(problem)
    assert solution.counters["epochs"] > 0 == solution.counters["newton_steps"]
    assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1.01e-5


@pytest.mark.parametrize("bias", BIASES)
def test_warm_start_uses_band_steps(bias):
    problem = easy_problem(bias)
    first = CoordinateDescent(tol=1e-8).solve_linear(problem)
    warm = CoordinateDescent(tol=1e-8).solve_linear(
        linear_classification(problem.X, problem.target, np.full(problem.n, 0.11), "hinge", bias), 1.1 * first.beta
    )
    assert warm.counters["epochs"] == 0
    assert warm.gap <= 1e-8 * warm.primal


@pytest.mark.parametrize("bias", BIASES)
def test_result_does_not_depend_on_threads(bias):
    problem = easy_problem(bias)
    one, two = (CoordinateDescent(tol=1e-6, threads=threads).solve_linear(problem) for threads in (1, 2))
    assert np.array_equal(one.weights, two.weights)
    assert np.array_equal(one.beta, two.beta)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("share", [0.2, 0.24])
def test_dense_samples_with_many_zeros_are_solved_like_sparse_ones(dtype, loss, share):
    """Identical to CSR to the bit; X is not modified."""
    rng = np.random.default_rng(1)
    n, d = 3000, 50
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < share)).astype(dtype)
    X[7] = 0
    y = np.sign(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) + 1e-9)
    before = X.copy()
    common = dict(C=0.05, loss=loss, tol=1e-7, random_state=0)
    dense = hinge.LinearSVC(n_jobs=2, **common).fit(X, y)
    sparse = hinge.LinearSVC(n_jobs=1, **common).fit(sp.csr_matrix(X), y)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert np.array_equal(dense.dual_coef_, sparse.dual_coef_)
    assert np.array_equal(X, before)
    assert dense.certify(X, y).relative_gap <= 1.01e-7


def test_dense_samples_with_few_zeros_are_not_converted():
    """A third of the values are not zero in the first rows, all of them in the last rows."""
    rng = np.random.default_rng(2)
    n, d = 4000, 40
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.33)).astype(np.float32)
    X[n // 2 :] = rng.normal(size=(n - n // 2, d))
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))
    model = hinge.LinearSVC(C=0.05, loss="hinge", tol=1e-7).fit(X, y)
    assert model.certify(X, y).relative_gap <= 1.01e-7


@pytest.mark.slow
def test_callback_can_stop_before_the_first_point():
    X = np.zeros((4000, 20_000), dtype=np.float32)
    X[:, :50] = np.random.default_rng(0).normal(size=(4000, 50))
    problem = linear_classification(X, np.sign(X[:, 0] + 0.1), np.full(4000, 1.0), "hinge", Bias.NONE)
    control = RunControl(callback=lambda _: False)
    solution = CoordinateDescent(tol=1e-12, method="descent").solve_linear(problem, control=control)
    assert solution.status is Status.INTERRUPTED
    assert solution.beta.shape == (4000,)
    assert solution.weights.shape == (20_000,)


def test_expansion_of_the_weights_is_exact():
    """As a solver of problem (1), w = Xᵀα also after band steps."""
    X, y = make_classification(2500, 20, flip_y=0.1, random_state=0)
    model = hinge.SVC(kernel="linear", C=0.5, solver=CoordinateDescent(tol=1e-6)).fit(X, y)
    assert model.certify(X, y).relative_gap <= 1.01e-6


def test_labels_are_sorted_and_unique():
    assert list(labels_of(np.array([3.0, 1.0, 3.0]))) == [1.0, 3.0]
    assert list(labels_of(np.array([2, 2]))) == [2]
    assert list(labels_of(np.array([3, 1, 2]))) == [1, 2, 3]
    assert list(labels_of(np.array(["b", "a", "b"]))) == ["a", "b"]
    assert len(labels_of(np.array([np.nan, 1.0, 2.0]))) == 3


@pytest.mark.parametrize("invalid", [[0.5, 1.5], [0.0, np.nan], [0.0, np.inf]])
def test_invalid_labels_are_rejected(invalid):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError):
        hinge.LinearSVC().fit(X, np.array(invalid * 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_arrays_that_are_not_finite_are_rejected(value):
    X, y = make_classification(40, random_state=0)
    X[3, 4] = value
    for estimator in (hinge.LinearSVC(), hinge.LinearSVR()):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            estimator.fit(X, y)


def test_damaged_sparse_matrices_are_rejected():
    """In a subprocess, because reading beyond the arrays could crash it."""
    code = """
        import numpy as np, scipy.sparse, hinge
        def indices_high(X): X.indices[0] = 10**6
        def indices_low(X): X.indices[0] = -5
        def beyond(X): X.indptr[3] = 10**7
        def overlap(X): X.indptr[3] = X.indptr[4] + 1
        def longer(X): X.indptr[-1] = 2 * X.nnz
        def unordered(X): X.indices[X.indptr[5]] = 7; X.indices[X.indptr[6] - 1] = 8
        for damage in (indices_high, indices_low, beyond, overlap, longer, unordered):
            for loss in ("hinge", "crammer_singer"):
                X = scipy.sparse.random(30, 8, density=0.5, random_state=0, format="csr")
                damage(X)
                try:
                    multi = loss if loss == "crammer_singer" else "ovr"
                    hinge.LinearSVC(loss="hinge", multi_class=multi, max_time=5).fit(X, np.arange(30) % 3)
                except (ValueError, IndexError):
                    print(damage.__name__)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.split()) == 12, run.stdout


def short_rows(n=13_500, d=29_400, values=7, seed=0):
    """CSR with few values in a row, and more features than samples; labels with noise."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, n, n * values), rng.integers(0, d, n * values)
    X = sp.csr_matrix((rng.random(n * values), places), shape=(n, d))
    f = X @ (rng.normal(size=d) * (rng.random(d) < 0.2))
    return X, np.where(f + 2 * np.std(f) * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("bias", [Bias.PENALIZED, Bias.FREE])
def test_cost_of_newton_includes_vector_operations(bias):
    """With 7 values in a row and 15,000 features, vector operations dominate conjugate gradients."""
    X, y = short_rows()
    problem = linear_classification(X, y, np.full(len(y), 100.0), "hinge", bias)
    auto, descent = (CoordinateDescent(tol=2e-4, method=method).solve_linear(problem) for method in ("auto", "descent"))
    assert auto.status is descent.status is Status.SOLVED
    assert auto.counters["work"] <= 3 * descent.counters["work"]
