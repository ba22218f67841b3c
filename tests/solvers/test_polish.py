"""Polishing: from nearly optimal to optimal, never to worse, and to the same point from everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.strategies import programs
from hinge import Status
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import certify
from hinge.solvers import SMO
from hinge.solvers.polish import polish
from solvers.cases import MACHINES, dense, formulation, machine_problem

every_machine = pytest.mark.parametrize("name", MACHINES)


class TestExactness:
    @every_machine
    @pytest.mark.parametrize("seed", range(3))
    def test_optimality_to_rounding(self, name, seed):
        """tol = 1e-3 in, 1e-10 out."""
        problem = machine_problem(name, 60, seed=seed, C=2.0, kernel=RBF(2.0))
        solution = SMO(tol=1e-3).solve(problem)
        found = certify(problem, *solution.point)
        assert found.kkt_violation <= 1e-10
        assert found.infeasibility <= 1e-12 * problem.size
        assert abs(found.relative_gap) <= 1e-10

    @given(program=programs(max_exponent=2))
    def test_random_problems(self, program):
        """A dozen variables, singular matrices included: the conditions hold to rounding."""
        problem = program.problem()
        solution = SMO(tol=1e-6 * program.steepness, max_time=5.0).solve(problem)
        assert solution.status is Status.SOLVED
        found = certify(problem, *solution.point)
        assert found.kkt_violation <= 1e-10 * program.steepness
        size = max(program.reach, np.abs(solution.alpha).max())
        assert found.infeasibility <= 1e-12 * program.size * max(size, program.steepness)

    @given(program=programs(max_exponent=3))
    def test_never_worse_never_infeasible(self, program):
        problem = program.problem()
        tol = 1e-3 * program.steepness
        plain, polished = (SMO(tol=tol, polish=p, max_time=5.0).solve(problem) for p in (False, True))
        rounding = 1e-12 * program.steepness * program.reach * program.size
        assert problem.value(polished.alpha) <= problem.value(plain.alpha) + rounding
        assert np.all((polished.alpha >= program.lower) & (polished.alpha <= program.upper))
        off = program.infeasibility(polished.alpha)
        assert off <= 1e-12 * program.size * max(program.reach, np.abs(polished.alpha).max())

    @every_machine
    def test_values_agree_with_a_finer_run(self, name):
        problem = machine_problem(name, 80, C=2.0, kernel=RBF(2.0))
        coarse, fine = SMO(tol=1e-2).solve(problem), SMO(tol=1e-10, polish=False).solve(problem)
        assert problem.value(coarse.alpha) == pytest.approx(problem.value(fine.alpha), rel=1e-12)


class TestCanonical:
    """Duplicates share their coefficient in many ways; one of them is ours, whatever the order."""

    @every_machine
    @pytest.mark.parametrize("kernel", [RBF(1.0), Linear()], ids=repr)
    @given(order=st.integers(0, 2**32 - 1))
    @settings(max_examples=6)
    def test_order_does_not_matter(self, name, kernel, order):
        X, _ = formulation(name, 40, C=2.0)
        X = X[np.arange(40) % 13]
        X, machine = X, formulation(name, 40, C=2.0)[1]
        turn = np.random.default_rng(order).permutation(40)
        slots = 2 if "SVR" in name else 1
        problem = machine.build(open_access(kernel, X))
        turned = type(machine)(
            **{
                key: value[turn] if isinstance(value, np.ndarray) else value
                for key, value in vars(machine).items()
            }
        ).build(open_access(kernel, X[turn]))
        one, other = SMO(tol=1e-6).solve(problem), SMO(tol=1e-6).solve(turned)
        coefficients = problem.Q.coefficients(one.alpha), turned.Q.coefficients(other.alpha)
        assert slots == problem.Q.slots
        np.testing.assert_allclose(coefficients[1], coefficients[0][turn], atol=1e-8)

    def test_equal_samples_get_equal_coefficients(self):
        """Three copies of each of two free points: a third of the coefficient each."""
        X = np.repeat([[0.0], [1.0]], 3, axis=0)
        y = np.repeat([1.0, -1.0], 3)
        problem = machine_problem("CSVC", 6)
        problem = type(problem)(
            type(problem.Q)(open_access(RBF(1.0), X), y),
            -np.ones(6),
            y[None, :],
            np.zeros(1),
            np.zeros(6),
            np.full(6, 10.0),
        )
        alpha = SMO(tol=1e-6).solve(problem).alpha
        np.testing.assert_allclose(alpha, 1 / (1 - np.exp(-1.0)) / 3, rtol=1e-9)


class TestRefusals:
    def test_nothing_free(self):
        problem = dense(np.eye(2), [-5.0, 5.0])
        alpha = np.array([1.0, 0.0])
        assert polish(problem, alpha, problem.gradient(alpha)) is None

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
        polish(problem, alpha, gradient)
        np.testing.assert_array_equal(alpha, 0.4)
        np.testing.assert_array_equal(gradient, -0.1)

    def test_wrong_guesses_are_corrected(self):
        """Started with one variable free that belongs to its bound, and one at a bound that belongs inside."""
        problem = dense(np.eye(3), [-0.5, -2.0, 1.0])
        alpha = np.array([0.0, 0.9, 0.1])
        better, _ = polish(problem, alpha, problem.gradient(alpha))
        np.testing.assert_allclose(better, [0.5, 1.0, 0.0], atol=1e-15)
