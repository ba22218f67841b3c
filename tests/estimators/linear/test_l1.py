"""`LinearSVC(penalty="l1")`: optimality by independent computations, sparsity, warm starts, errors, files."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel

import hinge
from hinge.control import RunControl
from hinge.problems import Status, certify_linear
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.l1_descent import L1CoordinateDescent


def data(n=120, d=30, seed=0):
    X, y = make_classification(n, d, n_informative=5, n_redundant=5, flip_y=0.1, random_state=seed)
    return X, np.where(y > 0, 1.0, -1.0)


def objective(X, y, w, b, cost, offset_penalty=0.0):
    slack = np.maximum(0.0, 1 - y * (X @ w + b))
    return np.abs(w).sum() + offset_penalty * abs(b) + np.sum(cost * slack**2)


def minimized(X, y, cost, intercept=True):
    """The optimal value by L-BFGS-B with w = u − v, u, v ≥ 0."""
    d = X.shape[1]

    def value(z):
        w, b = z[:d] - z[d : 2 * d], z[-1] * intercept
        slack = np.maximum(0.0, 1 - y * (X @ w + b))
        slope = -2 * cost * slack * y
        g = X.T @ slope
        return np.sum(z[: 2 * d]) + np.sum(cost * slack**2), np.concatenate([1 + g, 1 - g, [slope.sum() * intercept]])

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"maxiter": 20000, "maxfun": 200000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(value, np.zeros(2 * d + 1), jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun


class TestOptimality:
    @pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
    @pytest.mark.parametrize("intercept", [True, False])
    def test_value_is_that_of_an_independent_minimization(self, C, intercept):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", C=C, fit_intercept=intercept, tol=1e-7).fit(X, y)
        expected = minimized(X, y, np.full(len(y), C), intercept)
        assert objective(X, y, model.coef_[0], model.intercept_[0], C) == pytest.approx(expected, rel=1e-6)
        assert model.certificate_.dual <= expected * (1 + 1e-12)
        assert model.certificate_.relative_gap <= 1e-7

    @pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
    def test_dual_point_is_feasible_and_proves_the_gap(self, tol):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", C=0.5, tol=tol).fit(X, y)
        alpha = model.dual_coef_[0] * y
        assert np.abs(X.T @ model.dual_coef_[0]).max() <= 1 + 1e-12
        assert abs(model.dual_coef_.sum()) <= 1e-9 * alpha.sum()
        assert alpha.min() >= 0
        dual = alpha.sum() - np.sum(alpha**2) / (4 * 0.5)
        primal = objective(X, y, model.coef_[0], model.intercept_[0], 0.5)
        assert primal - dual <= 1.01 * tol * primal + 1e-12
        assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
        assert model.certificate_.dual == pytest.approx(dual, rel=1e-9)

    def test_zero_weights_are_exact(self):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", C=0.02, tol=1e-8).fit(X, y)
        assert 0 < np.count_nonzero(model.coef_) < 15
        slope = X.T @ model.dual_coef_[0]
        used = model.coef_[0] != 0
        assert np.allclose(slope[used], np.sign(model.coef_[0][used]), atol=1e-3)
        assert np.all(model.coef_[0][np.abs(slope) < 0.99] == 0)

    def test_null_model_is_optimal_for_small_costs(self):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", C=1e-6).fit(X, y)
        assert not model.coef_.any()
        assert model.status_ is Status.SOLVED

    def test_equals_liblinear_without_an_intercept(self):
        X, y = data()
        ours = hinge.LinearSVC(penalty="l1", C=0.3, fit_intercept=False, tol=1e-9).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = sklearn.svm.LinearSVC(
                penalty="l1", dual=False, C=0.3, fit_intercept=False, tol=1e-9, max_iter=100_000
            ).fit(X, y)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)

    def test_equals_liblinear_with_a_penalized_intercept(self):
        X, y = data(seed=3)
        ours = hinge.LinearSVC(penalty="l1", C=0.3, penalize_intercept=True, intercept_scaling=2.0, tol=1e-9).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = sklearn.svm.LinearSVC(
                penalty="l1", dual=False, C=0.3, intercept_scaling=2.0, tol=1e-9, max_iter=100_000
            ).fit(X, y)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-4)

    @pytest.mark.parametrize("loss", ["squared_hinge", "modified_huber", "huberized_hinge", "smoothed_hinge"])
    @pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}])
    def test_every_loss_with_a_curvature_is_solved(self, loss, options):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", loss=loss, C=0.2, tol=1e-8, **options).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.certify(X, y).relative_gap <= 2e-8

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @settings(max_examples=40, deadline=None)
    @given(
        seed=st.integers(0, 10_000), n=st.integers(4, 40), d=st.integers(1, 60), C=st.floats(1e-3, 1e3),
        power=st.integers(-6, 6), bias=st.sampled_from([{}, {"fit_intercept": False}, {"penalize_intercept": True}]),
    )  # fmt: skip
    def test_random_problems_are_certified(self, seed, n, d, C, power, bias):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(n, d)) * rng.integers(0, 3, size=d), 1) * 10.0**power
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        model = hinge.LinearSVC(penalty="l1", C=C, tol=1e-5, max_iter=2000, **bias).fit(X, y)
        assert model.certificate_.dual <= model.certificate_.primal
        penalty = 1.0 if "penalize_intercept" in bias else 0.0
        value = objective(X, y, model.coef_[0], model.intercept_[0], C, penalty)
        assert model.certificate_.primal >= value * (1 - 1e-12)
        assert value - model.certificate_.dual >= -1e-12 * value
        if 1e-4 <= C * 100.0**power <= 1:  # with large costs and more features than samples descent may be slow
            assert model.status_ is Status.SOLVED
            assert value - model.certificate_.dual <= 2e-5 * value


class TestData:
    def test_weights_equal_repeated_samples(self):
        X, y = data()
        weight = np.random.default_rng(0).integers(0, 4, len(y))
        options = {"penalty": "l1", "C": 0.1, "tol": 1e-10}
        weighted = hinge.LinearSVC(**options).fit(X, y, weight)
        repeated = hinge.LinearSVC(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-6)
        assert not weighted.dual_coef_[0, weight == 0].any()

    def test_class_weights_multiply_the_cost(self):
        X, y = data()
        options = {"penalty": "l1", "C": 0.1, "tol": 1e-10}
        by_class = hinge.LinearSVC(class_weight={-1.0: 3.0}, **options).fit(X, y)
        by_sample = hinge.LinearSVC(**options).fit(X, y, np.where(y < 0, 3.0, 1.0))
        assert np.allclose(by_class.coef_, by_sample.coef_, atol=1e-7)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_sparse_and_dense_samples_give_the_same_model(self, dtype):
        X, y = data()
        X = np.where(np.abs(X) > 0.7, X, 0.0).astype(dtype)
        dense = hinge.LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(X, y)
        sparse = hinge.LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(sp.csr_matrix(X), y)
        assert np.allclose(dense.coef_, sparse.coef_, atol=1e-7)
        assert dense.certificate_.relative_gap <= 2e-9

    def test_several_classes_are_one_problem_each(self):
        X, y = load_iris(return_X_y=True)
        model = hinge.LinearSVC(penalty="l1", C=0.2, tol=1e-8, n_jobs=2).fit(X, y)
        assert model.coef_.shape == (3, 4)
        for k in range(3):
            sign = np.where(y == k, 1.0, -1.0)
            expected = minimized(X, sign, np.full(len(y), 0.2))
            assert model.certificates_[k].primal == pytest.approx(expected, rel=1e-5)

    def test_result_does_not_depend_on_threads(self):
        X, y = data(400, 50)
        first, second = (
            hinge.LinearSVC(penalty="l1", n_jobs=threads).fit(sp.csr_matrix(X), y) for threads in (1, 2)
        )
        assert np.array_equal(first.coef_, second.coef_)

    def test_features_can_be_selected(self):
        X, y = data()
        selector = SelectFromModel(hinge.LinearSVC(penalty="l1", C=0.02)).fit(X, y)
        selected = np.flatnonzero(selector.get_support())
        assert np.array_equal(selected, np.flatnonzero(selector.estimator_.coef_[0]))
        assert selector.transform(X).shape == (len(y), len(selected))

    def test_probabilities_and_cross_validation(self):
        X, y = data(300)
        model = hinge.LinearSVC(penalty="l1", C=0.1, probability=True).fit(X, y)
        probabilities = model.predict_proba(X)
        assert np.allclose(probabilities.sum(axis=1), 1)
        assert np.array_equal(model.classes_[np.argmax(probabilities, axis=1)], model.predict(X))
        search = hinge.LinearSVCCV(Cs=[1e-6, 0.1], penalty="l1").fit(X, y)
        assert search.C_ == 0.1
        assert search.best_estimator_.penalty == "l1"


class TestRuns:
    def test_warm_start_needs_fewer_passes(self):
        X, y = data(400, 200)
        cold = hinge.LinearSVC(penalty="l1", C=0.11, tol=1e-6).fit(X, y)
        warm = hinge.LinearSVC(penalty="l1", C=0.1, tol=1e-6, warm_start=True).fit(X, y)
        warm.set_params(C=0.11).fit(X, y)
        assert warm.n_iter_ < cold.n_iter_
        assert np.allclose(warm.coef_, cold.coef_, atol=1e-3)

    def test_time_limit_keeps_a_certified_model(self):
        X, y = make_classification(2000, 400, flip_y=0.3, random_state=0)
        with pytest.warns(ConvergenceWarning, match="max_time"):
            model = hinge.LinearSVC(penalty="l1", C=1e4, tol=1e-14, max_iter=-1, max_time=0.1).fit(X, y)
        assert model.status_ is Status.TIME_LIMIT
        assert 0 <= model.certificate_.dual <= model.certificate_.primal < np.inf

    def test_pass_limit_warns(self):
        X, y = data()
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = hinge.LinearSVC(penalty="l1", C=100.0, tol=1e-12, max_iter=1).fit(X, y)
        assert model.status_ is Status.MAX_ITER

    def test_callback_can_stop_a_run(self):
        X, y = make_classification(6000, 500, flip_y=0.3, random_state=0)  # seconds until rounding errors end the run
        model = hinge.LinearSVC(penalty="l1", C=1e6, tol=1e-14, max_iter=-1)
        snapshots = []
        started = time.monotonic()
        model._fit(X, y, None, RunControl(60.0, callback=lambda snapshot: snapshots.append(snapshot)  or False))
        assert model.status_ is Status.INTERRUPTED
        assert len(snapshots) >= 1
        assert time.monotonic() - started < 30

    def test_fits_are_reproducible(self):
        X, y = data()
        first, second = (hinge.LinearSVC(penalty="l1", random_state=7).fit(X, y) for _ in range(2))
        assert np.array_equal(first.coef_, second.coef_)

    def test_saved_models_are_equal(self, tmp_path):
        X, y = data()
        model = hinge.LinearSVC(penalty="l1", C=0.1).fit(X, y)
        hinge.save(model, tmp_path / "model.hinge")
        loaded = hinge.load(tmp_path / "model.hinge")
        assert np.array_equal(loaded.coef_, model.coef_)
        assert loaded.certify(X, y).gap == model.certify(X, y).gap


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "remedy"),
        [
            ({"loss": "hinge"}, "squared_hinge"),
            ({"dual": True}, "dual='auto'"),
            ({"multi_class": "crammer_singer"}, "multi_class='ovr'"),
            ({"solver": "newton"}, "solver='auto'"),
            ({"solver": CoordinateDescent()}, "solver='auto'"),
            ({"loss": hinge.losses.Hinge()}, "squared_hinge"),
        ],
    )
    def test_invalid_combinations_name_a_remedy(self, options, remedy):
        X, y = data()
        with pytest.raises(ValueError, match="penalty='l1'") as caught:
            hinge.LinearSVC(penalty="l1", **options).fit(X, y)
        assert remedy in str(caught.value)

    def test_overflowing_samples_are_an_error(self):
        X, y = data()
        with pytest.raises(ValueError, match="overflow"):
            hinge.LinearSVC(penalty="l1").fit(X * 1e200, y)


def test_certificate_holds_for_any_dual_point():
    X, y = data()
    model = hinge.LinearSVC(penalty="l1", C=0.3, tol=1e-9).fit(X, y)
    problem = model._problems(model._validate(X, y, None, reset=False))[0]
    optimum = model.certificate_.primal
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        beta = y * rng.exponential(size=len(y)) * size
        found = certify_linear(problem, rng.normal(size=X.shape[1]), 0.1, beta)
        assert found.dual <= optimum
        assert found.primal >= optimum * (1 - 1e-9)


def test_solver_needs_an_l1_problem():
    X, y = data()
    model = hinge.LinearSVC().fit(X, y)
    problem = model._problems(model._validate(X, y, None, reset=False))[0]
    with pytest.raises(ValueError, match="use CoordinateDescent"):
        L1CoordinateDescent().solve_linear(problem)


def topics(n=1000, d=2000, seed=0):
    """Word counts of documents about two topics, weighted by rarity; with large C the samples can be separated."""
    rng = np.random.default_rng(seed)
    base = 1 / np.arange(1, d + 1) ** 1.05
    words = [base * np.exp(rng.normal(size=d)) for _ in range(2)]
    y = rng.integers(0, 2, n)
    lengths = np.maximum(5, rng.lognormal(np.log(120), 0.9, n)).astype(int)
    mixed = [0.85 * base / base.sum() + 0.15 * w / w.sum() for w in words]
    X = np.array([rng.multinomial(length, mixed[label]) for length, label in zip(lengths, y, strict=True)], dtype=float)
    X = np.log1p(X) * np.log(n / np.maximum(1, np.count_nonzero(X, axis=0)))
    return sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def test_separable_text_is_solved_within_the_default_number_of_iterations():
    X, y = topics()
    model = hinge.LinearSVC(penalty="l1", C=10.0, tol=1e-3).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.n_iter_ < 700
    assert model.certificate_.relative_gap <= 1e-3


def test_a_run_that_starts_from_weights_has_no_stages():
    X, y = topics(200, 300)
    model = hinge.LinearSVC(penalty="l1", C=30.0, tol=1e-4, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < 0.5 * first
