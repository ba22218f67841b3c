"""Weight paths of ranking: optimality, and exact NDCG along the path."""

import sys
from functools import partialmethod
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import ndcg_score

import hinge
from hinge.paths.engine import Engine
from hinge.ranking import ndcg
from hinge.ranking.ndcg import discounts
from reference.benchmark_data import data_folder

KERNELS = (dict(kernel="linear"), dict(kernel="rbf", gamma=0.5), dict(kernel="poly", gamma=1.0))


def items(kind, seed=0):
    """(X, grade, qid) with ties, duplicates and linearly dependent pairs."""
    rng = np.random.default_rng(seed)
    n = 48
    X, qid = rng.normal(size=(n, 2)), np.repeat(np.arange(4), 12)
    if kind == "grid":
        X = rng.integers(0, 3, (n, 2)).astype(float)
    if kind == "duplicates":
        X[12:24] = X[:12]
        X[24:30] = X[30:36]
    if kind == "line":
        X = np.round(X[:, :1], 1)
    grade = np.clip(np.round(X[:, 0] + rng.normal(size=n) + 0.5), 0, 2)
    return X, grade, qid


def violation(path, theta):
    """Largest violation of the optimality conditions, computed with the formula of the kernel."""
    K, alpha = path.kernel(path.X), path.alpha(theta)
    f = K @ path.coefficients(theta)
    r = f[path.first] - f[path.second] - 1
    cost = path.parametric.at(theta).upper
    assert np.all(alpha >= 0)
    assert np.all(alpha <= cost * (1 + 1e-12))
    margin = 1e-10 * cost
    return max(np.max(-r[alpha < cost - margin], initial=0.0), np.max(r[alpha > margin], initial=0.0))


@pytest.mark.parametrize("kind", ["plain", "grid", "duplicates", "line"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.01, 3.0])
def test_path_is_optimal_at_breakpoints_and_in_between(kind, kernel, C):
    X, grade, qid = items(kind)
    path = hinge.ranking_path(X, grade, qid, C=C, **kernel)
    assert path.status == hinge.Status.SOLVED
    assert path.kkt_violation <= 1e-9
    between = np.random.default_rng(0).uniform(size=20)
    scale = 1 + np.max(np.diagonal(path.kernel(X))) * C
    for theta in np.concatenate([between, path.breakpoints]):
        assert violation(path, theta) <= 1e-9 * scale


@pytest.mark.parametrize("kernel", [dict(kernel="linear"), dict(kernel="rbf", gamma=0.5)])
def test_path_agrees_with_fifty_fits(kernel):
    """Models fitted at 50 random θ have the scores of the path, and its NDCG on other data."""
    X, grade, qid = items("plain")
    other, relevance, queries = items("plain", seed=7)
    path = hinge.ranking_path(X, grade, qid, C=0.3, **kernel)
    curves = {k: path.ndcg(other, relevance, queries, k=k) for k in (3, 10, None)}
    for theta in np.random.default_rng(1).uniform(size=50):
        model = hinge.RankingSVM(C=0.3, weighting=float(theta), tol=1e-9, **kernel).fit(X, grade, qid=qid)
        scores = model.predict(other)
        assert np.allclose(scores, path.predict(other, theta), atol=1e-6)
        for k, curve in curves.items():
            assert curve(theta) == pytest.approx(model.score(other, relevance, qid=queries, k=k), abs=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(data_folder() is None, reason="the benchmark data are not available")
@pytest.mark.parametrize("options", [dict(C=1e-4), dict(C=1e-3, kernel="rbf", gamma=0.1)])
def test_path_agrees_with_fifty_fits_on_ohsumed(options):
    """Sixteen queries of the first three folds; NDCG@10 on the queries of the fourth."""
    with np.load(data_folder() / "ohsumed.npz", allow_pickle=False) as arrays:
        X, grade, qid, fold = (arrays[name] for name in ("X", "y", "qid", "fold"))
    train = np.isin(qid, np.unique(qid[fold <= 3])[:16])
    other = fold == 4
    path = hinge.ranking_path(X[train], grade[train], qid[train], **options)
    curve = path.ndcg(X[other], grade[other], qid[other])
    assert len(path.first) > 30_000
    assert len(curve.values) > 20
    for theta in np.random.default_rng(0).uniform(size=50):
        model = hinge.RankingSVM(weighting=float(theta), tol=1e-10, **options).fit(X[train], grade[train], qid[train])
        scores = model.predict(X[other])
        assert np.allclose(scores, path.predict(X[other], theta), atol=1e-3)
        assert curve(theta) == pytest.approx(ndcg(grade[other], scores, qid[other]), abs=1e-12)


@pytest.mark.parametrize("kind", ["plain", "grid", "duplicates"])
def test_ndcg_between_knots_is_that_of_the_scores(kind):
    X, grade, qid = items(kind)
    path = hinge.ranking_path(X, grade, qid, C=0.5, kernel="rbf", gamma=0.5)
    other, relevance, queries = items(kind, seed=3)
    other[5], relevance[5], relevance[6] = other[6], 2, 0  # equal scores along the whole path
    curve = path.ndcg(other, relevance, queries, k=5)
    assert curve.knots[0] == 0
    assert curve.knots[-1] == 1
    assert np.all(np.diff(curve.knots) > 0)
    assert np.all(np.diff(curve.values) != 0)
    wide = np.flatnonzero(np.diff(curve.knots) > 1e-5)
    for left, right in zip(curve.knots[wide], curve.knots[wide + 1], strict=True):
        for share in (1e-3, 0.5, 1 - 1e-3):
            theta = left + share * (right - left)
            assert curve(theta) == pytest.approx(ndcg(relevance, path.predict(other, theta), queries, k=5), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_tied_scores_at_rank_k_share_it(k):
    """Pairs on the margin have scores that are equal up to rounding, which must not decide the first k."""
    ties = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, qid = rng.integers(0, 4, (24, 2)).astype(float), np.repeat([0, 1, 2], 8)
        grade = rng.integers(0, 3, 24).astype(float)
        path = hinge.ranking_path(X, grade, qid, C=0.5, kernel=("linear", "rbf")[seed % 2], gamma=0.5)
        curve = path.ndcg(X, grade, qid, k=k)
        wide = np.flatnonzero(np.diff(curve.knots) > 1e-6)
        for left, right, value in zip(curve.knots[wide], curve.knots[wide + 1], curve.values[wide], strict=True):
            scores = path.predict(X, 0.5 * (left + right))
            ties += np.sum(np.ptp(np.sort(scores.reshape(3, 8))[:, 7 - k : 9 - k], axis=1) < 1e-12)  # ranks k and k + 1
            assert value == pytest.approx(ndcg(grade, scores, qid, k=k), abs=1e-12)
    assert ties > 0


@pytest.mark.parametrize("seed", [8, 53, 80, 81, 82])
def test_maximum_is_attained_where_crossings_coincide(seed):
    """On a grid many scores cross at one θ. Rounding separates the crossings, but there is no ranking in between."""
    rng = np.random.default_rng(seed)
    X, qid = np.round(rng.normal(size=(30, 2)) * 2) / 2, np.repeat(np.arange(3), 10)
    grade = np.clip(np.round(X[:, 0] + rng.normal(size=30)), 0, 3)
    other = np.round(rng.normal(size=(24, 2)) * 2) / 2
    relevance, queries = np.clip(np.round(other[:, 0] + rng.normal(size=24)), 0, 3), np.repeat([0, 1], 12)
    path = hinge.ranking_path(X, grade, qid, C=1.0, kernel="linear")
    best = path.best(other, relevance, queries, k=3)
    middle = 0.5 * (best.low + best.high)
    assert ndcg(relevance, path.predict(other, middle), queries, 3) == pytest.approx(best.ndcg, abs=1e-12)
    for theta in rng.uniform(0, 1, 200):  # at isolated θ, where scores are equal, it may be higher
        assert ndcg(relevance, path.predict(other, theta), queries, 3) <= best.ndcg + 1e-12


def test_maximum_is_not_below_a_fine_grid():
    X, grade, qid = items("plain", seed=2)
    other, relevance, queries = items("plain", seed=4)
    path = hinge.ranking_path(X, grade, qid, C=1.0, kernel="rbf", gamma=1.0)
    best = path.best(other, relevance, queries)
    grid = [ndcg(relevance, path.predict(other, theta), queries) for theta in np.linspace(0, 1, 201)]
    assert len(set(np.round(grid, 9))) > 1
    assert best.ndcg >= max(grid) - 1e-12
    middle = 0.5 * (best.low + best.high)
    assert ndcg(relevance, path.predict(other, middle), queries) == pytest.approx(best.ndcg, abs=1e-12)


def test_path_with_weights_agrees_with_fits_and_can_be_saved(tmp_path):
    X, grade, qid = items("plain")
    weight = np.array([1.0, 2.0, 0.0, 1.0])
    path = hinge.ranking_path(X, grade, qid, start=0.1, end="gain", C=0.5, query_weight=weight)
    model = hinge.RankingSVM(C=0.05, tol=1e-9).fit(X, grade, qid=qid, query_weight=weight)
    assert np.allclose(path.predict(X, 0.0), model.predict(X), atol=1e-7)
    model = hinge.RankingSVM(C=0.5, weighting="gain", tol=1e-9).fit(X, grade, qid=qid, query_weight=weight)
    assert np.allclose(path.predict(X, 1.0), model.predict(X), atol=1e-7)
    assert path.certificate(0.4).relative_gap <= 1e-9
    assert np.allclose(path.model(0.4).decide(X)[:, 0], path.predict(X, 0.4))
    hinge.save(path, tmp_path / "p.hinge")
    loaded = hinge.load(tmp_path / "p.hinge")
    assert np.array_equal(loaded.alpha(0.3), path.alpha(0.3))
    assert np.array_equal(loaded.ndcg(X, grade, qid).values, path.ndcg(X, grade, qid).values)


def test_invalid_input_is_rejected():
    X, grade, qid = items("plain")
    for change, message in [
        (dict(C=-1), "C=-1"),
        (dict(start="best"), "start='best'"),
        (dict(end=0), "end=0"),
        (dict(kernel="sigmoid"), "not positive semidefinite"),
        (dict(qid=np.arange(48)), "there are no pairs"),
    ]:
        with pytest.raises(ValueError, match=message):
            hinge.ranking_path(**(dict(X=X, relevance=grade, qid=qid) | change))
    path = hinge.ranking_path(X, grade, qid)
    with pytest.raises(ValueError, match="outside the path"):
        path.predict(X, 1.5)
    with pytest.raises(ValueError, match="X has 1 features, but the path was computed with 2"):
        path.ndcg(X[:, :1], grade, qid)
    with_nan = np.where(np.arange(96).reshape(48, 2) == 31, np.nan, X)
    for call in (lambda: path.predict(with_nan, 0.5), lambda: path.ndcg(with_nan, grade, qid)):
        with pytest.raises(ValueError, match="NaN"):
            call()
    with pytest.raises(ValueError, match="zero or more"):
        path.ndcg(X, grade - 1, qid)
    with pytest.raises(ValueError, match="no sample of the 4 queries"):
        path.ndcg(X, 0 * grade, qid)
    with pytest.raises(ValueError, match="k=0"):
        path.ndcg(X, grade, qid, k=0)
    with pytest.raises(TimeoutError, match="before the solution at the start"):
        hinge.ranking_path(X, grade, qid, max_time=1e-9)


def test_stopped_path_is_exact_up_to_its_end(monkeypatch):
    monkeypatch.setattr("hinge.ranking.path.Engine.follow", partialmethod(Engine.follow, max_events=5))
    with pytest.warns(ConvergenceWarning, match="before 1"):
        path = hinge.ranking_path(*items("plain"), C=5.0, kernel="rbf", gamma=0.5)
    assert 0 < path.high < 1
    assert violation(path, path.high) <= 1e-9


# ---- NDCG --------------------------------------------------------------------------------------------------------


def textbook_ndcg(grade, scores, k):
    """Formula (4.35) for one query without ties."""
    order = np.argsort(-scores)
    gain = lambda ranked: sum(  # noqa: E731
        (2 ** ranked[j - 1] - 1) / (1.0 if j == 1 else np.log2(j)) for j in range(1, min(k, len(ranked)) + 1)
    )
    return gain(grade[order]) / gain(np.sort(grade)[::-1])


def test_ndcg_agrees_with_the_formula():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k = rng.integers(1, 15), rng.integers(1, 12)
        grade, scores = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
        grade[0] = 2
        assert ndcg(grade, scores, k=int(k)) == pytest.approx(textbook_ndcg(grade, scores, k))
    assert np.allclose(discounts(5, 4), [1, 1, 1 / np.log2(3), 0.5, 0])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=5), st.integers(1, 5))
def test_ties_give_the_mean_over_all_orders(pairs, k):
    grade, scores = np.array(pairs, dtype=float).T
    if not grade.any():
        return
    values = [textbook_ndcg(grade, scores + 1e-9 * np.array(order), k) for order in permutations(range(len(grade)))]
    assert ndcg(grade, scores, k=k) == pytest.approx(np.mean(values))


def test_ties_agree_with_scikit_learn(monkeypatch):
    """With scikit-learn's discounts, log2(j + 1), and gains already in the grades, both agree, ties included."""
    monkeypatch.setattr(
        sys.modules["hinge.ranking.ndcg"],
        "discounts",
        lambda n, k: np.where(np.arange(n) < (k or n), 1 / np.log2(np.arange(n) + 2.0), 0.0),
    )
    rng = np.random.default_rng(0)
    for _ in range(30):
        grade, scores = rng.integers(0, 3, 12).astype(float), rng.integers(0, 4, 12).astype(float)
        grade[0] = 1
        assert ndcg(grade, scores, k=5) == pytest.approx(ndcg_score([2**grade - 1], [scores], k=5))


def test_mean_over_queries_ignores_those_without_relevant_samples():
    grade, scores = np.array([1, 0, 0, 2, 0, 0]), np.array([1.0, 2.0, 3.0, 2.0, 1.0, 0.0])
    qid = np.array(["a", "a", "a", "b", "b", "c"])
    assert ndcg(grade, scores, qid) == pytest.approx(0.5 * (1 / np.log2(3) + 1))
    with pytest.raises(ValueError, match="scores has shape"):
        ndcg(grade, scores[:-1], qid)
    with pytest.raises(ValueError, match="NaN"):
        ndcg(grade, np.full(6, np.nan), qid)
