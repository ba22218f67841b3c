"""Large tolerances and small problems: fewer operations, and the same certificates."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

import hinge
from hinge.control import RunControl
from hinge.estimators.common.validation import labels_of, signs_of
from hinge.formulations import linear_classification, linear_regression
from hinge.kernels.samples import view
from hinge.problems import Bias, Status, linear_optimality
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear import small_problems

BIASES = (Bias.NONE, Bias.PENALIZED, Bias.FREE)
SQUARED = ("squared_hinge", "squared_epsilon_insensitive")


def certificate(problem, solution):
    return linear_optimality(problem, solution.weights, solution.offset, solution.beta)


def tall(loss, bias, n=30_000, d=20, tails=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 2.0, d) + 0.3
    if tails:  # most of the curvature is in a few rows, which a subsample misses
        X[rng.integers(0, n, 20)] *= 300.0
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    cost = 0.01 * rng.uniform(0.5, 2.0, n)
    if "epsilon" in loss:
        return linear_regression(X, y, cost, 0.1, loss, bias)
    return linear_classification(X, np.where(y > 0, 1.0, -1.0), cost, loss, bias)


# ---- curvature of a subsample ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SQUARED)
def test_curvature_of_a_subsample_reaches_the_gap(loss, bias, tails):
    problem = tall(loss, bias, tails=tails)
    best = CoordinateDescent(tol=1e-9).solve_linear(problem)
    for tol in (1e-1, 1e-2, 1e-4):
        solution = CoordinateDescent(tol=tol).solve_linear(problem)
        assert solution.status is Status.SOLVED
        assert certificate(problem, solution).relative_gap <= tol
        assert solution.dual <= best.primal * (1 + 1e-12)
        assert solution.iterations <= 12


@pytest.mark.parametrize("bias", BIASES)
def test_large_gap_needs_no_curvature_of_all_samples(bias):
    problem = tall("squared_epsilon_insensitive", bias, d=60)
    coarse, fine = (CoordinateDescent(tol=tol).solve_linear(problem) for tol in (1e-2, 1e-8))
    assert coarse.counters["newton_steps"] >= 1  # the start does not meet the tolerance
    # the curvature of half the samples costs n d² / 16 units of work, a step without it three passes
    assert coarse.counters["work"] + problem.n * problem.X.shape[1] ** 2 / 16 <= fine.counters["work"]


# ---- check after the first epoch ------------------------------------------------------------------------------------


def texts(loss="hinge", C=0.01, n=6000, d=30_000, dtype=np.float32):
    rng = np.random.default_rng(3)
    words = 30
    topic = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    columns = rng.integers(0, d, (n, words))
    columns[:, :3] = rng.integers(0, 60, (n, 3)) + 100 * (topic[:, None] > 0)
    values = np.full(n * words, 1 / np.sqrt(words))
    X = sparse.csr_matrix((values.astype(dtype), (np.repeat(np.arange(n), words), columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    return linear_classification(X, topic, np.full(n, C), loss, Bias.NONE)


def test_run_ends_after_one_sufficient_epoch():
    problem = texts(C=1e-4)
    solution = CoordinateDescent(tol=1e-2).solve_linear(problem)
    assert solution.counters["epochs"] == 1
    assert solution.status is Status.SOLVED
    assert certificate(problem, solution).relative_gap <= 1e-2


# ---- bound of ‖w − Xᵀβ‖ by rounding errors --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_bound_of_rounding_errors_is_valid(loss, wide, dtype):
    problem = texts(loss, C=1.0, d=30_000 if wide else 300, dtype=dtype)
    for max_iter in (1, 2, 5, 20):
        solution = CoordinateDescent(tol=1e-3, method="descent", max_iter=max_iter).solve_linear(problem)
        exact = certificate(problem, solution)
        single = bool((solution.weights == solution.weights.astype(np.float32)).all())
        assert single == wide
        assert solution.gap >= exact.gap * (1 - 1e-9)
        assert solution.gap <= exact.gap + 0.011 * 1e-3 * exact.primal


@pytest.mark.parametrize("wide", [False, True])
def test_gap_of_a_run_stopped_within_an_epoch_is_certified(wide):
    problem = texts(C=1.0, n=60_000, d=60_000 if wide else 300)
    calls = 0

    def stop(snapshot):
        nonlocal calls
        calls += 1
        return False

    solver = CoordinateDescent(tol=1e-12, method="descent", max_time=0.02)
    solution = solver.solve_linear(problem, control=RunControl(callback=stop))
    assert solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
    exact = certificate(problem, solution)
    assert solution.gap >= exact.gap * (1 - 1e-9)
    assert solution.gap == pytest.approx(exact.gap, rel=1e-4)


# ---- few samples for each feature -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1000, 500), (2000, 500)])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_band_steps_are_not_used_if_they_do_not_fit(shape, C):
    X, y = make_classification(*shape, random_state=0)
    problem = linear_classification(X, np.where(y > 0, 1.0, -1.0), np.full(len(y), C), "hinge", Bias.FREE)
    runs = {
        method: CoordinateDescent(tol=1e-5, method=method, max_iter=5000).solve_linear(problem)
        for method in ("auto", "descent")
    }
    assert runs["auto"].status is Status.SOLVED
    assert runs["auto"].counters["work"] <= 3 * runs["descent"].counters["work"]


def test_band_steps_do_not_start_from_a_distant_point():
    X, y = make_classification(5000, 500, random_state=0)
    problem = linear_classification(X, np.where(y > 0, 1.0, -1.0), np.full(len(y), 100.0), "hinge", Bias.FREE)
    auto, newton = (
        CoordinateDescent(tol=1e-2, method=method, max_iter=2000).solve_linear(problem) for method in ("auto", "newton")
    )
    assert auto.status is Status.SOLVED
    assert auto.counters["work"] <= 5 * newton.counters["work"]


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_band_steps_that_do_not_converge_are_abandoned(noise):
    """With little noise a few samples at the edges of the tube determine the solution, and band steps alternate."""
    rng = np.random.default_rng(1)
    n, d = 4000, 160
    X = rng.normal(size=(n, d))
    y = X[:, : d // 3] @ rng.normal(size=d // 3)
    y = (y + noise * rng.normal(size=n)) / np.std(y)
    problem = linear_regression(X, y, np.full(n, 2.0), 0.1, "epsilon_insensitive", Bias.FREE)
    auto, newton, descent = (
        CoordinateDescent(tol=1e-2, method=method, max_iter=5000).solve_linear(problem)
        for method in ("auto", "newton", "descent")
    )
    assert auto.status is Status.SOLVED
    assert certificate(problem, auto).relative_gap <= 1e-2
    assert auto.counters["work"] <= 8 * min(newton.counters["work"], descent.counters["work"])


# ---- small problems -------------------------------------------------------------------------------------------------


def test_small_problems_do_not_use_smo(monkeypatch):
    """1000 samples of 50 features are solved to rounding by Newton's method, also for a large tol."""

    def fail(*_, **__):
        raise AssertionError("SMO was used")

    monkeypatch.setattr(small_problems.SMO, "solve", fail)
    X, y = make_classification(1000, 50, random_state=0)
    for tol in (1e-1, 1e-2, 1e-4):
        model = hinge.LinearSVC(C=0.01, loss="hinge", tol=tol).fit(X, y)
        assert model.certify(X, y).relative_gap <= 1e-13


def test_small_problems_with_many_features_are_not_polished(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("polished")

    monkeypatch.setattr(small_problems, "polish", fail)
    X, y = make_classification(1000, 500, random_state=0)
    model = hinge.LinearSVC(C=0.01, loss="hinge", tol=1e-2).fit(X, y)
    assert model.certify(X, y).relative_gap <= 1e-2


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        np.array([1.0, -1.0, 1.0]),
        np.array([1, -1, 1]),
        np.array([1.0, -1.0, 1.0], dtype=np.float32),
        np.array([2.0, 1.0, 2.0]),
        np.array([0, 1, 1], dtype=np.uint8),
        np.array([True, False, True]),
        np.array([3, 1, 2, 3]),
        np.array(["b", "a", "b"]),
        np.array([7.0, 7.0]),
        np.array([0.0, -0.0, 1.0]),
    ],
)
def test_labels_and_signs_agree_with_numpy(y):
    classes = labels_of(y)
    np.testing.assert_array_equal(classes, np.unique(y))
    assert classes.dtype == y.dtype
    for label in classes:
        signs = signs_of(y, label, classes)
        assert signs.dtype == np.float64
        np.testing.assert_array_equal(signs, np.where(y == label, 1.0, -1.0))


def test_labels_of_plus_and_minus_one_are_not_copied():
    y = np.array([1.0, -1.0, 1.0])
    assert signs_of(y, 1.0, labels_of(y)) is y
    before = y.copy()
    hinge.LinearSVC().fit([[0.0], [1.0], [2.0]], y)
    np.testing.assert_array_equal(y, before)


def test_small_gap_does_not_use_band_steps_with_more_features_than_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(152, 1109))
    f = X @ rng.normal(size=1109) / np.sqrt(1109)
    f = 0.2 * (f + 0.1 * rng.normal(size=152))
    problem = linear_regression(X, f, np.full(152, 12603.0), 0.1, "epsilon_insensitive", Bias.FREE)
    auto, descent = (
        CoordinateDescent(tol=7e-8, method=method, max_iter=300).solve_linear(problem) for method in ("auto", "descent")
    )
    assert auto.status is descent.status is Status.SOLVED
    assert auto.counters["work"] <= 3 * descent.counters["work"]


# ---- unusual arrays -------------------------------------------------------------------------------------------------


def test_row_starts_and_column_indices_may_have_different_types():
    X = sparse.random(50, 30, 0.2, format="csr", random_state=0)
    X.indptr = X.indptr.astype(np.int64)
    y = np.where(np.arange(50) % 2, 1.0, -1.0)
    assert view(X).native.n_features == 30
    np.testing.assert_array_equal(
        hinge.LinearSVC().fit(X, y).coef_, hinge.LinearSVC().fit(sparse.csr_matrix(X.toarray()), y).coef_
    )


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_overflowing_targets_are_rejected(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"1\.7e\+308.*standard deviation"):
            hinge.LinearSVR(loss=loss).fit(np.arange(6.0)[:, None], [1.7e308, -1.7e308, 1, 2, 3, 4])


def test_polishing_ends_at_the_deadline(monkeypatch):
    """Duplicate samples, for which SMO continues after the active-set method has failed."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 5)) > 0).astype(float)
    y = np.where(X[:, 0] + rng.normal(size=400) > 0.5, 1.0, -1.0)
    problem = linear_classification(X, y, np.ones(400), "hinge", Bias.FREE)
    monkeypatch.setattr(small_problems, "MAX_SMO_STEPS", 10**9)
    solution = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    polished = small_problems.polish_linear(problem, solution, RunControl())
    assert polished.gap < 1e-3 * solution.gap
    assert small_problems.polish_linear(problem, solution, RunControl(0.0)) is solution
