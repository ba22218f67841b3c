"""Coarse gaps and small machines: what is left out there is not needed, and the proof is the same."""

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
from hinge.problems import Bias, Status, certify_linear
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear import small_problems

BIASES = (Bias.NONE, Bias.PENALISED, Bias.FREE)
SQUARED = ("squared_hinge", "squared_epsilon_insensitive")


def truth(problem, found):
    return certify_linear(problem, found.weights, found.offset, found.beta)


def tall(loss, bias, n=30_000, d=20, tails=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 2.0, d) + 0.3
    if tails:  # most of the curvature is in a few rows, which no sample of the others has seen
        X[rng.integers(0, n, 20)] *= 300.0
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    cost = 0.01 * rng.uniform(0.5, 2.0, n)
    if "epsilon" in loss:
        return linear_regression(X, y, cost, 0.1, loss, bias)
    return linear_classification(X, np.where(y > 0, 1.0, -1.0), cost, loss, bias)


# ---- steps by the curvature of fewer samples ------------------------------------------------------------------------


@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SQUARED)
def test_borrowed_curvature_proves_its_gap(loss, bias, tails):
    problem = tall(loss, bias, tails=tails)
    best = CoordinateDescent(tol=1e-9).solve_linear(problem)
    for tol in (1e-1, 1e-2, 1e-4):
        found = CoordinateDescent(tol=tol).solve_linear(problem)
        assert found.status is Status.SOLVED
        assert truth(problem, found).relative_gap <= tol
        assert found.dual <= best.primal * (1 + 1e-12)
        assert found.iterations <= 12


@pytest.mark.parametrize("bias", BIASES)
def test_a_coarse_gap_needs_no_curvature_of_all_samples(bias):
    problem = tall("squared_epsilon_insensitive", bias, d=60)
    coarse, fine = (CoordinateDescent(tol=tol).solve_linear(problem) for tol in (1e-2, 1e-8))
    assert coarse.counters["newton_steps"] >= 1  # the start alone is not enough
    # a curvature of half the samples is n d² / 16 units of work; without it a step is three passes
    assert coarse.counters["work"] + problem.n * problem.X.shape[1] ** 2 / 16 <= fine.counters["work"]


# ---- a look after the first epoch -----------------------------------------------------------------------------------


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


def test_one_epoch_is_enough_where_it_is():
    problem = texts(C=1e-4)
    found = CoordinateDescent(tol=1e-2).solve_linear(problem)
    assert found.counters["epochs"] == 1
    assert found.status is Status.SOLVED
    assert truth(problem, found).relative_gap <= 1e-2


# ---- ‖w − Xᵀβ‖ by what rounding can have done -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_bound_on_rounding_is_one(loss, wide, dtype):
    problem = texts(loss, C=1.0, d=30_000 if wide else 300, dtype=dtype)
    for most in (1, 2, 5, 20):
        found = CoordinateDescent(tol=1e-3, method="descent", max_iter=most).solve_linear(problem)
        exact = truth(problem, found)
        single = bool((found.weights == found.weights.astype(np.float32)).all())
        assert single == wide
        assert found.gap >= exact.gap * (1 - 1e-9)
        assert found.gap <= exact.gap + 0.011 * 1e-3 * exact.primal


@pytest.mark.parametrize("wide", [False, True])
def test_a_run_stopped_within_an_epoch_knows_what_it_has(wide):
    problem = texts(C=1.0, n=60_000, d=60_000 if wide else 300)
    calls = 0

    def stop(snapshot):
        nonlocal calls
        calls += 1
        return False

    solver = CoordinateDescent(tol=1e-12, method="descent", max_time=0.02)
    found = solver.solve_linear(problem, control=RunControl(callback=stop))
    assert found.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
    exact = truth(problem, found)
    assert found.gap >= exact.gap * (1 - 1e-9)
    assert found.gap == pytest.approx(exact.gap, rel=1e-4)


# ---- few samples for each feature -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1000, 500), (2000, 500)])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_descent_is_not_left_for_bands_that_do_not_fit(shape, C):
    X, y = make_classification(*shape, random_state=0)
    problem = linear_classification(X, np.where(y > 0, 1.0, -1.0), np.full(len(y), C), "hinge", Bias.FREE)
    runs = {
        method: CoordinateDescent(tol=1e-5, method=method, max_iter=5000).solve_linear(problem)
        for method in ("auto", "descent")
    }
    assert runs["auto"].status is Status.SOLVED
    assert runs["auto"].counters["work"] <= 3 * runs["descent"].counters["work"]


def test_a_far_point_is_no_centre_of_a_band():
    X, y = make_classification(5000, 500, random_state=0)
    problem = linear_classification(X, np.where(y > 0, 1.0, -1.0), np.full(len(y), 100.0), "hinge", Bias.FREE)
    auto, newton = (
        CoordinateDescent(tol=1e-2, method=method, max_iter=2000).solve_linear(problem) for method in ("auto", "newton")
    )
    assert auto.status is Status.SOLVED
    assert auto.counters["work"] <= 5 * newton.counters["work"]


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_bands_that_lose_are_left(noise):
    """Nearly no noise: a few samples at the edges of the tube say all, and rounds on bands go to and fro."""
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
    assert truth(problem, auto).relative_gap <= 1e-2
    assert auto.counters["work"] <= 8 * min(newton.counters["work"], descent.counters["work"])


# ---- small machines -------------------------------------------------------------------------------------------------


def test_small_machines_need_no_pairs(monkeypatch):
    """A thousand samples of fifty features are solved to rounding by Newton's method, from a coarse gap too."""

    def refuse(*_, **__):
        raise AssertionError("sequential minimal optimisation")

    monkeypatch.setattr(small_problems.SMO, "solve", refuse)
    X, y = make_classification(1000, 50, random_state=0)
    for tol in (1e-1, 1e-2, 1e-4):
        model = hinge.LinearSVC(C=0.01, loss="hinge", tol=tol).fit(X, y)
        assert model.certify(X, y).relative_gap <= 1e-13


def test_small_wide_machines_are_not_polished(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("polished")

    monkeypatch.setattr(small_problems, "polish", refuse)
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
def test_labels_and_signs(y):
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


def test_a_fine_gap_is_not_left_to_bands_where_features_outnumber_samples():
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


# ---- odd arrays -----------------------------------------------------------------------------------------------------


def test_column_indices_are_not_copied_for_the_sake_of_row_starts():
    X = sparse.random(50, 30, 0.2, format="csr", random_state=0)
    X.indptr = X.indptr.astype(np.int64)
    y = np.where(np.arange(50) % 2, 1.0, -1.0)
    assert view(X).native.n_features == 30
    np.testing.assert_array_equal(
        hinge.LinearSVC().fit(X, y).coef_, hinge.LinearSVC().fit(sparse.csr_matrix(X.toarray()), y).coef_
    )


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_targets_that_overflow_are_refused(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"1\.7e\+308.*standard deviation"):
            hinge.LinearSVR(loss=loss).fit(np.arange(6.0)[:, None], [1.7e308, -1.7e308, 1, 2, 3, 4])
