"""Optimal multipliers have the smallest gap: compared with all kinks, their crossings, and fine grids."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from hinge.problems import Problem, Quadratic, certify, optimal_offset, optimality

INFINITE = float("inf")
quarters = st.integers(-20, 20).map(lambda k: k / 4)


def problem_of(rows, alpha, lower, upper):
    rows = np.asarray(rows, float).reshape(-1, len(alpha))
    return Problem(
        Quadratic.dense(np.eye(len(alpha))), np.zeros(len(alpha)), rows, rows @ alpha, lower, upper
    )


def gap(problem, alpha, gradient, mu, zero=1e-9):
    """Return the gap (4), or infinity if a gradient points towards an infinite bound."""
    residual = gradient + np.asarray(mu) @ problem.A
    towards = np.where(residual > 0, problem.lower, problem.upper)
    open_end = ~np.isfinite(towards)
    if np.any(np.abs(residual[open_end]) > zero):
        return np.inf
    return float(np.sum(residual[~open_end] * (alpha - towards)[~open_end]))


@st.composite
def points(draw, rows=1, max_size=7, unbounded=True):
    """Few distinct numbers, exact in binary, so that kinks coincide and the gap is constant on intervals."""
    size = draw(st.integers(1, max_size))
    ends = st.tuples(st.integers(-3, 3), st.sampled_from([0, 0, 1, 2, 5]))
    lower, upper, alpha = np.empty(size), np.empty(size), np.empty(size)
    for v in range(size):
        low, width = draw(ends)
        lower[v], upper[v] = low, low + width
        alpha[v] = low + draw(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1.0])) * width
        if unbounded and draw(st.integers(0, 5)) == 0:
            upper[v] = INFINITE
        if unbounded and draw(st.integers(0, 7)) == 0:
            lower[v] = -INFINITE
    gradient = np.array([draw(quarters) for _ in range(size)])
    entries = st.sampled_from([1.0, 1.0, -1.0, -1.0, 0.5, -2.0, 0.0])
    A = np.array([[draw(entries) for _ in range(size)] for _ in range(rows)])
    return problem_of(A, alpha, lower, upper), alpha, gradient


def kinks_of(row, gradient):
    used = row != 0
    return np.unique(-gradient[used] / row[used])


class TestOneRow:
    @given(point=points())
    def test_no_kink_is_better(self, point):
        """A convex, piecewise linear function that is bounded below has its minimum at a kink."""
        problem, alpha, gradient = point
        kinks = kinks_of(problem.A[0], gradient)
        best = min(gap(problem, alpha, gradient, [kink]) for kink in [*kinks, 0.0])
        mu = optimal_offset(problem, alpha, gradient)
        assert mu.shape == (1,)
        assert np.isfinite(mu).all()
        if np.isfinite(best):
            assert gap(problem, alpha, gradient, mu) <= best + 1e-10

    @given(point=points(unbounded=False))
    def test_the_middle_of_an_interval_of_minimizers_is_returned(self, point):
        """An interval between two kinks."""
        problem, alpha, gradient = point
        kinks = kinks_of(problem.A[0], gradient)
        assume(len(kinks))
        values = np.array([gap(problem, alpha, gradient, [kink]) for kink in kinks])
        ends = kinks[values <= values.min() + 1e-12]
        beyond = [
            gap(problem, alpha, gradient, [mu]) <= values.min() + 1e-12 for mu in (ends[0] - 1, ends[-1] + 1)
        ]
        assume(not any(beyond))  # unbounded intervals have their own test
        (mu,) = optimal_offset(problem, alpha, gradient)
        assert mu == pytest.approx(0.5 * (ends[0] + ends[-1]), abs=1e-12)

    @given(point=points(), shift=quarters)
    def test_a_shift_of_the_gradient_along_the_row_shifts_the_multiplier(self, point, shift):
        """For g + a·t the multiplier is μ − t: a constant added to the kernel changes b only."""
        problem, alpha, gradient = point
        assume(np.any(problem.A[0] != 0))
        one = optimal_offset(problem, alpha, gradient)
        other = optimal_offset(problem, alpha, gradient + shift * problem.A[0])
        best = gap(problem, alpha, gradient, one)
        assert gap(problem, alpha, gradient, other + shift) == pytest.approx(best, abs=1e-9)

    @given(point=points(unbounded=False), order=st.randoms(use_true_random=False))
    def test_the_order_of_samples_does_not_matter(self, point, order):
        problem, alpha, gradient = point
        turn = list(range(len(alpha)))
        order.shuffle(turn)
        turned = problem_of(problem.A[:, turn], alpha[turn], problem.lower[turn], problem.upper[turn])
        one = optimal_offset(problem, alpha, gradient)
        np.testing.assert_allclose(optimal_offset(turned, alpha[turn], gradient[turn]), one, atol=1e-12)

    def test_two_samples_without_support_vectors(self):
        """C max(0, 1 − b) + C max(0, 1 + b) is constant between −1 and 1."""
        problem = problem_of([1.0, -1.0], np.zeros(2), np.zeros(2), np.ones(2))
        assert optimal_offset(problem, np.zeros(2), -np.ones(2)) == [0.0]
        assert optimal_offset(problem, np.zeros(2), np.array([-3.0, -1.0])) == [1.0]

    @pytest.mark.parametrize(("alpha", "end"), [(0.0, 2.0), (1.0, -2.0)])
    def test_the_end_of_an_unbounded_interval_of_minimizers_is_returned(self, alpha, end):
        """One variable at its bound: all μ beyond the kink have the same gap."""
        problem = problem_of([1.0], np.array([alpha]), np.zeros(1), np.ones(1))
        assert optimal_offset(problem, np.array([alpha]), np.array([-end])) == [end]

    def test_a_free_variable_determines_the_multiplier(self):
        problem = problem_of(np.ones(3), np.array([0.0, 0.5, 1.0]), np.zeros(3), np.ones(3))
        assert optimal_offset(problem, np.array([0.0, 0.5, 1.0]), np.array([4.0, 0.75, -4.0])) == [-0.75]

    def test_the_multiplier_is_a_weighted_median(self):
        """Weights 1 and 1 + 1 + 1, then 10 and 3."""
        g, alpha = np.array([0.0, 4.0, 4.0, 4.0]), np.array([0.5, 0.5, 0.5, 0.5])
        for heavy, expected in ((1.0, -4.0), (10.0, 0.0)):
            upper = np.array([heavy, 1.0, 1.0, 1.0])
            at = np.array([heavy / 2, 0.5, 0.5, 0.5])
            assert optimal_offset(problem_of(np.ones(4), alpha, np.zeros(4), upper), at, g) == [expected]

    def test_a_zero_row_has_the_multiplier_zero(self):
        """A class without samples."""
        problem = problem_of(np.zeros(2), np.zeros(2), np.zeros(2), np.ones(2))
        assert optimal_offset(problem, np.zeros(2), np.ones(2)) == [0.0]

    def test_without_rows_there_are_no_multipliers(self):
        problem = problem_of(np.empty((0, 2)), np.zeros(2), np.zeros(2), np.ones(2))
        assert optimal_offset(problem, np.zeros(2), np.ones(2)).shape == (0,)


class TestInfiniteBounds:
    def test_the_middle_of_the_feasible_interval_is_returned(self):
        """α = 0, u = ∞: yᵢ(gᵢ + b) ≥ 1 must hold for all samples."""
        y = np.array([1.0, 1.0, -1.0])
        problem = problem_of(y, np.zeros(3), np.zeros(3), np.full(3, INFINITE))
        margin = np.array([3.0, 2.0, 3.0])  # y f − 1 without offset
        assert optimal_offset(problem, np.zeros(3), margin) == [0.5]

    def test_contradictory_conditions_have_equal_violations(self):
        """b ≥ 1 and b ≤ −1: no gap is finite."""
        y = np.array([1.0, -1.0])
        problem = problem_of(y, np.zeros(2), np.zeros(2), np.full(2, INFINITE))
        (mu,) = optimal_offset(problem, np.zeros(2), np.array([-3.0, -1.0]))
        assert mu == 1.0
        assert certify(problem, np.zeros(2), np.array([mu]), np.array([-3.0, -1.0])).infeasibility == 2.0

    def test_an_unbounded_variable_determines_the_multiplier(self):
        """−∞ ≤ α ≤ ∞: its residual must be zero."""
        lower, upper = np.array([0.0, -INFINITE]), np.array([1.0, INFINITE])
        problem = problem_of([1.0, -0.5], np.array([0.0, 3.0]), lower, upper)
        assert optimal_offset(problem, np.array([0.0, 3.0]), np.array([-5.0, 1.0])) == [2.0]


class TestTwoRows:
    @given(one=points(max_size=4), other=points(max_size=4))
    def test_disjoint_rows_are_independent(self, one, other):
        (first, alpha, g), (second, beta, h) = one, other
        rows = np.zeros((2, len(alpha) + len(beta)))
        rows[0, : len(alpha)], rows[1, len(alpha) :] = first.A[0], second.A[0]
        both = problem_of(
            rows, np.r_[alpha, beta], np.r_[first.lower, second.lower], np.r_[first.upper, second.upper]
        )
        mu = optimal_offset(both, np.r_[alpha, beta], np.r_[g, h])
        expected = [*optimal_offset(first, alpha, g), *optimal_offset(second, beta, h)]
        np.testing.assert_array_equal(mu, expected)

    @given(point=points(rows=2, max_size=5))
    def test_no_crossing_of_kinks_is_better(self, point):
        """Rows that share variables: the minimum is at a crossing of two lines of kinks, or on one of them."""
        problem, alpha, gradient = point
        candidates = [np.zeros(2)]
        for v, w in itertools.combinations_with_replacement(range(problem.size), 2):
            lines, levels = problem.A[:, [v, w]].T, -gradient[[v, w]]
            candidates.append(np.linalg.lstsq(lines, levels, rcond=None)[0])
        best = min(gap(problem, alpha, gradient, mu) for mu in candidates)
        mu = optimal_offset(problem, alpha, gradient)
        assert np.isfinite(mu).all()
        if np.isfinite(best):
            assert gap(problem, alpha, gradient, mu, zero=1e-7) <= best + 1e-7

    @pytest.mark.parametrize("seed", range(3))
    def test_overlapping_rows_against_a_fine_grid(self, seed):
        """yᵀα and 1ᵀα, the rows of ν-classification in the textbook: linear program, grid and simplex search agree."""
        rng = np.random.default_rng(seed)
        y, upper = np.where(np.arange(9) < 4, 1.0, -1.0), rng.uniform(0.5, 2, 9)
        alpha = upper * rng.choice([0.0, 1.0, 0.3], 9)
        gradient = rng.normal(size=9)
        problem = problem_of([y, np.ones(9)], alpha, np.zeros(9), upper)
        mu = optimal_offset(problem, alpha, gradient)
        found = gap(problem, alpha, gradient, mu)
        wide, near = np.linspace(-4, 4, 201), np.linspace(-0.05, 0.05, 101)
        for center, ticks in ((np.zeros(2), wide), (mu, near)):
            grid = center[:, None] + np.array(np.meshgrid(ticks, ticks)).reshape(2, -1)
            residual = gradient[:, None] + problem.A.T @ grid
            towards = np.where(residual > 0, 0.0, upper[:, None])
            assert np.all(np.sum(residual * (alpha[:, None] - towards), axis=0) >= found - 1e-9)
        search = minimize(
            lambda m: gap(problem, alpha, gradient, m),
            mu + 0.3,
            method="Nelder-Mead",
            options=dict(xatol=1e-9, fatol=1e-11),
        )
        assert found <= search.fun + 1e-9
        assert search.fun == pytest.approx(found, abs=1e-3)

    def test_overlapping_rows_with_infinite_bounds(self):
        """Two samples of each class without upper bounds, and both rows: infinite bounds determine b and ρ."""
        y = np.array([1.0, 1.0, -1.0, -1.0])
        problem = problem_of([y, np.ones(4)], np.zeros(4), np.zeros(4), np.full(4, INFINITE))
        gradient = np.array([-5.0, 2.0, -1.0, 3.0])
        mu = optimal_offset(problem, np.zeros(4), gradient)
        assert np.min(gradient + mu @ problem.A) >= -1e-9
        assert optimality(problem, np.zeros(4), mu, gradient).gap <= 1e-9

    def test_contradictory_conditions_of_overlapping_rows_prove_nothing(self):
        """μ₁ + μ₂ = −1 and μ₁ + μ₂ = 1: the multipliers are finite."""
        problem = problem_of(np.ones((2, 2)), np.zeros(2), np.full(2, -INFINITE), np.full(2, INFINITE))
        gradient = np.array([1.0, -1.0])
        mu = optimal_offset(problem, np.zeros(2), gradient)
        assert np.isfinite(mu).all()
        assert not certify(problem, np.zeros(2), mu, gradient).proves(0.5)
