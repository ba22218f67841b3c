"""The references are checked too: against each other, against algebra, and against scikit-learn's LIBSVM."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics.pairwise import rbf_kernel

from reference.qp import solve_by_enumeration, solve_with_clarabel, value
from reference.textbook import coefficients, describe

ASKED = {
    "SVC": dict(C=3.0),
    "NuSVC": dict(nu=0.3),
    "SVR": dict(C=3.0, epsilon=0.2),
    "NuSVR": dict(C=3.0, nu=0.4),
    "OneClassSVM": dict(nu=0.3),
}


def fitted(name, seed, tol):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    y = (
        np.sign(X[:, 0] + 0.7 * rng.normal(size=40))
        if name.endswith("SVC")
        else X[:, 0] + rng.normal(size=40)
    )
    model = getattr(sklearn.svm, name)(gamma=0.5, tol=tol, **ASKED[name]).fit(X, y, sample_weight=weight)
    machine = describe(model, rbf_kernel(X, gamma=0.5), y, weight)
    return machine, coefficients(model, machine)


@pytest.mark.parametrize("seed", range(12))
def test_clarabel_and_enumeration_agree(seed):
    rng = np.random.default_rng(seed)
    n, rows = rng.integers(1, 7), seed % 3
    F = rng.normal(size=(n, rng.integers(0, n + 1)))
    Q, p = F @ F.T, rng.normal(size=n)
    group = rng.integers(-1, max(rows, 1), n)
    A = np.array([(group == g) * rng.normal() for g in range(rows)]).reshape(rows, n)
    lower, upper = np.zeros(n), rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
    d = A @ (lower + (upper - lower) * rng.random(n))
    one, two = solve_by_enumeration(Q, p, A, d, lower, upper), solve_with_clarabel(Q, p, A, d, lower, upper)
    assert two.error <= 1e-8
    assert one.value == pytest.approx(two.value, rel=1e-8, abs=1e-9)
    assert one.value == pytest.approx(value(Q, p, one.x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ASKED)
def test_gap_as_printed_is_primal_minus_dual(name):
    """LwK (10.6)–(10.8) against the difference of the two objectives, far from the optimum and near it."""
    for tol in (1.0, 1e-6):
        machine, coef = fitted(name, seed=3, tol=tol)
        difference = machine.primal(coef) - machine.dual(coef)
        assert machine.gap(coef) == pytest.approx(difference, rel=1e-9, abs=1e-10)
        assert difference >= -1e-10


@pytest.mark.parametrize("name", ASKED)
def test_offsets_are_the_best(name):
    machine, coef = fitted(name, seed=5, tol=0.3)
    best = np.array(machine.best_offsets(coef))
    least = machine.primal_at(coef, *best)
    rng = np.random.default_rng(0)
    for shift in rng.normal(size=(200, best.size)) * np.logspace(-6, 1, 200)[:, None]:
        assert machine.primal_at(coef, *(best + shift)) >= least - 1e-12


@pytest.mark.parametrize("name", ASKED)
def test_libsvm_reaches_the_reference_optimum(name):
    """The conventions (weights, ν, the division by ρ) are LIBSVM's."""
    machine, coef = fitted(name, seed=7, tol=1e-8)
    optimum, error = machine.optimum()
    assert error <= 1e-9 * abs(optimum)
    assert machine.dual(coef) == pytest.approx(optimum, rel=1e-8)
    # LIBSVM keeps its kernel rows in float32, which the primal feels in first order
    assert machine.primal(coef) == pytest.approx(optimum, rel=1e-5)
