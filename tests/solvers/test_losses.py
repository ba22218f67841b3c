"""All losses of Table 2 agree with an independent conic solver; quadratic ones with all box solvers."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import optimize, sparse

from hinge import losses
from hinge.formulations import ConvexLoss
from hinge.kernels import RBF, DirectAccess, open_access
from hinge.problems import Diagonal, Status, optimality
from hinge.solvers import SMO, Auto, Chunking, InteriorPoint, WorkingSet, choose
from losses.cases import TwoSlopesWithKink

MARGIN = [
    losses.Hinge(), losses.SquaredHinge(), losses.ModifiedHuber(), losses.HuberizedHinge(), losses.Logistic(),
    losses.Exponential(), losses.SmoothedHinge(0.3),
]  # fmt: skip
RESIDUAL = [
    losses.EpsilonInsensitive(0.1), losses.SquaredEpsilonInsensitive(0.1), losses.Laplace(), losses.Gaussian(),
    losses.Huber(0.3), losses.PolynomialLoss(1.5), losses.PolynomialLoss(3.0), losses.PiecewisePolynomial(3.0, 0.4),
    losses.PiecewisePolynomial(1.5, 0.4),
]  # fmt: skip
QUADRATIC = [loss for loss in MARGIN + RESIDUAL if loss.quadratic_conjugate is not None]


def data(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[3] = X[2]  # a duplicate makes the kernel matrix singular
    signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    y = signal + 0.4 * rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2.0, n)


def make(loss, C=1.0, n=24, seed=0):
    X, y, weight = data(n, seed)
    kernel = RBF(0.4)
    target = np.where(y > 0, 1.0, -1.0) if loss.form == "margin" else y
    return ConvexLoss(target, C * weight, loss), open_access(kernel, X), DirectAccess(kernel, X)


#: Losses as in Table 1 of the tutorial, independent of the library: (start of the loss, curvature of its quadratic part
#: or 0, slope of its linear part or infinity).
SHAPES = {
    "Hinge": lambda _: (1.0, 0.0, 1.0),
    "SquaredHinge": lambda _: (1.0, 2.0, np.inf),
    "ModifiedHuber": lambda _: (1.0, 2.0, 4.0),
    "HuberizedHinge": lambda loss: (loss.rho, 1.0, loss.h),
    "SmoothedHinge": lambda loss: (1.0 + loss.epsilon, 0.5 / loss.epsilon, 1.0),
    "EpsilonInsensitive": lambda loss: (loss.epsilon, 0.0, 1.0),
    "SquaredEpsilonInsensitive": lambda loss: (loss.epsilon, 2.0, np.inf),
    "Laplace": lambda _: (0.0, 0.0, 1.0),
    "Gaussian": lambda _: (0.0, 1.0, np.inf),
    "Huber": lambda loss: (0.0, 1.0 / loss.sigma, 1.0),
}

#: The same for powers: (p, σ, slope of the linear part).
POWERS = {
    "PolynomialLoss": lambda loss: (loss.p, 1.0, np.inf),
    "PiecewisePolynomial": lambda loss: (loss.p, loss.sigma, 1.0),
}


def primal_by_clarabel(formulation, K):
    """min ½βᵀKβ + Σ C φ(z) as a conic program, from the definition of each loss."""
    y, cost, loss = formulation.y, formulation.cost, formulation.loss
    n = len(y)
    values, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    # variables: w (n), b, z (n), then those of the loss; z = y ∘ (Lw + b) or y − Lw − b
    sign = np.diag(y) if loss.form == "margin" else -np.eye(n)
    head = np.hstack([-sign @ L, -(sign @ np.ones((n, 1))), np.eye(n)])
    equal = np.zeros(n) if loss.form == "margin" else y
    extra, rows, right, cones, linear_cost, curvature_cost = _epigraph(loss, n, cost)
    width = 2 * n + 1 + extra
    P = sparse.diags(np.concatenate([np.ones(n), np.zeros(n + 1), curvature_cost])).tocsc()
    q = np.concatenate([np.zeros(2 * n + 1), linear_cost])
    A = np.vstack([np.hstack([head, np.zeros((n, extra))]), rows])
    b = np.concatenate([equal, right])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    assert A.shape[1] == width
    cones = [clarabel.ZeroConeT(n), *cones]
    result = clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), b, cones, settings).solve()
    return result.obj_val


def _epigraph(loss, n, cost):
    """(variables, rows, right-hand sides, cones, linear cost, curvature) of Σ C φ(z); z are columns n + 1 … 2n + 1."""
    eye, empty = np.eye(n), np.zeros((n, n))
    before = np.zeros((n, n + 1))
    nonneg = clarabel.NonnegativeConeT
    name = type(loss).__name__
    if loss.form == "margin" and name in ("Logistic", "Exponential"):
        # exp(−z) ≤ t, or exp(−t) + exp(−z − t) ≤ 1: rows of s = b − A x in the cone {y e^{x/y} ≤ z}
        rows, right, cones = [], [], []
        extra = n if name == "Exponential" else 3 * n
        for i in range(n):
            for shift in (False,) if name == "Exponential" else (False, True):
                first, last = np.zeros(2 * n + 1 + extra), np.zeros(2 * n + 1 + extra)
                first[n + 1 + i] = 0.0 if name == "Logistic" and shift else 1.0
                if name == "Logistic":
                    first[2 * n + 1 + i] = 1.0
                    last[(3 if shift else 2) * n + 1 + n + i] = -1.0
                else:
                    last[2 * n + 1 + i] = -1.0
                rows += [first, np.zeros_like(first), last]
                right += [0.0, 1.0, 0.0]
                cones.append(clarabel.ExponentialConeT())
        if name == "Logistic":
            total = np.hstack([np.zeros((n, 3 * n + 1)), eye, eye])
            rows, right, cones = [*rows, *total], [*right, *np.ones(n)], [*cones, nonneg(n)]
            linear_cost = np.concatenate([cost, np.zeros(2 * n)])
        else:
            linear_cost = cost
        return extra, np.array(rows), np.array(right), cones, linear_cost, np.zeros(extra)
    if loss.form == "margin":
        rho, curvature, height = SHAPES[name](loss)
        # slack = quadratic + linear part ≥ ρ − z, both ≥ 0
        lin = np.hstack([before, -eye, -eye, -eye])
        rows = np.vstack([lin, np.hstack([before, empty, -eye, empty]), np.hstack([before, empty, empty, -eye])])
        bounded = np.isfinite(height)
        slope = height if bounded else 1e6
        linear_cost = np.concatenate([np.zeros(n) if curvature else 1e6 * np.ones(n), slope * cost])
        curvature_cost = np.concatenate([curvature * cost, np.zeros(n)])
        return 2 * n, rows, np.r_[-rho * np.ones(n), np.zeros(2 * n)], [nonneg(3 * n)], linear_cost, curvature_cost
    if name in ("PolynomialLoss", "PiecewisePolynomial"):
        p, sigma, height = POWERS[name](loss)
        # |z| ≤ u + v; u^p ≤ t, v ≥ 0: (t, 1, u) in the power cone with exponent 1/p
        extra = 3 * n
        zero = np.zeros((n, n))
        rows = [np.hstack([before, s * eye, -eye, -eye, zero]) for s in (1.0, -1.0)]
        rows.append(np.hstack([before, zero, zero, -eye, zero]))
        right, cones = [np.zeros(3 * n)], [nonneg(3 * n)]
        power, ones = [], []
        for i in range(n):
            t, u = np.zeros(2 * n + 1 + extra), np.zeros(2 * n + 1 + extra)
            t[4 * n + 1 + i], u[2 * n + 1 + i] = -1.0, -1.0
            power += [t, np.zeros_like(t), u]
            ones += [0.0, 1.0, 0.0]
            cones.append(clarabel.PowerConeT(1.0 / p))
        slope = height if np.isfinite(height) else 1e5
        linear_cost = np.concatenate([np.zeros(n), slope * cost, cost * sigma ** (1 - p) / p])
        return extra, np.vstack([*rows, np.array(power)]), np.r_[right[0], ones], cones, linear_cost, np.zeros(extra)
    epsilon, curvature, height = SHAPES[name](loss)
    rows = [np.hstack([before, s * eye, -eye, -eye]) for s in (1.0, -1.0)]
    rows += [np.hstack([before, empty, -eye, empty]), np.hstack([before, empty, empty, -eye])]
    slope = height if np.isfinite(height) else 1e6
    linear_cost = np.concatenate([np.zeros(n) if curvature else 1e6 * np.ones(n), slope * cost])
    curvature_cost = np.concatenate([curvature * cost, np.zeros(n)])
    right = np.r_[epsilon * np.ones(2 * n), np.zeros(2 * n)]
    return 2 * n, np.vstack(rows), right, [nonneg(4 * n)], linear_cost, curvature_cost


def test_all_losses_are_compared():
    """All named losses and all rows of Table 2 of the tutorial are compared below."""
    compared = {type(loss) for loss in MARGIN + RESIDUAL}
    assert compared >= set(losses.MARGIN_LOSSES.values()) | set(losses.RESIDUAL_LOSSES.values())
    rows = {"EpsilonInsensitive", "Laplace", "Gaussian", "Huber", "PolynomialLoss", "PiecewisePolynomial"}
    assert rows <= {kind.__name__ for kind in compared}


@pytest.mark.parametrize(("C", "seed"), [(0.05, 7), (2.0, 0), (30.0, 8)])
@pytest.mark.parametrize("loss", MARGIN + RESIDUAL, ids=repr)
def test_losses_agree_with_an_independent_solver(loss, C, seed):
    formulation, access, direct = make(loss, C=C, seed=seed)
    solution = InteriorPoint().solve(formulation.build(access))
    assert solution.status is Status.SOLVED
    point = formulation.dual_point(formulation.recover(*solution.point))
    certificate = optimality(formulation.certified_problem(direct), *point)
    rows = np.arange(access.n)
    reference = primal_by_clarabel(formulation, direct.block(rows, rows))
    assert certificate.relative_gap < 1e-10
    assert certificate.primal == pytest.approx(reference, rel=1e-7)


@pytest.mark.parametrize("loss", MARGIN + RESIDUAL, ids=repr)
def test_certified_primal_value_is_the_objective(loss):
    formulation, access, direct = make(loss, C=0.7, seed=3)
    solution = InteriorPoint(max_iter=4).solve(formulation.build(access))  # not at the optimum
    expansion = formulation.recover(*solution.point)
    certificate = optimality(formulation.certified_problem(direct), *formulation.dual_point(expansion))
    f = direct.matvec(expansion.coefficients)
    f = f + certificate.mu[0]
    z = formulation.y * f if loss.form == "margin" else formulation.y - f
    objective = 0.5 * expansion.coefficients @ (f - certificate.mu[0]) + formulation.cost @ loss.value(z)
    assert certificate.primal == pytest.approx(objective, rel=1e-9)
    assert certificate.dual <= certificate.primal


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("loss", MARGIN + RESIDUAL, ids=repr)
def test_ten_digits_within_thirty_iterations(loss, C):
    formulation, access, direct = make(loss, C, n=60, seed=1)
    solution = InteriorPoint().solve(formulation.build(access))
    assert solution.status is Status.SOLVED
    assert solution.iterations <= 30
    point = formulation.dual_point(formulation.recover(*solution.point))
    certificate = optimality(formulation.certified_problem(direct), *point)
    limit = 1e-8 if isinstance(loss, losses.Exponential) and C == 1e4 else 1e-10  # slopes have the size of the costs
    assert certificate.relative_gap < limit


@pytest.mark.parametrize("solver", [SMO, WorkingSet, Chunking, Auto], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("loss", QUADRATIC, ids=repr)
def test_box_solvers_agree_with_interior_point(loss, solver):
    formulation, access, direct = make(loss, C=3.0, n=50, seed=2)
    problem = formulation.build(access)
    exact = optimality(problem, *InteriorPoint().solve(problem).point)
    solution = solver(tol=1e-8).solve(problem)
    certificate = optimality(problem, solution.alpha, solution.mu, solution.gradient)
    assert solution.status is Status.SOLVED
    assert certificate.kkt_violation <= 1e-8
    assert certificate.primal == pytest.approx(exact.primal, rel=1e-9)
    point = formulation.dual_point(formulation.recover(*solution.point))
    recomputed = optimality(formulation.certified_problem(direct), *point)
    assert recomputed.relative_gap < 1e-9


def test_batch_shares_a_matrix_with_a_diagonal_term():
    X, _, weight = data(60, 4)
    access = open_access(RBF(0.4), X)
    label = np.arange(60) % 3
    parts = [np.flatnonzero(label != k) for k in range(3)]
    sign = [np.where(label[rows] == (k + 1) % 3, 1.0, -1.0) for k, rows in enumerate(parts)]
    problems = [
        ConvexLoss(s, weight[rows], losses.SquaredHinge()).build(access.subset(rows))
        for s, rows in zip(sign, parts, strict=True)
    ]
    batch = WorkingSet(tol=1e-8, polish=False).solve_batch(problems)
    for problem, solution in zip(problems, batch, strict=True):
        separate = WorkingSet(tol=1e-8, polish=False).solve(problem)
        np.testing.assert_allclose(solution.alpha, separate.alpha, atol=1e-6)
        assert optimality(problem, *solution.point).kkt_violation <= 1.1e-8


def test_box_solvers_reject_general_losses():
    formulation, access, _ = make(losses.Logistic())
    problem = formulation.build(access)
    for solver in (SMO(), WorkingSet(), Chunking()):
        with pytest.raises(ValueError, match="use solver='interior_point'"):
            solver.solve(problem)
    assert choose("auto", tol=1e-3).solve(problem).status is Status.SOLVED


def test_loss_with_several_linear_pieces_agrees_with_a_direct_minimization():
    """The reference is a direct minimization by SciPy."""
    X, y, weight = data(15, 5)
    loss = losses.as_loss(TwoSlopesWithKink(), "residual")
    formulation = ConvexLoss(y, weight, loss)
    access = open_access(RBF(0.4), X)
    solution = InteriorPoint().solve(formulation.build(access))
    certificate = optimality(formulation.build(access), *solution.point)
    assert certificate.relative_gap < 1e-8
    K = access.block(np.arange(15), np.arange(15))

    def objective(v):
        r = y - K @ v[:15] - v[15]
        return 0.5 * v[:15] @ K @ v[:15] + weight @ loss.value(r)

    start = np.r_[formulation.recover(*solution.point).coefficients, solution.mu[0]]
    better = optimize.minimize(objective, start, method="Powell", options={"maxiter": 20})
    assert certificate.primal == pytest.approx(objective(start), rel=1e-7)
    assert better.fun >= certificate.primal * (1 - 1e-7)


def test_gap_of_a_diagonal_term_is_separable():
    rng = np.random.default_rng(0)
    d = np.r_[rng.uniform(0.1, 2, 6), 0.0, 0.0]
    term, lower, upper = Diagonal(d), np.zeros(8), np.r_[np.full(4, np.inf), np.full(4, 1.5)]
    alpha, r = rng.uniform(0, 1.5, 8), rng.normal(size=8)
    x = np.linspace(0, 40, 200001)
    for v in range(8):
        grid = x[x <= upper[v]]
        best = np.max(-r[v] * grid - 0.5 * d[v] * grid**2)
        here = -r[v] * alpha[v] - 0.5 * d[v] * alpha[v] ** 2
        assert term.gap(alpha, r, lower, upper)[v] == pytest.approx(best - here, abs=1e-6)
    with pytest.raises(ValueError, match="finite, nonnegative value"):
        Diagonal(np.array([-1.0]))
