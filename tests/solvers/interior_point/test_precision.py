"""Ten digits where they used to be lost: large C, tubes of no width, losses that saturate."""

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC, SVR, ConvexLoss, NuSVR
from hinge.kernels import RBF, Linear, open_access
from hinge.losses import Logistic
from hinge.problems import certify
from hinge.solvers import SMO, InteriorPoint, WorkingSet
from solvers.cases import assert_feasible


def samples(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return open_access(RBF(0.3), X), y


def solved(machine, access):
    problem = machine.build(access)
    found = InteriorPoint().solve(problem)
    assert found.status is Status.SOLVED
    return problem, found, certify(problem, *found.point)


@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_loss_with_a_large_cost(seed):
    """Measured against the first objective, a million times the last one, the gap was small too early."""
    access, y = samples(seed=seed)
    _, found, certificate = solved(ConvexLoss(y, np.full(len(y), 1e4), Logistic()), access)
    assert certificate.relative_gap <= 1e-10
    assert found.iterations <= 30


@pytest.mark.parametrize(("C", "nu"), [(30.0, 0.9), (100.0, 0.9), (1e5, 0.3)])
def test_a_tube_of_no_width_leaves_both_variables_free(C, nu):
    access, y = samples()
    machine = NuSVR(y, np.full(len(y), C), nu)
    problem, found, certificate = solved(machine, access)
    n = len(y)
    inside = (found.alpha > problem.lower) & (found.alpha < problem.upper)
    assert np.count_nonzero(inside[:n] & inside[n:]) > n // 4
    assert machine.recover(*found.point).tube == pytest.approx(0.0, abs=1e-9)
    assert certificate.relative_gap <= (1e-10 if C < 1e4 else 1e-8)
    assert found.polished
    assert found.iterations <= 3
    assert certificate.infeasibility <= 1e-12 * C * n


@pytest.mark.parametrize("C", [1e2, 1e4])
def test_the_exact_end_counts_where_rounding_allows_no_more(C):
    """1e-12 of the objective is less than rounding α makes of the gap: the path was followed to its end instead."""
    access, y = samples(n=400)
    _, found, certificate = solved(CSVC(y, np.full(len(y), C)), access)
    assert found.iterations <= 3
    assert found.counters["crossover_steps"] > 0
    assert certificate.relative_gap <= 1e-9


class TestFineTolerances:
    """Where the violation is of the size of rounding errors, a variable must not be taken for its own partner."""

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    @pytest.mark.parametrize(("stop", "tol"), [("gap", 1e-11), ("kkt", 1e-11), ("kkt", 1e-13)])
    def test_the_answer_stays_feasible(self, solver, stop, tol):
        for seed in range(20):
            X = np.random.default_rng(seed).normal(size=(22, 3))
            y = np.where(X[:, 0] > 0, 1.0, -1.0)
            problem = CSVC(y, np.full(22, 1000.0)).build(open_access(Linear(), X))
            found = solver(tol=tol, stop=stop, polish=False, max_iter=100_000).solve(problem)
            assert_feasible(problem, found.alpha)
            assert certify(problem, *found.point).relative_gap <= 1e-6

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    def test_no_gap_is_not_a_small_one(self, solver):
        """C = ∞: while a slope points to an infinite bound there is no upper bound, and nothing is solved."""
        X = np.random.default_rng(0).normal(size=(30, 2))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        problem = CSVC(y, np.full(30, np.inf)).build(open_access(RBF(1.0), X))
        found = solver(tol=1e-6, stop="gap", polish=False).solve(problem)
        assert found.status is Status.SOLVED
        assert np.any(found.alpha > 0)
        assert certify(problem, *found.point).proves(1e-3)


class TestTheLastDigits:
    """Violations can become smaller long after the objective has stopped falling in floating point."""

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
    def test_samples_at_rest_are_asked_before_the_end(self, solver, polish, n, seed, C, epsilon):
        """SMO ended where the samples that still moved could get no further, a violation of 0.2 among the others."""
        problem = self.problem(n, seed, C, epsilon)
        found = solver(tol=1e-9, polish=polish, max_time=20.0).solve(problem)
        assert found.status is Status.SOLVED
        assert certify(problem, *found.point).kkt_violation <= 1.1e-9

    @pytest.mark.parametrize("solver", [SMO, WorkingSet])
    @pytest.mark.parametrize("epsilon", [0.0, 0.1])
    def test_a_tolerance_below_rounding_ends(self, solver, epsilon):
        """Working sets went on for ever: setting samples aside, and asking them again, had no end."""
        problem = self.problem(100, 0, 100.0, epsilon)
        found = solver(tol=1e-15, polish=False, max_time=20.0).solve(problem)
        assert found.status is Status.NUMERICAL
        assert certify(problem, *found.point).kkt_violation <= 1e-10
