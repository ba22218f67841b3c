"""SMO on degenerate problems: indefinite, without curvature, unbounded, not finite.  It always terminates."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge import Status
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid, open_access
from hinge.losses import Exponential, Hinge, Logistic, SquaredHinge
from hinge.problems import Problem, Quadratic, optimality
from hinge.solvers import SMO, InteriorPoint, LowRankInteriorPoint
from reference.qp import dense_matrix
from solvers.cases import FORMULATIONS, assert_feasible, clarabel, dense, formulation, make_problem

every_formulation = pytest.mark.parametrize("name", FORMULATIONS)

seeds = st.integers(0, 2**32 - 1)


class TestIndefinite:
    """SMO ends at a stationary point."""

    @pytest.mark.parametrize("kernel", [Sigmoid(0.5, -1.0), Sigmoid(2.0, -3.0), Sigmoid(0.1, 0.5)], ids=repr)
    @pytest.mark.parametrize("name", ["CSVC", "CSVC without bias", "SVR", "SVR without bias", "NuSVC"])
    def test_sigmoid_kernel_is_solved_to_a_stationary_point(self, kernel, name):
        problem = make_problem(name, 100, C=2.0, kernel=kernel)
        assert np.linalg.eigvalsh(dense_matrix(problem.Q))[0] < -1e-6, "the kernel is positive semidefinite"
        for shrinking in (True, False):
            solution = SMO(tol=1e-5, max_time=10.0, shrinking=shrinking).solve(problem)
            assert solution.status is Status.SOLVED
            assert_feasible(problem, solution.alpha)
            assert optimality(problem, *solution.point).kkt_violation <= 1.001e-5

    @pytest.mark.parametrize("rows", [0, 1, 2])
    @given(seed=seeds)
    @settings(max_examples=40)
    def test_random_indefinite_matrices_are_solved_to_a_stationary_point(self, rows, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 12))
        F = rng.normal(size=(n, n))
        group = rng.integers(0, max(rows, 1), n)
        A = np.array([group == g for g in range(rows)], dtype=float).reshape(rows, n)
        start = rng.random(n)
        problem = Problem(
            Quadratic.dense(F + F.T), rng.normal(size=n), A, A @ start, np.zeros(n), np.ones(n)
        )
        solution = SMO(tol=1e-6, max_time=2.0).solve(problem, start=start)
        assert solution.status is Status.SOLVED
        assert_feasible(problem, solution.alpha)
        assert problem.value(solution.alpha) <= problem.value(start) + 1e-9
        assert optimality(problem, *solution.point).kkt_violation <= 1.001e-6

    def test_concave_problem_ends_at_a_vertex(self):
        problem = dense(-np.eye(4), [0.1, 0.2, -0.3, 0.0], np.ones(4), 2.0)
        alpha = SMO(tol=1e-6).solve(problem).alpha
        assert set(alpha) <= {0.0, 1.0}
        assert alpha.sum() == 2


class TestZeroCurvature:
    @every_formulation
    @pytest.mark.parametrize(
        ("samples", "kernel"),
        [
            ("one repeated sample", RBF(0.5)),
            ("one repeated sample", Linear()),
            ("zeros", Linear()),
            ("zeros", RBF(0.5)),
            ("few repeated samples", RBF(0.5)),
            ("any samples", RBF(0.0)),
            ("any samples", Polynomial(degree=0, gamma=1.0)),
        ],
        ids=lambda value: value if isinstance(value, str) else repr(value),
    )
    def test_reaches_the_optimum(self, name, samples, kernel):
        """Pairs without curvature move to a bound."""
        X, dual = formulation(name, 30, C=2.0)
        if samples == "zeros":
            X = np.zeros_like(X)
        elif samples == "one repeated sample":
            X = np.repeat(X[:1], 30, axis=0)
        elif samples == "few repeated samples":
            X = X[np.arange(30) % 4]
        problem = dual.build(open_access(kernel, X))
        solution = SMO(tol=1e-6, max_time=5.0).solve(problem)
        assert solution.status is Status.SOLVED
        assert_feasible(problem, solution.alpha)
        optimum = clarabel(problem)
        scale = 1e-7 * (1 + abs(optimum.value))
        assert problem.value(solution.alpha) == pytest.approx(optimum.value, abs=optimum.error + scale)

    @pytest.mark.parametrize("C", [1e6, 1e12, 1e14, np.inf])
    def test_small_curvature_is_not_zero(self, C):
        """Two samples at distance 10⁻⁶: the minimum along the pair is large, but within the bounds."""
        distance = 4e-13  # K₁₁ + K₂₂ − 2K₁₂
        K = np.array([[1.0, 1.0 - distance / 2], [1.0 - distance / 2, 1.0]])
        problem = CSVC(np.array([1.0, -1.0]), np.full(2, C)).build(open_access(Precomputed(), K))
        solution = SMO(tol=1e-6, max_time=2.0, polish=False).solve(problem)
        expected = min(C, 2 / (2.0 - 2 * K[0, 1]))
        assert solution.status is Status.SOLVED
        np.testing.assert_allclose(solution.alpha, expected, rtol=1e-9)


class TestUnbounded:
    """Problems without a minimum: the status is NUMERICAL."""

    @pytest.mark.parametrize(
        "parts",
        [
            (np.zeros((3, 3)), -np.ones(3), None, (), 0.0, np.inf),
            (np.zeros((3, 3)), [1.0, -1.0, 0.0], np.ones(3), 1.0, -np.inf, np.inf),
            (np.zeros((2, 2)), [1.0, -1.0], [1.0, 1.0], 0.0, -np.inf, np.inf),
            (-np.eye(3), [1.0, -1.0, 0.0], None, (), -np.inf, np.inf),
            (-np.eye(3), [1.0, -1.0, 0.0], np.ones(3), 0.0, -np.inf, np.inf),
        ],
        ids=["linear", "linear, a row", "linear, two variables", "concave", "concave, a row"],
    )
    def test_unbounded_problem_is_reported(self, parts):
        problem = dense(*parts)
        solution = SMO(tol=1e-6, max_time=5.0).solve(problem)
        assert solution.status is Status.NUMERICAL
        assert np.isfinite(solution.alpha).all()
        assert not optimality(problem, *solution.point).proves(1e-3)

    @pytest.mark.parametrize("rows", [0, 1])
    def test_unbounded_problem_with_bounded_steps_is_reported(self, rows):
        """Hard margins on overlapping classes: SVC(C=inf) on data that are not separable."""
        if rows:
            X, dual = formulation("CSVC", 60)
            problem = CSVC(dual.y, np.full(60, np.inf)).build(open_access(Linear(), X))
        else:
            problem = dense([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], upper=np.inf)
        assert SMO().solve(problem).status is Status.NUMERICAL

    def test_minimum_with_infinite_bounds_is_found(self):
        problem = dense(np.diag([1.0, 2.0]), [-1.0, -1.0], upper=np.inf)
        np.testing.assert_allclose(SMO(tol=1e-9).solve(problem).alpha, [1.0, 0.5], rtol=1e-12)


class TestNotFinite:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("rows", [0, 1])
    def test_matrix_with_nan_or_infinity_is_not_solved(self, bad, rows):
        """Comparisons with NaN are false, which must not be taken for optimality."""
        K = np.eye(4)
        K[1, 2] = K[2, 1] = bad
        A = np.array([[1.0, 1.0, -1.0, -1.0]])[:rows]
        problem = dense(K, -np.ones(4), A, np.zeros(rows))
        problem = Problem(
            Quadratic(problem.Q.access, np.array([1.0, 1.0, -1.0, -1.0])),
            problem.p,
            problem.A,
            problem.d,
            problem.lower,
            problem.upper,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                solution = SMO(tol=1e-6, max_time=2.0).solve(problem)
            except ValueError:
                return
            assert solution.status is Status.NUMERICAL


class TestSolvedStatus:
    """With data of size 1e6 and costs of 1e4, rounding may prevent the gap that SOLVED stands for."""

    @pytest.mark.parametrize("solver", [InteriorPoint(), LowRankInteriorPoint(tol=1e-8)], ids=["dense", "low rank"])
    @pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic(), Exponential()], ids=repr)
    @pytest.mark.parametrize(("size", "C"), [(1.0, 1.0), (1e6, 1.0), (1e6, 1e4)])
    def test_solved_means_that_the_gap_is_reached(self, solver, loss, size, C):
        rng = np.random.default_rng(1)
        X, sign = size * rng.normal(size=(24, 2)), np.where(np.arange(24) % 2, 1.0, -1.0)
        problem = ConvexLoss(sign, np.full(24, C), loss).build(open_access(Linear(), X))
        solution = solver.solve(problem)
        certificate = optimality(problem, *solution.point, remainder=solution.remainder)
        assert size > 1 or solution.status is Status.SOLVED
        if solution.status is Status.SOLVED:
            assert certificate.relative_gap <= 2e-8
