"""The interior point method over LLᵀ: blocks, files, precision, limits, interruptions."""

import gc
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

from hinge import SVC, Status, losses
from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, ConvexLoss
from hinge.kernels import RBF, Precomputed, open_access
from hinge.lowrank import SGMA, Nystrom, low_rank_access
from hinge.problems import Problem, Quadratic, certify
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
    """The same with a factor in the place of the kernel matrix."""
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
    found, reference = LowRankInteriorPoint(tol=1e-10).solve(low), InteriorPoint().solve(dense)
    assert found.status is Status.SOLVED
    assert found.iterations <= 20  # 14 to 17 for six such problems; the dense method crosses over after two
    value = dense.value(reference.alpha)
    assert low.value(found.alpha) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6, 1e-9])
def test_the_gap_asked_for_is_reached(tol):
    low = reduced(problem())
    found = LowRankInteriorPoint(tol=tol).solve(low)
    assert found.status is Status.SOLVED
    assert certify(low, *found.point).relative_gap <= 1.01 * tol


def test_a_file_and_float32_and_threads_give_the_same_model(tmp_path):
    """A budget below the size of L: rows come from a map, in blocks; the same bits for any number of threads."""
    whole = problem(3000)
    method = Nystrom(rank=150)
    options = dict(approximation=method, tol=1e-4)
    inside = LowRankInteriorPoint(**options).solve(whole)
    outside = LowRankInteriorPoint(cache_size=0.5, folder=str(tmp_path), **options).solve(whole)
    twice = LowRankInteriorPoint(threads=2, **options).solve(whole)
    wide = LowRankInteriorPoint(dtype="float64", **options).solve(whole)
    assert inside.alpha.tobytes() == outside.alpha.tobytes() == twice.alpha.tobytes()
    value = whole.value(wide.alpha)
    assert whole.value(inside.alpha) == pytest.approx(value, rel=1e-3)
    assert list(tmp_path.iterdir()) == []


def test_settled_rows_are_left_out_towards_the_end():
    found = LowRankInteriorPoint(tol=1e-6).solve(reduced(problem(2000, C=1.0)))
    assert found.history.active[0] == 2000
    assert found.history.active[-1] < 1000


@pytest.mark.parametrize("slots", [1, 2])
def test_the_system_is_solved_whatever_magnitudes_D_has(slots):
    """D over twenty magnitudes, as at the end of a path: the residual is small beside what it is made of."""
    rng = np.random.default_rng(0)
    L = rng.normal(size=(200, 12))
    access = low_rank_access(open_access(Precomputed(), L @ L.T), SGMA(rank=12, tol=0))
    Q = Quadratic(access, np.repeat([1.0, -1.0], 200)[: 200 * slots])
    D = 10.0 ** rng.uniform(-10, 10, 200 * slots)
    D[rng.permutation(200)[:180]] = 1e8  # most are settled
    D[200:] = 1e6  # of α and α* one at most is free
    system = LowRankSystem(access.blocks, Q, 1e-12)
    system.factor(D, np.ones(len(D), dtype=bool))
    r = rng.normal(size=(len(D), 2))
    x, f = system.solve(r)
    for k in range(2):
        parts = D * x[:, k], Q.matvec(x[:, k])
        scale = np.abs(r[:, k]) + np.abs(parts[0]) + np.abs(parts[1]) + 1.0
        assert np.max(np.abs(r[:, k] - parts[0] - parts[1]) / scale) < 1e-7
        np.testing.assert_allclose(Q.spread(f[:, k]), parts[1], rtol=1e-5, atol=1e-5 * np.max(np.abs(parts[1])))


def test_max_time_is_kept_and_leaves_a_feasible_point():
    whole = problem(4000)
    began = time.monotonic()
    found = LowRankInteriorPoint(approximation=Nystrom(rank=400), tol=1e-12, max_time=0.3).solve(reduced(whole, 100))
    assert found.status in (Status.TIME_LIMIT, Status.SOLVED)
    assert time.monotonic() - began < 10.0
    assert np.all((found.alpha >= whole.lower) & (found.alpha <= whole.upper))
    assert abs(whole.A @ found.alpha)[0] <= 1e-9


def test_a_monitor_can_stop_it_and_may_fail():
    low = reduced(problem())
    seen = []
    control = RunControl(callback=lambda s: seen.append(s) or len(seen) < 3)
    found = LowRankInteriorPoint(tol=1e-10).solve(low, control=control)
    assert found.status is Status.INTERRUPTED
    assert len(seen) == 3
    assert {"iteration", "seconds", "violation", "primal", "dual", "gap"} <= seen[0].keys()

    def fails(snapshot):
        raise KeyboardInterrupt

    found = LowRankInteriorPoint(tol=1e-10).solve(low, control=RunControl(callback=fails))
    assert found.status is Status.INTERRUPTED
    assert isinstance(found.error, KeyboardInterrupt)


def test_a_direct_solve_tells_the_truth_about_the_true_problem():
    """Few basis functions: the certificate of the problem itself shows what they cost."""
    whole = problem()
    found = LowRankInteriorPoint(approximation=Nystrom(rank=10), tol=1e-8).solve(whole)
    np.testing.assert_allclose(found.gradient, whole.gradient(found.alpha), rtol=1e-9, atol=1e-9)
    certificate = certify(whole, *found.point)
    optimum = -whole.value(InteriorPoint().solve(whole).alpha)
    assert certificate.dual <= optimum <= certificate.primal
    assert certificate.relative_gap > 1e-3


@pytest.mark.slow
def test_two_hundred_thousand_rows_grow_linearly():
    seconds = []
    for m in (50_000, 200_000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(m, 20)).astype(np.float32)
        y = np.where(np.sin(X[:, 0]) + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
        access = open_access(RBF(0.02), X)
        solver = LowRankInteriorPoint(approximation=Nystrom(rank=100), tol=1e-3)
        found = solver.solve(CSVC(y, np.ones(m)).build(solver.approximate(access)))
        assert found.status is Status.SOLVED
        seconds.append(found.history.seconds[-1] / found.iterations)
    assert seconds[1] < 3 * 4 * seconds[0]


def test_nothing_keeps_the_factor_alive():
    """L may be a gigabyte: it goes with its last user, not when the collector comes round."""
    gc.disable()
    try:
        low = reduced(problem(200), 20)
        alive = weakref.ref(low.Q.access.origin)
        found = LowRankInteriorPoint().solve(low)
        del low
        assert found.status is Status.SOLVED
        assert alive() is None
    finally:
        gc.enable()


def test_an_optimum_of_zero_is_found():
    """No gap is small beside nothing: what is left is compared with where the run began."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 8)
        factor = rng.normal(size=(n, rng.integers(1, n + 1)))
        Q = Quadratic(open_access(Precomputed(), factor @ factor.T), np.ones(n))
        nothing = np.zeros(n)
        task = Problem(Q, nothing, np.zeros((0, n)), np.zeros(0), nothing, np.ones(n))
        found = LowRankInteriorPoint(approximation=SGMA(rank=20, tol=0), tol=1e-10).solve(task)
        assert found.status is Status.SOLVED
        assert task.value(found.alpha) <= 1e-10 * np.trace(factor @ factor.T)


@pytest.mark.parametrize("regression", [False, True])
def test_settled_samples_are_left_out_and_the_answer_is_the_same(regression):
    small, large = (reduced(problem(regression=regression), rank) for rank in (20, 60))
    solver = LowRankInteriorPoint(tol=1e-4)
    first = solver.solve(small)
    again, whole = solver.solve(large, first), solver.solve(large)
    assert again.status is Status.SOLVED
    share = np.max(again.history.active) / np.max(whole.history.active)
    assert share < (1.0 if regression else 0.95)  # with so narrow a tube few samples are far from its edges
    for found in (again, whole):
        assert certify(large, *found.point).relative_gap <= 1.01e-4


def test_samples_that_were_set_aside_too_early_come_back():
    """A start with every variable at the wrong end of its box."""
    large = reduced(problem(), 60)
    solver = LowRankInteriorPoint(tol=1e-4)
    good = solver.solve(large)
    bad = replace(good, alpha=np.where(good.alpha > 0.5 * large.upper, large.lower, large.upper))
    found = solver.solve(large, bad)
    assert found.status is Status.SOLVED
    assert certify(large, *found.point).relative_gap <= 1.01e-4


def blobs(m=600, classes=2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(m, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=m)
    return X, np.digitize(f, np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1]))


@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_of_improvement_end_where_one_round_does(classes):
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


def test_rounds_end_early_where_nothing_is_gained():
    """Two features and a smooth kernel: forty basis functions are as good as 320."""
    X, y = blobs()
    solver = LowRankInteriorPoint(approximation=Nystrom(rank=320), tol=1e-2, rounds=4)
    model = SVC(solver=solver, C=1.0, gamma=0.05).fit(X[:, :2], y)
    assert model.approximation_.rank < 320


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2"])
def test_rounds_are_a_number(rounds):
    with pytest.raises(ValueError, match="rounds="):
        LowRankInteriorPoint(rounds=rounds)


def test_bounds_of_earlier_rounds_are_not_those_of_the_last():
    """A problem of lower rank has a higher optimum: its lower bound is none."""
    X, y = blobs(classes=3)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=80, tol=0, sample=None), tol=1e-4, rounds=3)
    certificate = SVC(solver=solver, C=5.0, gamma=0.5).fit(X, y).approximation_.certificate
    assert certificate.best_dual <= certificate.best_primal
    assert certificate.best_dual == pytest.approx(certificate.dual, rel=1e-3)


CURVED = (
    losses.SquaredHinge(), losses.ModifiedHuber(), losses.HuberizedHinge(), losses.Logistic(), losses.Huber(0.5),
    losses.Gaussian(), losses.SquaredEpsilonInsensitive(0.1), losses.PolynomialLoss(1.5), losses.PolynomialLoss(3.0),
    losses.PiecewisePolynomial(3.0, 0.5),
)  # fmt: skip


@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("loss", CURVED, ids=repr)
def test_curved_losses_have_the_optimum_of_the_dense_method(loss, C):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 3))
    f = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150)
    target = np.where(f > 0, 1.0, -1.0) if loss.form == "margin" else f
    access = low_rank_access(open_access(RBF(0.2), X), SGMA(rank=30, tol=0))
    K = access.block(np.arange(150), np.arange(150))
    machine = ConvexLoss(target, np.full(150, C), loss)
    low, dense = machine.build(access), machine.build(open_access(Precomputed(), K))
    found, reference = LowRankInteriorPoint(tol=1e-8).solve(low), InteriorPoint().solve(dense)
    assert found.status is Status.SOLVED
    assert found.iterations <= 25
    certificate = certify(low, *found.point)
    assert certificate.relative_gap <= 1.01e-8
    assert certificate.infeasibility <= 1e-12 * np.sum(np.abs(found.alpha))
    assert low.value(found.alpha) == pytest.approx(dense.value(reference.alpha), rel=2e-8)


def test_a_logistic_machine_of_few_basis_functions():
    X, y = blobs(classes=3)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=100, tol=0))
    few = SVC(loss="logistic", C=5.0, gamma=0.3, solver=solver).fit(X, y)
    all_of_them = SVC(loss="logistic", C=5.0, gamma=0.3).fit(X, y)
    assert len(few.support_) == 100
    assert np.mean(few.predict(X) == all_of_them.predict(X)) > 0.98


def test_variables_that_nothing_holds_are_refused():
    low = reduced(problem())
    endless = replace(low, upper=np.full(low.size, np.inf))
    with pytest.raises(ValueError, match="finite bounds"):
        LowRankInteriorPoint().solve(endless)
