"""Null model: problems whose optimum is w = 0 or close to it are certified without iterations."""

import numpy as np
import pytest

import hinge
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, Status, linear_optimality
from hinge.solvers import CoordinateDescent

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
KINKED = ("hinge", "epsilon_insensitive")
BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)


def unrelated(loss, bias, C=1.0, n=20_000, d=8, slope=0.0, seed=0):
    """Every row of X occurs with both signs and the same target, so that Xᵀβ = 0 at w = 0."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n // 2, d))
    mixed = rng.permutation(n)
    X, y = np.vstack([half, -half])[mixed], np.tile(1.0 + rng.random(n // 2), 2)[mixed]
    cost = np.tile(C * rng.uniform(0.5, 2.0, n // 2), 2)[mixed]
    y += slope * X[:, 0]
    if "epsilon" in loss:
        return linear_regression(X, y, cost, 0.1, loss, bias)
    labels = np.tile(np.where(rng.random(n // 2) < 0.3, 1.0, -1.0), 2)[mixed]
    return linear_classification(X, labels, cost, loss, bias)


def certificate(problem, solution):
    return linear_optimality(problem, solution.weights, solution.offset, solution.beta)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", KINKED)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_null_model_is_found_without_iterations(C, loss, bias):
    problem = unrelated(loss, bias, C)
    solution = CoordinateDescent(tol=1e-8).solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations == 0
    assert np.max(np.abs(solution.weights)) <= 1e-12 * C * problem.n
    assert certificate(problem, solution).relative_gap <= 1e-8


@pytest.mark.parametrize(("C", "tol"), [(3e-11, 1e-4), (3e-9, 1e-2), (2e-8, 1e-1)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [False, True])
def test_small_costs_give_a_useful_model(intercept, loss, C, tol):
    """w = 0 would meet the tolerance but not predict; the dual point of w = 0 does."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    X = rng.normal(size=(len(y), 10))
    X[:, 0] += 4.0 * (2 * y - 1)
    model = hinge.LinearSVC(C=C, tol=tol, loss=loss, fit_intercept=intercept).fit(X, y)
    assert model.certify(X, y).relative_gap <= tol
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", KINKED)
@pytest.mark.parametrize("slope", [1e-6, 1e-3, 3e-2, 1.0])
def test_small_weights_are_not_taken_for_zero(slope, loss, bias):
    """The requested gap is reached for any size of the weights."""
    problem = unrelated(loss, bias, 0.01, slope=slope, seed=1)
    best = CoordinateDescent(tol=1e-10).solve_linear(problem)
    for tol in (1e-1, 1e-3, 1e-6):
        solution = CoordinateDescent(tol=tol).solve_linear(problem)
        assert solution.status is Status.SOLVED
        assert certificate(problem, solution).relative_gap <= tol
        assert solution.dual <= best.primal * (1 + 1e-12)


def test_expansion_of_the_null_model_is_that_of_its_dual_point():
    problem = unrelated("epsilon_insensitive", Bias.NONE, 0.01, slope=0.02, seed=2)
    solution = CoordinateDescent(tol=1e-2).solve_linear(problem, expansion=True)
    assert np.allclose(solution.weights, problem.X.T @ solution.beta, rtol=0, atol=1e-12)


def test_null_model_is_found_for_centered_features_without_an_offset():
    """All targets are positive and all features have mean 0: with small costs w = 0 is optimal."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10_000, 5))
    X -= X.mean(axis=0)
    y = 10.0 + X[:, 0]
    model = hinge.LinearSVR(C=1e-3, fit_intercept=False).fit(X, y)
    assert model.n_iter_ == 0
    assert model.certify(X, y).relative_gap <= 1e-12
    model.set_params(fit_intercept=True).fit(X, y)
    assert model.coef_[0] > 0.5
