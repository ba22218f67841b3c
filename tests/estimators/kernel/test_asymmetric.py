"""Regression with costs and tubes that differ above and below the function."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1, make_regression
from sklearn.model_selection import GridSearchCV

import hinge
from hinge import SVR, IncrementalSVR, LinearSVR, epsilon_path, regularization_path, weight_path
from hinge.conformal import FullConformal
from hinge.selection import grid

GAMMA = 0.5


def data_sets():
    """Five data sets of different size and noise."""
    rng = np.random.default_rng(7)
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X[:60], (y[:60] - y.mean()) / y.std()
    yield pytest.param(X, y, id="diabetes")
    for n, name in ((30, "friedman"), (45, "linear")):
        make = make_friedman1 if name == "friedman" else make_regression
        X, y = make(n, 5, noise=1.0, random_state=n)
        yield pytest.param(X, y / y.std(), id=name)
    X = rng.uniform(-3, 3, size=(40, 1))
    yield pytest.param(X, np.sin(X[:, 0]) + rng.exponential(0.3, 40), id="exponential")
    X = rng.normal(size=(25, 2)).round(0)  # duplicated rows
    yield pytest.param(X, rng.normal(size=25).round(1), id="duplicates")


def costs_and_tubes(n):
    """Return pairs, arrays, and one of both."""
    rng = np.random.default_rng(n)
    one_sided = rng.uniform(0.2, 2, (n, 2))
    one_sided[::4, 0], one_sided[1::4, 1] = 0.0, 0.0
    return (((1.0, 3.0), (0.1, 0.3)), (2.0, (0.3, 0.0)), ((0.7, 0.2), 0.0), (one_sided, rng.uniform(0, 0.3, (n, 2))))


def columns(value, n):
    return np.broadcast_to(np.reshape(value, (-1, 1)) if np.ndim(value) == 0 else value, (n, 2)).T


def direct_solution(K, y, C, epsilon):
    """Return (β, optimal value) of LwK (10.78) by Clarabel."""
    n = len(y)
    (above, below), (e, e_star) = columns(C, n), columns(epsilon, n)
    P, q = np.block([[K, -K], [-K, K]]), np.concatenate([e - y, e_star + y])
    A = np.vstack([np.repeat([1.0, -1.0], n), np.eye(2 * n), -np.eye(2 * n)])
    b = np.concatenate([[0.0], above, below, np.zeros(2 * n)])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = False, 1e-12, 1e-12, 1e-12
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * n)]
    found = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), b, cones, settings).solve()
    x = np.array(found.x)
    return x[:n] - x[n:], -found.obj_val


def primal_value(beta, K, f, y, C, epsilon):
    """Return ½‖w‖² plus the losses."""
    (above, below), (e, e_star) = columns(C, len(y)), columns(epsilon, len(y))
    loss = above * np.maximum(y - f - e, 0.0) + below * np.maximum(f - y - e_star, 0.0)
    return 0.5 * beta @ K @ beta + loss.sum()


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
@pytest.mark.parametrize("solver", ["auto", "smo", "working_set", "interior_point", "chunking"])
def test_agrees_with_clarabel(X, y, solver):
    K = hinge.kernels.RBF(GAMMA)(X, X)
    for C, epsilon in costs_and_tubes(len(y)):
        model = SVR(C=C, epsilon=epsilon, gamma=GAMMA, tol=1e-9, solver=solver).fit(X, y)
        expected, value = direct_solution(K, y, C, epsilon)
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        np.testing.assert_allclose(K @ beta, K @ expected, atol=1e-6)
        certificate = model.certificate_
        assert certificate.dual <= value + 1e-8
        assert certificate.primal >= value - 1e-8
        assert certificate.relative_gap <= 1e-7
        np.testing.assert_allclose(
            primal_value(beta, K, model.predict(X), y, C, epsilon), certificate.primal, rtol=1e-8, atol=1e-10
        )
        np.testing.assert_allclose(model.certify(X, y).primal, certificate.primal, rtol=1e-9)


def test_equal_sides_are_the_symmetric_problem():
    X, y = make_friedman1(50, random_state=3)
    plain = SVR(C=2.0, epsilon=0.2, gamma=0.3, tol=1e-10).fit(X, y)
    for C, epsilon in (((2.0, 2.0), (0.2, 0.2)), (np.full(50, 2.0), np.full((50, 2), 0.2)), (2, [0.2] * 50)):
        model = SVR(C=C, epsilon=epsilon, gamma=0.3, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-9)


def test_sample_weights_multiply_both_costs():
    X, y = make_friedman1(40, random_state=1)
    weight = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    costs = np.random.default_rng(1).uniform(0.5, 2, (40, 2))
    model = SVR(C=costs, epsilon=(0.1, 0.2), gamma=0.3, tol=1e-10).fit(X, y, weight)
    same = SVR(C=weight[:, None] * costs, epsilon=(0.1, 0.2), gamma=0.3, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-8)
    assert model.certify(X, y, weight).relative_gap < 1e-8
    twice = np.repeat(np.arange(40), weight.astype(int))
    again = SVR(C=costs[twice], epsilon=(0.1, 0.2), gamma=0.3, tol=1e-10).fit(X[twice], y[twice])
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-8)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_property(q):
    """The function of the pinball loss has at most q n targets below it and at most (1 − q) n above it."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(101, 1))
    y = np.sin(X[:, 0]) + (0.2 + 0.1 * np.abs(X[:, 0])) * rng.normal(size=101)
    model = SVR(C=(20 * q, 20 * (1 - q)), epsilon=0.0, gamma=1.0, tol=1e-9).fit(X, y)
    f = model.predict(X)
    assert np.sum(y < f - 1e-6) <= q * len(y)
    assert np.sum(y > f + 1e-6) <= (1 - q) * len(y)


@pytest.mark.parametrize("q", [0.2, 0.7])
def test_linear_quantile_regression_agrees_with_linprog(q):
    """With a very large C the penalty on w is negligible: the quantile regression of Koenker and Bassett."""
    rng = np.random.default_rng(2)
    n = 41
    X = rng.normal(size=(n, 2))
    y = X @ [1.0, -2.0] + 0.5 + rng.normal(size=n)
    A = np.hstack([X, np.ones((n, 1)), np.eye(n), -np.eye(n)])
    cost = np.concatenate([np.zeros(3), np.full(n, q), np.full(n, 1 - q)])
    found = linprog(cost, A_eq=A, b_eq=y, bounds=[(None, None)] * 3 + [(0, None)] * (2 * n))
    model = LinearSVR(C=(1e7 * q, 1e7 * (1 - q)), epsilon=0.0, tol=1e-10, max_iter=100000).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), found.x[:3], atol=1e-5)


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
def test_linear_estimator_solves_the_same_problem(X, y):
    for C, epsilon in (((1.0, 3.0), (0.1, 0.3)), (2.0, (0.3, 0.0)), ((0.7, 0.2), 0.1)):
        for options in ({}, {"fit_intercept": False}):
            linear = LinearSVR(C=C, epsilon=epsilon, tol=1e-9, **options).fit(X, y)
            kernel = SVR(C=C, epsilon=epsilon, kernel="linear", tol=1e-10, **options).fit(X, y)
            np.testing.assert_allclose(linear.coef_, kernel.coef_.ravel(), atol=1e-6)
            assert linear.certificate_.relative_gap <= 1e-9
            assert linear.certify(X, y).primal >= kernel.certificate_.dual
            np.testing.assert_allclose(linear.certificate_.primal, kernel.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
def test_linear_costs_per_sample(X, y):
    """One cost for each sample, or two of which one may be zero; certificates and warm starts use them."""
    one_sided = costs_and_tubes(len(y))[-1][0]
    above = one_sided[:, 0]
    for C, epsilon in ((one_sided, 0.1), (one_sided, (0.3, 0.1)), (above, 0.1), (above, (0.1, 0.0))):
        linear = LinearSVR(C=C, epsilon=epsilon, tol=1e-9, warm_start=True).fit(X, y)
        kernel = SVR(C=C, epsilon=epsilon, kernel="linear", tol=1e-10).fit(X, y)
        np.testing.assert_allclose(linear.coef_, kernel.coef_.ravel(), atol=1e-6)
        np.testing.assert_allclose(linear.certify(X, y).primal, kernel.certificate_.primal, rtol=1e-8)
        linear.set_params(C=3 * C).fit(X, y)
        kernel = SVR(C=3 * C, epsilon=epsilon, kernel="linear", tol=1e-10).fit(X, y)
        np.testing.assert_allclose(linear.coef_, kernel.coef_.ravel(), atol=1e-6)
    weight = np.arange(len(y)) % 3.0
    weighted = LinearSVR(C=one_sided, tol=1e-9).fit(X, y, weight)
    same = LinearSVR(C=one_sided * weight[:, None], tol=1e-9).fit(X, y)
    np.testing.assert_allclose(weighted.coef_, same.coef_, atol=1e-6)
    assert weighted.certify(X, y, weight).relative_gap <= 1e-9


@pytest.mark.parametrize("estimator", [SVR(gamma=0.1, tol=1e-6), LinearSVR(tol=1e-8)], ids=["SVR", "LinearSVR"])
def test_grid_of_pairs_agrees_with_scikit_learn(estimator, tmp_path):
    X, y = make_friedman1(50, noise=1.0, random_state=2)
    axes = {"C": [(1.0, 3.0), (2.0, 6.0), (0.5, 0.1), 2.0], "epsilon": [(0.1, 0.5), 0.2]}
    found, expected = grid(X, y, estimator=estimator, cv=3, **axes), GridSearchCV(estimator, axes, cv=3).fit(X, y)
    scores = [dict(zip(map(str, r["params"]), r["mean_test_score"], strict=True))
              for r in (found.cv_results_, expected.cv_results_)]  # fmt: skip
    assert scores[0].keys() == scores[1].keys()
    for name, score in scores[1].items():
        assert scores[0][name] == pytest.approx(score, abs=1e-5)
    assert found.best_params_ == expected.best_params_
    hinge.save(found, tmp_path / "search.hinge")
    loaded = hinge.load(tmp_path / "search.hinge")
    assert list(loaded.cv_results_["param_C"]) == list(found.cv_results_["param_C"])


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
def test_paths_agree_with_fits(X, y):
    n = len(y)
    rng = np.random.default_rng(0)
    weight, tube = rng.uniform(0, 2, (n, 2)), rng.uniform(0, 0.3, (n, 2))

    def predicted(C, epsilon):
        return SVR(C=C, epsilon=epsilon, gamma=GAMMA, tol=1e-10).fit(X, y).predict(X)

    path = regularization_path(
        X, y, task="regression", C_min=0.1, C_max=10, gamma=GAMMA, sample_weight=weight, epsilon=tube
    )
    for C in (0.1, 0.7, 3.0, 10.0):
        np.testing.assert_allclose(path.model(C).predict(X), predicted(C * weight, tube), atol=1e-7)
        assert path.certificate(C).relative_gap < 1e-8
    path = weight_path(
        X, y, weight, (1.0, 2.0), C=2.0, epsilon=tube, epsilon_end=(0.1, 0.0), task="regression", gamma=GAMMA
    )
    for t in (0.0, 0.3, 0.8, 1.0):
        costs, widths = 2 * (weight + t * ([[1.0, 2.0]] - weight)), tube + t * ([[0.1, 0.0]] - tube)
        np.testing.assert_allclose(path.model(t).predict(X), predicted(costs, widths), atol=1e-7)
    path = epsilon_path(X, y, epsilon_max=0.5, C=2.0, sample_weight=(1.0, 0.5), gamma=GAMMA)
    for epsilon in (0.0, 0.2, 0.5):
        np.testing.assert_allclose(path.model(epsilon).predict(X), predicted((2.0, 1.0), epsilon), atol=1e-7)


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, (0.1, 0.3)])
def test_updates_agree_with_fits(X, y, epsilon, tmp_path):
    n, C = len(y), (1.0, 3.0)
    model = IncrementalSVR(C=C, epsilon=epsilon, gamma=GAMMA).fit(X[: n // 2], y[: n // 2])
    model.partial_fit(X[n // 2 :], y[n // 2 :]).forget([0, 3])
    kept = np.delete(np.arange(n), [0, 3])

    def check(model, C, weight=None):
        fitted = SVR(C=C, epsilon=epsilon, gamma=GAMMA, tol=1e-10).fit(X[kept], y[kept], weight)
        np.testing.assert_allclose(model.predict(X), fitted.predict(X), atol=1e-7)
        assert model.certificate_.relative_gap < 1e-8

    check(model, C)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(kept))
    check(model.reweight(weight), C, weight)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert loaded.C == C
    check(loaded, C, weight)
    check(loaded.set_params(C=2.0).update(), 2.0, weight)  # one number, and a pair again
    check(loaded.set_params(C=(0.5, 0.2)).update(), (0.5, 0.2), weight)
    left_out = loaded.leave_out([[0]])[0]
    without = SVR(C=(0.5, 0.2), epsilon=epsilon, gamma=GAMMA, tol=1e-10).fit(X[kept[1:]], y[kept[1:]], weight[1:])
    np.testing.assert_allclose(left_out, without.predict(X[kept[:1]]), atol=1e-7)


def test_parameters_are_kept(tmp_path):
    X, y = make_friedman1(30, random_state=0)
    costs = np.random.default_rng(0).uniform(0.5, 2, (30, 2))
    model = SVR(C=costs, epsilon=(0.1, 0.2)).fit(X, y)
    assert clone(model).get_params()["epsilon"] == (0.1, 0.2)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert loaded.epsilon == (0.1, 0.2)
    np.testing.assert_array_equal(loaded.C, costs)
    assert loaded.certify(X, y).primal == model.certify(X, y).primal


X3, Y3 = np.arange(6.0).reshape(3, 2), np.array([0.0, 1.0, 3.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": (1.0, -1.0)}, r"C\[1\]=-1.0 must lie in"),
        ({"C": (0.0, 1.0)}, r"C\[0\]=0.0 must lie in"),
        ({"C": np.zeros((3, 2))}, "C is zero for all targets above"),
        ({"C": [[1.0, 0.0]] * 3}, "C is zero for all targets below"),
        ({"C": np.ones((2, 2))}, r"C has shape \(2, 2\), but X has 3 samples"),
        ({"C": [1.0, 2.0]}, r"pass one number, a tuple \(above, below\)"),
        ({"epsilon": (0.1, np.nan)}, r"epsilon\[1\]=nan must lie in"),
        ({"epsilon": np.full((3, 2), -0.1)}, "6 values are negative"),
        ({"C": (1.0, 2.0), "loss": "huber"}, "use loss='epsilon_insensitive'"),
        ({"epsilon": (0.1, 0.2), "loss": "squared_epsilon_insensitive"}, "epsilon"),
    ],
)
def test_invalid_input(parameters, message):
    with pytest.raises(ValueError, match=message):
        SVR(**parameters).fit(X3, Y3)


def test_invalid_input_of_other_functions():
    with pytest.raises(ValueError, match="use loss='epsilon_insensitive'"):
        LinearSVR(C=(1.0, 2.0), loss="squared_epsilon_insensitive").fit(X3, Y3)
    with pytest.raises(ValueError, match=r"C, of shape \(3, 2\), has different values.*loss='huber'"):
        LinearSVR(C=np.ones((3, 2)), loss="huber").fit(X3, Y3)
    for C, message in ((np.zeros((3, 2)), "for all targets above"), (np.zeros(3), "for all samples"), ([1.0], "shape")):
        for estimator in (LinearSVR, SVR):
            with pytest.raises(ValueError, match=message):
                estimator(C=C).fit(X3, Y3)
    with pytest.raises(ValueError, match="C is zero for 1 samples, which loss='huber'"):
        SVR(C=[0.0, 1.0, 1.0], loss="huber").fit(X3, Y3)
    with pytest.raises(ValueError, match=r"epsilon=.*cannot change"):
        IncrementalSVR(C=(1.0, 2.0)).fit(X3, Y3).set_params(epsilon=(0.1, 0.2)).update()
    for arguments, message in (
        ({"C": [np.ones(3)]}, "C must be a number, a list of numbers, or a list of tuples"),
        ({"C": 1.0, "epsilon": np.ones((3, 2))}, "epsilon must be a number"),
        ({"C": [(1.0, -2.0)]}, r"C\[1\]=-2.0 must lie in"),
        ({"C": [(1.0, np.inf)]}, "must be finite in a grid search"),
        ({"C": [(1.0, 2.0)], "loss": "huber"}, "use loss='epsilon_insensitive'"),
    ):
        with pytest.raises(ValueError, match=message):
            grid(X3, Y3, estimator=SVR(), cv=2, **arguments)
    with pytest.raises(TypeError, match="must be a number, not tuple"):
        grid(X3, Y3 > 0, C=[(1.0, 2.0)], estimator=hinge.SVC(), cv=2)
    with pytest.raises(ValueError, match="one finite value of C"):
        FullConformal(SVR(C=(1.0, 2.0))).fit(X3, Y3)
    with pytest.raises(ValueError, match="sample_weight has shape"):
        regularization_path(X3, Y3 > 0, sample_weight=np.ones((3, 2)))
