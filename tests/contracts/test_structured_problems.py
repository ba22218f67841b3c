"""Contract of the solvers for linear, pairwise and reduced-basis problems."""

import os
import signal
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hinge import Status
from hinge.control import RunControl
from hinge.formulations import Ranking, linear_classification, linear_regression, preferences
from hinge.kernels import RBF, Linear, open_access
from hinge.losses import Hinge, SquaredHinge
from hinge.lowrank.columns import make_columns
from hinge.problems import Bias, combine, linear_optimality, optimality
from hinge.solvers import CoordinateDescent, PairDescent, ReducedBasisNewton
from hinge.solvers.basis.problem import ReducedBasisProblem, dual_point

TOL = 1e-6


@st.composite
def linear_problems(draw):
    """Few samples, some repeated, some zero, constant columns, costs over four decades."""
    n, d = draw(st.integers(2, 20)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) * 10.0 ** draw(st.integers(-1, 1))
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    if draw(st.booleans()):
        X[rng.random(n) < 0.3] = 0.0
    if draw(st.booleans()):
        X[:, 0] = 1.0
    cost = rng.uniform(0.1, 1.0, n) * 10.0 ** draw(st.integers(-2, 2))
    bias = draw(st.sampled_from([Bias.NONE, Bias.PENALIZED, Bias.FREE]))
    loss = draw(st.sampled_from(["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]))
    if "epsilon" in loss:
        return linear_regression(X, rng.normal(size=n), cost, draw(st.sampled_from([0.0, 0.2])), loss, bias, 1.0)
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    return linear_classification(X, y, cost, loss, bias, 1.0)


@given(problem=linear_problems())
@settings(max_examples=80)
def test_linear_problems_are_solved_and_certified(problem):
    solution = CoordinateDescent(tol=TOL, max_time=30.0).solve_linear(problem)
    assert solution.status is Status.SOLVED
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    rounding = 1e-12 * np.sum(np.where(np.isfinite(problem.upper), problem.upper, 1.0))
    assert certificate.gap <= 1.01 * TOL * 0.5 * (abs(certificate.primal) + abs(certificate.dual)) + rounding
    assert certificate.infeasibility <= 1e-10 * max(1.0, np.abs(solution.beta).sum())


@given(problem=linear_problems())
@settings(max_examples=20)
def test_linear_solutions_are_reproducible_to_the_bit(problem):
    first, second = (CoordinateDescent(tol=TOL, max_iter=50).solve_linear(problem) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.beta.tobytes() == second.beta.tobytes()


@st.composite
def pairwise_problems(draw):
    n = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, 2))
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    grade, query = rng.integers(0, 3, n).astype(float), rng.integers(0, 2, n)
    first, second, starts = preferences(grade, query)
    assume(len(first) > 0)
    cost = rng.uniform(0.1, 1.0, len(first)) * 10.0 ** draw(st.integers(-2, 2))
    access = open_access(draw(st.sampled_from([Linear(), RBF(0.5)])), X)
    return Ranking(first, second, starts, cost, n, draw(st.sampled_from([Hinge(), SquaredHinge()]))).build(access)


@given(problem=pairwise_problems(), method=st.sampled_from(["auto", "newton"]))
@settings(max_examples=80)
def test_pairwise_problems_are_solved_and_certified(problem, method):
    solution = PairDescent(tol=TOL, method=method, max_time=30.0).solve(problem)
    assert solution.status is Status.SOLVED
    assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))
    certificate = optimality(problem, *solution.point)
    middle = 0.5 * (abs(certificate.primal) + abs(certificate.dual))
    assert certificate.gap <= 1.01 * TOL * middle + 1e-12 * np.sum(np.abs(solution.alpha))
    assert solution.history.best_dual <= certificate.primal * (1 + 1e-9) + 1e-12
    repeated_run = PairDescent(tol=TOL, method=method, max_time=30.0).solve(problem)
    assert solution.alpha.tobytes() == repeated_run.alpha.tobytes()


def reduced_basis_problem(m, n, outputs, bias, cost, rng, repeated=False):
    X = rng.normal(size=(m, 2))
    if repeated:
        X = X[rng.integers(0, m, m)]
    columns = make_columns(RBF(0.5), X, np.sort(rng.permutation(m)[:n]))
    return ReducedBasisProblem(columns, rng.choice([-1.0, 1.0], (m, outputs)).astype(np.float32), cost, bias)


@st.composite
def reduced_basis_problems(draw):
    """Repeated basis functions, classes of one sample or none, costs over four decades."""
    m = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.uniform(0.1, 1.0, m) * 10.0 ** draw(st.integers(-2, 2))
    n, outputs = draw(st.integers(1, m)), draw(st.integers(1, 3))
    return reduced_basis_problem(m, n, outputs, draw(st.booleans()), cost, rng, draw(st.booleans()))


@given(problem=reduced_basis_problems())
@settings(max_examples=80)
def test_reduced_basis_problems_are_solved_and_certified(problem):
    tol = 1e-4  # kernel values are float32
    solution = ReducedBasisNewton(tol=tol, max_time=30.0).solve(problem)
    assert solution.status is Status.SOLVED
    beta = dual_point(problem.sign, problem.cost, solution.outputs, solution.offsets)
    certificate = combine(problem.certificates(solution.weights, solution.offsets, solution.outputs, beta))
    assert certificate.gap <= 1.2 * tol * 0.5 * (certificate.primal + certificate.dual) + 1e-6 * np.sum(problem.cost)
    repeated_run = ReducedBasisNewton(tol=tol, max_time=30.0).solve(problem)
    assert solution.weights.tobytes() == repeated_run.weights.tobytes()


# ---- limits and signals ------------------------------------------------------------------------------------------


def long_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20)) * 10.0 ** rng.integers(-2, 3, 20)
    return linear_classification(X, rng.choice([-1.0, 1.0], 5000), np.full(5000, 1e3), "hinge", Bias.FREE, 1.0)


def long_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    grade, query = rng.integers(0, 3, 300).astype(float), np.zeros(300, dtype=int)
    first, second, starts = preferences(grade, query)
    return Ranking(first, second, starts, np.full(len(first), 10.0), 300).build(open_access(RBF(0.5), X))


def by_coordinates(**limits):
    return CoordinateDescent(tol=1e-15, method="descent", **limits).solve_linear


def by_pairs(**limits):
    return PairDescent(tol=1e-15, method="descent", **limits).solve


def long_reduced_basis():
    rng = np.random.default_rng(0)
    return reduced_basis_problem(6000, 600, 3, True, np.full(6000, 1e3), rng)


def by_newton(**limits):
    return ReducedBasisNewton(tol=1e-15, **limits).solve


LONG = {
    "CoordinateDescent": (by_coordinates, long_linear),
    "PairDescent": (by_pairs, long_pairs),
    "ReducedBasisNewton": (by_newton, long_reduced_basis),
}
every_solver = pytest.mark.parametrize("name", LONG)


@every_solver
def test_time_limit_is_respected_and_reported(name):
    make, problem = LONG[name]
    began = time.monotonic()
    solution = make(max_time=0.05)(problem())
    assert solution.status is Status.TIME_LIMIT
    assert time.monotonic() - began < 5.0


@every_solver
def test_interrupt_ends_the_run(name):
    make, problem = LONG[name]
    sent = []

    def interrupt(record):
        if not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    solution = make(max_time=20.0)(problem(), control=RunControl(callback=interrupt))
    assert time.monotonic() - sent[0] < 5.0
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.error, KeyboardInterrupt)
