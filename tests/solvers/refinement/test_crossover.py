"""Crossover by proximal Newton steps: the exact solution from any start, also for singular matrices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from contracts.strategies import programs
from hinge import Status
from hinge.formulations import CSVC, SVR, NuSVR, OneClass
from hinge.kernels import RBF, open_access
from hinge.problems import optimality
from hinge.solvers import SMO, InteriorPoint
from hinge.solvers.interior_point import dense as interior_point
from hinge.solvers.refinement.crossover import ProximalNewton


def make_problem(kind, n=80, seed=0, C=10.0, copies=1):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, 3)), copies, axis=0)
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=len(X))
    cost, access = np.full(len(X), C), open_access(RBF(0.3), X)
    formulation = {
        "classification": lambda: CSVC(np.where(f > 0, 1.0, -1.0), cost),
        "regression": lambda: SVR(f, cost, 0.1),
        "absolute": lambda: SVR(f, cost, 0.0),
        "nu": lambda: NuSVR(f, cost, 0.3),
        "one class": lambda: OneClass(np.ones(len(X)), 0.2),
    }[kind]()
    return formulation.build(access), access.block(np.arange(len(X)), np.arange(len(X)))


KINDS = ("classification", "regression", "absolute", "nu", "one class")


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "absolute"])
def test_crossover_is_exact_from_any_point_of_the_box(kind, copies):
    problem, K = make_problem(kind, copies=copies)
    rng = np.random.default_rng(1)
    width = problem.upper - problem.lower
    for start in (problem.lower + 0.01 * width, problem.lower + rng.random(problem.size) * width):
        solution = ProximalNewton(problem, K).run(start, np.zeros(len(problem.A)), 1e-10)
        assert solution is not None
        assert np.all(solution.x >= problem.lower)
        assert np.all(solution.x <= problem.upper)
        certificate = optimality(problem, solution.x, solution.mu)
        assert certificate.relative_gap <= 1e-9
        assert certificate.infeasibility <= 1e-9 * np.sum(np.abs(solution.x))


@given(program=programs(bounded=True, max_exponent=2, term=None))
@settings(max_examples=100)
def test_returned_point_is_optimal(program):
    """Crossover may fail, but must not return a wrong point."""
    problem = program.problem()
    n = problem.Q.n
    newton = ProximalNewton(problem, np.array(problem.Q.access.block(np.arange(n), np.arange(n))))
    solution = newton.run(program.feasible, np.zeros(len(problem.A)), 1e-9)
    if solution is None:
        return
    optimum = program.optimum()
    size = program.steepness * program.reach * program.size
    assert abs(program.value(solution.x) - optimum.value) <= 1e-7 * size + optimum.error
    assert program.infeasibility(solution.x) <= 1e-8 * program.reach * program.size
    assert solution.steps <= newton.steps


@pytest.mark.parametrize("kind", KINDS)
def test_interior_point_solver_counts_the_steps_of_crossover(kind):
    problem, _ = make_problem(kind)
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations <= {"absolute": 30, "nu": 3}.get(kind, 0)  # both variables of a sample may be free
    assert 0 < solution.counters["crossover_steps"] <= 100
    assert solution.counters["initial_steps"] <= 10 * problem.Q.n
    assert (solution.counters["initial_steps"] > 0) == (kind != "nu")
    other = SMO(tol=1e-9).solve(problem)
    assert problem.value(solution.alpha) == pytest.approx(problem.value(other.alpha), rel=1e-8)


def test_interior_point_continues_if_crossover_fails(monkeypatch):
    problem, _ = make_problem("classification")
    exact = InteriorPoint().solve(problem)
    monkeypatch.setattr(ProximalNewton, "run", lambda *_, **__: None)
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.SOLVED
    assert 5 < solution.iterations <= 30
    np.testing.assert_allclose(solution.alpha, exact.alpha, atol=1e-7)


def test_deadline_ends_the_steps():
    problem, K = make_problem("classification", n=300)
    newton = ProximalNewton(problem, K, deadline=0.0)
    assert newton.run(problem.lower, np.zeros(1), 1e-10) is None
    assert newton.steps <= 5


@pytest.mark.parametrize("kind", KINDS)
def test_without_crossover_the_interior_point_method_converges(kind):
    problem, _ = make_problem(kind)
    crossed, followed = InteriorPoint().solve(problem), InteriorPoint(crossover=False).solve(problem)
    assert followed.status is Status.SOLVED
    assert followed.counters == {"initial_steps": 0, "crossover_steps": 0}
    assert 5 < followed.iterations <= 30
    assert optimality(problem, followed.alpha).relative_gap <= 1e-9
    assert problem.value(followed.alpha) == pytest.approx(problem.value(crossed.alpha), rel=1e-9)


@pytest.mark.parametrize("kind", ["classification", "regression", "one class"])
def test_wrong_initial_point_is_corrected(kind, monkeypatch):
    """All variables of the initial point are at the wrong bound."""
    problem, _ = make_problem(kind)
    best = InteriorPoint(crossover=False).solve(problem)
    wrong = np.where(best.alpha - problem.lower < problem.upper - best.alpha, problem.upper, problem.lower)
    monkeypatch.setattr(interior_point, "initial_point", lambda *_: replace(best, alpha=wrong, error=None))
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations <= 30
    assert problem.value(solution.alpha) == pytest.approx(problem.value(best.alpha), rel=1e-9)


def test_initial_point_is_returned_at_the_time_limit():
    problem, _ = make_problem("classification", n=300)
    solution = InteriorPoint(max_time=0.0).solve(problem)
    assert solution.status is Status.TIME_LIMIT
    assert optimality(problem, solution.alpha).infeasibility <= 1e-12 * np.sum(np.abs(solution.alpha))


def test_interrupt_of_the_initial_steps_is_returned(monkeypatch):
    problem, _ = make_problem("classification")
    stopped = replace(SMO(max_iter=3).solve(problem), error=KeyboardInterrupt())
    monkeypatch.setattr(interior_point, "initial_point", lambda *_: stopped)
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.error, KeyboardInterrupt)
    np.testing.assert_array_equal(solution.alpha, stopped.alpha)
    assert solution.history.gap.size == 0
