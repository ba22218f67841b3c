"""Reference implementations agree with each other and with scikit-learn's LIBSVM."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics.pairwise import rbf_kernel

from reference.qp import solve_by_enumeration, solve_with_clarabel, value
from reference.textbook import coefficients, describe

PARAMETERS = {
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
    model = getattr(sklearn.svm, name)(gamma=0.5, tol=tol, **PARAMETERS[name]).fit(X, y, sample_weight=weight)
    formulation = describe(model, rbf_kernel(X, gamma=0.5), y, weight)
    return formulation, coefficients(model, formulation)


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


@pytest.mark.parametrize("name", PARAMETERS)
def test_textbook_gap_is_primal_minus_dual(name):
    """LwK (10.6)–(10.8) equals the difference of the objectives, far from the optimum and close to it."""
    for tol in (1.0, 1e-6):
        formulation, coef = fitted(name, seed=3, tol=tol)
        difference = formulation.primal(coef) - formulation.dual(coef)
        assert formulation.gap(coef) == pytest.approx(difference, rel=1e-9, abs=1e-10)
        assert difference >= -1e-10


@pytest.mark.parametrize("name", PARAMETERS)
def test_offsets_minimize_the_primal_value(name):
    formulation, coef = fitted(name, seed=5, tol=0.3)
    best = np.array(formulation.best_offsets(coef))
    minimum = formulation.primal_at(coef, *best)
    rng = np.random.default_rng(0)
    for shift in rng.normal(size=(200, best.size)) * np.logspace(-6, 1, 200)[:, None]:
        assert formulation.primal_at(coef, *(best + shift)) >= minimum - 1e-12


@pytest.mark.parametrize("name", PARAMETERS)
def test_libsvm_reaches_the_reference_optimum(name):
    """The conventions for weights, ν and the division by ρ are those of LIBSVM."""
    formulation, coef = fitted(name, seed=7, tol=1e-8)
    optimum, error = formulation.optimum()
    assert error <= 1e-9 * abs(optimum)
    assert formulation.dual(coef) == pytest.approx(optimum, rel=1e-8)
    # LIBSVM stores kernel rows in float32, which affects the primal value in first order
    assert formulation.primal(coef) == pytest.approx(optimum, rel=1e-5)
