"""RankingSVM: agreement of all solvers, weights, input formats and errors."""

import itertools
import time

import clarabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.formulations import Ranking, preferences
from hinge.kernels import RBF, PairAccess, open_access
from hinge.losses import Hinge, SquaredHinge, loss_names, make_loss
from hinge.problems import certify
from hinge.ranking.queries import count_pairs
from hinge.solvers import PairDescent


def queries(n=60, count=6, seed=0, grades=3):
    """(X, grade, qid): mixed order, some duplicates, one query of one item, one of one grade."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    qid = rng.integers(0, count, n)
    grade = np.clip(np.round(X[:, 0] + 0.7 * rng.normal(size=n) + 0.5), 0, grades - 1)
    X[1], qid[1], grade[:2] = X[0], qid[0], (0, 1)  # two equal items with different grades
    qid[2] = 100
    qid[3:6], grade[3:6] = 101, 1
    return X, grade, qid


def reference(K, grade, qid, cost, squared=False):
    """(primal value, f) of the dual problem over pairs, solved by clarabel."""
    pairs = [(i, j) for i in range(len(K)) for j in range(len(K)) if qid[i] == qid[j] and grade[i] > grade[j]]
    D = np.zeros((len(pairs), len(K)))
    for p, (i, j) in enumerate(pairs):
        D[p, i], D[p, j] = 1, -1
    C = np.array([cost(i, j) for i, j in pairs])
    Q, m = D @ K @ D.T, len(pairs)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    top = np.eye(m)[: 0 if squared else m]
    A = sp.csc_matrix(np.vstack([top, -np.eye(m)]))
    cones = [clarabel.NonnegativeConeT(len(top) + m)]
    ridge = np.diag(0.5 / C) if squared else 0.0
    right = np.r_[C[: len(top)], np.zeros(m)]
    solver = clarabel.DefaultSolver(sp.csc_matrix(Q + ridge), -np.ones(m), A, right, cones, settings)
    alpha = np.array(solver.solve().x)
    f = K @ D.T @ alpha
    return 0.5 * alpha @ Q @ alpha + C @ np.maximum(0, 1 - D @ f) ** (2 if squared else 1), f


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize(
    ("weighting", "loss"),
    [("uniform", "hinge"), ("gain", "hinge"), (0.3, "hinge"), ("uniform", "squared_hinge"), (0.3, "squared_hinge")],
)
def test_agrees_with_an_independent_solver(kernel, weighting, loss):
    X, grade, qid = queries()
    gain = lambda i, j: 2 ** grade[i] - 2 ** grade[j]  # noqa: E731
    theta = {"uniform": 0.0, "gain": 1.0}.get(weighting, weighting)
    options = dict(C=0.3, kernel=kernel, gamma=0.5, weighting=weighting, loss=loss)
    model = hinge.RankingSVM(tol=1e-3 if loss == "hinge" else 1e-9, **options).fit(X, grade, qid=qid)
    K = model.model_.kernel(X)
    squared = loss == "squared_hinge"
    value, f = reference(K, grade, qid, lambda i, j: 0.3 * (1 + theta * (gain(i, j) - 1)), squared)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-7)
    scores = model.predict(X)
    for q in np.unique(qid):
        rows = qid == q
        assert np.allclose(scores[rows] - scores[rows][0], f[rows] - f[rows][0], atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", [name for name in loss_names("margin") if name not in ("hinge", "squared_hinge")])
def test_other_losses_of_classification_agree_with_a_general_optimizer(kernel, name):
    """The optimum over the coefficients of the samples, found by SciPy, lies between the certified bounds."""
    X, grade, qid = queries(n=24, count=3, seed=8)
    model = hinge.RankingSVM(C=0.3, kernel=kernel, gamma=0.5, loss=name, tol=1e-6).fit(X, grade, qid=qid)
    K, loss = model.model_.kernel(X), make_loss(name, "margin")
    first, second, _ = preferences(grade, np.unique(qid, return_inverse=True)[1])
    factor = np.linalg.cholesky(K + 1e-13 * np.eye(len(K)))

    def objective(v):
        f = factor @ v
        margin = f[first] - f[second]
        slope = 0.3 * loss.derivative(margin)
        pull = np.bincount(first, slope, len(X)) - np.bincount(second, slope, len(X))
        return 0.5 * v @ v + 0.3 * loss.value(margin).sum(), v + factor.T @ pull

    found = minimize(objective, np.zeros(len(X)), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000})
    assert model.status_ == hinge.Status.SOLVED
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-6)
    recomputed = model.certify(X, grade, qid=qid)
    assert recomputed.dual <= found.fun * (1 + 1e-9)
    assert recomputed.primal == pytest.approx(found.fun, rel=1e-6)
    assert len(model.pair_coef_) == model.n_pairs_


@pytest.mark.parametrize("solver", ["auto", "smo", "working_set", "interior_point", "chunking"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_all_solvers_reach_the_same_optimum(solver, kernel, loss):
    X, grade, qid = queries(seed=3)
    options = dict(C=0.5, kernel=kernel, tol=1e-6, loss=loss)
    model = hinge.RankingSVM(solver=solver, **options).fit(X, grade, qid=qid)
    best = hinge.RankingSVM(**options).fit(X, grade, qid=qid)
    assert model.status_ == hinge.Status.SOLVED
    assert model.certificate_.primal == pytest.approx(best.certificate_.primal, rel=1e-6)
    recomputed = model.certify(X, grade, qid=qid)
    assert recomputed.relative_gap <= 1e-5
    assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("method", ["descent", "newton", "auto"])
@pytest.mark.parametrize("kernel", [None, RBF(0.3)])
@pytest.mark.parametrize("squared", [False, True])
def test_descent_and_newton_reach_the_requested_gap(method, kernel, squared):
    """The problem is too large for polishing, so that the gap is that of the method."""
    X, grade, qid = queries(n=160, count=4, seed=5)
    first, second, starts = preferences(grade, np.unique(qid, return_inverse=True)[1])
    assert len(first) > 1000
    access = open_access(kernel or hinge.kernels.Linear(), X)
    loss = SquaredHinge() if squared else Hinge()
    problem = Ranking(first, second, starts, np.full(len(first), 0.2), len(X), loss).build(access)
    tol = 1e-4 if method == "descent" else 1e-9
    solution = PairDescent(tol=tol, method=method).solve(problem)
    certificate = certify(problem, solution.alpha)
    assert solution.status == hinge.Status.SOLVED
    assert certificate.infeasibility == 0
    assert certificate.gap - certificate.rounding <= 1.01 * tol * certificate.primal
    assert certificate.rounding <= 1e-8 * certificate.primal
    assert np.all(np.diff(solution.history.seconds) >= 0)
    assert solution.history.last()["gap"] == pytest.approx(
        certificate.gap - certificate.rounding, rel=0.3, abs=1e-9 + certificate.rounding
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_kernel_agrees_with_linear_svc_on_differences(loss):
    """scikit-learn's LinearSVC with a row for every pair, half of them with the opposite sign."""
    X, grade, qid = queries(n=120, seed=7)
    first, second, _ = preferences(grade, np.unique(qid, return_inverse=True)[1])
    sign = np.where(np.arange(len(first)) % 2, 1.0, -1.0)
    other = LinearSVC(C=0.05, loss=loss, fit_intercept=False, tol=1e-10, max_iter=200_000, random_state=0)
    other.fit((X[first] - X[second]) * sign[:, None], sign)
    model = hinge.RankingSVM(C=0.05, loss=loss, tol=1e-9).fit(X, grade, qid=qid)
    assert np.allclose(model.coef_, other.coef_, atol=1e-4)


def test_pair_access_is_the_kernel_matrix_of_differences():
    X, grade, qid = queries(n=30, count=3)
    first, second, starts = preferences(grade, np.unique(qid, return_inverse=True)[1])
    base = open_access(RBF(0.4), X)
    pairs = PairAccess(base, first, second, starts)
    K = RBF(0.4)(X)
    whole = (K[first] - K[second])[:, first] - (K[first] - K[second])[:, second]
    v = np.random.default_rng(0).normal(size=len(first))
    index = np.array([3, 0, len(first) - 1])
    assert np.allclose(pairs.block(index, np.arange(len(first))), whole[index])
    assert np.allclose(pairs.rows(index), whole[index])
    assert np.allclose(pairs.gram.rows(index.astype(np.int64)), whole[index])
    assert np.allclose(pairs.gram.matvec(v), whole @ v)
    assert np.allclose(pairs.matvec(v), whole @ v)
    assert np.allclose(pairs.diagonal(), np.diagonal(whole))
    assert np.allclose(pairs.subset(index).matvec(v[:3]), whole[np.ix_(index, index)] @ v[:3])


def test_large_query_is_divided_into_blocks(monkeypatch):
    monkeypatch.setattr("hinge.formulations.ranking.PART_SIZE", 8)
    X, grade, qid = queries(n=90, count=2)
    query = np.unique(qid, return_inverse=True)[1]
    first, second, starts = preferences(grade, query)
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    expected = {(i, j) for i in range(90) for j in range(90) if qid[i] == qid[j] and grade[i] > grade[j]}
    assert len(starts) > 10
    assert len(pairs) == len(first) == starts[-1]
    assert pairs == expected
    model = hinge.RankingSVM(C=0.1, tol=1e-7).fit(X, grade, qid=qid)
    monkeypatch.undo()
    whole = hinge.RankingSVM(C=0.1, tol=1e-7).fit(X, grade, qid=qid)
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)


# ---- invariance and equivalence ----------------------------------------------------------------------------------


def scores(X, grade, qid, at, **options):
    weights = {k: options.pop(k) for k in ("sample_weight", "query_weight") if k in options}
    return hinge.RankingSVM(C=0.2, tol=1e-8, **options).fit(X, grade, qid=qid, **weights).predict(at)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_integer_weights_equal_repeated_samples(kernel, loss):
    X, grade, qid = queries(n=40, count=3)
    weight = np.ones(40)
    weight[7], weight[9] = 0.0, 2.0
    rows = np.r_[np.delete(np.arange(40), 7), 9]
    options = dict(kernel=kernel, gamma=0.4, loss=loss)
    weighted = scores(X, grade, qid, X, sample_weight=weight, **options)
    assert np.allclose(weighted, scores(X[rows], grade[rows], qid[rows], X, **options), atol=1e-6)


def test_query_weight_equals_repeated_queries():
    X, grade, qid = queries(n=40, count=3)
    names = np.unique(qid)
    weight = np.where(names == 1, 2.0, 1.0)
    repeated = np.r_[np.arange(40), np.flatnonzero(qid == 1)]
    named = np.r_[qid, np.full(np.sum(qid == 1), 77)]
    one = scores(X, grade, qid, X, query_weight=weight)
    assert np.allclose(one, scores(X[repeated], grade[repeated], named, X), atol=1e-6)
    assert np.allclose(one, scores(X, grade, qid, X, query_weight=dict(zip(names.tolist(), weight, strict=True))))


def test_order_of_samples_and_names_of_queries_have_no_effect():
    X, grade, qid = queries()
    shuffled = np.random.default_rng(1).permutation(len(X))
    names = np.array([f"query {q}" for q in qid])
    one = scores(X, grade, qid, X)
    assert np.allclose(one, scores(X[shuffled], grade[shuffled], names[shuffled], X), atol=1e-6)
    assert np.allclose(one, scores(X, 10 * grade - 3, qid, X))  # only the order of the grades matters


def test_input_formats_give_the_same_scores():
    X, grade, qid = queries()
    assert np.allclose(scores(X, grade, qid, X), scores(sp.csr_matrix(X), grade, qid, sp.csr_matrix(X)), atol=1e-6)
    assert np.allclose(
        scores(X, grade, qid, X), scores(X.astype(np.float32), grade, qid, X.astype(np.float32)), atol=1e-3
    )
    K = RBF(0.5)(X)
    precomputed = scores(K, grade, qid, K, kernel="precomputed")
    assert np.allclose(precomputed, scores(X, grade, qid, X, kernel="rbf", gamma=0.5), atol=1e-6)
    named = scores(X, grade, np.zeros(len(X)), X)
    assert np.allclose(named, scores(X, grade, None, X))


def test_result_is_reproducible_and_does_not_depend_on_threads():
    X, grade, qid = queries(n=200, count=3)
    fits = [hinge.RankingSVM(C=0.1, kernel="rbf", n_jobs=t).fit(X, grade, qid=qid) for t in (1, 1, 2)]
    assert np.array_equal(fits[0].pair_coef_, fits[1].pair_coef_)
    assert np.array_equal(fits[0].pair_coef_, fits[2].pair_coef_)


def test_warm_start_needs_fewer_steps():
    X, grade, qid = queries(n=200, count=3)
    model = hinge.RankingSVM(C=0.1, tol=1e-6, warm_start=True).fit(X, grade, qid=qid)
    first = model.n_iter_
    assert model.fit(X, grade, qid=qid).n_iter_ <= 1 < first


def test_models_can_be_cloned_and_saved(tmp_path):
    X, grade, qid = queries()
    model = hinge.RankingSVM(C=0.1, kernel="rbf").fit(X, grade, qid=qid)
    hinge.save(model, tmp_path / "m.hinge")
    loaded = hinge.load(tmp_path / "m.hinge")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certify(X, grade, qid=qid).relative_gap <= 1e-3
    assert clone(model).get_params() == model.get_params()


@parametrize_with_checks([hinge.RankingSVM()])
def test_common_checks(estimator, check):
    check(estimator)


# ---- errors and limits -------------------------------------------------------------------------------------------


def test_invalid_input_is_named():
    X, grade, qid = queries()
    estimator = hinge.RankingSVM()
    cases = [
        (dict(qid=np.arange(60)), "none of the 60 queries has two samples"),
        (dict(y=np.ones(60)), "there are no pairs"),
        (dict(qid=qid[:-1]), r"qid has shape \(59,\)"),
        (dict(qid=np.where(qid == 1, np.nan, qid)), "qid contains NaN"),
        (dict(qid=np.array([None] * 60, dtype=object)), "qid contains missing"),
        (dict(qid=pd.Series([pd.NA, *qid[1:]], dtype="Int64")), "qid contains NaN"),
        (dict(qid=pd.Series([pd.NA, *qid[1:]], dtype=object)), "qid contains missing"),
        (dict(qid=pd.Series([pd.NA, *qid[1:].astype(str)], dtype="string")), "qid contains missing"),
        (dict(qid=np.where(qid == 1, np.datetime64("NaT"), np.datetime64("2026-01-01"))), "qid contains NaT"),
        (dict(y=np.where(grade == 1, np.nan, grade)), "contains NaN"),
        (dict(y=None), "requires y to be passed"),
        (dict(y=["a"] * 60), "must hold numbers"),
        (dict(sample_weight=-np.ones(60)), "negative|positive somewhere"),
        (dict(query_weight=[1.0]), "query_weight has shape"),
        (dict(query_weight={0: 1.0}), "no weight for query"),
        (dict(query_weight=-np.ones(len(np.unique(qid)))), "query_weight must hold"),
    ]
    for change, message in cases:
        given = dict(y=grade, qid=qid) | change
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, **given)
    for bad, message in [
        (dict(C=0), "C="),
        (dict(weighting="best"), "weighting"),
        (dict(weighting=2.0), "weighting"),
        (dict(loss="huber"), "loss='huber' must be one of 'hinge', 'squared_hinge'"),
        (dict(loss=hinge.losses.Laplace()), "loss"),
    ]:
        with pytest.raises(ValueError, match=message):
            hinge.RankingSVM(**bad).fit(X, grade, qid=qid)
    with pytest.raises(ValueError, match="overflows"):
        hinge.RankingSVM(weighting="gain").fit(X, grade + 5000, qid=qid)


def test_too_many_pairs_are_rejected(monkeypatch):
    monkeypatch.setattr("hinge.ranking.queries.MAX_PAIRS", 100)
    X, grade, _ = queries()
    with pytest.raises(ValueError, match="pass qid"):
        hinge.RankingSVM().fit(X, grade)


def test_early_stop_keeps_the_model_and_states_the_gap():
    X, grade, qid = queries(n=300, count=2)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = hinge.RankingSVM(C=10.0, tol=1e-9, max_iter=1).fit(X, grade, qid=qid)
    assert model.status_ == hinge.Status.MAX_ITER
    assert np.isfinite(model.certificate_.gap)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hinge.RankingSVM(C=10.0, tol=1e-12, max_time=1e-4).fit(X, grade, qid=qid)


def test_certify_rejects_other_data():
    X, grade, qid = queries()
    model = hinge.RankingSVM(C=0.1).fit(X, grade, qid=qid)
    with pytest.raises(ValueError, match="pairs"):
        model.certify(X, grade)
    with pytest.raises(ValueError, match="do not belong together"):
        model.certify(X, grade[::-1], qid=qid[::-1])


def test_interrupt_keeps_the_model(monkeypatch):
    X, grade, qid = queries(n=300, count=2)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hinge.solvers.ranking.pair_newton.PairNewton._proximal_step", interrupted)
    model = hinge.RankingSVM(C=10.0, tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, grade, qid=qid)
    assert model.status_ == hinge.Status.INTERRUPTED
    assert len(model.predict(X)) == 300
    assert np.isfinite(model.certificate_.gap)


def test_start_without_margin_violations():
    """The smoothing width is a fraction of the loss and must not be zero."""
    first, second, starts = np.array([0], dtype=np.int32), np.array([1], dtype=np.int32), np.array([0, 1])
    access = open_access(hinge.kernels.Linear(), np.array([[1.0], [-1.0]]))
    problem = Ranking(first, second, starts, np.ones(1), 2).build(access)
    solution = PairDescent(tol=1e-6, method="newton", max_time=5.0).solve(problem, start=np.ones(1))
    assert solution.status is hinge.Status.SOLVED
    assert solution.alpha == pytest.approx([0.25])
    assert len(solution.history) < 1000


@pytest.mark.parametrize("seed", range(4))
def test_kernel_values_much_larger_than_the_smoothing_are_accepted(seed):
    """The matrices of the Newton steps are then not positive definite because of rounding errors."""
    X = 3.0 * np.random.default_rng(seed).normal(size=(18, 5))
    model = hinge.RankingSVM(C=2.0, kernel=hinge.kernels.Polynomial(3, 0.5, 1.0)).fit(X, np.arange(18) % 4)
    assert model.status_ is hinge.Status.SOLVED
    assert model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_queries_of_all_sizes_are_complete_and_counted(seed):
    """Small queries are compared at once, others one after the other."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    query, grade = np.sort(rng.integers(0, int(rng.integers(1, 60)), n)), rng.integers(0, 4, n).astype(float)
    query = query[rng.permutation(n)] if seed % 2 else query
    first, second, starts = preferences(grade, query)
    expected = {(i, j) for i in range(n) for j in range(n) if query[i] == query[j] and grade[i] > grade[j]}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected
    assert len(first) == len(expected) == count_pairs(grade, query) == starts[-1]
    for low, high in itertools.pairwise(starts.tolist()):  # a block belongs to one query
        assert len(set(query[first[low:high]].tolist())) == 1


def test_pairs_that_take_longer_than_the_limit_are_not_constructed():
    rng = np.random.default_rng(0)
    n = 20_000
    X, grade = rng.normal(size=(n, 2)), rng.integers(0, 5, n)
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"max_time=0.2 s does not suffice for the 1\d\d,\d\d\d,\d\d\d pairs"):
        hinge.RankingSVM(max_time=0.2).fit(X, grade)
    assert time.monotonic() - start <= 0.4
