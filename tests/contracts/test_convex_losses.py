"""Contract of the solvers of general convex losses: random problems, certified from the loss itself.

Add a new solver of such losses to `SOLVERS`.
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
from hinge.problems import optimality
from hinge.solvers import Auto, GradientDescent, InteriorPoint, LowRankInteriorPoint, Newton

SECONDS = 30.0  # time limit; a solver that reaches it hangs


class Cosh:
    """A user-defined loss: log cosh."""

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

#: name → (solver, tolerance on the relative gap, losses that it accepts)
SOLVERS = {
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
def formulations(draw, accepted):
    """(formulation, K): few samples, some repeated, any rank, costs over four decades."""
    loss = draw(st.sampled_from(accepted))
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


def objective(formulation, K, beta, b):
    f = K @ beta + b
    z = formulation.y * f if formulation.loss.form == "margin" else formulation.y - f
    return 0.5 * beta @ K @ beta + formulation.cost @ formulation.loss.value(z)


def reference_value(formulation, K):
    """An upper bound of the optimum: the objective at the minimizer that SciPy finds."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(values, 0.0))

    def risk(v):
        f = L @ v[:n] + (v[n] if formulation.bias else 0.0)
        margin = formulation.loss.form == "margin"
        z, inner = (formulation.y * f, formulation.y) if margin else (formulation.y - f, -1.0)
        slope = formulation.cost * inner * formulation.loss.derivative(z)
        value = 0.5 * v[:n] @ v[:n] + formulation.cost @ formulation.loss.value(z)
        return value, np.append(v[:n] + L.T @ slope, slope.sum() if formulation.bias else 0.0)

    return optimize.minimize(risk, np.zeros(n + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).fun


def contract(name):
    """Class of tests for one solver.  Hypothesis needs the strategy when a test is defined."""
    solver, tol, accepted = SOLVERS[name]

    class Case:
        @given(made=formulations(accepted))
        @settings(max_examples=60)
        def test_solution_is_certified_from_the_loss(self, made):
            formulation, K = made
            problem = formulation.build(open_access(Precomputed(), K))
            solution = solver.solve(problem)
            assert solution.status is Status.SOLVED
            assert np.all((solution.alpha >= problem.lower) & (solution.alpha <= problem.upper))
            size = max(1.0, np.abs(solution.alpha).max())
            assert np.abs(problem.equality_residual(solution.alpha)).max(initial=0.0) <= 1e-10 * len(K) * size
            expansion = formulation.recover(*solution.point)
            proof = formulation.certified_problem(DirectAccess(Precomputed(), K))
            certificate = optimality(proof, *formulation.dual_point(expansion))
            middle = 0.5 * (abs(certificate.primal) + abs(certificate.dual))
            rounding = 1e-10 * objective(formulation, K, np.zeros(len(K)), 0.0)  # matters where the optimum is 0
            assert certificate.gap <= 1.1 * tol * middle + rounding
            value = objective(formulation, K, expansion.coefficients, expansion.intercept)
            assert value <= certificate.primal * (1 + 1e-6) + 1e2 * tol * middle + rounding

        @given(made=formulations(accepted))
        @settings(max_examples=30)
        def test_recorded_bounds_enclose_the_optimum(self, made):
            formulation, K = made
            history = solver.solve(formulation.build(open_access(Precomputed(), K))).history
            reference = reference_value(formulation, K)
            assert history.best_dual <= reference * (1 + 1e-6) + 1e-9
            assert history.best_primal >= history.best_dual - 1e-9 * (1 + abs(reference))

        @given(made=formulations(accepted))
        @settings(max_examples=10)
        def test_runs_are_reproducible_to_the_bit(self, made):
            formulation, K = made
            first, second = (solver.solve(formulation.build(open_access(Precomputed(), K))) for _ in range(2))
            assert first.alpha.tobytes() == second.alpha.tobytes()
            assert first.iterations == second.iterations

    Case.__name__ = Case.__qualname__ = "Test" + name.replace(" ", "")
    return Case


TestInteriorPoint = contract("InteriorPoint")
TestAuto = contract("Auto")
TestLowRankInteriorPoint = contract("LowRankInteriorPoint")
TestLowRankInteriorPointInSinglePrecision = contract("LowRankInteriorPoint in single precision")
TestNewton = contract("Newton")
TestGradientDescent = contract("GradientDescent")


@pytest.mark.parametrize("name", SOLVERS)
def test_certificate_of_another_point_has_a_gap(name):
    """The certificate distinguishes the solution from other points."""
    solver, tol, _ = SOLVERS[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    formulation = ConvexLoss(np.where(X[:, 0] > 0, 1.0, -1.0), np.full(12, 3.0), losses.Logistic())
    problem = formulation.build(open_access(Precomputed(), X @ X.T))
    solution = solver.solve(problem)
    assert optimality(problem, 0.5 * solution.alpha, solution.mu).relative_gap > max(1e-2, 2 * tol)
