"""Certificates from sums over parts of the samples."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hinge import _core
from hinge.formulations import linear_classification, linear_regression
from hinge.kernels.samples import view
from hinge.problems import Bias, certify_linear


def part_of(problem, rows, w, b, beta, accurate):
    return _core.linear_part(
        view(problem.X[rows]).native,
        *(np.ascontiguousarray(a[rows]) for a in (problem.target, problem.lower, problem.upper, problem.ridge)),
        problem.tube, int(problem.bias), problem.bounds_error, w, b, beta[rows], accurate,
    )  # fmt: skip


def merged_bounds(problem, parts, w, b):
    total = copy.copy(parts[0])
    for part in parts[1:]:
        total.merge(pickle.loads(pickle.dumps(part)))
    return _core.bounds_of_part(
        total, problem.tube, int(problem.bias), problem.bias_scale, problem.total, problem.bounds_error, 0.0, w, b
    )


def make_problem(loss, bias, n, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    if loss == "epsilon_insensitive":
        return linear_regression(X, rng.normal(size=n), np.ones(n), 0.1, loss, bias, 1.5), rng
    return linear_classification(X, y, rng.uniform(0.5, 2.0, n), loss, bias, 1.5), rng


def feasible_point(problem, rng):
    """A dual point in its box with a sum of zero up to rounding."""
    beta = np.clip(rng.normal(size=problem.n), problem.lower, problem.upper)
    if problem.bias is Bias.FREE:
        positive, negative = beta[beta > 0].sum(), -beta[beta < 0].sum()
        smaller = min(positive, negative)
        beta = np.where(beta > 0, beta * (smaller / max(positive, 1e-9)), beta * (smaller / max(negative, 1e-9)))
    return beta


@pytest.mark.parametrize("accurate", [False, True])
@pytest.mark.parametrize("bias", list(Bias))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 60), parts=st.integers(1, 6))
def test_bounds_of_parts_are_those_of_all_samples(loss, bias, accurate, seed, n, parts):
    problem, rng = make_problem(loss, bias, n, seed)
    beta, w, b = feasible_point(problem, rng), rng.normal(size=3), float(rng.normal())
    b = b if bias is not Bias.NONE else 0.0
    found = merged_bounds(
        problem, [part_of(problem, r, w, b, beta, accurate) for r in np.array_split(np.arange(n), parts)], w, b
    )
    whole = certify_linear(problem, w, b, beta)
    assert_allclose(found.upper, whole.primal, rtol=1e-12)
    assert_allclose(found.lower, whole.dual, rtol=1e-9, atol=1e-9)
    assert_allclose(found.kkt_violation, whole.kkt_violation, rtol=1e-9)
    upper, lower = exact_values(problem, w, b, beta)
    assert found.upper >= upper
    if bias is not Bias.FREE:  # otherwise the sum of beta is not exactly zero
        assert found.lower <= lower


def exact_values(problem, w, b, beta):
    """Primal and dual value in rational arithmetic, for β in its box."""
    w, b, scale = [Fraction(x) for x in w], Fraction(b), Fraction(problem.bias_scale)
    primal, dual, combined, total = sum(x * x for x in w) / 2, Fraction(0), [Fraction(0)] * 3, Fraction(0)
    if problem.bias is Bias.PENALIZED:
        primal += (b / scale) ** 2 / 2
    tube = Fraction(problem.tube)
    for i in range(problem.n):
        x = [Fraction(v) for v in problem.X[i]]
        target, ridge = Fraction(problem.target[i]), Fraction(problem.ridge[i])
        r = target - sum(a * c for a, c in zip(w, x, strict=True)) - b
        excess, side = abs(r) - tube, problem.upper[i] if r > 0 else -problem.lower[i]
        if excess > 0 and side > 0:
            best = excess / ridge if ridge > 0 else Fraction(side)
            best = min(best, Fraction(side)) if np.isfinite(side) else best
            primal += best * excess - ridge * best * best / 2
        value = Fraction(beta[i])
        dual += target * value - tube * abs(value) - ridge * value * value / 2
        total += value
        combined = [c + value * a for c, a in zip(combined, x, strict=True)]
    dual -= sum(c * c for c in combined) / 2
    if problem.bias is Bias.PENALIZED:
        dual -= (scale * total) ** 2 / 2
    return primal, dual


def test_parts_with_different_numbers_of_features_are_not_merged():
    parts = []
    for d in (2, 3):
        problem = linear_classification(np.ones((2, d)), np.array([1.0, -1.0]), np.ones(2), "hinge")
        parts.append(part_of(problem, np.arange(2), np.zeros(d), 0.0, np.zeros(2), False))
    with pytest.raises(ValueError, match="numbers of features"):
        parts[0].merge(parts[1])


def test_damaged_state_is_rejected():
    problem = linear_classification(np.ones((2, 2)), np.array([1.0, -1.0]), np.ones(2), "hinge")
    part = part_of(problem, np.arange(2), np.zeros(2), 0.0, np.zeros(2), False)
    state = np.array(part.__getstate__())
    with pytest.raises(ValueError, match="incomplete"):
        _core.LinearPart.__new__(_core.LinearPart).__setstate__(state[:-1])
