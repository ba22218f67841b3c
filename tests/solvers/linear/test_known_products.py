"""Products that the linear solver reports for the certificate: their errors are within the stated bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hinge.problems import Bias, LinearProblem
from hinge.solvers import CoordinateDescent

UNIT_ROUNDOFF = 2.0**-53


def random_problem(rng, bias, storage, ridge):
    n, d = int(rng.choice([30, 400, 2000])), int(rng.choice([2, 7, 40]))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d) + rng.choice([0.0, 3.0])
    if storage is csr_array:
        X[rng.random(X.shape) < 0.7] = 0.0
    y = np.where(X @ (rng.normal(size=d) / np.std(X, axis=0)) + rng.normal(size=n) > 0, 1.0, -1.0)
    C = 10.0 ** rng.uniform(-3, 2)
    lower, upper = (np.full(n, -np.inf), np.full(n, np.inf)) if ridge else (np.full(n, -C), np.full(n, C))
    lower, upper = np.where(y > 0, 0.0, lower), np.where(y < 0, 0.0, upper)
    return LinearProblem(storage(X), y, lower, upper, np.full(n, 0.5 / C if ridge else 0.0), 0.0, bias)


@pytest.mark.parametrize("method", ["auto", "descent", "newton"])
@pytest.mark.parametrize("ridge", [False, True], ids=["hinge", "squared hinge"])
@pytest.mark.parametrize("storage", [np.asarray, np.float32, csr_array], ids=["double", "float", "csr"])
@given(seed=st.integers(0, 2**32 - 1), bias=st.sampled_from(list(Bias)), tol=st.sampled_from([1e-1, 1e-3, 1e-7]))
@settings(max_examples=10, deadline=None)
def test_errors_of_known_products_are_within_their_bounds(method, ridge, storage, seed, bias, tol):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, bias, storage, ridge)
    max_iter = int(rng.choice([1, 3, 200]))
    solution = CoordinateDescent(tol=tol, method=method, max_iter=max_iter).solve_linear(problem)
    if solution.products is None:
        return
    known = solution.products.of(problem.X, solution.weights, solution.beta)
    if known is None:  # the products of centered samples
        return
    X = problem.X.toarray() if storage is csr_array else problem.X.astype(np.float64)
    n, d = X.shape
    norms = np.linalg.norm(X, axis=1)
    for i in rng.choice(n, size=min(n, 25), replace=False):
        exact = sum(Fraction(w) * Fraction(x) for w, x in zip(solution.weights, X[i], strict=True))
        error = abs(float(Fraction(float(np.asarray(known.f)[i])) - exact))
        assert error <= (d + 8) * UNIT_ROUNDOFF * known.reach * norms[i]
    combined = X.T.astype(np.longdouble) @ solution.beta.astype(np.longdouble)
    apart = float(np.linalg.norm(solution.weights - combined))
    rounding = (n + 8) * UNIT_ROUNDOFF * float(np.abs(solution.beta) @ norms)
    assert apart <= known.distance + rounding


def test_most_fits_know_their_products():
    """Otherwise the certificate reads all samples again."""
    known = 0
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), Bias.FREE, np.asarray, seed % 2 == 0)
        solution = CoordinateDescent(tol=1e-4).solve_linear(problem)
        known += solution.products is not None
    assert known >= 15
