"""Warm starts for a sequence of C: work (counted in values, not time) and status compared with cold starts."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import scale

import hinge
from hinge import Status
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, linear_optimality
from hinge.solvers import CoordinateDescent

FINE = tuple(10.0 ** np.arange(-2, 1.01, 0.25))
UP, DOWN = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0), (100.0, 10.0, 1.0, 0.1, 1e-2, 1e-3)


def _signs(y):
    return np.where(y, 1.0, -1.0)


def _data(name):
    X, y = {
        "breast_cancer": load_breast_cancer,
        "raw": load_breast_cancer,
        "wine": load_wine,
        "digits": load_digits,
        "diabetes": load_diabetes,
    }[name](return_X_y=True)
    if name == "diabetes":
        return X, y
    if name == "digits":
        return X / 16.0, _signs(y % 2 == 0)
    return X if name == "raw" else scale(X), _signs(y == 1)


def _sequence(name, loss, bias, costs, method="auto"):
    """(work, status, relative gap) of every fit for a sequence of C: warm and cold."""
    X, y = _data(name)
    solver = CoordinateDescent(method=method, max_iter=1000)
    warm, cold, beta, last = [], [], None, None
    for C in costs:
        cost = np.full(len(y), C)
        if "epsilon" in loss:
            problem = linear_regression(X, y, cost, 0.1, loss, bias)
        else:
            problem = linear_classification(X, y, cost, loss, bias)
        runs = [solver.solve_linear(problem, None if beta is None else beta * (C / last)), solver.solve_linear(problem)]
        for run, entries in zip(runs, (warm, cold), strict=True):
            gap = linear_optimality(problem, run.weights, run.offset, run.beta).relative_gap
            entries.append((run.counters["work"], run.status, gap))
        beta, last = runs[0].beta, C
    return warm, cold


def _work(fits):
    return sum(work for work, _, _ in fits)


@pytest.mark.parametrize("bias", [Bias.FREE, Bias.NONE], ids=lambda bias: bias.name)
@pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for name in ("breast_cancer", "raw", "wine", "digits") for loss in ("hinge", "squared_hinge")]
    + [("diabetes", "epsilon_insensitive")],
)
def test_sequence_needs_no_more_work_than_cold_fits(name, loss, bias):
    warm, cold = _sequence(name, loss, bias, FINE)
    assert _work(warm) <= _work(cold)
    for (_, status, gap), (_, other, _) in zip(warm, cold, strict=True):
        assert status <= other
        assert status is not Status.SOLVED or gap <= 1.01e-4


@pytest.mark.parametrize("bias", [Bias.FREE, Bias.NONE], ids=lambda bias: bias.name)
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sequence_with_factors_of_ten_needs_no_more_work_than_cold_fits(name, loss, bias):
    for costs in (UP, DOWN):
        warm, cold = _sequence(name, loss, bias, costs)
        assert _work(warm) <= _work(cold)


@pytest.mark.parametrize("bias", [Bias.FREE, Bias.NONE], ids=lambda bias: bias.name)
@pytest.mark.parametrize("name", ["breast_cancer", "raw", "wine", "digits"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_distant_start_is_abandoned_early(name, loss, bias):
    """From C to C · 10⁵ a warm start does not help, and costs little more than its check."""
    for costs in ((100.0, 1e-3), (1e-3, 100.0)):
        warm, cold = _sequence(name, loss, bias, costs)
        assert warm[1][0] <= 1.75 * cold[1][0]
        assert warm[1][1] <= cold[1][1]
        assert warm[1][1] is Status.SOLVED
        assert warm[1][2] <= 1.01e-4


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_warm_started_descent_needs_less_work(name, loss):
    warm, cold = _sequence(name, loss, Bias.FREE, FINE, method="descent")
    assert _work(warm) <= 0.9 * _work(cold)


def test_overflowing_start_is_ignored():
    X, y = load_wine(return_X_y=True)
    model = hinge.LinearSVC(loss="hinge", warm_start=True, C=1e-160).fit(scale(X), y == 1)
    model.set_params(C=1e150).fit(scale(X), y == 1)
    assert np.isfinite(model.coef_).all()
    assert model.certify(scale(X), y == 1).gap >= 0
