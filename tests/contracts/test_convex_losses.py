"""What solvers owe where a loss is curved: machines made by hypothesis, certified from the loss itself.

A new solver of such losses joins by a line in `CURVED`.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from hinge import Status, losses
from hinge.formulations import ConvexLoss
from hinge.kernels import DirectAccess, Precomputed, open_access
from hinge.lowrank import SGMA, PivotedCholesky
from hinge.problems import certify
from hinge.solvers import Auto, GradientDescent, InteriorPoint, LowRankInteriorPoint, Newton

SECONDS = 30.0  # more is a hang


class Cosh:
    """A loss of one's own: log cosh."""

    def value(self, z):
        return np.logaddexp(z, -z) - np.log(2.0)

    def derivative(self, z):
        return np.tanh(z)

    def conjugate(self, s):
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = 0.5 * ((1 + s) * np.log1p(s) + (1 - s) * np.log1p(-s))
        inside = np.where(np.abs(s) == 1, np.log(2.0), inside)
        return np.where(np.abs(s) <= 1, inside, np.inf)


SMOOTH = (
    losses.SquaredHinge(), losses.ModifiedHuber(), losses.HuberizedHinge(), losses.Logistic(), losses.Exponential(),
    losses.SquaredEpsilonInsensitive(0.1), losses.Gaussian(), losses.Huber(0.5), losses.as_loss(Cosh(), "residual"),
)  # fmt: skip
EVERY = (*SMOOTH, losses.PolynomialLoss(1.5), losses.PolynomialLoss(3.0), losses.PiecewisePolynomial(3.0, 0.5))

#: name → (solver, its tolerance on the relative gap, its losses)
CURVED = {
    "InteriorPoint": (InteriorPoint(max_time=SECONDS), 1e-9, EVERY),
    "Auto": (Auto(tol=1e-10, max_time=SECONDS), 1e-9, EVERY),
    "LowRankInteriorPoint": (
        LowRankInteriorPoint(approximation=SGMA(rank=40, tol=0), tol=1e-7, max_time=SECONDS), 1e-7, EVERY,
    ),
    "LowRankInteriorPoint in single precision": (
        LowRankInteriorPoint(approximation=PivotedCholesky(rank=40, tol=0), tol=1e-3, max_time=SECONDS), 1e-3, EVERY,
    ),
    "Newton": (Newton(tol=1e-7, max_time=SECONDS), 1e-7, SMOOTH),
    "GradientDescent": (GradientDescent(tol=1e-2, max_time=SECONDS), 1e-2, SMOOTH),
}  # fmt: skip


@st.composite
def machines(draw, among):
    """Few samples, some of them twice or far away, any rank, costs over four decades, some of them zero."""
    loss = draw(st.sampled_from(among))
    n = draw(st.integers(2, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    F = rng.normal(size=(n, draw(st.integers(1, n))))
    if draw(st.booleans()):
        F = F[rng.integers(0, n, n)]
    K = F @ F.T * 10.0 ** draw(st.integers(-1, 1))
    y = rng.normal(size=n)
    if loss.form == "margin":
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    cost = rng.uniform(0.2, 1.0, n) * 10.0 ** draw(st.integers(-2, 2))
    return ConvexLoss(y, cost, loss, bias=draw(st.booleans())), K


def objective(machine, K, beta, b):
    f = K @ beta + b
    z = machine.y * f if machine.loss.form == "margin" else machine.y - f
    return 0.5 * beta @ K @ beta + machine.cost @ machine.loss.value(z)


def strangers_value(machine, K):
    """The objective at the best function that SciPy finds: no lower bound may be above it."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(values, 0.0))

    def risk(v):
        f = L @ v[:n] + (v[n] if machine.bias else 0.0)
        margin = machine.loss.form == "margin"
        z, inner = (machine.y * f, machine.y) if margin else (machine.y - f, -1.0)
        slope = machine.cost * inner * machine.loss.derivative(z)
        value = 0.5 * v[:n] @ v[:n] + machine.cost @ machine.loss.value(z)
        return value, np.append(v[:n] + L.T @ slope, slope.sum() if machine.bias else 0.0)

    return optimize.minimize(risk, np.zeros(n + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).fun


def _laws(name):
    """One class of tests for each method: hypothesis wants to know the strategy when a test is defined."""
    solver, tol, among = CURVED[name]

    class Case:
        @given(made=machines(among))
        @settings(max_examples=60)
        def test_its_answer_is_proved_from_the_loss(self, made):
            machine, K = made
            problem = machine.build(open_access(Precomputed(), K))
            found = solver.solve(problem)
            assert found.status is Status.SOLVED
            assert np.all((found.alpha >= problem.lower) & (found.alpha <= problem.upper))
            size = max(1.0, np.abs(found.alpha).max())
            assert np.abs(problem.excess(found.alpha)).max(initial=0.0) <= 1e-10 * len(K) * size
            expansion = machine.recover(*found.point)
            proof = machine.certified_problem(DirectAccess(Precomputed(), K))
            certificate = certify(proof, *machine.dual_point(expansion))
            middle = 0.5 * (abs(certificate.primal) + abs(certificate.dual))
            nothing = 1e-10 * objective(machine, K, np.zeros(len(K)), 0.0)  # what rounding makes of an optimum of zero
            assert certificate.gap <= 1.1 * tol * middle + nothing
            value = objective(machine, K, expansion.coefficients, expansion.intercept)
            assert value <= certificate.primal * (1 + 1e-6) + 1e2 * tol * middle + nothing

        @given(made=machines(among))
        @settings(max_examples=30)
        def test_its_bounds_are_bounds(self, made):
            machine, K = made
            history = solver.solve(machine.build(open_access(Precomputed(), K))).history
            there = strangers_value(machine, K)
            assert history.best_dual <= there * (1 + 1e-6) + 1e-9
            assert history.best_primal >= history.best_dual - 1e-9 * (1 + abs(there))

        @given(made=machines(among))
        @settings(max_examples=10)
        def test_repeats_bit_by_bit(self, made):
            machine, K = made
            first, second = (solver.solve(machine.build(open_access(Precomputed(), K))) for _ in range(2))
            assert first.alpha.tobytes() == second.alpha.tobytes()
            assert first.iterations == second.iterations

    Case.__name__ = Case.__qualname__ = "Test" + name.replace(" ", "")
    return Case


TestInteriorPoint = _laws("InteriorPoint")
TestAuto = _laws("Auto")
TestLowRankInteriorPoint = _laws("LowRankInteriorPoint")
TestLowRankInteriorPointInSinglePrecision = _laws("LowRankInteriorPoint in single precision")
TestNewton = _laws("Newton")
TestGradientDescent = _laws("GradientDescent")


@pytest.mark.parametrize("name", CURVED)
def test_the_certificate_can_fail(name):
    """A point that is not the solution is not proved: the law above is none that holds for anything."""
    solver, tol, _ = CURVED[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    machine = ConvexLoss(np.where(X[:, 0] > 0, 1.0, -1.0), np.full(12, 3.0), losses.Logistic())
    problem = machine.build(open_access(Precomputed(), X @ X.T))
    found = solver.solve(problem)
    assert certify(problem, 0.5 * found.alpha, found.mu).relative_gap > max(1e-2, 2 * tol)
