"""Polishing: optimality to rounding, never a worse point, the same point from every start."""

import time

import numpy as np
import pytest
from hypothesis import given

from contracts.strategies import programs
from hinge import Status
from hinge.formulations import NuSVC
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import optimality
from hinge.solvers import SMO, WorkingSet
from hinge.solvers.refinement import polishing
from hinge.solvers.refinement.polishing import polish
from solvers.cases import FORMULATIONS, TIME_FACTOR, dense, formulation, make_problem

every_formulation = pytest.mark.parametrize("name", FORMULATIONS)
# SMO is polished by NumPy, WorkingSet by the compiled core where possible
either_solver = pytest.mark.parametrize("solver", [SMO, WorkingSet])


class TestExactness:
    @either_solver
    @every_formulation
    @pytest.mark.parametrize("seed", range(3))
    def test_optimality_conditions_hold_to_rounding(self, name, seed, solver):
        """From tol = 1e-3 to a violation of 1e-10."""
        problem = make_problem(name, 60, seed=seed, C=2.0, kernel=RBF(2.0))
        solution = solver(tol=1e-3).solve(problem)
        certificate = optimality(problem, *solution.point)
        assert certificate.kkt_violation <= 1e-10
        assert certificate.infeasibility <= 1e-12 * problem.size
        assert abs(certificate.relative_gap) <= 1e-10

    @every_formulation
    def test_inaccurate_gradient_is_corrected(self, name):
        """The gradient has seven digits; the result is accurate to rounding."""
        problem = make_problem(name, 60, C=2.0, kernel=RBF(2.0))
        start = SMO(tol=1e-3, polish=False).solve(problem)
        noise = 1e-6 * np.random.default_rng(0).normal(size=problem.size)
        certificate = optimality(problem, polish(problem, start.alpha, start.gradient + noise)[0])
        assert certificate.kkt_violation <= 1e-10
        assert abs(certificate.relative_gap) <= 1e-10

    @either_solver
    @given(program=programs(max_exponent=2))
    def test_optimality_conditions_hold_for_random_problems(self, program, solver):
        """The optimality conditions hold to rounding, also for singular matrices."""
        problem = program.problem()
        solution = solver(tol=1e-6 * program.steepness, max_time=2.0).solve(problem)
        assert solution.status is Status.SOLVED
        certificate = optimality(problem, *solution.point)
        assert certificate.kkt_violation <= 1e-10 * program.steepness
        size = max(program.reach, np.abs(solution.alpha).max())
        assert certificate.infeasibility <= 1e-12 * program.size * max(size, program.steepness)

    @either_solver
    @given(program=programs(max_exponent=3))
    def test_point_is_not_worse_and_feasible(self, program, solver):
        problem = program.problem()
        tol = 1e-3 * program.steepness
        plain, polished = (solver(tol=tol, polish=p, max_time=2.0).solve(problem) for p in (False, True))
        rounding = 1e-12 * program.steepness * program.reach * program.size
        assert problem.value(polished.alpha) <= problem.value(plain.alpha) + rounding
        assert np.all((polished.alpha >= program.lower) & (polished.alpha <= program.upper))
        residual = program.infeasibility(polished.alpha)
        assert residual <= 1e-12 * program.size * max(program.reach, np.abs(polished.alpha).max())

    @every_formulation
    def test_value_agrees_with_a_smaller_tolerance(self, name):
        problem = make_problem(name, 60, C=2.0, kernel=RBF(2.0))
        coarse, fine = SMO(tol=1e-3).solve(problem), SMO(tol=1e-9, polish=False).solve(problem)
        assert problem.value(coarse.alpha) == pytest.approx(problem.value(fine.alpha), rel=1e-12)

    @either_solver
    @pytest.mark.parametrize("nu", [0.5, 0.25])
    def test_row_without_free_variables_is_polished(self, nu, solver):
        """One class is at its bounds (ν = ν_max) or has one support vector. Its multiplier is not unique."""
        rng = np.random.default_rng(2)
        y = np.where(np.arange(40) < 10, 1.0, -1.0)
        problem = NuSVC(y, np.ones(40), nu).build(open_access(RBF(0.5), rng.normal(size=(40, 2))))
        solution = solver(tol=1e-4).solve(problem)
        assert solution.polished
        assert optimality(problem, *solution.point).kkt_violation <= 1e-10

    def test_failing_attempt_ends_after_few_solves(self, monkeypatch):
        """A smooth kernel and large C: wrong active sets must not cost many solves."""
        rounds = []
        solve = polishing._solve
        monkeypatch.setattr(polishing, "_solve", lambda *given: rounds.append(1) or solve(*given))
        failures = 0
        for seed in range(4):
            problem = make_problem("SVR without bias", 150, seed=seed, C=100.0, kernel=RBF(0.05))
            start = SMO(tol=1e-2, polish=False).solve(problem)
            rounds.clear()
            failures += polish(problem, start.alpha, start.gradient) is None
            assert len(rounds) <= 10
        assert failures, "no attempt fails"


    @pytest.mark.parametrize("name", ["SVR", "OneClass", "CSVC"])
    def test_more_free_variables_than_the_rank_do_not_lead_to_large_systems(self, name, monkeypatch):
        """A linear kernel of five features: a failure must not cost systems of hundreds of unknowns."""
        sizes = []
        solve = polishing._solve
        recorded = lambda problem, index, *rest: sizes.append(len(index)) or solve(problem, index, *rest)  # noqa: E731
        monkeypatch.setattr(polishing, "_solve", recorded)
        failures = 0
        for seed in range(5):
            problem = make_problem(name, 500, seed=seed, C=10.0, kernel=Linear(), features=5)
            start = SMO(tol=1e-3, polish=False).solve(problem)
            sizes.clear()
            failures += polish(problem, start.alpha, start.gradient) is None
            assert max(sizes) <= max(sizes[0], polishing.MAX_GROWN_SYSTEM)
        assert failures, "polishing succeeds for every seed: choose other problems"


class TestCompiled:
    """The compiled core polishes systems that are not singular."""

    @pytest.fixture
    def calls(self, monkeypatch):
        calls = []
        monkeypatch.setattr("hinge.solvers.refinement.polish", lambda *given: calls.append(1) or polish(*given))
        return calls

    @pytest.mark.parametrize(
        ("name", "n"), [*((name, 60) for name in FORMULATIONS), ("CSVC", 700), ("NuSVC", 700), ("OneClass", 700)]
    )  # with 700, rows are in single precision
    def test_agrees_with_the_numpy_implementation(self, name, n, calls):
        problem = make_problem(name, n, C=2.0, kernel=RBF(2.0))
        solution = WorkingSet(tol=1e-3).solve(problem)
        assert solution.polished
        assert not calls
        np.testing.assert_allclose(solution.alpha, SMO(tol=1e-3).solve(problem).alpha, atol=1e-9)
        np.testing.assert_allclose(solution.gradient, problem.gradient(solution.alpha), atol=1e-12 * n)

    @pytest.mark.parametrize("features", [2, 5])
    def test_one_more_free_variable_than_features_is_polished_in_the_core(self, features, calls):
        """K of the free samples is singular, but regular on the null space of the equality row."""
        problem = make_problem("CSVC", 80, C=100.0, kernel=Linear(), features=features)
        solution = WorkingSet(tol=1e-3).solve(problem)
        free = (solution.alpha > 0) & (solution.alpha < problem.upper)
        assert np.count_nonzero(free) == features + 1
        assert solution.polished
        assert not calls

    def test_duplicates_use_least_squares(self, calls):
        X, dual = formulation("CSVC", 40, C=2.0)
        problem = dual.build(open_access(RBF(1.0), X[np.arange(40) % 13]))
        solution = WorkingSet(tol=1e-6).solve(problem)
        assert calls
        assert solution.polished
        np.testing.assert_allclose(solution.gradient, SMO(tol=1e-6).solve(problem).gradient, atol=1e-9)

    def test_time_limit_is_respected(self):
        """The active set needs many solves of a large system, and the limit is 0.1 s."""
        problem = make_problem("SVR", 1000, C=100.0, kernel=RBF(2.0))
        began = time.monotonic()
        WorkingSet(tol=1e-3, max_time=0.1).solve(problem)
        assert time.monotonic() - began < 0.1 + 0.4 * TIME_FACTOR

    @every_formulation
    def test_result_does_not_depend_on_threads(self, name):
        problem = make_problem(name, 300, C=5.0, kernel=RBF(2.0))
        one, two = (WorkingSet(tol=1e-3, threads=threads).solve(problem) for threads in (1, 2))
        assert one.alpha.tobytes() == two.alpha.tobytes()
        assert one.gradient.tobytes() == two.gradient.tobytes()


def reordered(dual, order):
    """The same formulation with its samples in another order."""
    parts = vars(dual).items()
    return type(dual)(**{k: v[order] if isinstance(v, np.ndarray) else v for k, v in parts})


class TestDuplicates:
    """Coefficients of equal samples are not unique, but their sum is."""

    def both(self, name, order, repeat=13):
        X, dual = formulation(name, 40, C=2.0)
        X, permutation = X[np.arange(40) % repeat], np.random.default_rng(order).permutation(40)
        problems = dual.build(open_access(RBF(1.0), X)), reordered(dual, permutation).build(
            open_access(RBF(1.0), X[permutation])
        )
        coefficients = [p.Q.coefficients(SMO(tol=1e-6).solve(p).alpha) for p in problems]
        restored = np.empty(40)
        restored[permutation] = coefficients[1]
        return X, coefficients[0], restored

    @every_formulation
    @pytest.mark.parametrize("order", range(4))
    def test_function_does_not_depend_on_the_order(self, name, order):
        """The kernel is strictly positive definite: the sum over equal samples is unique."""
        X, one, other = self.both(name, order)
        _, group = np.unique(X, axis=0, return_inverse=True)
        np.testing.assert_allclose(
            np.bincount(group.ravel(), other), np.bincount(group.ravel(), one), atol=1e-9
        )


class TestSpecialCases:
    def test_point_without_free_variables_is_unchanged(self):
        problem = dense(np.eye(2), [-5.0, 5.0])
        alpha = np.array([1.0, 0.0])
        point, gradient = polish(problem, alpha, problem.gradient(alpha))
        np.testing.assert_array_equal(point, alpha)
        np.testing.assert_array_equal(gradient, [-4.0, 5.0])

    def test_polishing_fails_with_too_many_free_variables(self):
        problem = dense(np.eye(5), -0.5 * np.ones(5))
        alpha = np.full(5, 0.4)
        assert polish(problem, alpha, problem.gradient(alpha), max_free=4) is None
        better, gradient = polish(problem, alpha, problem.gradient(alpha), max_free=5)
        np.testing.assert_allclose(better, 0.5, rtol=1e-15)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-15)

    def test_point_with_a_larger_objective_is_rejected(self):
        """−α² is stationary at 0, which is its maximum."""
        problem = dense(-np.eye(1), [0.0], lower=-1.0)
        alpha = np.array([0.9])
        assert polish(problem, alpha, problem.gradient(alpha)) is None

    def test_arguments_are_not_modified(self):
        problem = dense(np.eye(5), -0.5 * np.ones(5))
        alpha = np.full(5, 0.4)
        gradient = problem.gradient(alpha)
        before = gradient.copy()
        polish(problem, alpha, gradient)
        np.testing.assert_array_equal(alpha, 0.4)
        np.testing.assert_array_equal(gradient, before)

    def test_wrong_active_set_is_corrected(self):
        """Start with a free variable that belongs to a bound, and one at a bound that belongs inside."""
        problem = dense(np.eye(3), [-0.5, -2.0, 1.0])
        alpha = np.array([0.0, 0.9, 0.1])
        better, _ = polish(problem, alpha, problem.gradient(alpha))
        np.testing.assert_allclose(better, [0.5, 1.0, 0.0], atol=1e-15)
