"""Contract of the textbook solvers: feasible points, valid bounds, certified tolerance, limits and interrupts.

Each solver gets problems that it accepts: a quadratic loss for Newton and the Lagrangian method (α ≥ 0 for the latter),
any box for AdaTron and gradient descent. Scales differ by at most a factor of 100, because the rates of convergence
depend on them.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings

from contracts.strategies import programs
from contracts.test_solvers import hard_program
from hinge import Status
from hinge.control import RunControl
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import RBF, open_access
from hinge.losses import Logistic, SquaredHinge
from hinge.problems import optimality
from hinge.solvers import AdaTron, GradientDescent, InteriorPoint, Lagrangian, LowRankInteriorPoint, Newton

SECONDS = 0.3  # time limit; points and bounds must be valid also when it is reached
SMOOTH, CONE, BOX = "smooth", "cone", "box"

#: name → (solver class, tolerance, kind of problems)
ITERATIVE = {
    "Newton": (Newton, 1e-8, SMOOTH),
    "Lagrangian": (Lagrangian, 1e-4, CONE),
    "GradientDescent": (GradientDescent, 1e-2, SMOOTH),
    "GradientDescent, box": (GradientDescent, 5e-2, BOX),
    "AdaTron": (AdaTron, 1e-2, BOX),
}


def problems_for(kind):
    if kind == CONE:
        return programs(max_exponent=1, term=True, cone=True)
    return programs(max_exponent=1, term=kind == SMOOTH, bounded=True)


def solved(name, program, **options):
    make, tol, _ = ITERATIVE[name]
    options = {"tol": tol, "max_time": SECONDS, **options}
    return make(**options).solve(program.problem())


def contract(name):
    """Class of tests for one solver.  Hypothesis needs the strategy when a test is defined."""
    _, tol, kind = ITERATIVE[name]

    class Case:
        @given(program=problems_for(kind))
        @settings(max_examples=40)
        def test_point_is_feasible_and_gap_meets_the_tolerance(self, program):
            solution = solved(name, program)
            assert np.all(solution.alpha >= program.lower)
            assert np.all(solution.alpha <= program.upper)
            size = max(program.reach, np.abs(solution.alpha).max())
            assert program.infeasibility(solution.alpha) <= 1e-10 * program.size * size
            if solution.status is Status.SOLVED:
                certificate = optimality(program.problem(), *solution.point)
                rounding = 1e-11 * program.steepness * size * program.size
                mean = 0.5 * (abs(certificate.primal) + abs(certificate.dual))
                assert certificate.gap <= 1.1 * tol * mean + rounding

        @given(program=problems_for(kind))
        @settings(max_examples=40)
        def test_recorded_bounds_enclose_the_optimum(self, program):
            solution = solved(name, program)
            optimum = program.optimum()
            rounding = 1e-9 * program.steepness * program.reach * program.size + optimum.error
            assert solution.history.best_dual <= -optimum.value + rounding
            assert solution.history.best_primal >= -optimum.value - rounding
            assert program.value(solution.alpha) >= optimum.value - rounding

        @given(program=problems_for(kind))
        @settings(max_examples=15)
        def test_runs_are_reproducible_to_the_bit(self, program):
            first, second = (solved(name, program, max_iter=200, max_time=None) for _ in range(2))
            assert first.alpha.tobytes() == second.alpha.tobytes()
            assert first.iterations == second.iterations

    Case.__name__ = Case.__qualname__ = "Test" + name.replace(", ", "").title().replace(" ", "")
    return Case


TestNewton = contract("Newton")
TestLagrangian = contract("Lagrangian")
TestGradientDescent = contract("GradientDescent")
TestGradientDescentBox = contract("GradientDescent, box")
TestAdaTron = contract("AdaTron")


# ---- limits and signals, also of the interior-point solvers ------------------------------------------------------


def classification(loss=None, m=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=m) > 0, 1.0, -1.0)
    access, cost = open_access(RBF(0.5), X), np.full(m, 10.0)
    return (CSVC(y, cost) if loss is None else ConvexLoss(y, cost, loss)).build(access)


#: (solver with a tolerance that takes many iterations, loss)
LONG = {
    "Newton": (Newton(tol=1e-16), Logistic()),
    "Lagrangian": (Lagrangian(tol=1e-16), SquaredHinge()),
    "GradientDescent": (GradientDescent(tol=1e-14), None),
    "AdaTron": (AdaTron(tol=1e-14), None),
    "InteriorPoint": (InteriorPoint(tol=1e-10), Logistic()),
    "LowRankInteriorPoint": (LowRankInteriorPoint(tol=1e-12), None),
    "LowRankInteriorPoint, logistic": (LowRankInteriorPoint(tol=1e-12), Logistic()),
    "LowRankInteriorPoint, squared": (LowRankInteriorPoint(tol=1e-12), SquaredHinge()),
}
every_long = pytest.mark.parametrize("name", LONG)


@every_long
def test_time_limit_of_zero_returns_a_feasible_point(name):
    solver, loss = LONG[name]
    problem = classification(loss)
    began = time.monotonic()
    solution = type(solver)(**{**_options(solver), "max_time": 0.0}).solve(problem)
    assert time.monotonic() - began < 10.0
    assert solution.status is Status.TIME_LIMIT
    assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))
    assert np.abs(problem.equality_residual(solution.alpha)).max() <= 1e-9 * max(1.0, np.abs(solution.alpha).sum())


@every_long
def test_iteration_limit_is_reported(name):
    solver, loss = LONG[name]
    problem = classification(loss)
    solution = type(solver)(**{**_options(solver), "max_iter": 1}).solve(problem)
    assert solution.status is Status.MAX_ITER
    assert solution.iterations <= 1


@every_long
def test_callback_ends_the_run(name):
    solver, loss = LONG[name]
    problem = classification(loss)
    calls = []
    solution = solver.solve(problem, control=RunControl(callback=lambda record: calls.append(record) or len(calls) < 2))
    assert solution.status is Status.INTERRUPTED
    assert solution.error is None
    assert len(calls) == 2

    def fails(record):
        raise RuntimeError("enough")

    broken = solver.solve(problem, control=RunControl(callback=fails))
    assert broken.status is Status.INTERRUPTED
    assert isinstance(broken.error, RuntimeError)


@every_long
def test_interrupt_ends_the_run_with_a_feasible_point(name):
    solver, loss = LONG[name]
    problem = classification(loss)
    sent = []

    def interrupt(record):
        if not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    solution = solver.solve(problem, control=RunControl(callback=interrupt))
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.error, KeyboardInterrupt)
    assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))


@pytest.mark.parametrize("name", ["Newton", "Lagrangian"])
def test_nonsmooth_loss_is_rejected_with_a_remedy(name):
    with pytest.raises(ValueError, match="loss="):
        ITERATIVE[name][0]().solve(hard_program(6).problem())


def _options(solver):
    return {key: value for key, value in vars(solver).items() if not key.startswith("_")}
