"""Newton, Lagrangian, gradient descent and AdaTron: agreement with interior point, and rates of convergence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import hinge
from hinge import Status
from hinge._core import adatron_sweep
from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, ConvexLoss
from hinge.kernels import RBF, Linear, Polynomial, open_access
from hinge.losses import (
    Exponential,
    Gaussian,
    Hinge,
    Huber,
    Logistic,
    ModifiedHuber,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from hinge.lowrank import SGMA, low_rank_access
from hinge.problems import Quadratic, optimality
from hinge.solvers import (
    AdaTron,
    GradientDescent,
    InteriorPoint,
    Lagrangian,
    Newton,
    RegularizedRisk,
    descend,
)
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.lagrangian import _FixedPointIteration
from reference.qp import dense_matrix

SMOOTH = {
    "squared hinge": SquaredHinge(),
    "modified huber": ModifiedHuber(),
    "logistic": Logistic(),
    "exponential": Exponential(),
    "squared epsilon": SquaredEpsilonInsensitive(0.1),
    "huber": Huber(),
    "gaussian": Gaussian(),
}
KINKED = ("hinge", "epsilon")

#: name → (solver, tolerance, losses that it accepts)
SOLVERS = {
    "Newton": (Newton, 1e-9, tuple(SMOOTH)),
    "Newton, low rank": (lambda **o: Newton(approximation=SGMA(rank=60, tol=0), **o), 1e-9, tuple(SMOOTH)),
    "Lagrangian": (Lagrangian, 1e-7, ("squared hinge", "squared epsilon")),
    "Lagrangian, low rank": (
        lambda **o: Lagrangian(approximation=SGMA(rank=60, tol=0), **o), 1e-7, ("squared hinge", "squared epsilon"),
    ),
    "GradientDescent": (GradientDescent, 1e-5, tuple(SMOOTH)),
    "GradientDescent, plain": (lambda **o: GradientDescent(conjugate=False, **o), 1e-3, tuple(SMOOTH)),
    "GradientDescent, coefficients": (
        lambda **o: GradientDescent(space="coefficients", **o), 1e-2, ("logistic", "exponential"),
    ),
    "GradientDescent, box": (GradientDescent, 3e-3, KINKED),
    "AdaTron": (AdaTron, 1e-3, (*KINKED, "squared hinge", "squared epsilon")),
}  # fmt: skip
CASES = [(name, loss) for name, (_, _, losses) in SOLVERS.items() for loss in losses]
every_case = pytest.mark.parametrize(("name", "loss"), CASES)
FIRST = [(name, losses[0]) for name, (_, _, losses) in SOLVERS.items()]
every_solver = pytest.mark.parametrize(("name", "loss"), FIRST)


def problem(loss, m=60, seed=0, bias=True, kernel=None, C=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    cost = C * rng.uniform(0.5, 2.0, m)
    access = open_access(RBF(0.3) if kernel is None else kernel, X)
    labels = np.where(f + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    targets = f + 0.1 * rng.normal(size=m)
    if loss == "hinge":
        return CSVC(labels, cost, bias).build(access)
    if loss == "epsilon":
        return SVR(targets, cost, 0.1, bias=bias).build(access)
    chosen = SMOOTH[loss]
    return ConvexLoss(labels if chosen.form == "margin" else targets, cost, chosen, bias).build(access)


@every_case
@pytest.mark.parametrize("bias", [True, False])
def test_agrees_with_interior_point_within_its_tolerance(name, loss, bias):
    make, tol, _ = SOLVERS[name]
    dual = problem(loss, bias=bias)
    optimum = -dual.value(InteriorPoint().solve(dual).alpha)
    result = make(tol=tol).solve(dual)
    assert result.status is Status.SOLVED
    certificate = optimality(dual, *result.point)
    assert certificate.relative_gap <= 1.1 * tol + 1e-12
    assert certificate.infeasibility <= 1e-10
    assert abs(certificate.dual - optimum) <= 1.1 * tol * abs(certificate.primal) + 1e-10 * abs(optimum)
    assert result.history.best_dual <= optimum * (1 + 1e-9) + 1e-12  # recorded bounds enclose the optimum
    assert result.history.best_primal >= optimum * (1 - 1e-9) - 1e-12


@every_solver
def test_limits_are_respected_and_reported(name, loss):
    make, _, _ = SOLVERS[name]
    dual = problem(loss)
    short = make(tol=1e-14, max_iter=1).solve(dual)
    assert short.status in (Status.MAX_ITER, Status.SOLVED)
    assert short.iterations <= 1
    late = make(tol=1e-14, max_time=1e-9).solve(dual)
    assert late.status in (Status.TIME_LIMIT, Status.SOLVED)
    for result in (short, late):
        assert np.all((result.alpha >= dual.lower) & (result.alpha <= dual.upper))
        np.testing.assert_allclose(dual.A @ result.alpha, dual.d, atol=1e-10)
        assert optimality(dual, *result.point).gap >= 0
    seen = []
    stopped = make(tol=1e-14).solve(dual, control=RunControl(callback=lambda s: bool(seen.append(s))))
    assert stopped.status in (Status.INTERRUPTED, Status.SOLVED)

    def fails(snapshot):
        raise KeyboardInterrupt

    raised = make(tol=1e-14).solve(dual, control=RunControl(callback=fails))
    assert raised.status is Status.SOLVED or isinstance(raised.error, KeyboardInterrupt)


@every_solver
def test_runs_are_reproducible_to_the_bit(name, loss):
    make, tol, _ = SOLVERS[name]
    first, second = (make(tol=tol).solve(problem(loss)) for _ in range(2))
    assert first.alpha.tobytes() == second.alpha.tobytes()


@pytest.mark.parametrize("solver", [Newton, Lagrangian, GradientDescent, AdaTron])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_degenerate_data_are_solved(solver, data):
    """Duplicates, zero rows, small and large costs."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    m = data.draw(st.integers(2, 12))
    X = rng.normal(size=(m, 2))[rng.integers(0, m, m)] * data.draw(st.sampled_from([0.0, 1.0, 10.0]))
    y = np.where(rng.random(m) < 0.5, -1.0, 1.0)
    cost = 10.0 ** data.draw(st.integers(-2, 2)) * rng.uniform(0.5, 2, m)
    dual = ConvexLoss(y, cost, SquaredHinge(), data.draw(st.booleans())).build(open_access(RBF(0.5), X))
    optimum = -dual.value(InteriorPoint().solve(dual).alpha)
    result = solver(tol=1e-3, max_time=2.0).solve(dual)
    certificate = optimality(dual, *result.point)
    scale = max(abs(optimum), 1e-9 * float(cost.sum()))
    assert certificate.dual <= optimum + 1e-7 * scale
    assert certificate.primal >= optimum - 1e-7 * scale
    if result.status is Status.SOLVED:
        assert certificate.gap <= 1.1e-3 * scale + 1e-7 * float(cost.sum())


# ---- Lagrangian ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared hinge", "squared epsilon"])
def test_lagrangian_converges_at_the_rate_of_theorem_10_7(loss):
    """‖Q(α − ᾱ)‖ decreases by ‖1 − γQ⁻¹‖ or more in every iteration (variables scaled to a unit diagonal term)."""
    dual = problem(loss, bias=False, C=2.0)
    d = dual.term.d
    Q = dense_matrix(dual.Q) / np.sqrt(np.outer(d, d)) + np.eye(dual.size)
    solution = np.sqrt(d) * InteriorPoint(tol=1e-12).solve(dual).alpha
    rate = np.linalg.norm(np.eye(dual.size) - 1.9 * np.linalg.inv(Q), 2)
    assert rate < 1
    errors = []
    for iterations in range(1, 12):
        run = _FixedPointIteration(dual)
        run.run(RunLog(0.0, iterations, RunControl()))
        errors.append(np.linalg.norm(Q @ (np.sqrt(d) * run.alpha - solution)))
    errors = np.array(errors)
    assert np.all(errors[1:] <= rate * errors[:-1] * (1 + 1e-6) + 1e-7)
    assert errors[-1] < 0.9 * errors[0]


def test_lagrangian_with_the_offset_in_the_kernel_solves_the_textbook_problem():
    """K + 1 without equality row: b = Σ yα minimizes ½‖w‖² + ½b² + Σ Cξ² (LwK (10.105), divided by λ)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1.0, -1.0)
    access = open_access(Linear() + Polynomial(degree=0, gamma=1.0, coef0=1.0), X)
    dual = ConvexLoss(y, np.full(40, 3.0), SquaredHinge(), bias=False).build(access)
    result = Lagrangian(tol=1e-10).solve(dual)
    w, b = X.T @ (y * result.alpha), float(y @ result.alpha)

    def risk(v):
        slack = np.maximum(0, 1 - y * (X @ v[:2] + v[2]))
        return 0.5 * v @ v + 3.0 * slack @ slack

    direct = minimize(risk, np.zeros(3), method="BFGS", options=dict(gtol=1e-9))
    np.testing.assert_allclose([*w, b], direct.x, atol=1e-4)
    np.testing.assert_allclose(result.alpha, 6.0 * np.maximum(0, 1 - y * (X @ w + b)), atol=1e-3)  # α = 2Cξ


# ---- gradient descent -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", ["rkhs", "norm", "sparsity", "values"])
@pytest.mark.parametrize("loss", [Logistic(), Exponential(), SquaredHinge(), Huber()], ids=repr)
def test_regularizers_of_table_10_3(regularizer, loss):
    """Gradients agree with differences, and bounds enclose the value of an independent minimizer."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if loss.form == "margin" else X[:, 0]
    risk = RegularizedRisk(RBF(0.4)(X), y, loss, np.full(12, 0.7), regularizer, 0.3)
    alpha = rng.normal(size=12)
    if regularizer != "sparsity":
        h = 1e-6
        at = lambda a: risk.penalty(a, risk.K @ a)  # noqa: E731
        slope = [(at(alpha + h * e) - at(alpha - h * e)) / (2 * h) for e in np.eye(12)]
        np.testing.assert_allclose(risk.penalty_gradient(alpha, risk.K @ alpha), slope, rtol=1e-5, atol=1e-7)
    result = descend(risk, tol=1e-2, max_iter=3000)
    assert result.lower_bound <= result.value
    objective = lambda v: risk.losses(risk.K @ v[:12] + v[12]) + risk.penalty(v[:12], risk.K @ v[:12])  # noqa: E731
    start = np.r_[result.coefficients, result.intercept]
    direct = minimize(objective, start, method="Powell", options=dict(maxiter=30))
    assert result.lower_bound <= direct.fun + 1e-9
    if result.status is Status.SOLVED:
        assert result.value - direct.fun <= 1e-2 * result.value
    if regularizer == "sparsity":
        assert np.count_nonzero(result.coefficients) < 12


def test_theorem_10_5_is_the_duality_gap():
    """docs/math (369): the recorded bounds enclose the optimum and converge."""
    dual = problem("logistic")
    optimum = -dual.value(InteriorPoint().solve(dual).alpha)
    history = GradientDescent(tol=1e-8).solve(dual).history
    assert np.all(history.dual <= optimum + 1e-9)
    assert np.all(history.primal >= optimum - 1e-9)
    np.testing.assert_allclose(history.primal - history.dual, history.gap, rtol=1e-6, atol=1e-12)
    assert history.gap[-1] < 1e-6 * history.gap[0]


# ---- errors and estimators ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "loss", "remedy"),
    [
        (Newton(), "hinge", "interior_point"),
        (Newton(), "epsilon", "interior_point"),
        (Lagrangian(), "hinge", "squared_hinge"),
        (Lagrangian(), "modified huber", "newton"),
        (Lagrangian(), "logistic", "squared_hinge"),
        (AdaTron(), "logistic", "newton"),
        (GradientDescent(space="coefficients"), "hinge", "logistic"),
    ],
    ids=str,
)
def test_unsupported_loss_is_rejected_with_a_remedy(solver, loss, remedy):
    with pytest.raises(ValueError, match=remedy):
        solver.solve(problem(loss))


def test_invalid_options_are_named():
    with pytest.raises(ValueError, match="rate"):
        AdaTron(rate=2.0)
    with pytest.raises(ValueError, match="space"):
        GradientDescent(space="somewhere")
    with pytest.raises(ValueError, match="regularizer"):
        RegularizedRisk(np.eye(2), np.ones(2), Logistic(), np.ones(2), "ridge")
    with pytest.raises(ValueError, match="strength"):
        RegularizedRisk(np.eye(2), np.ones(2), Logistic(), np.ones(2), "rkhs", 0.0)
    with pytest.raises(ValueError, match="logistic"):
        descend(RegularizedRisk(np.eye(2), np.ones(2), Hinge(), np.ones(2)))


@pytest.mark.parametrize(
    ("name", "loss", "solver"),
    [
        ("SVC", "squared_hinge", "lagrangian"),
        ("SVC", "squared_hinge", "newton"),
        ("SVC", "logistic", "newton"),
        ("SVC", "modified_huber", Newton(approximation=SGMA(rank=100, tol=0))),
        ("SVC", "exponential", "gradient_descent"),
        ("SVC", "hinge", "adatron"),
        ("SVR", "squared_epsilon_insensitive", "lagrangian"),
        ("SVR", "huber", "newton"),
        ("SVR", "squared_epsilon_insensitive", Lagrangian(approximation=SGMA(rank=100, tol=0))),
    ],
    ids=str,
)
def test_estimators_select_solvers_by_name(name, loss, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=90), [-0.5, 0.5]) if name == "SVC" else np.sin(X[:, 0])
    make = getattr(hinge, name)
    model = make(loss=loss, solver=solver, gamma=0.3).fit(X, y)
    reference = make(loss=loss, gamma=0.3, tol=1e-8).fit(X, y)
    assert model.status_ is Status.SOLVED
    certificate = model.certify(X, y)
    assert certificate.relative_gap <= 2e-3
    optimum = reference.certificate_.primal
    assert certificate.dual <= optimum * (1 + 1e-6)
    assert certificate.primal >= optimum * (1 - 1e-6)
    assert model.certificate_.relative_gap == pytest.approx(certificate.relative_gap, rel=0.2, abs=1e-6)


def test_linear_kernel_uses_the_data_as_factor():
    """With more samples than features the factor is X, and no approximation is reported."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 0, 1, 0)
    for solver in ("newton", "lagrangian"):
        model = hinge.SVC(kernel="linear", loss="squared_hinge", solver=solver).fit(X, y)
        assert not hasattr(model, "approximation_")
        assert model.certify(X, y).relative_gap < 1e-3


# ---- sweeps of the AdaTron ---------------------------------------------------------------------------------------


def reference_sweep(K, problem, d, row, curvature, group, mu, penalty, rate, order, alpha, residual):
    """(367) in Python, with f recomputed for every variable."""
    Q, n = problem.Q, problem.Q.n
    alpha, residual = alpha.copy(), residual.copy()
    for i in order:
        for v in range(i, problem.size, n):
            f = K[i] @ Q.coefficients(alpha)
            slope = Q.sign[v] * f + problem.p[v] + d[v] * alpha[v]
            if group[v] >= 0:
                slope += row[v] * (mu[group[v]] + penalty * residual[group[v]])
            if curvature[v] > 0:
                new_value = alpha[v] - rate * slope / curvature[v]
            else:
                new_value = {1.0: problem.lower[v], -1.0: problem.upper[v], 0.0: alpha[v]}[np.sign(slope)]
            new_value = min(max(new_value, problem.lower[v]), problem.upper[v])
            if group[v] >= 0:
                residual[group[v]] += row[v] * (new_value - alpha[v])
            alpha[v] = new_value
    return alpha, residual


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "epsilon"])
def test_sweep_agrees_with_the_formula(loss, flat):
    dual = problem(loss, m=25)
    n, rng = 25, np.random.default_rng(2)
    K = np.zeros((n, n)) if flat else dual.Q.access.block(np.arange(n), np.arange(n))
    alpha = rng.uniform(dual.lower, dual.upper)
    d, row = rng.uniform(0, 0.1, dual.size) * (not flat), dual.A[0]
    curvature = np.tile(np.diagonal(K), dual.Q.slots) + d
    group, mu, order = np.zeros(dual.size, dtype=np.int8), np.array([0.3]), rng.permutation(n)[:20]
    residual = dual.equality_residual(alpha)
    expected = reference_sweep(K, dual, d, row, curvature, group, mu, 0.2, 1.3, order, alpha, residual)
    f, change = K @ dual.Q.coefficients(alpha), np.zeros(n)
    before = dual.Q.coefficients(alpha)
    adatron_sweep(
        K, dual.p, dual.lower, dual.upper, dual.Q.sign, d, row, curvature, group, mu, 0.2, 1.3, order, alpha, f,
        change, residual,
    )  # fmt: skip
    np.testing.assert_allclose(alpha, expected[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(residual, expected[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(f, K @ dual.Q.coefficients(alpha), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(change, dual.Q.coefficients(alpha) - before, rtol=1e-12, atol=1e-12)


def test_sweep_checks_its_arguments():
    dual = problem("hinge", m=6)
    K, zero, one = np.eye(6), np.zeros(6), np.ones(6)
    good = dict(
        matrix=K, linear=dual.p, lower=dual.lower, upper=dual.upper, sign=dual.Q.sign, ridge=zero, row=one,
        curvature=one, group=np.zeros(6, dtype=np.int8), multipliers=np.zeros(1), penalty=0.0, rate=1.0,
        order=np.arange(6), alpha=zero.copy(), f=zero.copy(), change=zero.copy(), residual=np.zeros(1),
    )  # fmt: skip
    adatron_sweep(**good)
    for name, value, message in (
        ("matrix", np.zeros((6, 5)), "square"), ("linear", np.zeros(5), "slots"), ("order", np.array([6]), "sample"),
        ("order", np.array([-1]), "sample"), ("group", np.ones(6, dtype=np.int8), "row"),
        ("residual", np.zeros(2), "multiplier"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            adatron_sweep(**{**good, name: value})


@pytest.mark.parametrize("loss", ["hinge", "epsilon"])
def test_sweeps_in_blocks_agree_with_full_sweeps(loss):
    """Without the matrix in memory, samples are processed in blocks."""
    dual = problem(loss, m=200)
    low = low_rank_access(dual.Q.access, SGMA(rank=200, tol=0))
    blocks = replace(dual, Q=Quadratic(low, dual.Q.sign))
    full, in_blocks = (AdaTron(tol=1e-5).solve(each) for each in (dual, blocks))
    assert full.status is in_blocks.status is Status.SOLVED
    assert dual.value(in_blocks.alpha) == pytest.approx(dual.value(full.alpha), rel=2e-5)
    assert in_blocks.iterations == pytest.approx(full.iterations, rel=0.2)
