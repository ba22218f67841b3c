"""Polishing: from nearly optimal to optimal, never to worse, and to the same point from everywhere."""

import time

import numpy as np
import pytest
from hypothesis import given

from contracts.strategies import programs
from hinge import Status
from hinge.formulations import NuSVC
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import certify
from hinge.solvers import SMO, WorkingSet
from hinge.solvers.refinement import polishing
from hinge.solvers.refinement.polishing import polish
from solvers.cases import MACHINES, PATIENCE, dense, formulation, machine_problem

every_machine = pytest.mark.parametrize("name", MACHINES)
either_solver = pytest.mark.parametrize("solver", [SMO, WorkingSet])  # polished by NumPy, and by the core where it can


class TestExactness:
    @either_solver
    @every_machine
    @pytest.mark.parametrize("seed", range(3))
    def test_optimality_to_rounding(self, name, seed, solver):
        """tol = 1e-3 in, 1e-10 out."""
        problem = machine_problem(name, 60, seed=seed, C=2.0, kernel=RBF(2.0))
        solution = solver(tol=1e-3).solve(problem)
        found = certify(problem, *solution.point)
        assert found.kkt_violation <= 1e-10
        assert found.infeasibility <= 1e-12 * problem.size
        assert abs(found.relative_gap) <= 1e-10

    @every_machine
    def test_from_a_gradient_of_rows_in_single_precision(self, name):
        """What is handed over is right to seven digits only; the answer is right to rounding all the same."""
        problem = machine_problem(name, 60, C=2.0, kernel=RBF(2.0))
        start = SMO(tol=1e-3, polish=False).solve(problem)
        noise = 1e-6 * np.random.default_rng(0).normal(size=problem.size)
        found = certify(problem, polish(problem, start.alpha, start.gradient + noise)[0])
        assert found.kkt_violation <= 1e-10
        assert abs(found.relative_gap) <= 1e-10

    @either_solver
    @given(program=programs(max_exponent=2))
    def test_random_problems(self, program, solver):
        """A dozen variables, singular matrices included: the conditions hold to rounding."""
        problem = program.problem()
        solution = solver(tol=1e-6 * program.steepness, max_time=2.0).solve(problem)
        assert solution.status is Status.SOLVED
        found = certify(problem, *solution.point)
        assert found.kkt_violation <= 1e-10 * program.steepness
        size = max(program.reach, np.abs(solution.alpha).max())
        assert found.infeasibility <= 1e-12 * program.size * max(size, program.steepness)

    @either_solver
    @given(program=programs(max_exponent=3))
    def test_never_worse_never_infeasible(self, program, solver):
        problem = program.problem()
        tol = 1e-3 * program.steepness
        plain, polished = (solver(tol=tol, polish=p, max_time=2.0).solve(problem) for p in (False, True))
        rounding = 1e-12 * program.steepness * program.reach * program.size
        assert problem.value(polished.alpha) <= problem.value(plain.alpha) + rounding
        assert np.all((polished.alpha >= program.lower) & (polished.alpha <= program.upper))
        off = program.infeasibility(polished.alpha)
        assert off <= 1e-12 * program.size * max(program.reach, np.abs(polished.alpha).max())

    @every_machine
    def test_values_agree_with_a_finer_run(self, name):
        problem = machine_problem(name, 60, C=2.0, kernel=RBF(2.0))
        coarse, fine = SMO(tol=1e-3).solve(problem), SMO(tol=1e-9, polish=False).solve(problem)
        assert problem.value(coarse.alpha) == pytest.approx(problem.value(fine.alpha), rel=1e-12)

    @either_solver
    @pytest.mark.parametrize("nu", [0.5, 0.25])
    def test_a_row_without_free_variables(self, nu, solver):
        """One class is at its bounds (ν = ν_max) or has a single support vector: its multiplier is a choice."""
        rng = np.random.default_rng(2)
        y = np.where(np.arange(40) < 10, 1.0, -1.0)
        problem = NuSVC(y, np.ones(40), nu).build(open_access(RBF(0.5), rng.normal(size=(40, 2))))
        solution = solver(tol=1e-4).solve(problem)
        assert solution.polished
        assert certify(problem, *solution.point).kkt_violation <= 1e-10

    def test_a_system_it_cannot_solve_is_given_up_soon(self, monkeypatch):
        """A smooth kernel and large C: guesses of free variables that lead nowhere must not cost 20 solves."""
        rounds = []
        solve = polishing._solve
        monkeypatch.setattr(polishing, "_solve", lambda *given: rounds.append(1) or solve(*given))
        failures = 0
        for seed in range(4):
            problem = machine_problem("SVR without bias", 150, seed=seed, C=100.0, kernel=RBF(0.05))
            rough = SMO(tol=1e-2, polish=False).solve(problem)
            rounds.clear()
            failures += polish(problem, rough.alpha, rough.gradient) is None
            assert len(rounds) <= 10
        assert failures, "all succeed: the test tests nothing"


    @pytest.mark.parametrize("name", ["SVR", "OneClass", "CSVC"])
    def test_more_free_variables_than_the_rank_do_not_lead_to_large_systems(self, name, monkeypatch):
        """A linear kernel of five features: a failure must not cost systems of hundreds of unknowns."""
        sizes = []
        solve = polishing._solve
        recorded = lambda problem, index, *rest: sizes.append(len(index)) or solve(problem, index, *rest)  # noqa: E731
        monkeypatch.setattr(polishing, "_solve", recorded)
        failures = 0
        for seed in range(5):
            problem = machine_problem(name, 500, seed=seed, C=10.0, kernel=Linear(), features=5)
            rough = SMO(tol=1e-3, polish=False).solve(problem)
            sizes.clear()
            failures += polish(problem, rough.alpha, rough.gradient) is None
            assert max(sizes) <= max(sizes[0], polishing.MAX_GROWN_SYSTEM)
        assert failures, "polishing succeeds for every seed: choose other problems"


class TestCompiled:
    """The core polishes what is not singular by itself."""

    @pytest.fixture
    def calls(self, monkeypatch):
        made = []
        monkeypatch.setattr("hinge.solvers.refinement.polish", lambda *given: made.append(1) or polish(*given))
        return made

    @pytest.mark.parametrize(
        ("name", "n"), [*((name, 60) for name in MACHINES), ("CSVC", 700), ("NuSVC", 700), ("OneClass", 700)]
    )  # with 700, rows are in single precision
    def test_the_answer_is_the_same(self, name, n, calls):
        problem = machine_problem(name, n, C=2.0, kernel=RBF(2.0))
        found = WorkingSet(tol=1e-3).solve(problem)
        assert found.polished
        assert not calls
        np.testing.assert_allclose(found.alpha, SMO(tol=1e-3).solve(problem).alpha, atol=1e-9)
        np.testing.assert_allclose(found.gradient, problem.gradient(found.alpha), atol=1e-12 * n)

    @pytest.mark.parametrize("features", [2, 5])
    def test_as_many_free_as_a_linear_kernel_has_dimensions_and_one_more(self, features, calls):
        """K of the free samples is singular, but not on the null space of the equality row."""
        problem = machine_problem("CSVC", 80, C=100.0, kernel=Linear(), features=features)
        found = WorkingSet(tol=1e-3).solve(problem)
        free = (found.alpha > 0) & (found.alpha < problem.upper)
        assert np.count_nonzero(free) == features + 1
        assert found.polished
        assert not calls

    def test_duplicates_are_left_to_least_squares(self, calls):
        X, machine = formulation("CSVC", 40, C=2.0)
        problem = machine.build(open_access(RBF(1.0), X[np.arange(40) % 13]))
        found = WorkingSet(tol=1e-6).solve(problem)
        assert calls
        assert found.polished
        np.testing.assert_allclose(found.gradient, SMO(tol=1e-6).solve(problem).gradient, atol=1e-9)

    def test_time_is_kept(self):
        """An active set that needs many rounds of a large system, and a tenth of a second."""
        problem = machine_problem("SVR", 1000, C=100.0, kernel=RBF(2.0))
        began = time.monotonic()
        WorkingSet(tol=1e-3, max_time=0.1).solve(problem)
        assert time.monotonic() - began < 0.1 + 0.4 * PATIENCE

    @every_machine
    def test_the_same_bits_for_any_number_of_threads(self, name):
        problem = machine_problem(name, 300, C=5.0, kernel=RBF(2.0))
        one, two = (WorkingSet(tol=1e-3, threads=threads).solve(problem) for threads in (1, 2))
        assert one.alpha.tobytes() == two.alpha.tobytes()
        assert one.gradient.tobytes() == two.gradient.tobytes()


def in_order(machine, turn):
    """The same machine with its samples in another order."""
    parts = vars(machine).items()
    return type(machine)(**{k: v[turn] if isinstance(v, np.ndarray) else v for k, v in parts})


class TestDuplicates:
    """Equal samples share their coefficient in many ways; what does not depend on the way must not differ."""

    def both(self, name, order, repeat=13):
        X, machine = formulation(name, 40, C=2.0)
        X, turn = X[np.arange(40) % repeat], np.random.default_rng(order).permutation(40)
        problems = machine.build(open_access(RBF(1.0), X)), in_order(machine, turn).build(
            open_access(RBF(1.0), X[turn])
        )
        found = [p.Q.coefficients(SMO(tol=1e-6).solve(p).alpha) for p in problems]
        back = np.empty(40)
        back[turn] = found[1]
        return X, found[0], back

    @every_machine
    @pytest.mark.parametrize("order", range(4))
    def test_the_function_does_not_depend_on_the_order(self, name, order):
        """The kernel is strictly positive definite: coefficients of equal samples, taken together, are unique."""
        X, one, other = self.both(name, order)
        _, place = np.unique(X, axis=0, return_inverse=True)
        np.testing.assert_allclose(
            np.bincount(place.ravel(), other), np.bincount(place.ravel(), one), atol=1e-9
        )


class TestRefusals:
    def test_nothing_free(self):
        problem = dense(np.eye(2), [-5.0, 5.0])
        alpha = np.array([1.0, 0.0])
        point, gradient = polish(problem, alpha, problem.gradient(alpha))
        np.testing.assert_array_equal(point, alpha)
        np.testing.assert_array_equal(gradient, [-4.0, 5.0])

    def test_too_many_free(self):
        problem = dense(np.eye(5), -0.5 * np.ones(5))
        alpha = np.full(5, 0.4)
        assert polish(problem, alpha, problem.gradient(alpha), max_free=4) is None
        better, gradient = polish(problem, alpha, problem.gradient(alpha), max_free=5)
        np.testing.assert_allclose(better, 0.5, rtol=1e-15)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-15)

    def test_a_saddle_is_not_taken(self):
        """−α² is stationary at 0, and nowhere lower than at both ends: uphill is refused."""
        problem = dense(-np.eye(1), [0.0], lower=-1.0)
        alpha = np.array([0.9])
        assert polish(problem, alpha, problem.gradient(alpha)) is None

    def test_leaves_its_input_alone(self):
        problem = dense(np.eye(5), -0.5 * np.ones(5))
        alpha = np.full(5, 0.4)
        gradient = problem.gradient(alpha)
        before = gradient.copy()
        polish(problem, alpha, gradient)
        np.testing.assert_array_equal(alpha, 0.4)
        np.testing.assert_array_equal(gradient, before)

    def test_wrong_guesses_are_corrected(self):
        """Started with one variable free that belongs to its bound, and one at a bound that belongs inside."""
        problem = dense(np.eye(3), [-0.5, -2.0, 1.0])
        alpha = np.array([0.0, 0.9, 0.1])
        better, _ = polish(problem, alpha, problem.gradient(alpha))
        np.testing.assert_allclose(better, [0.5, 1.0, 0.0], atol=1e-15)
