"""All public solvers have contract tests.  Contract of linear programs, and of decomposition solvers under limits."""

import inspect
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import hinge.solvers
from contracts import test_convex_losses, test_solvers, test_structured_problems, test_textbook_solvers
from hinge import LPSVR, Status
from hinge.losses import Logistic
from hinge.problems import LPProblem, certify_lp
from hinge.solvers import SMO, Auto, Chunking, LinearProgramming, WorkingSet

#: Solvers of other problems than (1), and the test of each part of their contract.
OTHER_PROBLEMS = {
    "CoordinateDescent": {
        "solution": test_structured_problems.test_linear_problems_are_solved_and_certified,
        "limits": test_structured_problems.test_time_limit_is_respected_and_reported,
        "interrupt": test_structured_problems.test_interrupt_ends_the_run,
    },
    "PairDescent": {
        "solution": test_structured_problems.test_pairwise_problems_are_solved_and_certified,
        "limits": test_structured_problems.test_time_limit_is_respected_and_reported,
        "interrupt": test_structured_problems.test_interrupt_ends_the_run,
    },
    "ReducedBasisNewton": {
        "solution": test_structured_problems.test_reduced_basis_problems_are_solved_and_certified,
        "limits": test_structured_problems.test_time_limit_is_respected_and_reported,
        "interrupt": test_structured_problems.test_interrupt_ends_the_run,
    },
    "LinearProgramming": {
        "solution": lambda: test_linear_programs_are_solved_and_certified,  # below
        "limits": lambda: test_limit_of_a_linear_program_leaves_valid_bounds,
        "interrupt": lambda: test_interrupt_ends_a_linear_program,
    },
}


def public_solvers():
    """Names of all exported classes with a `solve` method."""
    exported = (getattr(hinge.solvers, name) for name in hinge.solvers.__all__)
    return {
        solver.__name__ for solver in exported
        if isinstance(solver, type) and not inspect.isabstract(solver)
        and any(name.startswith("solve") for name in dir(solver))
    }  # fmt: skip


def names_of(solvers):
    """Names of the solver classes of hinge, also where a test uses a subclass."""
    classes = {solver if isinstance(solver, type) else type(solver) for solver in solvers}
    return {each.__name__ if each.__module__.startswith("hinge") else each.__base__.__name__ for each in classes}


def test_every_public_solver_has_all_parts_of_the_contract():
    """Certified solutions of random problems, limits, and interrupts.  Invalid options are tested below."""
    general = names_of(make(1e-6) for make in test_solvers.every_solver().values())
    textbook = names_of(entry[0] for entry in test_textbook_solvers.ITERATIVE.values())
    assert public_solvers() == general | textbook | set(OTHER_PROBLEMS)
    limited = names_of(solver for solver, _ in test_textbook_solvers.LONG.values()) | names_of(DECOMPOSITION.values())
    assert public_solvers() == limited | set(OTHER_PROBLEMS)
    assert set(test_structured_problems.LONG) | {"LinearProgramming"} == set(OTHER_PROBLEMS)
    assert all(set(parts) == {"solution", "limits", "interrupt"} for parts in OTHER_PROBLEMS.values())


def test_every_solver_of_convex_losses_has_their_contract():
    """`test_convex_losses` covers all solvers that accept a logistic loss."""
    problem = test_textbook_solvers.classification(Logistic(), m=20)
    accepting = set()
    for name in public_solvers() - set(OTHER_PROBLEMS):
        try:
            getattr(hinge.solvers, name)(max_time=10.0).solve(problem)
        except ValueError:
            continue
        accepting.add(name)
    assert accepting == names_of(entry[0] for entry in test_convex_losses.SOLVERS.values())


@pytest.mark.parametrize("name", sorted(public_solvers()))
def test_docstring_states_cost_and_certificate(name):
    docstring = getattr(hinge.solvers, name).__doc__
    assert "\n    Cost: " in docstring
    assert "\n    Certificate: " in docstring


INVALID = [
    *(("tol", value) for value in (0.0, -1.0, np.nan, np.inf, "small")),
    *(("max_time", value) for value in (-1.0, np.nan, "long")),
    *(("max_iter", value) for value in (1.5, None, True)),
]


@pytest.mark.parametrize("name", sorted(public_solvers()))
@pytest.mark.parametrize(("option", "value"), INVALID, ids=str)
def test_invalid_options_are_named_in_the_error(name, option, value):
    with pytest.raises(ValueError, match=f"{option}="):
        getattr(hinge.solvers, name)(**{option: value})


# ---- limits and interrupts of the decomposition solvers ----------------------------------------------------------

DECOMPOSITION = {
    "SMO": SMO(tol=1e-15), "WorkingSet": WorkingSet(tol=1e-15), "Chunking": Chunking(tol=1e-15), "Auto": Auto(tol=1e-15)
}  # fmt: skip
every_decomposition = pytest.mark.parametrize("name", DECOMPOSITION)


def large_problem(m=4000):
    return test_textbook_solvers.classification(m=m)


def changed(solver, **changes):
    return replace(solver, **changes)


@every_decomposition
def test_time_limit_of_zero_returns_a_feasible_point(name):
    problem = large_problem()
    solution = changed(DECOMPOSITION[name], max_time=0.0).solve(problem)
    assert solution.status is Status.TIME_LIMIT
    assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))
    assert np.abs(problem.equality_residual(solution.alpha)).max() <= 1e-9 * max(1.0, np.abs(solution.alpha).sum())


@every_decomposition
def test_interrupt_ends_the_run(name):
    """Ctrl-C during the compiled run, without a callback."""
    problem = large_problem()
    problem.Q.diagonal()
    assert threading.current_thread() is threading.main_thread()
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.01, interrupt)
    timer.start()
    try:
        solution = DECOMPOSITION[name].solve(problem)
        ended = time.monotonic()
        timer.join()
    except KeyboardInterrupt:  # raised after the run
        pytest.skip("solved before the signal was sent")
    if not sent or ended < sent[0]:
        pytest.skip("solved before the signal was sent")
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.error, KeyboardInterrupt)
    assert ended - sent[0] < 1.0
    assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))


# ---- linear programs ---------------------------------------------------------------------------------------------


@st.composite
def linear_programs(draw):
    """Few samples and basis functions, with repeated rows and tubes of zero width."""
    n, width = draw(st.integers(2, 8)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    design = rng.normal(size=(n, width)) * 10.0 ** draw(st.integers(-2, 2))
    if draw(st.booleans()):
        design = design[rng.integers(0, n, n)]
    margin = draw(st.booleans())
    sign = rng.choice([-1.0, 1.0], n)
    cost = rng.uniform(0.1, 1.0, n) * 10.0 ** draw(st.integers(-2, 2))
    if margin:
        lower, upper, target = np.where(sign > 0, 0.0, -cost), np.where(sign > 0, cost, 0.0), sign
    else:
        lower, upper, target = -cost, cost, rng.normal(size=n)
    tube = np.zeros(n) if margin or draw(st.booleans()) else rng.uniform(0.0, 0.5, n)
    return LPProblem(design, target, lower, upper, tube, rng.uniform(0.5, 2.0, width), bias=draw(st.booleans()))


def primal_value(problem, a, b):
    residual = problem.target - problem.design @ a - b
    above, below = np.maximum(residual - problem.tube, 0), np.maximum(-residual - problem.tube, 0)
    return problem.price @ np.abs(a) + problem.upper @ above - problem.lower @ below


def optimal_value(problem):
    """The primal problem with inequalities, solved by another method of HiGHS."""
    n, width = problem.design.shape
    one = np.ones((n, 1)) if problem.bias else np.zeros((n, 1))
    left = np.hstack([problem.design, -problem.design, one])
    A = np.vstack([np.hstack([-left, -np.eye(n), np.zeros((n, n))]), np.hstack([left, np.zeros((n, n)), -np.eye(n)])])
    b = np.concatenate([problem.tube - problem.target, problem.tube + problem.target])
    c = np.concatenate([problem.price, problem.price, [0.0], problem.upper, -problem.lower])
    bounds = [(0, None)] * (2 * width) + [(None, None)] + [(0, None)] * (2 * n)
    return linprog(c, A_ub=A, b_ub=b, bounds=bounds, method="highs-ipm").fun


@given(problem=linear_programs())
@settings(max_examples=60)
def test_linear_programs_are_solved_and_certified(problem):
    solution = LinearProgramming(max_time=20.0).solve_lp(problem)
    assert solution.status is Status.SOLVED
    value, optimum = primal_value(problem, solution.coefficients, solution.offset), optimal_value(problem)
    scale = 1e-6 * (1.0 + np.sum(problem.upper - problem.lower))
    assert optimum - scale <= value <= optimum + scale
    certificate = certify_lp(problem, solution.coefficients, solution.offset, solution.beta)
    assert certificate.primal == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert certificate.dual <= optimum + scale
    assert certificate.gap <= scale
    assert certificate.infeasibility <= scale


def large_program(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    design = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))
    target = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return LPProblem(design, target, np.full(n, -10.0), np.full(n, 10.0), np.full(n, 0.05), np.ones(n))


@pytest.mark.parametrize("limit", [{"max_time": 1e-3}, {"max_iter": 1}], ids=str)
def test_limit_of_a_linear_program_leaves_valid_bounds(limit):
    problem = large_program()
    solution = LinearProgramming(**limit).solve_lp(problem)
    assert solution.status is (Status.TIME_LIMIT if "max_time" in limit else Status.MAX_ITER)
    certificate = certify_lp(problem, solution.coefficients, solution.offset, solution.beta)
    assert np.isfinite(certificate.primal)
    optimum = LinearProgramming().solve_lp(problem).history.best_primal
    assert certificate.dual <= optimum * (1 + 1e-6) <= certificate.primal * (1 + 2e-6)


def test_interrupt_ends_a_linear_program():
    """HiGHS does not react to signals: it runs in a thread that `fit` abandons."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        LPSVR(C=100.0, gamma=[0.3, 3.0], epsilon=0.01, max_time=3.0).fit(X, y)
    assert time.monotonic() - began < 2.0
    timer.join()
