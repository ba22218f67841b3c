"""Accuracy of ten digits for large C, tubes of zero width and saturated losses; tolerances close to rounding."""

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC, SVR, ConvexLoss, NuSVR
from hinge.kernels import RBF, Linear, open_access
from hinge.losses import Logistic
from hinge.problems import optimality
from hinge.solvers import SMO, InteriorPoint, WorkingSet
from solvers.cases import assert_feasible


def samples(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return open_access(RBF(0.3), X), y


def solved(formulation, access):
    problem = formulation.build(access)
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.SOLVED
    return problem, solution, optimality(problem, *solution.point)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_loss_with_a_large_cost_reaches_the_gap(seed):
    """The gap must be relative to the current objective, not to the first one, which is 10⁶ times larger."""
    access, y = samples(seed=seed)
    _, solution, certificate = solved(ConvexLoss(y, np.full(len(y), 1e4), Logistic()), access)
    assert certificate.relative_gap <= 1e-10
    assert solution.iterations <= 30


@pytest.mark.parametrize(("C", "nu"), [(30.0, 0.9), (100.0, 0.9), (1e5, 0.3)])
def test_tube_of_zero_width_leaves_both_variables_free(C, nu):
    access, y = samples()
    formulation = NuSVR(y, np.full(len(y), C), nu)
    problem, solution, certificate = solved(formulation, access)
    n = len(y)
    inside = (solution.alpha > problem.lower) & (solution.alpha < problem.upper)
    assert np.count_nonzero(inside[:n] & inside[n:]) > n // 4
    assert formulation.recover(*solution.point).tube == pytest.approx(0.0, abs=1e-9)
    assert certificate.relative_gap <= (1e-10 if C < 1e4 else 1e-8)
    assert solution.polished
    assert solution.iterations <= 3
    assert certificate.infeasibility <= 1e-12 * C * n


@pytest.mark.parametrize("C", [1e2, 1e4])
def test_crossover_is_accepted_at_the_limit_of_rounding(C):
    """Rounding of α changes the gap by more than 1e-12 of the objective."""
    access, y = samples(n=400)
    _, solution, certificate = solved(CSVC(y, np.full(len(y), C)), access)
    assert solution.iterations <= 3
    assert solution.counters["crossover_steps"] > 0
    assert certificate.relative_gap <= 1e-9


class TestSmallTolerances:
    """If the violation has the size of rounding errors, a variable must not be paired with itself."""

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    @pytest.mark.parametrize(("stop", "tol"), [("gap", 1e-11), ("kkt", 1e-11), ("kkt", 1e-13)])
    def test_solution_is_feasible(self, solver, stop, tol):
        for seed in range(20):
            X = np.random.default_rng(seed).normal(size=(22, 3))
            y = np.where(X[:, 0] > 0, 1.0, -1.0)
            problem = CSVC(y, np.full(22, 1000.0)).build(open_access(Linear(), X))
            solution = solver(tol=tol, stop=stop, polish=False, max_iter=100_000).solve(problem)
            assert_feasible(problem, solution.alpha)
            assert optimality(problem, *solution.point).relative_gap <= 1e-6

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    def test_unknown_gap_is_not_a_small_gap(self, solver):
        """C = ∞: while a gradient points to an infinite bound there is no upper bound."""
        X = np.random.default_rng(0).normal(size=(30, 2))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        problem = CSVC(y, np.full(30, np.inf)).build(open_access(RBF(1.0), X))
        solution = solver(tol=1e-6, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert np.any(solution.alpha > 0)
        assert optimality(problem, *solution.point).proves(1e-3)


class TestViolationsCloseToRounding:
    """Violations can decrease further when the objective does not change in floating point."""

    def problem(self, n, seed, C, epsilon):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
        return SVR(y, np.full(n, C), epsilon).build(open_access(RBF(0.3), X))

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    @pytest.mark.parametrize("polish", [False, True])
    @pytest.mark.parametrize(
        ("n", "seed", "C", "epsilon"), [(200, 2, 100.0, 0.1), (400, 1, 100.0, 0.1), (200, 0, 1000.0, 0.0)]
    )
    def test_shrunk_samples_are_checked_before_the_end(self, solver, polish, n, seed, C, epsilon):
        """The solver must not end while a shrunk sample violates the conditions."""
        problem = self.problem(n, seed, C, epsilon)
        solution = solver(tol=1e-9, polish=polish, max_time=20.0).solve(problem)
        assert solution.status is Status.SOLVED
        assert optimality(problem, *solution.point).kkt_violation <= 1.1e-9

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    @pytest.mark.parametrize("epsilon", [0.0, 0.1])
    def test_tolerance_below_rounding_terminates(self, solver, epsilon):
        """Shrinking and full checks must not alternate without end."""
        problem = self.problem(100, 0, 100.0, epsilon)
        solution = solver(tol=1e-15, polish=False, max_time=20.0).solve(problem)
        assert solution.status is Status.NUMERICAL
        assert optimality(problem, *solution.point).kkt_violation <= 1e-10
