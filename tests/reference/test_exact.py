"""The exact reference: known optima, agreement with exhaustive search, and detection of false bounds."""

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import hinge
from reference.exact import Program, enclose, false_bounds, optima
from reference.exact.kernels import gram
from reference.exact.numbers import ZERO, matrix, vector
from reference.qp import solve_by_enumeration

X = np.random.default_rng(0).normal(size=(20, 3)) + [0.0, 3.0, 1.0]
Y = np.where(X[:, 0] + 0.4 * np.random.default_rng(1).normal(size=20) > 0, 1, -1)
T = X[:, 0] + 0.3 * np.random.default_rng(2).normal(size=20)


def test_optimum_in_closed_form():
    """min ½(α₁² + α₂²) − α₁ − α₂, α₁ = α₂ in [0, C]: the optimum is 2α − α² with α = min(1, C)."""
    for C, alpha in ((3.0, 1.0), (0.25, 0.25)):
        program = Program(
            matrix(np.eye(2)), vector([-1, 1]), vector([0, -C]), vector([C, 0]), [[1, 1]], [ZERO]
        )
        low, high = enclose(program)
        assert low <= 2 * alpha - alpha**2 <= high
        assert high - low < arb(1e-60)


@given(seed=st.integers(0, 10_000))
def test_agreement_with_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    G, t = rng.integers(-3, 4, size=(n, rng.integers(1, n + 1))), rng.normal(size=n)  # G @ G.T is exact
    C = 10.0 ** rng.uniform(-1, 2)
    K = G @ G.T
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    lower, upper = np.minimum(C * y, 0), np.maximum(C * y, 0)
    A = np.ones((1, n)) if rng.random() < 0.7 else np.empty((0, n))
    low, high = enclose(
        Program(matrix(K), vector(t), vector(lower), vector(upper), A.astype(int).tolist(), [ZERO] * len(A))
    )
    found = solve_by_enumeration(K, t, A, np.zeros(len(A)), lower, upper)
    assert low <= high
    assert float(low) == pytest.approx(-found.value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (hinge.SVC(), Y),
        (hinge.SVC(kernel="linear", C=100.0, loss="squared_hinge"), Y),
        (hinge.SVC(kernel="poly", C=np.inf), Y),
        (hinge.NuSVC(nu=0.25), Y),
        (hinge.SVR(), T),
        (hinge.SVR(loss="huber", kernel="laplacian"), T),
        (hinge.NuSVR(nu=0.25), T),
        (hinge.OneClassSVM(nu=0.25), None),
        (hinge.LinearSVC(penalize_intercept=True), Y),
        (hinge.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1), T),
        (hinge.LinearOneClassSVM(nu=0.5), None),
        (hinge.IncrementalSVC(), Y),
        (hinge.RankingSVM(), np.arange(20) % 3),
    ],
    ids=repr,
)
def test_optimum_of_a_fitted_model_is_known_and_false_bounds_are_found(model, y):
    data = (X,) if y is None else (X, y)
    model = clone(model).fit(*data)
    optimum = optima(model, *data)
    assert optimum.low <= optimum.high
    assert optimum.width < 1e-40
    value, low, high = float(optimum.low), optimum.low, optimum.high
    assert value == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert false_bounds(value - 1e-9 * abs(value), value + 1e-9 * abs(value), low, high) == []
    assert false_bounds(value + 1e-13 * abs(value), np.inf, low, high) == ["dual"]
    assert false_bounds(-np.inf, value - 1e-13 * abs(value), low, high) == ["primal"]


@pytest.mark.parametrize(
    "kernel",
    [
        hinge.kernels.Linear(),
        hinge.kernels.RBF(0.5),
        hinge.kernels.Laplacian(0.25),
        hinge.kernels.Polynomial(3, 0.5, 1.0),
        hinge.kernels.Sigmoid(0.5, 0.25),
        hinge.kernels.BSpline(3, 0.5),
        hinge.kernels.RBF(0.5) + 2.0 * hinge.kernels.Linear(),
        hinge.kernels.RBF(0.5) * hinge.kernels.Linear(),
    ],
    ids=repr,
)
def test_kernel_matrices_agree_with_numpy(kernel):
    exact, expected = gram(kernel, X), kernel(X)
    found = np.array([[float(exact[i, j]) for j in range(20)] for i in range(20)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert all(entry.rad() < 1e-100 for entry in exact.entries())
