"""No solver without its contract tests: the list of public ones, and what linear programs owe."""

import inspect
import os
import signal
import threading
import time

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

#: Solvers of other problems than (1), and the tests that hold them to each part of the contract.
ELSEWHERE = {
    "CoordinateDescent": {
        "laws": test_structured_problems.test_linear_machines_are_solved_and_proved,
        "limits": test_structured_problems.test_time_is_kept_and_said,
        "signals": test_structured_problems.test_a_signal_ends_the_run,
    },
    "PairDescent": {
        "laws": test_structured_problems.test_pairs_are_solved_and_proved,
        "limits": test_structured_problems.test_time_is_kept_and_said,
        "signals": test_structured_problems.test_a_signal_ends_the_run,
    },
    "ReducedBasisNewton": {
        "laws": test_structured_problems.test_given_functions_are_solved_and_proved,
        "limits": test_structured_problems.test_time_is_kept_and_said,
        "signals": test_structured_problems.test_a_signal_ends_the_run,
    },
    "LinearProgramming": {
        "laws": lambda: test_linear_programs_are_solved_and_proved,  # below
        "limits": lambda: test_a_limit_leaves_a_function_and_true_bounds,
        "signals": lambda: test_a_signal_ends_a_linear_program,
    },
}


def public_solvers():
    """Every exported class that solves something."""
    exported = (getattr(hinge.solvers, name) for name in hinge.solvers.__all__)
    return {
        solver.__name__ for solver in exported
        if isinstance(solver, type) and not inspect.isabstract(solver)
        and any(name.startswith("solve") for name in dir(solver))
    }  # fmt: skip


def names_of(solvers):
    """Also of those that a test has a subclass of."""
    kinds = {solver if isinstance(solver, type) else type(solver) for solver in solvers}
    return {kind.__name__ if kind.__module__.startswith("hinge") else kind.__base__.__name__ for kind in kinds}


def test_every_public_solver_is_under_every_part_of_the_contract():
    """Problems of hypothesis with certificates and bounds; limits and signals.  Bad options: below, for all."""
    direct = names_of(make(1e-6) for make in test_solvers.every_solver().values())
    iterative = names_of(entry[0] for entry in test_textbook_solvers.ITERATIVE.values())
    assert public_solvers() == direct | iterative | set(ELSEWHERE)
    limited = names_of(solver for solver, _ in test_textbook_solvers.LONG.values()) | names_of(ENGINES.values())
    assert public_solvers() == limited | set(ELSEWHERE)
    assert set(test_structured_problems.LONG) | {"LinearProgramming"} == set(ELSEWHERE)
    assert all(set(parts) == {"laws", "limits", "signals"} for parts in ELSEWHERE.values())


def test_every_solver_of_curved_losses_is_under_its_contract():
    """Whoever takes a logistic loss owes what `test_convex_losses` asks."""
    problem = test_textbook_solvers.machine(Logistic(), m=20)
    able = set()
    for name in public_solvers() - set(ELSEWHERE):
        try:
            getattr(hinge.solvers, name)(max_time=10.0).solve(problem)
        except ValueError:
            continue
        able.add(name)
    assert able == names_of(entry[0] for entry in test_convex_losses.CURVED.values())


@pytest.mark.parametrize("name", sorted(public_solvers()))
def test_every_solver_states_its_cost_and_its_certificate(name):
    said = getattr(hinge.solvers, name).__doc__
    assert "\n    Cost: " in said
    assert "\n    Certificate: " in said


BAD = [
    *(("tol", value) for value in (0.0, -1.0, np.nan, np.inf, "small")),
    *(("max_time", value) for value in (-1.0, np.nan, "long")),
    *(("max_iter", value) for value in (1.5, None, True)),
]


@pytest.mark.parametrize("name", sorted(public_solvers()))
@pytest.mark.parametrize(("option", "value"), BAD, ids=str)
def test_bad_options_are_named_by_every_solver(name, option, value):
    with pytest.raises(ValueError, match=f"{option}="):
        getattr(hinge.solvers, name)(**{option: value})


# ---- limits and signals of the decomposition methods -------------------------------------------------------------

ENGINES = {
    "SMO": SMO(tol=1e-15), "WorkingSet": WorkingSet(tol=1e-15), "Chunking": Chunking(tol=1e-15), "Auto": Auto(tol=1e-15)
}  # fmt: skip
every_engine = pytest.mark.parametrize("name", ENGINES)


def hard(m=4000):
    return test_textbook_solvers.machine(m=m)


def same(solver, **changes):
    return type(solver)(**{**vars(solver), **changes})


@every_engine
def test_no_time_leaves_a_feasible_point(name):
    problem = hard()
    found = same(ENGINES[name], max_time=0.0).solve(problem)
    assert found.status is Status.TIME_LIMIT
    assert np.all((found.alpha >= problem.lower) & (found.alpha <= problem.upper))
    assert np.abs(problem.excess(found.alpha)).max() <= 1e-9 * max(1.0, np.abs(found.alpha).sum())


@every_engine
def test_a_signal_ends_the_run(name):
    """Ctrl-C during the compiled run, without a callback."""
    problem = hard()
    problem.Q.diagonal()
    assert threading.current_thread() is threading.main_thread()
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.01, interrupt)
    timer.start()
    try:
        found = ENGINES[name].solve(problem)
        ended = time.monotonic()
        timer.join()
    except KeyboardInterrupt:  # it was done already
        pytest.skip("solved within a hundredth of a second")
    if not sent or ended < sent[0]:
        pytest.skip("solved within a hundredth of a second")
    assert found.status is Status.INTERRUPTED
    assert isinstance(found.error, KeyboardInterrupt)
    assert ended - sent[0] < 1.0
    assert np.all((found.alpha >= problem.lower) & (found.alpha <= problem.upper))


# ---- linear programs ---------------------------------------------------------------------------------------------


@st.composite
def linear_programs(draw):
    """Few samples and functions, with repeated rows, prices of zero loss, tubes of no width."""
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


def value_of(problem, a, b):
    residual = problem.target - problem.design @ a - b
    rises, falls = np.maximum(residual - problem.tube, 0), np.maximum(-residual - problem.tube, 0)
    return problem.price @ np.abs(a) + problem.upper @ rises - problem.lower @ falls


def best_value(problem):
    """The primal written down with inequalities, by another method of HiGHS."""
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
def test_linear_programs_are_solved_and_proved(problem):
    found = LinearProgramming(max_time=20.0).solve_lp(problem)
    assert found.status is Status.SOLVED
    value, best = value_of(problem, found.coefficients, found.offset), best_value(problem)
    scale = 1e-6 * (1.0 + np.sum(problem.upper - problem.lower))
    assert best - scale <= value <= best + scale
    certificate = certify_lp(problem, found.coefficients, found.offset, found.beta)
    assert certificate.primal == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert certificate.dual <= best + scale
    assert certificate.gap <= scale
    assert certificate.infeasibility <= scale


def large_program(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    design = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))
    target = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return LPProblem(design, target, np.full(n, -10.0), np.full(n, 10.0), np.full(n, 0.05), np.ones(n))


@pytest.mark.parametrize("limit", [{"max_time": 1e-3}, {"max_iter": 1}], ids=str)
def test_a_limit_leaves_a_function_and_true_bounds(limit):
    problem = large_program()
    found = LinearProgramming(**limit).solve_lp(problem)
    assert found.status is (Status.TIME_LIMIT if "max_time" in limit else Status.MAX_ITER)
    certificate = certify_lp(problem, found.coefficients, found.offset, found.beta)
    assert np.isfinite(certificate.primal)
    best = LinearProgramming().solve_lp(problem).history.best_primal
    assert certificate.dual <= best * (1 + 1e-6) <= certificate.primal * (1 + 2e-6)


def test_a_signal_ends_a_linear_program():
    """HiGHS listens to nobody: its caller does, and comes back at once."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        LPSVR(C=100.0, gamma=[0.3, 3.0], epsilon=0.01, max_time=3.0).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2])
    assert time.monotonic() - began < 2.0
    timer.join()
