"""Optimality of points: formula (4) agrees with LwK (10.6)–(10.8), and its values bound the optimum up to rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.strategies import programs
from hinge import formulations
from hinge.kernels import Precomputed, open_access
from hinge.problems import Problem, Quadratic, optimality
from hinge.problems.certificate import relative
from reference import textbook

FORMULATIONS = ("CSVC", "NuSVC", "SVR", "NuSVR", "OneClass")

every_formulation = pytest.mark.parametrize("name", FORMULATIONS)
seeds = st.integers(0, 2**32 - 1)


def with_sum(shares, upper, total):
    """Return α = min(upper, t · shares) with the t for which Σα = total, by bisection."""
    low, high = 0.0, 1.0
    while np.minimum(upper, high * shares).sum() < total:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.minimum(upper, middle * shares).sum() < total else (low, middle)
    return np.minimum(upper, high * shares)


def random_formulation(name, rng, n=14):
    """Return (formulation of hinge, textbook problem, random feasible α, its coefficients)."""
    F = rng.normal(size=(n, 5))
    K, weight = F @ F.T, rng.uniform(0.3, 2, n)
    y, C = np.where(np.arange(n) < 5, 1.0, -1.0), 10.0 ** rng.uniform(-2, 2)
    shares = rng.uniform(0.1, 1, n) * (rng.random(n) < 0.7) + 1e-3
    if name == "CSVC":
        total = C * rng.uniform(0.05, 0.9) * min(weight[y > 0].sum(), weight[y < 0].sum())
        alpha = np.empty(n)
        for side in (y > 0, y < 0):
            alpha[side] = with_sum(shares[side], C * weight[side], total)
        ours, theirs = formulations.CSVC(y, C * weight), textbook.CSVC(K, weight, y, C)
        return ours, theirs, alpha, y * alpha
    if name == "NuSVC":
        nu = rng.uniform(0.1, 0.95) * 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
        ours, theirs = formulations.NuSVC(y, weight, nu), textbook.NuSVC(K, weight, y, nu)
        alpha = np.empty(n)
        for side in (y > 0, y < 0):
            alpha[side] = with_sum(shares[side], weight[side], theirs.mass / 2)
        return ours, theirs, alpha, y * alpha
    if name == "OneClass":
        nu = rng.uniform(0.1, 0.95)
        ours, theirs = formulations.OneClass(weight, nu), textbook.OneClass(K, weight, nu)
        alpha = with_sum(shares, weight, theirs.mass)
        return ours, theirs, alpha, alpha
    target, up = rng.normal(size=n), rng.random(n) < 0.5
    up[:2] = True, False
    if name == "SVR":
        epsilon = rng.uniform(0, 0.5)
        ours = formulations.SVR(target, C * weight, epsilon)
        theirs = textbook.SVR(K, weight, target, C, epsilon)
        total = C * rng.uniform(0.05, 0.9) * min(weight[up].sum(), weight[~up].sum())
    else:
        nu = rng.uniform(0.1, 0.95) * min(1.0, 2 * min(weight[up].sum(), weight[~up].sum()) / weight.sum())
        ours, theirs = formulations.NuSVR(target, C * weight, nu), textbook.NuSVR(K, weight, target, C, nu)
        total = theirs.mass / 2
    alpha = np.zeros(2 * n)
    alpha[:n][up] = with_sum(shares[up], C * weight[up], total)
    alpha[n:][~up] = with_sum(shares[~up], C * weight[~up], total)
    return ours, theirs, alpha, alpha[:n] - alpha[n:]


def multipliers(name, rng):
    """Return (offsets of the textbook, the same as μ); docs/math (10)–(14)."""
    b, other = rng.normal(size=2)
    return {
        "CSVC": ((b,), [b]),
        "SVR": ((b,), [b]),
        "NuSVC": ((b, other), [b - other, -b - other]),
        "NuSVR": ((b, other), [other + b, other - b]),
        "OneClass": ((other,), [-other]),
    }[name]


class TestTextbook:
    @every_formulation
    @given(seed=seeds)
    def test_the_gap_agrees_with_the_textbook_at_any_offset(self, name, seed):
        """(4) at a random feasible α and random b, ρ, ε, against (10.6), (10.7), (10.8)."""
        rng = np.random.default_rng(seed)
        ours, theirs, alpha, coef = random_formulation(name, rng)
        offsets, mu = multipliers(name, rng)
        problem = ours.build(open_access(Precomputed(), theirs.K))
        found = optimality(problem, alpha, np.array(mu))
        assert found.gap == pytest.approx(theirs.textbook_gap(coef, *offsets), rel=1e-9)
        assert found.dual == pytest.approx(theirs.dual(coef), rel=1e-9, abs=1e-9 * found.gap)
        assert found.primal == pytest.approx(
            theirs.primal_at(coef, *offsets), rel=1e-9, abs=1e-9 * found.gap
        )

    @every_formulation
    @given(seed=seeds)
    def test_the_gap_agrees_with_the_textbook_at_the_best_offset(self, name, seed):
        rng = np.random.default_rng(seed)
        ours, theirs, alpha, coef = random_formulation(name, rng)
        found = optimality(ours.build(open_access(Precomputed(), theirs.K)), alpha)
        assert found.gap == pytest.approx(theirs.gap(coef), rel=1e-9)
        assert found.primal == pytest.approx(theirs.primal(coef), rel=1e-9, abs=1e-9 * found.gap)
        assert found.infeasibility <= 1e-12 * (1 + np.abs(alpha).sum())

    def test_both_variables_of_a_sample_may_be_positive(self):
        """(10.8) with α > 0 and α* > 0, which may happen off the optimum."""
        rng = np.random.default_rng(0)
        F = rng.normal(size=(6, 3))
        K, y, epsilon, b = F @ F.T, rng.normal(size=6), 0.2, 0.3
        alpha, star = rng.uniform(0, 2, (2, 6))
        star *= alpha.sum() / star.sum()
        C = 1.1 * max(alpha.max(), star.max())
        problem = formulations.SVR(y, np.full(6, C), epsilon).build(open_access(Precomputed(), K))
        f = K @ (alpha - star) + b
        printed = np.sum(
            C * np.maximum(0, y - f - epsilon)
            + C * np.maximum(0, f - y - epsilon)
            + alpha * (epsilon + f - y)
            + star * (epsilon - f + y)
        )
        assert optimality(problem, np.r_[alpha, star], np.array([b])).gap == pytest.approx(printed, rel=1e-12)


class TestBounds:
    @given(program=programs(bounded=True, max_exponent=3), seed=seeds)
    def test_weak_duality(self, program, seed):
        """dual ≤ optimum ≤ primal at any feasible point, for any multipliers."""
        rng = np.random.default_rng(seed)
        problem, optimum = program.problem(), program.optimum()
        slack = optimum.error + 1e-9 * program.steepness * program.reach * program.size
        between = optimum.x + rng.random() * (program.feasible - optimum.x)
        for alpha in (program.feasible, between, optimum.x):
            for mu in (None, rng.normal(size=len(program.A)) * program.steepness):
                found = optimality(problem, np.clip(alpha, program.lower, program.upper), mu)
                assert found.dual <= -optimum.value + slack
                assert found.primal >= -optimum.value - slack
                assert found.gap >= -slack

    @given(program=programs(bounded=True, max_exponent=3))
    def test_gap_is_primal_minus_dual_and_dual_is_minus_the_value(self, program):
        found = optimality(program.problem(), program.feasible)
        rounding = 1e-12 * program.steepness * program.reach * program.size
        assert found.primal - found.dual == pytest.approx(found.gap, abs=rounding)
        assert found.dual == pytest.approx(-program.value(program.feasible), abs=rounding)

    @given(program=programs(bounded=True, max_exponent=2))
    def test_the_gap_is_zero_at_the_optimum(self, program):
        optimum = program.optimum()
        found = optimality(program.problem(), optimum.x)
        scale = program.steepness * program.reach * program.size
        assert found.gap <= optimum.error + 1e-7 * scale
        assert found.infeasibility <= optimum.error + 1e-7 * max(scale, program.reach)

    def test_gap_is_zero_at_an_optimum_in_closed_form(self):
        """min ½(α₁² + α₂²) − α₁ − α₂, α₁ = α₂ in [0, C]: α = min(1, C), b = 0."""
        for C, alpha in ((3.0, 1.0), (0.25, 0.25)):
            y = np.array([1.0, -1.0])
            problem = formulations.CSVC(y, np.full(2, C)).build(open_access(Precomputed(), np.eye(2)))
            found = optimality(problem, np.full(2, alpha))
            assert found.gap == 0
            assert found.relative_gap == 0
            assert found.kkt_violation == 0
            assert found.mu[0] == 0
            assert found.primal == found.dual == 2 * alpha - alpha**2

    def test_a_given_gradient_is_used(self):
        problem = Problem(Quadratic.dense(np.eye(2)), [0, 0], np.empty((0, 2)), [], [0, 0], [1, 1])
        alpha = np.array([0.5, 0.5])
        assert optimality(problem, alpha).gap == 0.5
        assert optimality(problem, alpha, gradient=np.array([2.0, 0.0])).gap == 1.0


class TestViolations:
    def problem(self, lower, upper, p=(0.0, 0.0), A=((1.0, 1.0),), d=(1.0,)):
        return Problem(
            Quadratic.dense(np.zeros((2, 2))), p, np.array(A).reshape(len(d), 2), list(d), lower, upper
        )

    @pytest.mark.parametrize(
        ("alpha", "expected"),
        [([0.5, 0.5], 0.0), ([0.5, 0.75], 0.25), ([1.25, -0.25], 0.25), ([1.0, 0.0], 0.0), ([3.0, 0.0], 2.0)],
        ids=str,
    )
    def test_infeasibility_is_the_largest_violation_of_a_row_or_a_box(self, alpha, expected):
        found = optimality(self.problem([0, 0], [1, 1]), np.array(alpha))
        assert found.infeasibility == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("alpha", "residual", "expected"),
        [
            ([0.0, 1.0], [3.0, -2.0], 0.0),  # at bounds, gradients point outwards
            ([0.0, 1.0], [-3.0, 2.0], 3.0),  # at bounds, gradients point inwards
            ([0.5, 1.0], [0.25, -2.0], 0.25),  # a free variable with a gradient
            ([0.5, 1.0], [-0.25, -2.0], 0.25),
            ([1e-12, 1.0], [3.0, -2.0], 0.0),  # at the bound up to rounding
        ],
        ids=str,
    )
    def test_the_kkt_violation_is_the_largest_gradient_towards_the_interior(self, alpha, residual, expected):
        problem = self.problem([0, 0], [1, 1], p=residual, A=(), d=())
        assert optimality(problem, np.array(alpha)).kkt_violation == pytest.approx(expected)

    @pytest.mark.parametrize(("residual", "pushed"), [(-0.125, np.inf), (0.125, -np.inf)])
    def test_a_gradient_towards_an_infinite_bound_is_an_infeasibility(self, residual, pushed):
        """The lower bound (3) is −∞: the gap covers the other variables only."""
        lower, upper = np.zeros(2), np.ones(2)
        (upper if pushed > 0 else lower)[0] = pushed
        problem = self.problem(lower, upper, p=(residual, 0.5), A=(), d=())
        found = optimality(problem, np.array([0.25, 0.5]))
        assert found.infeasibility == 0.125
        assert found.gap == 0.25

    def test_infinite_bounds_without_gradients_are_feasible(self):
        problem = self.problem([0, -np.inf], [np.inf, np.inf], p=(0.5, 0.0), A=(), d=())
        found = optimality(problem, np.array([0.0, 7.0]))
        assert found.infeasibility == 0
        assert found.gap == 0

    def test_nan_in_the_point_has_no_small_gap(self):
        problem = self.problem([0, 0], [1, 1], A=(), d=())
        for found in (
            optimality(problem, np.array([np.nan, 0.5])),
            optimality(problem, np.array([0.5, 0.5]), gradient=np.array([np.nan, 0.0])),
        ):
            assert not found.relative_gap < 1


class TestRelative:
    """LwK (10.9)."""

    @pytest.mark.parametrize(
        ("gap", "primal", "dual", "expected"),
        [
            (1.0, 3.0, 2.0, 0.4),
            (1.0, -2.0, -3.0, 0.4),
            (2.0, 1.0, -1.0, 2.0),
            (0.0, 0.0, 0.0, 0.0),
            (1e-9, 0.0, 0.0, np.inf),
            (np.inf, np.inf, 3.0, np.inf),
            (np.inf, np.inf, -np.inf, np.inf),
        ],
    )
    def test_values_of_the_formula(self, gap, primal, dual, expected):
        assert relative(gap, primal, dual) == pytest.approx(expected)

    @given(program=programs(bounded=True, max_exponent=3))
    def test_the_relative_gap_of_a_certificate_is_the_formula(self, program):
        found = optimality(program.problem(), program.feasible)
        scale = (abs(found.primal) + abs(found.dual)) / 2
        assert found.relative_gap == (found.gap / scale if scale > 0 else 0)

    @given(program=programs(bounded=True, max_exponent=2), power=st.integers(-20, 20))
    def test_the_relative_gap_is_invariant_under_scaling(self, program, power):
        """Multiplying Q and p by a power of two is exact."""
        scaled = Problem(
            Quadratic(open_access(Precomputed(), 2.0**power * program.K), program.sign),
            2.0**power * program.p,
            program.A,
            program.d,
            program.lower,
            program.upper,
        )
        one, other = optimality(program.problem(), program.feasible), optimality(scaled, program.feasible)
        assert other.relative_gap == one.relative_gap
        assert other.gap == 2.0**power * one.gap
