"""Double-double arithmetic, compared with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hinge.kernels.double_double import add, product, product_error, slices, two_sum
from hinge.problems import Diagonal, Problem, Quadratic, optimality
from hinge.problems.double_double import equality_residual, residual


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_a_sum_and_its_rounding_error_are_exact(a, b):
    total, left = two_sum(np.array([a]), np.array([b]))
    assert Fraction(total[0]) + Fraction(left[0]) == Fraction(a) + Fraction(b)


@pytest.mark.parametrize("length", [1, 7, 300])
@pytest.mark.parametrize("seed", range(3))
def test_products_have_twice_the_precision(length, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(5, length)) * 10.0 ** rng.integers(-9, 2, size=(5, length))
    high = 1e4 * rng.normal(size=length)
    low = 1e-17 * high * rng.normal(size=length)
    found = product(matrix, (high, low))
    scale = np.abs(matrix) @ np.abs(high)
    bound = Fraction(product_error(length, float(np.max(np.abs(matrix))), float(np.max(np.abs(high)))))
    for row, a, b, size in zip(matrix, *found, scale, strict=True):
        exact = sum(Fraction(k) * (Fraction(h) + Fraction(s)) for k, h, s in zip(row, high, low, strict=True))
        assert abs(Fraction(a) + Fraction(b) - exact) <= bound
        assert abs(Fraction(a) + Fraction(b) - exact) <= Fraction(size) * Fraction(1, 10**23)


def test_products_with_cancellation_are_accurate():
    matrix = np.array([[1.0, 1.0, 1.0]])
    found = product(matrix, (np.array([1e16, 1.0, -1e16]), np.array([0.0, 1e-20, 0.0])))
    assert found[0][0] == 1.0
    assert found[1][0] == pytest.approx(1e-20, rel=1e-3)


def test_slices_have_few_bits_and_add_up_to_the_value():
    values = np.random.default_rng(0).normal(size=50)
    parts = slices(values, 4, 20)
    total = [sum(Fraction(part[k]) for part in parts) for k in range(50)]
    assert total == [Fraction(value) for value in values]  # 4 · 20 bits hold 53
    for k, part in enumerate(parts):
        unit = 2.0 ** (np.frexp(np.max(np.abs(values)))[1] - 20 * (k + 1))
        assert np.all(part / unit == np.round(part / unit))
        assert np.all(np.abs(part) <= 2.0**20 * unit)
    assert slices(np.zeros(3), 4, 20) == []


def test_residuals_of_double_double_points_are_accurate():
    rng = np.random.default_rng(1)
    L = rng.normal(size=(6, 4))
    K = L @ L.T
    sign = np.array([1.0] * 6 + [-1.0] * 6)
    A = np.stack([sign, np.ones(12)])
    problem = Problem(quadratic_of(K, sign), rng.normal(size=12), A, np.array([0.0, 3.0]), np.zeros(12), np.ones(12))
    alpha = rng.uniform(size=12), 1e-18 * rng.normal(size=12)
    mu = rng.normal(size=2), 1e-18 * rng.normal(size=2)
    x = [Fraction(a) + Fraction(b) for a, b in zip(*alpha, strict=True)]
    m = [Fraction(a) + Fraction(b) for a, b in zip(*mu, strict=True)]
    beta = [x[i] - x[i + 6] for i in range(6)]
    f = [sum(Fraction(K[i, j]) * beta[j] for j in range(6)) for i in range(6)]
    _, r = residual(problem, K, alpha, mu)
    for v in range(12):
        s = Fraction(sign[v])
        exact = s * f[v % 6] + Fraction(problem.p[v]) + s * m[0] + m[1]
        assert abs(Fraction(r[v]) - exact) <= abs(exact) * Fraction(1, 10**15) + Fraction(1, 10**28)
    found = equality_residual(problem, alpha)
    assert found[0] == pytest.approx(float(sum(Fraction(s) * v for s, v in zip(sign, x, strict=True))), rel=1e-15)
    assert found[1] == pytest.approx(float(sum(x) - 3), rel=1e-15)
    for a, b in zip(add(alpha, alpha)[0] / 2, alpha[0], strict=True):
        assert a == b


def quadratic_of(K, sign):
    return Quadratic(Quadratic.dense(K).access, sign)


def test_double_double_values_need_multipliers_and_no_term():
    problem = Problem(
        Quadratic.dense(np.eye(2)), -np.ones(2), np.empty((0, 2)), np.empty(0), np.zeros(2), np.ones(2) * 5
    )
    point, mu, nothing = np.ones(2), np.empty(0), (np.zeros(2), np.empty(0))
    assert optimality(problem, point, mu, remainder=nothing).gap == 0.0
    shifted = optimality(problem, point, mu, remainder=(np.full(2, 1e-20), np.empty(0)))
    assert shifted.gap == pytest.approx(2e-20, rel=1e-6)  # r = 1e-20, and the distance from 1 to the bound 0 is one
    with pytest.raises(ValueError, match="multipliers"):
        optimality(problem, point, remainder=nothing)
    curved = Problem(problem.Q, problem.p, problem.A, problem.d, problem.lower, problem.upper, Diagonal(np.ones(2)))
    with pytest.raises(ValueError, match="term"):
        optimality(curved, point, mu, remainder=nothing)
