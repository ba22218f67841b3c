"""LowRankInteriorPoint: agreement with the dense method, blocks, precision, limits, growing bases."""

import gc
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, Status, losses
from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, ConvexLoss
from hinge.kernels import RBF, Precomputed, open_access
from hinge.lowrank import SGMA, Nystrom, PivotedCholesky, low_rank_access
from hinge.problems import Problem, Quadratic, optimality
from hinge.problems.reduced import Basis
from hinge.solvers import InteriorPoint, LowRankInteriorPoint
from hinge.solvers.interior_point.low_rank_system import LowRankSystem


def problem(m=400, seed=0, regression=False, C=10.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    access = open_access(RBF(0.2), X)
    if regression:
        return SVR(f + 0.1 * rng.normal(size=m), np.full(m, C), 0.1).build(access)
    return CSVC(np.where(f + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0), np.full(m, C)).build(access)


def reduced(problem, rank=60):
    """The same problem with a low-rank kernel matrix."""
    access = low_rank_access(problem.Q.access, SGMA(rank=rank, tol=0))
    return Problem(
        Quadratic(access, problem.Q.sign), problem.p, problem.A, problem.d, problem.lower, problem.upper
    )


@pytest.mark.parametrize("regression", [False, True])
def test_agrees_with_dense_interior_point(regression):
    low = reduced(problem(regression=regression))
    K = low.Q.access.block(np.arange(400), np.arange(400))
    dense = Problem(
        Quadratic(open_access(Precomputed(), K), low.Q.sign), low.p, low.A, low.d, low.lower, low.upper
    )
    solution, reference = LowRankInteriorPoint(tol=1e-10).solve(low), InteriorPoint().solve(dense)
    assert solution.status is Status.SOLVED
    assert solution.iterations <= 20  # 14 to 17 for six such problems
    value = dense.value(reference.alpha)
    assert low.value(solution.alpha) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6, 1e-9])
def test_requested_gap_is_reached(tol):
    low = reduced(problem())
    solution = LowRankInteriorPoint(tol=tol).solve(low)
    assert solution.status is Status.SOLVED
    assert optimality(low, *solution.point).relative_gap <= 1.01 * tol


def test_files_threads_and_precision_give_the_same_solution(tmp_path):
    """With a cache smaller than L, rows are read from a file in blocks. The result does not depend on threads."""
    full = problem(3000)
    method = Nystrom(rank=150)
    options = dict(approximation=method, tol=1e-4)
    in_memory = LowRankInteriorPoint(**options).solve(full)
    from_file = LowRankInteriorPoint(cache_size=0.5, folder=str(tmp_path), **options).solve(full)
    two_threads = LowRankInteriorPoint(threads=2, **options).solve(full)
    double = LowRankInteriorPoint(dtype="float64", **options).solve(full)
    assert in_memory.alpha.tobytes() == from_file.alpha.tobytes() == two_threads.alpha.tobytes()
    value = full.value(double.alpha)
    assert full.value(in_memory.alpha) == pytest.approx(value, rel=1e-3)
    assert list(tmp_path.iterdir()) == []


def test_fixed_variables_are_eliminated():
    solution = LowRankInteriorPoint(tol=1e-6).solve(reduced(problem(2000, C=1.0)))
    assert solution.history.active[0] == 2000
    assert solution.history.active[-1] < 1000


@pytest.mark.parametrize("slots", [1, 2])
def test_linear_system_is_accurate_for_all_magnitudes_of_D(slots):
    """D covers twenty orders of magnitude, as in the last iterations. The residual is small relative to its terms."""
    rng = np.random.default_rng(0)
    L = rng.normal(size=(200, 12))
    access = low_rank_access(open_access(Precomputed(), L @ L.T), SGMA(rank=12, tol=0))
    Q = Quadratic(access, np.repeat([1.0, -1.0], 200)[: 200 * slots])
    D = 10.0 ** rng.uniform(-10, 10, 200 * slots)
    D[rng.permutation(200)[:180]] = 1e8  # most variables are at a bound
    D[200:] = 1e6  # at most one of α and α* is free
    system = LowRankSystem(access.blocks, Q, 1e-12)
    system.factor(D, np.ones(len(D), dtype=bool))
    r = rng.normal(size=(len(D), 2))
    x, f = system.solve(r)
    for k in range(2):
        parts = D * x[:, k], Q.matvec(x[:, k])
        scale = np.abs(r[:, k]) + np.abs(parts[0]) + np.abs(parts[1]) + 1.0
        assert np.max(np.abs(r[:, k] - parts[0] - parts[1]) / scale) < 1e-7
        np.testing.assert_allclose(Q.spread(f[:, k]), parts[1], rtol=1e-5, atol=1e-5 * np.max(np.abs(parts[1])))


def test_time_limit_returns_a_feasible_point():
    full = problem(4000)
    began = time.monotonic()
    solution = LowRankInteriorPoint(approximation=Nystrom(rank=400), tol=1e-12, max_time=0.3).solve(reduced(full, 100))
    assert solution.status in (Status.TIME_LIMIT, Status.SOLVED)
    assert time.monotonic() - began < 10.0
    assert np.all((solution.alpha >= full.lower) & (solution.alpha <= full.upper))
    assert abs(full.A @ solution.alpha)[0] <= 1e-9


def test_callback_can_stop_the_run_and_may_raise():
    low = reduced(problem())
    seen = []
    control = RunControl(callback=lambda s: seen.append(s) or len(seen) < 3)
    solution = LowRankInteriorPoint(tol=1e-10).solve(low, control=control)
    assert solution.status is Status.INTERRUPTED
    assert len(seen) == 3
    assert {"iteration", "seconds", "violation", "primal", "dual", "gap"} <= seen[0].keys()

    def fails(snapshot):
        raise KeyboardInterrupt

    solution = LowRankInteriorPoint(tol=1e-10).solve(low, control=RunControl(callback=fails))
    assert solution.status is Status.INTERRUPTED
    assert isinstance(solution.error, KeyboardInterrupt)


def test_certificate_of_the_full_problem_shows_the_approximation_error():
    """With few basis functions the gap of the full problem is large."""
    full = problem()
    solution = LowRankInteriorPoint(approximation=Nystrom(rank=10), tol=1e-8).solve(full)
    np.testing.assert_allclose(solution.gradient, full.gradient(solution.alpha), rtol=1e-9, atol=1e-9)
    certificate = optimality(full, *solution.point)
    optimum = -full.value(InteriorPoint().solve(full).alpha)
    assert certificate.dual <= optimum <= certificate.primal
    assert certificate.relative_gap > 1e-3


@pytest.mark.slow
def test_time_grows_linearly_to_two_hundred_thousand_samples():
    seconds = []
    for m in (50_000, 200_000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(m, 20)).astype(np.float32)
        y = np.where(np.sin(X[:, 0]) + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
        access = open_access(RBF(0.02), X)
        solver = LowRankInteriorPoint(approximation=Nystrom(rank=100), tol=1e-3)
        solution = solver.solve(CSVC(y, np.ones(m)).build(solver.approximate(access)))
        assert solution.status is Status.SOLVED
        seconds.append(solution.history.seconds[-1] / solution.iterations)
    assert seconds[1] < 3 * 4 * seconds[0]


def test_factor_is_freed_with_its_last_reference():
    """L may take a gigabyte and must not wait for the garbage collector."""
    gc.disable()
    try:
        low = reduced(problem(200), 20)
        alive = weakref.ref(low.Q.access.origin)
        solution = LowRankInteriorPoint().solve(low)
        del low
        assert solution.status is Status.SOLVED
        assert alive() is None
    finally:
        gc.enable()


def test_optimum_of_zero_is_found():
    """A relative gap is meaningless if the optimum is 0. The gap is compared with the start of the run."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 8)
        factor = rng.normal(size=(n, rng.integers(1, n + 1)))
        Q = Quadratic(open_access(Precomputed(), factor @ factor.T), np.ones(n))
        zero = np.zeros(n)
        zero_problem = Problem(Q, zero, np.zeros((0, n)), np.zeros(0), zero, np.ones(n))
        solution = LowRankInteriorPoint(approximation=SGMA(rank=20, tol=0), tol=1e-10).solve(zero_problem)
        assert solution.status is Status.SOLVED
        assert zero_problem.value(solution.alpha) <= 1e-10 * np.trace(factor @ factor.T)


@pytest.mark.parametrize("regression", [False, True])
def test_warm_start_eliminates_samples_and_reaches_the_same_gap(regression):
    small, large = (reduced(problem(regression=regression), rank) for rank in (20, 60))
    solver = LowRankInteriorPoint(tol=1e-4)
    first = solver.solve(small)
    warm, cold = solver.solve(large, first), solver.solve(large)
    assert warm.status is Status.SOLVED
    share = np.max(warm.history.active) / np.max(cold.history.active)
    assert share < (1.0 if regression else 0.95)  # few samples are far from the edges of a narrow tube
    for solution in (warm, cold):
        assert optimality(large, *solution.point).relative_gap <= 1.01e-4


def test_wrongly_eliminated_samples_are_restored():
    """A start with every variable at the wrong bound."""
    large = reduced(problem(), 60)
    solver = LowRankInteriorPoint(tol=1e-4)
    good = solver.solve(large)
    bad = replace(good, alpha=np.where(good.alpha > 0.5 * large.upper, large.lower, large.upper))
    solution = solver.solve(large, bad)
    assert solution.status is Status.SOLVED
    assert optimality(large, *solution.point).relative_gap <= 1.01e-4


def blobs(m=600, classes=2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(m, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=m)
    return X, np.digitize(f, np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1]))


@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_agree_with_one_round(classes):
    X, y = blobs(classes=classes)
    options = dict(C=5.0, gamma=0.5)

    def fitted(rounds):
        method = SGMA(rank=80, tol=0, sample=None)
        return SVC(solver=LowRankInteriorPoint(approximation=method, tol=1e-4, rounds=rounds), **options).fit(X, y)

    one, three = fitted(1), fitted(3)
    assert three.approximation_.rank == one.approximation_.rank == len(three.support_) == 80
    assert three.certificate_.primal == pytest.approx(one.certificate_.primal, rel=3e-4)
    assert three.approximation_.certificate.relative_gap <= 1.1e-4
    assert np.mean(three.predict(X) == one.predict(X)) > 0.99


def test_rounds_end_early_without_improvement():
    """With two features and a smooth kernel, 40 basis functions are as good as 320."""
    X, y = blobs()
    solver = LowRankInteriorPoint(approximation=Nystrom(rank=320), tol=1e-2, rounds=4)
    model = SVC(solver=solver, C=1.0, gamma=0.05).fit(X[:, :2], y)
    assert model.approximation_.rank < 320


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2"])
def test_invalid_rounds_are_rejected(rounds):
    with pytest.raises(ValueError, match="rounds="):
        LowRankInteriorPoint(rounds=rounds)


def test_bounds_of_earlier_rounds_are_discarded():
    """A problem of lower rank has a larger optimum. Its lower bound is not valid for the last round."""
    X, y = blobs(classes=3)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=80, tol=0, sample=None), tol=1e-4, rounds=3)
    certificate = SVC(solver=solver, C=5.0, gamma=0.5).fit(X, y).approximation_.certificate
    assert certificate.best_dual <= certificate.best_primal
    assert certificate.best_dual == pytest.approx(certificate.dual, rel=1e-3)


LOSSES = (
    losses.SquaredHinge(), losses.ModifiedHuber(), losses.HuberizedHinge(), losses.Logistic(), losses.Huber(0.5),
    losses.Gaussian(), losses.SquaredEpsilonInsensitive(0.1), losses.PolynomialLoss(1.5), losses.PolynomialLoss(3.0),
    losses.PiecewisePolynomial(3.0, 0.5),
)  # fmt: skip


@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_convex_losses_agree_with_the_dense_method(loss, C):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 3))
    f = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150)
    target = np.where(f > 0, 1.0, -1.0) if loss.form == "margin" else f
    access = low_rank_access(open_access(RBF(0.2), X), SGMA(rank=30, tol=0))
    K = access.block(np.arange(150), np.arange(150))
    formulation = ConvexLoss(target, np.full(150, C), loss)
    low, dense = formulation.build(access), formulation.build(open_access(Precomputed(), K))
    solution, reference = LowRankInteriorPoint(tol=1e-8).solve(low), InteriorPoint().solve(dense)
    assert solution.status is Status.SOLVED
    assert solution.iterations <= 25
    certificate = optimality(low, *solution.point)
    assert certificate.relative_gap <= 1.01e-8
    assert certificate.infeasibility <= 1e-12 * np.sum(np.abs(solution.alpha))
    assert low.value(solution.alpha) == pytest.approx(dense.value(reference.alpha), rel=2e-8)


def test_logistic_loss_with_few_basis_functions_predicts_the_same_labels():
    X, y = blobs(classes=3)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=100, tol=0))
    few = SVC(loss="logistic", C=5.0, gamma=0.3, solver=solver).fit(X, y)
    full = SVC(loss="logistic", C=5.0, gamma=0.3).fit(X, y)
    assert len(few.support_) == 100
    assert np.mean(few.predict(X) == full.predict(X)) > 0.98


def test_infinite_bounds_are_rejected():
    low = reduced(problem())
    unbounded = replace(low, upper=np.full(low.size, np.inf))
    with pytest.raises(ValueError, match="finite bounds"):
        LowRankInteriorPoint().solve(unbounded)


def test_a_fit_whose_certificate_needs_more_time_than_is_left_is_not_solved(monkeypatch):
    """Without the values of the function there is no upper bound: the gap is infinite."""
    monkeypatch.setattr(Basis, "functions", lambda self, coefficients, betas, stop: None)
    X = np.random.default_rng(0).normal(size=(80, 3))
    solver = LowRankInteriorPoint(approximation=PivotedCholesky(rank=10))
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(solver=solver, max_time=60).fit(X, X[:, 0] > 0)
    assert model.status_ is Status.TIME_LIMIT
    assert model.certificate_.primal == np.inf
