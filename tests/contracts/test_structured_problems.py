"""The common contract for solvers of problems with a shape of their own: linear machines, pairs, given functions."""

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
from hinge.lowrank.columns import make_columns
from hinge.problems import Bias, certify, certify_linear, combine
from hinge.solvers import CoordinateDescent, PairDescent, ReducedBasisNewton
from hinge.solvers.basis.problem import ReducedBasisProblem, dual_point

TOL = 1e-6


@st.composite
def linear_machines(draw):
    """Few samples, some twice, some empty, constant columns, costs over four decades."""
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
    bias = draw(st.sampled_from([Bias.NONE, Bias.PENALISED, Bias.FREE]))
    loss = draw(st.sampled_from(["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]))
    if "epsilon" in loss:
        return linear_regression(X, rng.normal(size=n), cost, draw(st.sampled_from([0.0, 0.2])), loss, bias, 1.0)
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    return linear_classification(X, y, cost, loss, bias, 1.0)


@given(problem=linear_machines())
@settings(max_examples=80)
def test_linear_machines_are_solved_and_proved(problem):
    found = CoordinateDescent(tol=TOL, max_time=30.0).solve_linear(problem)
    assert found.status is Status.SOLVED
    certificate = certify_linear(problem, found.weights, found.offset, found.beta)
    nothing = 1e-12 * np.sum(np.where(np.isfinite(problem.upper), problem.upper, 1.0))
    assert certificate.gap <= 1.01 * TOL * 0.5 * (abs(certificate.primal) + abs(certificate.dual)) + nothing
    assert certificate.infeasibility <= 1e-10 * max(1.0, np.abs(found.beta).sum())


@given(problem=linear_machines())
@settings(max_examples=20)
def test_linear_machines_repeat_bit_by_bit(problem):
    first, second = (CoordinateDescent(tol=TOL, max_iter=50).solve_linear(problem) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.beta.tobytes() == second.beta.tobytes()


@st.composite
def pair_problems(draw):
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
    return Ranking(first, second, starts, cost, n, draw(st.booleans())).build(access)


@given(problem=pair_problems(), method=st.sampled_from(["auto", "newton"]))
@settings(max_examples=80)
def test_pairs_are_solved_and_proved(problem, method):
    found = PairDescent(tol=TOL, method=method, max_time=30.0).solve(problem)
    assert found.status is Status.SOLVED
    assert np.all((found.alpha >= problem.lower) & (found.alpha <= problem.upper))
    certificate = certify(problem, *found.point)
    middle = 0.5 * (abs(certificate.primal) + abs(certificate.dual))
    assert certificate.gap <= 1.01 * TOL * middle + 1e-12 * np.sum(np.abs(found.alpha))
    assert found.history.best_dual <= certificate.primal * (1 + 1e-9) + 1e-12
    again = PairDescent(tol=TOL, method=method, max_time=30.0).solve(problem)
    assert found.alpha.tobytes() == again.alpha.tobytes()


def span_problem(m, n, machines, bias, cost, rng, twice=False):
    X = rng.normal(size=(m, 2))
    if twice:
        X = X[rng.integers(0, m, m)]
    columns = make_columns(RBF(0.5), X, np.sort(rng.permutation(m)[:n]))
    return ReducedBasisProblem(columns, rng.choice([-1.0, 1.0], (m, machines)).astype(np.float32), cost, bias)


@st.composite
def span_problems(draw):
    """Functions that are alike, classes of one sample and none, costs over four decades."""
    m = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cost = rng.uniform(0.1, 1.0, m) * 10.0 ** draw(st.integers(-2, 2))
    n, machines = draw(st.integers(1, m)), draw(st.integers(1, 3))
    return span_problem(m, n, machines, draw(st.booleans()), cost, rng, draw(st.booleans()))


@given(problem=span_problems())
@settings(max_examples=80)
def test_given_functions_are_solved_and_proved(problem):
    tol = 1e-4  # kernel values are float32
    found = ReducedBasisNewton(tol=tol, max_time=30.0).solve(problem)
    assert found.status is Status.SOLVED
    beta = dual_point(problem.sign, problem.cost, found.outputs, found.offsets)
    proof = combine(problem.certificates(found.weights, found.offsets, found.outputs, beta))
    assert proof.gap <= 1.2 * tol * 0.5 * (proof.primal + proof.dual) + 1e-6 * np.sum(problem.cost)
    again = ReducedBasisNewton(tol=tol, max_time=30.0).solve(problem)
    assert found.weights.tobytes() == again.weights.tobytes()


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
    return Ranking(first, second, starts, np.full(len(first), 10.0), 300, False).build(open_access(RBF(0.5), X))


def by_coordinates(**limits):
    return CoordinateDescent(tol=1e-15, method="descent", **limits).solve_linear


def by_pairs(**limits):
    return PairDescent(tol=1e-15, method="descent", **limits).solve


def long_span():
    rng = np.random.default_rng(0)
    return span_problem(6000, 600, 3, True, np.full(6000, 1e3), rng)


def by_newton(**limits):
    return ReducedBasisNewton(tol=1e-15, **limits).solve


LONG = {
    "CoordinateDescent": (by_coordinates, long_linear),
    "PairDescent": (by_pairs, long_pairs),
    "ReducedBasisNewton": (by_newton, long_span),
}
every_long = pytest.mark.parametrize("name", LONG)


@every_long
def test_time_is_kept_and_said(name):
    make, problem = LONG[name]
    began = time.monotonic()
    found = make(max_time=0.05)(problem())
    assert found.status is Status.TIME_LIMIT
    assert time.monotonic() - began < 5.0


@every_long
def test_a_signal_ends_the_run(name):
    make, problem = LONG[name]
    sent = []

    def interrupt(record):
        if not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    found = make(max_time=20.0)(problem(), control=RunControl(callback=interrupt))
    assert time.monotonic() - sent[0] < 5.0
    assert found.status is Status.INTERRUPTED
    assert isinstance(found.error, KeyboardInterrupt)
