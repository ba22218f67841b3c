"""ν at the largest admissible value: the only feasible coefficients of a class are its bounds."""

import warnings

import numpy as np
import pytest

import hinge
from hinge.selection import nu_range

SOLVERS = ("auto", "smo", "working_set", "interior_point")


def samples(n=60, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.uniform(0.01, 3.0, n)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_one_class_models_have_a_certificate_at_nu_1(solver, weighted):
    for seed in range(5):
        X, weight = samples(seed=seed)
        weight = weight if weighted else None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = hinge.OneClassSVM(nu=1.0, gamma=0.3, solver=solver).fit(X, sample_weight=weight)
        assert model.certificate_.relative_gap < 1e-9
        assert model.certify(X, sample_weight=weight).relative_gap < 1e-9
        expected = np.ones(len(X)) if weight is None else weight  # all coefficients are at their bounds
        np.testing.assert_allclose(model.dual_coef_.ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("balance", [None, "class", "min"])
@pytest.mark.parametrize("positives", [5, 24, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_classifiers_have_a_certificate_at_the_upper_end_of_the_interval(solver, balance, positives, weighted):
    X, weight = samples()
    y, weight = np.where(np.arange(len(X)) < positives, 1, -1), weight if weighted else None
    end = nu_range(X, y, gamma=0.3, sample_weight=weight, balance=balance).high
    assert end <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hinge.NuSVC(nu=end, gamma=0.3, balance=balance, solver=solver).fit(X, y, sample_weight=weight)
    assert model.certificate_.relative_gap < 1e-6
    inside = hinge.NuSVC(nu=end * (1 - 1e-9), gamma=0.3, balance=balance, tol=1e-9).fit(X, y, sample_weight=weight)
    assert model.certificate_.primal == pytest.approx(inside.certificate_.primal, rel=1e-6)
    if balance is None and end < 0.99:
        with pytest.raises(ValueError, match="infeasible"):
            hinge.NuSVC(nu=end * (1 + 1e-9), gamma=0.3).fit(X, y, sample_weight=weight)


def test_the_upper_end_does_not_exceed_1():
    for seed in range(30):
        X, weight = samples(40, seed)
        y = np.where(np.arange(40) < 7 + seed % 20, 1, -1)
        for balance in ("class", "min"):
            end = nu_range(X, y, sample_weight=weight, balance=balance).high
            assert 1 - 1e-12 <= end <= 1
