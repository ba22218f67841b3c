"""Contract of all solvers of problem (1): certified optimum, feasibility, warm starts, determinism.

Add a new solver to `every_solver`.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contracts.strategies import Program, programs
from hinge import Status
from hinge.lowrank import SGMA
from hinge.problems import Problem, optimality
from hinge.solvers import SMO, Auto, Chunking, InteriorPoint, LowRankInteriorPoint, WorkingSet

SECONDS = 2.0  # time limit for a dozen variables; a solver that reaches it hangs
RELATIVE = 1e-6  # tolerance of the solvers, relative to the scale of the gradient


class BoxedLowRank(LowRankInteriorPoint):
    """Low-rank solver with a factor of full rank, on problems that it accepts."""

    def solve(self, problem, start=None, control=None):
        boxed = np.isfinite(problem.upper - problem.lower)
        assume(np.all(boxed if problem.term is None else boxed | (problem.term.d > 0)))
        return super().solve(problem, start, control)


def every_solver():
    """name → function that returns a solver with a given tolerance on the KKT violation."""
    return {
        "SMO": lambda tol: SMO(tol=tol, max_time=SECONDS),
        "SMO without shrinking": lambda tol: SMO(tol=tol, shrinking=False, max_time=SECONDS),
        "SMO, Platt's rule": lambda tol: SMO(tol=tol, rule="platt", max_time=SECONDS),
        "SMO, Keerthi's rule": lambda tol: SMO(tol=tol, rule="keerthi_2", max_time=SECONDS),
        "SMO with a tiny cache": lambda tol: SMO(tol=tol, cache_size=1e-3, max_time=SECONDS),
        "WorkingSet of 2": lambda tol: WorkingSet(tol=tol, size=2, max_time=SECONDS),
        "WorkingSet on 2 threads": lambda tol: WorkingSet(tol=tol, size=5, threads=2, max_time=SECONDS),
        "Chunking": lambda tol: Chunking(tol=tol, max_time=SECONDS),
        "Chunking by 2": lambda tol: Chunking(tol=tol, size=2, rule="gap", max_time=SECONDS),
        "Auto": lambda tol: Auto(tol=tol, max_time=SECONDS),
        "InteriorPoint": lambda tol: InteriorPoint(max_time=SECONDS),  # tol is a relative gap
        "LowRankInteriorPoint": lambda tol: BoxedLowRank(
            approximation=SGMA(rank=20, tol=0), tol=1e-10, max_time=SECONDS
        ),
    }


solvers = pytest.mark.parametrize("make", every_solver().values(), ids=every_solver().keys())


def tolerance(program):
    return RELATIVE * program.steepness


def allowance(program):
    """Bound on the suboptimality if no variable violates the KKT conditions by more than tol."""
    return tolerance(program) * program.reach * program.size


@solvers
@given(program=programs(term=None))
def test_reaches_the_optimum(make, program):
    solution = make(tolerance(program)).solve(program.problem())
    assert solution.status is Status.SOLVED
    optimum = program.optimum()
    distance = program.value(solution.alpha) - optimum.value
    assert -allowance(program) - optimum.error <= distance <= allowance(program) + optimum.error


@solvers
@given(program=programs(term=None))
def test_stays_feasible(make, program):
    alpha = make(tolerance(program)).solve(program.problem()).alpha
    assert np.all(alpha >= program.lower)
    assert np.all(alpha <= program.upper)
    assert program.infeasibility(alpha) <= 1e-12 * program.size * max(program.reach, np.abs(alpha).max())


@solvers
@given(program=programs(bounded=True, term=None))
def test_certificate_meets_the_tolerance(make, program):
    solver = make(tolerance(program))
    solution = solver.solve(program.problem())
    certificate = optimality(program.problem(), *solution.point)
    if isinstance(solver, BoxedLowRank) and program.ridge is not None:  # tol is a relative gap; no crossover here
        rounding = 1e-13 * program.steepness * program.reach * program.size
        assert certificate.gap <= 1.1e-10 * max(abs(certificate.primal), abs(certificate.dual)) + rounding
    else:
        assert certificate.kkt_violation <= 1.01 * tolerance(program)
    assert certificate.gap <= 2 * allowance(program)
    assert certificate.infeasibility <= 1e-12 * program.size * max(program.reach, np.abs(solution.alpha).max())
    rounding = 1e-13 * program.steepness * program.reach * program.size
    assert -certificate.dual == pytest.approx(program.value(solution.alpha), rel=1e-9, abs=rounding)


@solvers
@given(program=programs(bounded=True, term=None))
def test_recorded_bounds_enclose_the_optimum(make, program):
    """LwK (10.21): the best primal and dual values of a run enclose the optimum."""
    history = make(tolerance(program)).solve(program.problem()).history
    optimum = -program.optimum().value
    rounding = 1e-9 * program.steepness * program.reach * program.size + program.optimum().error
    assert history.best_dual <= optimum + rounding
    assert history.best_primal >= optimum - rounding


@solvers
@given(program=programs(term=None), seed=st.integers(0, 2**32 - 1))
def test_any_feasible_start_leads_to_the_same_value(make, program, seed):
    solver, problem = make(tolerance(program)), program.problem()
    cold = solver.solve(problem)
    # a convex combination of two feasible points: the solution, and the point that the problem was built around
    start = cold.alpha + np.random.default_rng(seed).random() * (program.feasible - cold.alpha)
    start = np.clip(start, program.lower, program.upper)
    before = start.copy()
    warm = solver.solve(problem, start=start)
    assert warm.status is Status.SOLVED
    assert abs(program.value(warm.alpha) - program.value(cold.alpha)) <= 2 * allowance(program)
    np.testing.assert_array_equal(start, before)
    assert program.infeasibility(warm.alpha) <= 1e-11 * program.size * max(program.reach, np.abs(warm.alpha).max())


@pytest.mark.parametrize("make", [make for name, make in every_solver().items() if "InteriorPoint" not in name])
@given(program=programs(term=None))
@settings(max_examples=30)
def test_start_at_the_solution_needs_few_iterations(make, program):
    solver, problem = make(tolerance(program)), program.problem()
    cold = solver.solve(problem)
    warm = solver.solve(problem, start=cold.alpha)
    assert warm.status is Status.SOLVED
    assert warm.iterations <= max(2, cold.iterations // 2)


@solvers
@given(program=programs(term=None))
@settings(max_examples=30)
def test_runs_are_reproducible_to_the_bit(make, program):
    first, second = (make(tolerance(program)).solve(program.problem()) for _ in range(2))
    assert first.alpha.tobytes() == second.alpha.tobytes()
    assert np.asarray(first.mu).tobytes() == np.asarray(second.mu).tobytes()
    assert first.iterations == second.iterations


def hard_program(n=60, seed=0):
    """A problem that SMO does not solve in three steps."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    sign = rng.choice([-1.0, 1.0], n)
    return Program(F @ F.T, sign, -np.ones(n), sign[None, :], np.zeros(1), np.zeros(n), np.ones(n), np.zeros(n))


def test_iteration_limit_is_reported_and_the_point_is_feasible():
    program = hard_program()
    solution = SMO(tol=1e-9, max_iter=3).solve(program.problem())
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3
    assert program.infeasibility(solution.alpha) <= 1e-12
    assert program.value(solution.alpha) < 0
    certificate = optimality(program.problem(), *solution.point)
    assert certificate.gap > 0
    assert not certificate.proves(1e-9)


def test_time_limit_is_reported_and_the_point_is_feasible():
    program = hard_program(n=400)
    solution = SMO(tol=1e-14, max_time=1e-4).solve(program.problem())
    assert solution.status is Status.TIME_LIMIT
    assert program.infeasibility(solution.alpha) <= 1e-10


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-8])
def test_stop_gap_reaches_the_relative_gap(gap):
    program = hard_program()
    solution = SMO(tol=gap, stop="gap").solve(program.problem())
    assert solution.status is Status.SOLVED
    assert optimality(program.problem(), *solution.point).relative_gap <= 1.01 * gap


def test_history_is_recorded():
    program = hard_program(n=200)
    solution = SMO(tol=1e-6).solve(program.problem())
    assert len(solution.history) > 0


def test_overlapping_equality_rows_are_rejected():
    """Equality rows must have disjoint supports."""
    program = hard_program(n=6)
    problem = program.problem()
    overlapping = Problem(
        problem.Q,
        program.p,
        np.vstack([np.ones(6), np.arange(6.0)]),
        np.array([3.0, 7.5]),
        program.lower,
        program.upper,
    )
    with pytest.raises(ValueError, match=r"(?i)group|disjoint|row"):
        SMO().solve(overlapping)


def test_infeasible_start_is_projected_and_invalid_start_is_rejected():
    """A rescaled solution is a valid start; a start of another size, or with NaN, is an error."""
    program = hard_program(n=20)
    problem, solver = program.problem(), SMO(tol=1e-6)
    cold = solver.solve(problem)
    warm = solver.solve(problem, start=3 * cold.alpha - 0.5)
    assert program.infeasibility(warm.alpha) <= 1e-12 * 20
    assert program.value(warm.alpha) == pytest.approx(program.value(cold.alpha), rel=1e-6)
    for bad in (np.zeros(19), np.full(20, np.nan)):
        with pytest.raises(ValueError, match="start"):
            solver.solve(problem, start=bad)


def test_infeasible_problem_is_rejected():
    program = replace(hard_program(n=6), d=np.array([100.0]))
    with pytest.raises(ValueError, match="feasible"):
        SMO().solve(program.problem())
