"""Rigorous certificates: the bounds enclose the optimum in exact arithmetic, at any point and with any multipliers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hinge import _core
from hinge.formulations import CSVC
from hinge.kernels import Precomputed, open_access
from hinge.problems import (
    Bias,
    Certificate,
    Diagonal,
    History,
    KnownProducts,
    LinearProblem,
    LinearSolution,
    Problem,
    Quadratic,
    Status,
    certify,
    certify_linear,
)

seeds = st.integers(0, 2**32 - 1)


def exact(values):
    return [Fraction(float(v)) for v in values]


def exact_value(problem, K, alpha):
    """½αᵀQα + pᵀα + ½Σdα² in rational arithmetic."""
    beta = [s * a for s, a in zip(exact(problem.Q.sign), alpha, strict=True)]
    quadratic = sum(b * Fraction(float(K[i, j])) * c for i, b in enumerate(beta) for j, c in enumerate(beta))
    linear = sum(p * a for p, a in zip(exact(problem.p), alpha, strict=True))
    ridge = exact(problem.term.d) if problem.term is not None else [Fraction(0)] * len(alpha)
    return quadratic / 2 + linear + sum(d * a * a for d, a in zip(ridge, alpha, strict=True)) / 2


def random_problem(rng, ridge=False):
    """A C-classification problem with entries of very different sizes, and a matrix that defines it exactly."""
    n = int(rng.integers(2, 9))
    scale = 10.0 ** rng.uniform(-6, 6)
    G = scale * rng.integers(-3, 4, size=(n, n))  # G Gᵀ is exact up to one rounding per entry, and symmetric
    K = G @ G.T
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    cost = 10.0 ** rng.uniform(-8, 8) * rng.uniform(0.5, 2.0, n)
    term = Diagonal(10.0 ** rng.uniform(-3, 3, n)) if ridge else None
    problem = CSVC(y, cost).build(open_access(Precomputed(), K))
    problem = Problem(problem.Q, problem.p, problem.A, problem.d, problem.lower, problem.upper, term)
    return problem, K, y, cost


def feasible_point(rng, y, cost):
    """A point in rational arithmetic with Σyα = 0 and 0 ≤ α ≤ cost."""
    alpha = [Fraction(float(a)) * Fraction(float(c)) for a, c in zip(rng.random(len(y)), cost, strict=True)]
    sides = {s: sum(a for a, t in zip(alpha, y, strict=True) if t == s) for s in (1.0, -1.0)}
    smaller = min(sides.values())
    return [a * smaller / sides[t] if sides[t] else Fraction(0) for a, t in zip(alpha, y, strict=True)]


class TestBounds:
    @pytest.mark.parametrize("ridge", [False, True])
    @given(seed=seeds)
    def test_the_upper_bound_is_above_the_value_of_every_feasible_point(self, ridge, seed):
        """At random points, feasible or not, and random multipliers."""
        rng = np.random.default_rng(seed)
        problem, K, y, cost = random_problem(rng, ridge)
        alpha = cost * rng.uniform(-0.2, 1.2, len(y))
        found = certify(problem, alpha, rng.normal(size=1) * 10.0 ** rng.uniform(-6, 6))
        assert found.dual <= found.primal
        for _ in range(3):
            value = -exact_value(problem, K, feasible_point(rng, y, cost))
            assert np.isinf(found.primal) or Fraction(found.primal) >= value

    @pytest.mark.parametrize("ridge", [False, True])
    @given(seed=seeds)
    def test_the_lower_bound_is_below_the_upper_bound_of_every_other_point(self, ridge, seed):
        rng = np.random.default_rng(seed)
        problem, _, y, cost = random_problem(rng, ridge)
        points = [certify(problem, cost * np.clip(rng.uniform(-0.5, 1.5, len(y)), 0, 1)) for _ in range(4)]
        assert max(found.dual for found in points) <= min(found.primal for found in points)

    @given(seed=seeds)
    def test_an_error_of_the_gradient_is_included(self, seed):
        """The bounds of a perturbed gradient, with its error, enclose those of the gradient itself."""
        rng = np.random.default_rng(seed)
        problem, _, y, cost = random_problem(rng)
        alpha, mu = cost * rng.random(len(y)), rng.normal(size=1)
        gradient = problem.gradient(alpha)
        error = 10.0 ** rng.uniform(-9, 0) * np.abs(gradient)
        wrong = gradient + error * rng.uniform(-1, 1, len(y))
        sure = certify(problem, alpha, mu)
        found = certify(problem, alpha, mu, wrong, error=1.000001 * error + 1e-13 * np.abs(gradient))
        assert found.primal >= sure.primal - 1e-12 * abs(sure.primal)
        assert found.dual <= sure.dual + 1e-12 * abs(sure.dual)
        assert 0 <= found.rounding <= found.gap

    def test_an_optimum_in_closed_form_has_a_gap_of_rounding_errors(self):
        for C, alpha in ((3.0, 1.0), (0.25, 0.25)):
            problem = CSVC(np.array([1.0, -1.0]), np.full(2, C)).build(open_access(Precomputed(), np.eye(2)))
            found = certify(problem, np.full(2, alpha))
            assert found.dual <= 2 * alpha - alpha**2 <= found.primal
            assert found.gap <= 1e-14
            assert found.gap <= 1.01 * found.rounding + 1e-15

    def test_without_room_for_a_correction_there_is_no_lower_bound(self):
        """Σα = 2.5 is not possible in [0, 1]²."""
        problem = Problem(Quadratic.dense(np.eye(2)), [0, 0], np.ones((1, 2)), [2.5], [0, 0], [1, 1])
        found = certify(problem, np.ones(2))
        assert found.dual == -np.inf
        assert found.infeasibility == 0.5

    def test_infinite_costs_scale_the_function_to_the_margins(self):
        """min ½‖w‖² with margins of at least 1: K = I, two samples, optimum 1."""
        y = np.array([1.0, -1.0])
        problem = CSVC(y, np.full(2, np.inf)).build(open_access(Precomputed(), np.eye(2)))
        found = certify(problem, np.full(2, 0.8), np.zeros(1))
        assert found.primal == pytest.approx(1.0, rel=1e-9)
        assert found.primal >= 1.0
        assert found.dual <= 1.0
        assert certify(problem, np.full(2, -0.8), np.zeros(1)).primal == np.inf

    def test_errors_of_the_gradient_count_if_the_function_is_scaled_to_the_margins(self):
        """x = ±1: the margins of w = 1 − 2ε are too small, which an error of 2ε hides; the optimum is ½."""
        X, y, epsilon = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 1e-3
        problem = CSVC(y, np.full(2, np.inf)).build(open_access(Precomputed(), X @ X.T))
        found = certify(problem, np.full(2, 0.5 - epsilon), np.zeros(1), np.zeros(2), error=np.array([2 * epsilon]))
        assert found.primal >= 0.5

    def test_an_infeasible_point_proves_nothing_if_rows_share_variables_and_none_can_move(self):
        """α₁ + α₂ = α₂ + α₃ = 1: the smallest value is 3/2, and the infeasible point α = 0 has the value 0."""
        A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
        problem = Problem(Quadratic.dense(np.eye(3)), np.ones(3), A, np.ones(2), np.zeros(3), np.full(3, 5.0))
        assert certify(problem, np.zeros(3), np.zeros(2)).dual <= -1.5

    def test_nan_proves_nothing(self):
        problem = Problem(Quadratic.dense(np.eye(2)), [0, 0], np.empty((0, 2)), [], [0, 0], [1, 1])
        for found in (
            certify(problem, np.array([np.nan, 0.5])),
            certify(problem, np.array([0.5, 0.5]), gradient=np.array([np.nan, 0.0])),
        ):
            assert not found.proves(1e300)
            assert found.relative_gap == np.inf

    def test_an_indefinite_matrix_is_detected_if_the_bounds_cross(self):
        problem = Problem(Quadratic.dense(-np.eye(2)), [-1, -1], np.empty((0, 2)), [], [0, 0], [1, 1])
        found = certify(problem, np.ones(2), gradient=np.array([-2.0, -2.0]))
        assert found.dual <= found.primal


STORAGES = [np.asarray, np.float32, csr_array]


class TestLinear:
    @given(seed=seeds)
    def test_bounds_of_any_weights_and_dual_points_do_not_cross(self, seed):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
        X = 10.0 ** rng.uniform(-6, 6) * rng.normal(size=(n, d)) + 10.0 ** rng.uniform(-3, 6)
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        C, ridge = 10.0 ** rng.uniform(-6, 6), rng.choice([0.0, 0.5])
        bias = Bias(int(rng.integers(0, 3)))
        problem = LinearProblem(X, y, np.minimum(C * y, 0), np.maximum(C * y, 0), np.full(n, ridge), 0.0, bias)
        found = []
        for _ in range(4):
            beta = C * y * rng.random(n)
            offset = 0.0 if bias is Bias.NONE else rng.normal()
            found.append(certify_linear(problem, X.T @ beta * rng.choice([1.0, 1.1]), offset, beta))
        assert max(each.dual for each in found) <= min(each.primal for each in found)
        assert all(each.dual > -np.inf for each in found)

    @pytest.mark.parametrize("storage", STORAGES, ids=["double", "float", "csr"])
    @pytest.mark.parametrize("bias", list(Bias))
    @given(seed=seeds)
    @settings(max_examples=25)
    def test_plain_sums_enclose_the_exact_values(self, bias, storage, seed):
        """Chunks of 512 samples, lanes of four, and what remains after them."""
        problem, w, offset, beta = random_linear(np.random.default_rng(seed), bias, storage)
        assert_encloses(problem, w, offset, beta, certify_linear(problem, w, offset, beta, tol=1e6), 1e-10)

    def test_small_weights_that_are_lost_in_a_plain_sum_are_included(self):
        """The squares of 127 weights, each less than half a unit in the last place of the first one."""
        w, y = np.zeros(512), np.array([1.0, -1.0])
        w[::4], w[0] = 1.02e-8, 1.0
        problem = LinearProblem(np.zeros((2, 512)), y, np.minimum(1e-30 * y, 0), np.maximum(1e-30 * y, 0), np.zeros(2))
        assert Fraction(certify_linear(problem, w, 0.0, np.zeros(2), tol=1e6).primal) >= sum(
            Fraction(v) ** 2 for v in w
        ) / 2

    @pytest.mark.parametrize("storage", STORAGES, ids=["double", "float", "csr"])
    @pytest.mark.parametrize("bias", list(Bias))
    @pytest.mark.parametrize("side", [-1, 1])
    @given(seed=seeds)
    @settings(max_examples=15)
    def test_known_products_with_the_largest_allowed_errors_enclose_the_exact_values(self, side, bias, storage, seed):
        rng = np.random.default_rng(seed)
        problem, w, offset, beta = random_linear(rng, bias, storage)
        X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X.astype(np.float64)
        reach = 10.0 ** rng.uniform(0, 3) * np.linalg.norm(w)
        largest = (X.shape[1] + 8) * 2.0**-53 * reach * np.linalg.norm(X, axis=1)  # errors that have the worst sign
        f = X @ w + 0.99 * side * np.sign(beta) * largest
        of_distance = (len(X) + 8) * 2.0**-53 * float(np.abs(beta) @ np.linalg.norm(X, axis=1))
        distance = max(0.0, float(np.linalg.norm(w - X.T @ beta)) - 0.99 * of_distance)
        values = _core.LinearProducts(np.ascontiguousarray(f), float(reach), distance)
        solution = LinearSolution(
            weights=w, offset=offset, beta=beta, primal=0.0, dual=0.0, gap=0.0, violation=0.0, status=Status.SOLVED,
            iterations=0, history=History.empty(), products=KnownProducts(problem.X, w, beta, values),
        )  # fmt: skip
        assert_encloses(problem, w, offset, beta, solution.certificate(problem, tol=1e6), 1e-6)


def random_linear(rng, bias, storage):
    """A linear problem, weights, an offset, and a feasible dual point."""
    n, d = int(rng.choice([1, 3, 130, 511, 517, 1026])) * 2, int(rng.choice([1, 5, 14]))
    X = (10.0 ** rng.uniform(-3, 3, size=d) * rng.normal(size=(n, d))).astype(np.float32)
    same = rng.random() < 0.5  # the errors of equal samples have the same sign and add up
    X = storage(X[:1].repeat(n, axis=0) if same else X)
    y, C = np.where(np.arange(n) % 2, 1.0, -1.0), 2.0 ** rng.integers(-8, 8)
    ridge, tube = rng.choice([0.0, 0.3], size=n), rng.choice([0.0, 0.1])
    both = rng.random(n) < 0.3
    lower, upper = np.where(both | (y < 0), -C, 0.0), np.where(both | (y > 0), C, 0.0)
    target = y * (rng.normal() if same else 1.0) + rng.choice([0.0, 10.0]) * rng.normal(size=1 if same else n)
    problem = LinearProblem(X, target, lower, upper, ridge, tube, bias, 2.0)
    beta = np.repeat(C * rng.integers(0, 2**20, size=n // 2) / 2.0**20, 2) * y  # Σβ = 0 exactly
    offset = 0.0 if bias is Bias.NONE else rng.normal()
    w = np.asarray(X.T @ beta, dtype=np.float64) * rng.choice([1.0, 0.7])
    if same:  # products that cancel, or none
        first = np.asarray(X[[0]] @ np.eye(d), dtype=np.float64).ravel()
        w = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=d)
        w = rng.choice([0.0, 1.0]) * (w - (w @ first) / (first @ first) * first)
    return problem, w, offset, beta


def assert_encloses(problem, w, offset, beta, found, width):
    """The bounds enclose the exact values, and exceed them by at most `width` times the size of their terms."""
    primal, dual = exact_values(problem, w, offset, beta)
    assert Fraction(found.primal) >= primal
    assert Fraction(found.dual) <= dual
    X = np.abs(problem.X).toarray() if hasattr(problem.X, "toarray") else np.abs(problem.X)
    combined = float(np.sum((X.T.astype(np.float64) @ np.abs(beta)) ** 2))
    targets = np.max(np.abs(problem.upper - problem.lower)) * float(np.sum(np.abs(problem.target)))
    size = width * max(float(abs(primal)), float(abs(dual)), float(w @ w), targets, combined if width > 1e-9 else 0.0)
    assert found.primal - float(primal) <= size
    assert float(dual) - found.dual <= size


def exact_values(problem, w, offset, beta):
    """Primal value of (w, b) and dual value of β in rational arithmetic."""
    w, b = [Fraction(v) for v in w], Fraction(offset)
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    primal, combined, tube = sum(v * v for v in w) / 2, [Fraction(0)] * len(w), Fraction(problem.tube)
    if problem.bias is Bias.PENALIZED:
        primal += (b / Fraction(problem.bias_scale)) ** 2 / 2
    dual = Fraction(0)
    columns = (problem.target, problem.lower, problem.upper, problem.ridge, beta)
    for x, *values in zip(X.astype(np.float64).tolist(), *(column.tolist() for column in columns), strict=True):
        target, lower, upper, ridge, point = map(Fraction, values)
        x = [Fraction(v) for v in x]
        residual = target - sum(p * q for p, q in zip(w, x, strict=True)) - b
        excess, bound = abs(residual) - tube, upper if residual > 0 else -lower
        if excess > 0:
            best = min(bound, excess / ridge) if ridge else bound
            primal += best * excess - ridge * best**2 / 2
        dual += target * point - tube * abs(point) - ridge * point**2 / 2
        combined = [c + point * v for c, v in zip(combined, x, strict=True)]
    if problem.bias is Bias.PENALIZED:
        dual -= (Fraction(problem.bias_scale) * sum(map(Fraction, beta))) ** 2 / 2
    return primal, dual - sum(c * c for c in combined) / 2


class TestProof:
    def test_a_proof_needs_a_small_gap_and_feasibility(self):
        parts = dict(primal=1.0, dual=0.5, relative_gap=0.6, kkt_violation=0.1, mu=np.zeros(1))
        parts |= dict(best_primal=1.0, best_dual=0.5)
        assert Certificate(gap=0.5, infeasibility=0.25, **parts).proves(0.5)
        assert not Certificate(gap=0.5, infeasibility=0.25, **parts).proves(0.3)
        assert not Certificate(gap=0.2, infeasibility=0.5, **parts).proves(0.3)
        assert isinstance(Certificate(gap=0.5, infeasibility=0.25, **parts).proves(0.5), bool)
