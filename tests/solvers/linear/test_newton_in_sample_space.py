"""Newton's method in the space of the free samples, for many features.   docs/math (141)–(146)"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, Status, linear_optimality
from hinge.solvers import CoordinateDescent
from solvers.linear.cases import every_problem, make_problem

BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)
all_problems = pytest.mark.parametrize(("loss", "bias"), every_problem(), ids=str)


def words(n=300, d=1300, seed=0):
    """Word counts with different weights and noisy labels, for which descent converges slowly."""
    rng = np.random.default_rng(seed)
    often = np.minimum(0.9, 6.0 / np.arange(1, d + 1))
    X = sp.csr_matrix((rng.random((n, d)) < often).astype(np.float32))
    y = np.where(X[:, 20:60].sum(axis=1).A1 + 5 * rng.normal(size=n) > 3, 1.0, -1.0)
    return sp.csr_matrix(X.multiply(np.exp(rng.normal(size=d)))).astype(np.float32), y


def rotated(problem):
    """The same inner products with as many features as samples, for which other methods are used."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    U, s, _ = np.linalg.svd(np.asarray(X, dtype=np.float64), full_matrices=False)
    return dataclasses.replace(problem, X=U * s)


@all_problems
@pytest.mark.parametrize("kind", ["dense", "sparse", "duplicates"])
@pytest.mark.parametrize("C", [0.01, 30.0])
def test_optimum_agrees_with_that_of_few_features(loss, bias, kind, C):
    problem = make_problem(loss, bias, C=C, n=50, d=1250, kind=kind)
    steps = CoordinateDescent(tol=1e-9, method="newton").solve_linear(problem)
    assert steps.status is Status.SOLVED
    assert steps.counters["sample_steps"] > 0 or loss == "one_class"
    certificate = linear_optimality(problem, steps.weights, steps.offset, steps.beta)
    assert certificate.relative_gap <= 1.01e-9
    other = CoordinateDescent(tol=1e-9).solve_linear(rotated(problem))
    assert other.counters["sample_steps"] == 0
    assert certificate.primal == pytest.approx(other.primal, rel=3e-9)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_hard_problems_use_sample_space_steps(loss, bias, C):
    X, y = words()
    problem = linear_classification(X, y, np.full(len(y), C), loss, bias)
    solution = CoordinateDescent(tol=1e-7).solve_linear(problem)
    assert solution.counters["epochs"] > 0 < solution.counters["sample_steps"]
    assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1.01e-7


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_hard_regressions_use_sample_space_steps(loss):
    X, y = words()
    target = y + np.random.default_rng(1).normal(size=len(y))
    problem = linear_regression(X, target, np.full(len(y), 100.0), 0.1, loss, Bias.FREE)
    solution = CoordinateDescent(tol=1e-7).solve_linear(problem)
    assert solution.counters["sample_steps"] > 0
    assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1.01e-7


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_duplicates_contradictory_labels_and_zero_weights_are_solved(loss, bias):
    X, y = words(n=150)
    X = sp.vstack([X, X[:60], X[:20], sp.csr_matrix((10, X.shape[1]), dtype=np.float32)]).tocsr()
    y = np.concatenate([y, -y[:60], y[:20], np.resize([1.0, -1.0], 10)])
    cost = np.full(len(y), 100.0)
    cost[::7] = 0.0 if loss == "hinge" else 1e-9
    problem = linear_classification(X, y, cost, loss, bias)
    solution = CoordinateDescent(tol=1e-8, method="newton").solve_linear(problem)
    assert solution.counters["sample_steps"] > 0
    assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1.01e-8
    assert np.all(np.abs(solution.beta[::7]) <= 1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dense", [False, True])
def test_result_does_not_depend_on_threads(loss, dense):
    X, y = words(n=400)
    X = X.toarray() if dense else X
    problem = linear_classification(X, y, np.full(len(y), 100.0), loss, Bias.FREE)
    one, two, three = (
        CoordinateDescent(tol=1e-8, method="newton", threads=threads).solve_linear(problem) for threads in (1, 2, 3)
    )
    assert one.counters["sample_steps"] > 0
    for other in (two, three):
        assert np.array_equal(one.weights, other.weights)
        assert np.array_equal(one.beta, other.beta)
        assert one.offset == other.offset


def test_dense_and_sparse_rows_give_the_same_value():
    X, y = words(n=200)
    values = []
    for form in (X, X.astype(np.float64), X.toarray(), X.toarray().astype(np.float64)):
        problem = linear_classification(form, y, np.full(len(y), 100.0), "squared_hinge", Bias.NONE)
        solution = CoordinateDescent(tol=1e-12, method="newton").solve_linear(problem)
        assert solution.counters["sample_steps"] > 0
        values.append(solution.primal)
    np.testing.assert_allclose(values, values[0], rtol=1e-11)


def test_many_samples_use_feature_space_steps():
    rng = np.random.default_rng(0)
    X = sp.random(4200, 1300, density=0.005, random_state=0, format="csr", dtype=np.float32)
    y = np.where(X @ rng.normal(size=1300) > 0, 1.0, -1.0)
    problem = linear_classification(X, y, np.ones(4200), "squared_hinge", Bias.NONE)
    solution = CoordinateDescent(tol=1e-2, method="newton").solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert solution.counters["newton_steps"] > 0 == solution.counters["sample_steps"]


def test_iteration_limit_is_respected():
    X, y = words()
    problem = linear_classification(X, y, np.full(len(y), 1000.0), "hinge", Bias.FREE)
    short = CoordinateDescent(tol=1e-12, method="newton", max_iter=3).solve_linear(problem)
    assert short.status is Status.MAX_ITER
    assert short.counters["sample_steps"] == 3
    certificate = linear_optimality(problem, short.weights, short.offset, short.beta)
    assert certificate.gap == pytest.approx(short.gap, rel=1e-6)
