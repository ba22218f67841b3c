"""Bounds of problems with a diagonal matrix, whose optimum is known in rational arithmetic, with the largest errors.

The gradient, the boxes and the totals of the rows are wrong by as much as the problem allows, in any direction. The
bounds must enclose the optimum of the true problem, although the point is close to it: a missing error is visible.
"""

from fractions import Fraction

import numpy as np
import pytest

from hinge.kernels import Precomputed, open_access
from hinge.problems import Diagonal, Problem, Quadratic, certify

SEEDS = range(40)


def optimum(curvature, p, row, total, lower, upper):
    """Return (α, μ, value) of min ½ Σ qα² + pᵀα, rowᵀα = total, l ≤ α ≤ u, for rational data and rows of ±1.

    α(μ) = clip(−(p + row μ)/q); the sum of the row is a decreasing, piecewise linear function of μ.
    """

    def point(mu):
        steps = zip(curvature, p, row, lower, upper, strict=True)
        return [min(max(-(b + a * mu) / q, low), high) for q, b, a, low, high in steps]

    def surplus(mu):
        return sum(a * x for a, x in zip(row, point(mu), strict=True)) - total

    if not any(row):
        x = point(Fraction(0))
        return x, Fraction(0), -sum(q * a * a / 2 + b * a for q, a, b in zip(curvature, x, p, strict=True))
    columns = list(zip(curvature, p, row, lower, upper, strict=True))
    knots = sorted({-(q * x + b) / a for q, b, a, *box in columns for x in box})
    assert surplus(knots[0] - 1) >= 0 >= surplus(knots[-1] + 1)
    low = max((k for k in knots if surplus(k) >= 0), default=knots[0] - 1)
    high = min((k for k in knots if surplus(k) <= 0), default=knots[-1] + 1)
    at_low, at_high = surplus(low), surplus(high)
    mu = low if at_low == at_high else low + (high - low) * at_low / (at_low - at_high)
    x = point(mu)
    value = sum(q * a * a / 2 + b * a for q, a, b in zip(curvature, x, p, strict=True))
    return x, mu, -value


def exact(values):
    return [Fraction(float(v)) for v in values]


def random_case(rng, relative, ridge, with_row):
    """A problem with errors `relative` of boxes and totals, the true problem, and a point close to its optimum."""
    n = int(rng.integers(2, 7))
    q = 10.0 ** rng.uniform(-3, 3, n)
    p = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-3, 3, n)
    row = np.where(np.arange(n) % 2, 1.0, -1.0) if with_row else np.zeros(n)
    lower, upper = np.where(rng.random(n) < 0.5, -1.0, 0.0) * rng.random(n), rng.uniform(0.5, 2.0, n)
    inside = lower + (upper - lower) * rng.uniform(0.2, 0.8, n)
    total = float(row @ inside)
    d = 10.0 ** rng.uniform(-3, 3, n) if ridge else np.zeros(n)
    A = row[None, :] if with_row else np.empty((0, n))
    term = Diagonal(d) if ridge else None
    totals = [total] if with_row else []
    quadratic = Quadratic(open_access(Precomputed(), np.diag(q)), np.ones(n))
    problem = Problem(quadratic, p, A, totals, lower, upper, term, relative, relative)
    wrong = Fraction(relative) * Fraction(99, 100)
    side = [Fraction(int(s)) for s in rng.choice([-1, 1], n + 1)]
    box = [[x * (1 + s * wrong) for x, s in zip(exact(bound), side[:n], strict=True)] for bound in (lower, upper)]
    curvature = [a + b * (1 + s * wrong) for a, b, s in zip(exact(q), exact(d), side[:n], strict=True)]
    true = curvature, exact(p), exact(row), Fraction(total) * (1 + side[n] * wrong), *box
    return problem, true


def assert_encloses(found, value):
    assert np.isinf(found.primal) or Fraction(found.primal) >= value
    assert np.isinf(found.dual) or Fraction(found.dual) <= value


@pytest.mark.parametrize("with_row", [True, False], ids=["row", "no row"])
@pytest.mark.parametrize("ridge", [False, True], ids=["no ridge", "ridge"])
@pytest.mark.parametrize("relative", [0.0, 1e-15, 1e-9, 1e-5])
def test_bounds_near_the_optimum_enclose_it(relative, ridge, with_row):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        problem, true = random_case(rng, relative, ridge, with_row)
        x, mu, value = optimum(*true)
        alpha = np.array([float(v) for v in x])
        alpha *= 1 + rng.choice([0.0, 1e-12, 1e-6]) * rng.uniform(-1, 1, len(x))  # outside the box, or off the row
        size = rng.choice([0.0, 1e-12, 1e-6])
        q = problem.Q.access.diagonal()
        exact_gradient = [a * x + b for a, x, b in zip(exact(q), exact(alpha), true[1], strict=True)]
        gradient = np.array([float(g) for g in exact_gradient])
        error = size * np.abs(gradient)
        wrong = gradient + 0.99 * error * rng.choice([-1.0, 1.0]) * rng.choice([-1.0, 1.0], len(x))
        multipliers = np.array([float(mu)] if with_row else [])
        found = certify(problem, alpha, multipliers, wrong, error=error)
        assert_encloses(found, value)


def test_bounds_of_exact_points_differ_from_the_optimum_by_rounding_errors_only():
    """At points without any other error, where each rounding error decides."""
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        q, p = rng.uniform(0.5, 2.0, n), -rng.uniform(0.5, 2.0, n)
        quadratic = Quadratic(open_access(Precomputed(), np.diag(q)), np.ones(n))
        upper = rng.choice([0.25, 10.0], n)
        problem = Problem(quadratic, p, np.empty((0, n)), [], np.zeros(n), upper)
        x, _, value = optimum(exact(q), exact(p), [Fraction(0)] * n, Fraction(0), exact(np.zeros(n)), exact(upper))
        alpha = np.array([float(v) for v in x])
        found = certify(problem, alpha, np.empty(0), q * alpha + p, error=2.0**-53 * q * alpha)
        assert_encloses(found, value)
        assert found.gap <= 1e-13 * n


def test_infinite_bounds_give_no_upper_bound_that_the_function_does_not_prove():
    """min ½ Σ q α² + pᵀα for α ≥ 0: a point whose gradient is negative proves only what its multiple proves."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 6))
        q, p = 10.0 ** rng.uniform(-2, 2, n), -(10.0 ** rng.uniform(-2, 2, n))
        quadratic = Quadratic(open_access(Precomputed(), np.diag(q)), np.ones(n))
        problem = Problem(quadratic, p, np.empty((0, n)), [], np.zeros(n), np.full(n, np.inf))
        value = sum(b * b / (2 * a) for a, b in zip(exact(q), exact(p), strict=True))
        alpha = -p / q * rng.uniform(0.3, 1.7, n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])
        assert_encloses(certify(problem, alpha), value)


def test_rows_that_share_variables():
    """Two rows: the sums of all variables and of some of them."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 8))
        A = np.vstack([np.ones(n), np.where(np.arange(n) < n // 2, 1.0, -1.0)])
        inside = rng.uniform(0.2, 0.8, n)
        q = rng.uniform(0.5, 2.0, n)
        quadratic = Quadratic(open_access(Precomputed(), np.diag(q)), np.ones(n))
        p = -q * inside  # the optimum is `inside` without its rounding errors
        problem = Problem(quadratic, p, A, A @ inside, np.zeros(n), np.ones(n))
        points = [certify(problem, inside * (1 + size * rng.uniform(-1, 1, n))) for size in (0.0, 1e-9, 1e-3, 0.1)]
        assert max(found.dual for found in points) <= min(found.primal for found in points)
        assert min(found.primal for found in points) >= float(np.sum(q * inside**2) / 2) * (1 - 1e-14)
        assert points[0].gap <= 1e-12
