"""Which method begins, and what takes over: easy problems, dear steps, warm starts; the proof is the same for all."""

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
from hinge.problems import Bias, Status, certify_linear
from hinge.solvers import CoordinateDescent

BIASES = (Bias.NONE, Bias.PENALISED, Bias.FREE)


def easy(bias, regression=False, n=3000, d=60):
    """Boxes that are small against the rows, and steps of Newton's method that cost more than an epoch.   (130)"""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    cost = np.full(n, 0.1)
    if regression:
        return linear_regression(X, y, cost, 0.1, "epsilon_insensitive", bias)
    return linear_classification(X, np.sign(y), cost, "hinge", bias)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("regression", [False, True])
def test_easy_problems_descend_first(bias, regression):
    problem = easy(bias, regression)
    coarse = CoordinateDescent(tol=1e-2).solve_linear(problem)
    assert coarse.counters["newton_steps"] == 0
    fine = CoordinateDescent(tol=1e-10).solve_linear(problem)
    assert fine.counters["epochs"] > 0  # and what they have left to do is done in bands
    found = certify_linear(problem, fine.weights, fine.offset, fine.beta)
    assert found.relative_gap <= 1.01e-10
    assert np.isclose(found.primal, coarse.primal, rtol=1e-2)


def test_hard_problems_begin_with_fewer_samples():
    problem = easy(Bias.NONE)
    harder = linear_classification(problem.X, problem.target, np.full(problem.n, 10.0), "hinge", Bias.NONE)
    assert CoordinateDescent(tol=1e-2).solve_linear(harder).counters["epochs"] == 0


def test_squared_losses_descend_where_newton_is_dear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 900)).astype(np.float32) / 30
    y = np.sign(X @ rng.normal(size=900) + 0.1)
    problem = linear_classification(X, y, np.full(1500, 0.01), "squared_hinge", Bias.NONE)
    found = CoordinateDescent(tol=1e-5).solve_linear(problem)
    assert found.counters["epochs"] > 0 == found.counters["newton_steps"]
    assert certify_linear(problem, found.weights, found.offset, found.beta).relative_gap <= 1.01e-5


@pytest.mark.parametrize("bias", BIASES)
def test_a_warm_start_goes_to_the_bands(bias):
    problem = easy(bias)
    first = CoordinateDescent(tol=1e-8).solve_linear(problem)
    again = CoordinateDescent(tol=1e-8).solve_linear(
        linear_classification(problem.X, problem.target, np.full(problem.n, 0.11), "hinge", bias), 1.1 * first.beta
    )
    assert again.counters["epochs"] == 0
    assert again.gap <= 1e-8 * again.primal


@pytest.mark.parametrize("bias", BIASES)
def test_the_same_bits_for_any_number_of_threads(bias):
    problem = easy(bias)
    one, two = (CoordinateDescent(tol=1e-6, threads=threads).solve_linear(problem) for threads in (1, 2))
    assert np.array_equal(one.weights, two.weights)
    assert np.array_equal(one.beta, two.beta)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("share", [0.2, 0.24])
def test_dense_samples_of_mostly_zeros_are_solved_as_sparse_ones(dtype, loss, share):
    """Bit for bit, the same as CSR: the run works on a copy of what is not zero; X itself is left alone."""
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


def test_dense_samples_with_many_values_stay_as_they_are():
    """A third of a float32 is too many; the last rows would have misled a look at the first ones."""
    rng = np.random.default_rng(2)
    n, d = 4000, 40
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.33)).astype(np.float32)
    X[n // 2 :] = rng.normal(size=(n - n // 2, d))
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))
    model = hinge.LinearSVC(C=0.05, loss="hinge", tol=1e-7).fit(X, y)
    assert model.certify(X, y).relative_gap <= 1.01e-7


@pytest.mark.slow
def test_a_run_can_be_stopped_before_it_has_a_point():
    X = np.zeros((4000, 20_000), dtype=np.float32)
    X[:, :50] = np.random.default_rng(0).normal(size=(4000, 50))
    problem = linear_classification(X, np.sign(X[:, 0] + 0.1), np.full(4000, 1.0), "hinge", Bias.NONE)
    control = RunControl(callback=lambda _: False)
    found = CoordinateDescent(tol=1e-12, method="descent").solve_linear(problem, control=control)
    assert found.status is Status.INTERRUPTED
    assert found.beta.shape == (4000,)
    assert found.weights.shape == (20_000,)


def test_an_expansion_is_exact_whoever_finds_it():
    """As a solver of problem (1), w is Xᵀα, also where bands have found it."""
    X, y = make_classification(2500, 20, flip_y=0.1, random_state=0)
    model = hinge.SVC(kernel="linear", C=0.5, solver=CoordinateDescent(tol=1e-6)).fit(X, y)
    assert model.certify(X, y).relative_gap <= 1.01e-6


def test_labels():
    assert list(labels_of(np.array([3.0, 1.0, 3.0]))) == [1.0, 3.0]
    assert list(labels_of(np.array([2, 2]))) == [2]
    assert list(labels_of(np.array([3, 1, 2]))) == [1, 2, 3]
    assert list(labels_of(np.array(["b", "a", "b"]))) == ["a", "b"]
    assert len(labels_of(np.array([np.nan, 1.0, 2.0]))) == 3


@pytest.mark.parametrize("wrong", [[0.5, 1.5], [0.0, np.nan], [0.0, np.inf]])
def test_labels_that_are_none(wrong):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError):
        hinge.LinearSVC().fit(X, np.array(wrong * 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_plain_arrays_are_still_looked_at(value):
    X, y = make_classification(40, random_state=0)
    X[3, 4] = value
    for machine in (hinge.LinearSVC(), hinge.LinearSVR()):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            machine.fit(X, y)


def test_damaged_rows_are_refused_not_followed():
    """In a process of its own: reading beyond the arrays would take this one along."""
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


@pytest.mark.parametrize("bias", [Bias.PENALISED, Bias.FREE])
def test_newton_is_charged_for_its_vectors(bias):
    """Rows of 7 values, 15,000 features: conjugate gradients that count values only took thirty times as long."""
    X, y = short_rows()
    problem = linear_classification(X, y, np.full(len(y), 100.0), "hinge", bias)
    auto, descent = (CoordinateDescent(tol=2e-4, method=method).solve_linear(problem) for method in ("auto", "descent"))
    assert auto.status is descent.status is Status.SOLVED
    assert auto.counters["work"] <= 3 * descent.counters["work"]
