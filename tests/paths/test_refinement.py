"""Iterative refinement: sums are exact, and a refined solution is the optimum rounded to doubles.  docs/math (253)"""

from fractions import Fraction

import numpy as np
import pytest

import hinge
from hinge.paths.refinement import exact_product, two_product, two_sum
from reference.high_precision import optimum


def test_sums_and_products_with_their_errors_are_exact():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=200) * 10.0 ** rng.integers(-9, 9, 200) for _ in range(2))
    for operation, exact in ((two_sum, Fraction.__add__), (two_product, Fraction.__mul__)):
        high, low = operation(a, b)
        for x, y, h, rest in zip(a, b, high, low, strict=True):
            assert Fraction(h) + Fraction(rest) == exact(Fraction(x), Fraction(y))


@pytest.mark.parametrize("width", [0, 1, 2, 7, 64, 101])
def test_products_with_cancellation_are_accurate(width):
    rng = np.random.default_rng(width)
    A, x = rng.normal(size=(5, width)) * 1e9, rng.normal(size=width) * 1e6
    if width > 1:
        x[-1] = -np.dot(A[0, :-1], x[:-1]) / A[0, -1]  # the terms of the first row nearly cancel
    high, low = exact_product(A, x)
    for row, h, rest in zip(A, high, low, strict=True):
        wanted = sum((Fraction(p) * Fraction(q) for p, q in zip(row, x, strict=True)), Fraction(0))
        terms = sum((abs(Fraction(p) * Fraction(q)) for p, q in zip(row, x, strict=True)), Fraction(0))
        assert abs(Fraction(h) + Fraction(rest) - wanted) <= Fraction(1, 10**29) * terms


def raw(seed, task):
    """Columns of very different scales."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(90, 4)) * [1.0, 30.0, 100.0, 500.0] + [3.0, 100.0, 50.0, 900.0], 1)
    noise = X[:, 1] / 30 + X[:, 2] / 100 + rng.normal(size=90)
    y = np.where(noise > np.median(noise), 1.0, -1.0) if task == "classification" else noise - noise.mean()
    return X, y


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_a_refined_solution_is_the_rounded_optimum(seed, task):
    X, y = raw(seed, task)
    K = X @ X.T
    path = hinge.regularization_path(K, y, kernel="precomputed", C_min=1e-4, C_max=1e5, task=task, epsilon=0.1)
    for C in (3.0, 7e4):
        exact = optimum(path.parametric, K, C, path.pieces.places(path.pieces.segment(C)), path.intercept(C))
        assert exact.violation <= 1e-30  # the index sets are optimal
        assert exact.outside <= 0

        def off(beta, b, exact=exact):
            high, low = exact_product(K, beta)
            return np.max(np.abs((high + b) + low - exact.values))

        refined = off(*path.refined(C))
        assert refined <= 4 * off(exact.beta, exact.mu) + 1e-13
        assert refined <= off(path.coefficients(C), path.intercept(C))
        model = path.model(C, refine=True)
        np.testing.assert_array_equal(model.machine.coefficients[:, 0], path.refined(C)[0][model.support])


@pytest.mark.parametrize("parameter", ["nu", "epsilon"])
def test_paths_over_every_parameter_can_be_refined(parameter):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(50, 2)), rng.normal(size=50)
    if parameter == "nu":
        path = hinge.nu_path(X, np.where(X[:, 0] + noise > 0, 1, -1), nu_min=0.2, nu_max=0.6, gamma=0.5)
    else:
        path = hinge.epsilon_path(X, X[:, 0] + noise, epsilon_min=0.0, epsilon_max=1.0, gamma=0.5)
    for theta in np.linspace(path.low, path.high, 7)[1:-1]:
        beta, b = path.refined(theta)
        np.testing.assert_allclose(beta, path.coefficients(theta), atol=1e-9 * np.max(np.abs(beta)))
        assert b == pytest.approx(path.intercept(theta), abs=1e-9)


def test_a_solution_without_margin_is_unchanged():
    path = hinge.regularization_path(np.eye(10), np.repeat([1.0, -1.0], 5), kernel="precomputed", C_min=1e-3, C_max=0.1)
    beta, b = path.refined(0.01)
    np.testing.assert_array_equal(beta, path.coefficients(0.01))
    assert b == path.intercept(0.01)
