"""LinearSVC, LinearSVR and LinearOneClassSVM: conventions, equivalences, certificates, warm starts, limits."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge import Status
from hinge.control import RunControl
from hinge.estimators.linear.batch import solve_in_parallel
from hinge.formulations import linear_classification
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.small_problems import interior_point_fallback

NAMES = ("LinearSVC", "LinearSVR", "LinearOneClassSVM")
every_estimator = pytest.mark.parametrize("name", NAMES)
CLOSE = dict(rtol=1e-6, atol=1e-7)


def data(name, n=80, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    f = X @ np.arange(1.0, d + 1) + rng.normal(size=n)
    if name == "LinearSVC":
        return X, np.searchsorted(np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1]), f)
    return X, f


def values(model, X):
    return model.predict(X) if hasattr(model, "epsilon") else model.decision_function(X)


def make(name, **options):
    return getattr(hinge, name)(**options)


@parametrize_with_checks([make(name) for name in NAMES])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_parameters_and_defaults_are_those_of_scikit_learn(name):
    ours, theirs = make(name).get_params(), getattr(sklearn.svm, name)().get_params()
    assert {key: ours.get(key, "absent") for key in theirs} == theirs


class TestEquivalences:
    @every_estimator
    def test_integer_weights_equal_repeated_samples(self, name):
        X, y = data(name)
        weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
        weighted = make(name, tol=1e-9).fit(X, y, sample_weight=weight)
        copied = make(name, tol=1e-9).fit(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
        np.testing.assert_allclose(values(weighted, X), values(copied, X), **CLOSE)

    @pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
    @pytest.mark.parametrize("factor", [1e-2, 30.0])
    def test_common_factor_multiplies_C(self, name, factor):
        X, y = data(name)
        weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
        scaled = make(name, tol=1e-9).fit(X, y, sample_weight=factor * weight)
        other = make(name, tol=1e-9, C=factor).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(values(scaled, X), values(other, X), **CLOSE)

    @pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
    def test_class_weights_equal_sample_weights(self, multi_class):
        X, y = data("LinearSVC", classes=3)
        given = {0: 0.5, 1: 2.0, 2: 1.0}
        options = dict(tol=1e-5, multi_class=multi_class, C=0.1, max_iter=20_000)
        by_class = hinge.LinearSVC(class_weight=given, **options).fit(X, y)
        by_sample = hinge.LinearSVC(**options).fit(X, y, sample_weight=[given[label] for label in y])
        assert np.array_equal(by_class.coef_, by_sample.coef_)

    def test_shift_does_not_change_weights_with_a_free_intercept(self):
        X, y = data("LinearSVC")
        model, shifted = hinge.LinearSVC(tol=1e-10).fit(X, y), hinge.LinearSVC(tol=1e-10).fit(X + 5.0, y)
        np.testing.assert_allclose(model.coef_, shifted.coef_, **CLOSE)
        penalized = [hinge.LinearSVC(tol=1e-10, penalize_intercept=True).fit(X + s, y).coef_ for s in (0.0, 5.0)]
        assert np.abs(penalized[0] - penalized[1]).max() > 1e-3

    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_penalized_intercept_agrees_with_liblinear(self, loss):
        X, y = data("LinearSVC")
        ours = hinge.LinearSVC(loss=loss, penalize_intercept=True, intercept_scaling=2.0, tol=1e-9).fit(X, y)
        theirs = sklearn.svm.LinearSVC(
            loss=loss, intercept_scaling=2.0, tol=1e-10, max_iter=1_000_000, dual=True, random_state=0
        ).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-4)

    def test_hinge_loss_agrees_with_svc(self):
        X, y = data("LinearSVC")
        linear = hinge.LinearSVC(loss="hinge", tol=1e-9).fit(X, y)
        kernel = hinge.SVC(kernel="linear", tol=1e-9).fit(X, y)
        np.testing.assert_allclose(linear.coef_, kernel.coef_, **CLOSE)
        np.testing.assert_allclose(linear.intercept_, kernel.intercept_, **CLOSE)

    def test_regression_agrees_with_svr(self):
        X, y = data("LinearSVR")
        linear = hinge.LinearSVR(epsilon=0.3, tol=1e-9).fit(X, y)
        kernel = hinge.SVR(kernel="linear", epsilon=0.3, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(linear.predict(X), kernel.predict(X), **CLOSE)

    @pytest.mark.parametrize("nu", [0.1, 0.5])
    def test_one_class_agrees_with_the_kernel_estimator(self, nu):
        X, _ = data("LinearOneClassSVM")
        linear = hinge.LinearOneClassSVM(nu=nu, tol=1e-9).fit(X)
        kernel = hinge.OneClassSVM(nu=nu, kernel="linear", tol=1e-9).fit(X)
        np.testing.assert_allclose(linear.decision_function(X), kernel.decision_function(X), rtol=1e-5, atol=1e-4)
        assert np.mean(linear.predict(X) < 0) <= nu + 1e-12


class TestCertificates:
    @pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csr_matrix, sp.csr_array])
    @every_estimator
    def test_certify_agrees_with_the_fit(self, name, kind):
        X, y = data(name, n=400)
        X = X.astype(kind) if isinstance(kind, type) and issubclass(kind, np.floating) else kind(X)
        weight = np.random.default_rng(2).uniform(0, 2, len(y)) * (np.arange(len(y)) % 5 > 0)
        model = make(name, tol=1e-6).fit(X, y, sample_weight=weight)
        recomputed = model.certify(X, y, sample_weight=weight)
        assert model.status_ is Status.SOLVED
        assert recomputed.relative_gap <= 1.01e-6
        assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert recomputed.infeasibility <= 1e-9 * np.abs(model.dual_coef_).sum()

    @pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}])
    @pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
    def test_several_classes_are_certified(self, options, multi_class):
        X, y = load_iris(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        model = hinge.LinearSVC(multi_class=multi_class, tol=1e-3, max_iter=20_000, C=0.1, **options).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.coef_.shape == (3, 4)
        assert model.dual_coef_.shape == (3, 150)
        assert model.certify(X, y).relative_gap <= 1.01e-3
        assert model.score(X, y) > 0.8

    def test_certify_rejects_other_data(self):
        X, y = data("LinearSVC")
        model = hinge.LinearSVC().fit(X, y)
        with pytest.raises(ValueError, match="training data"):
            model.certify(X[:10], y[:10])
        with pytest.raises(ValueError, match="support vector"):
            model.certify(X, y, sample_weight=np.r_[np.zeros(40), np.ones(40)])

    def test_crammer_singer_agrees_with_liblinear(self):
        X, y = data("LinearSVC", n=150, classes=3)
        ours = hinge.LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-5, max_iter=50_000).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = sklearn.svm.LinearSVC(
                multi_class="crammer_singer", fit_intercept=False, tol=1e-6, max_iter=100_000, random_state=0
            ).fit(X, y)
        margins = 1 + X @ theirs.coef_.T - (X @ theirs.coef_.T)[np.arange(150), y][:, None]
        margins[np.arange(150), y] = 0.0
        value = 0.5 * np.sum(theirs.coef_**2) + margins.max(axis=1).sum()
        assert ours.certificate_.dual <= value * (1 + 1e-9)
        assert ours.certificate_.primal <= value * (1 + 2e-5)


class TestWarmStart:
    # with few features a subsample start needs no more iterations than a warm start from another C
    @pytest.mark.parametrize(("loss", "solver"), [("hinge", "descent"), ("squared_hinge", "auto")])
    def test_sequence_of_C_needs_no_more_iterations_than_cold_fits(self, loss, solver):
        X, y = make_classification(3000, 30, random_state=0)
        cold, warm = 0, 0
        model = hinge.LinearSVC(loss=loss, solver=solver, warm_start=True, tol=1e-5)
        for C in (0.01, 0.015, 0.02, 0.03):
            warm += model.set_params(C=C).fit(X, y).n_iter_
            cold += hinge.LinearSVC(loss=loss, solver=solver, C=C, tol=1e-5).fit(X, y).n_iter_
            assert model.certify(X, y).relative_gap <= 1.01e-5
        assert warm <= cold

    def test_other_samples_start_cold(self):
        X, y = data("LinearSVC")
        model = hinge.LinearSVC(warm_start=True).fit(X, y).fit(X[:50], y[:50]).fit(X, np.where(y, "b", "a"))
        assert model.status_ is Status.SOLVED
        assert list(model.classes_) == ["a", "b"]


class TestThreads:
    def test_threads_do_not_change_the_model(self):
        X, y = make_classification(1500, 30, n_informative=10, n_classes=5, random_state=0)
        one, two = (hinge.LinearSVC(n_jobs=n, tol=1e-6).fit(X, y) for n in (1, 2))
        assert np.array_equal(one.coef_, two.coef_)
        assert np.array_equal(one.dual_coef_, two.dual_coef_)
        assert np.array_equal(one.decision_function(X), two.decision_function(X))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (4, "ovr"), (4, "crammer_singer")])
    def test_interrupt_keeps_a_certified_model(self, classes, multi_class, n_jobs):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30_000, 40)) * 10.0 ** rng.integers(-3, 4, 40)
        y = rng.integers(0, classes, 30_000)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        model = hinge.LinearSVC(
            loss="hinge", solver="descent", C=1e4, tol=1e-12, max_iter=-1, n_jobs=n_jobs, multi_class=multi_class
        )
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert time.monotonic() - began < 2.5  # the signal is sent after 0.5 s; other processes may delay the answer
        assert model.status_ is Status.INTERRUPTED
        recomputed = model.certify(X, y)
        assert np.isfinite(recomputed.gap)
        assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
        assert recomputed.gap <= model.certificate_.gap * (1 + 1e-6)
        assert model.predict(X[:20]).shape == (20,)


class TestLimits:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_classes_that_were_not_trained_have_constant_functions(self, n_jobs):
        """Their certificate is that of w = 0, and they are never predicted."""
        X, y = make_classification(3000, 20, n_informative=10, n_classes=6, random_state=0)
        stopped = []

        def callback(snapshot):
            stopped.append(snapshot)
            return False

        for limits, shown in (({"max_time": 1e-9}, None), ({}, callback)):
            model = hinge.LinearSVC(loss="hinge", C=1e4, tol=1e-14, n_jobs=n_jobs, max_iter=-1, dual=True, **limits)
            model._fit(X, y, None, RunControl(model.max_time, shown))
            assert model.status_ in (Status.TIME_LIMIT, Status.INTERRUPTED)
            recomputed = model.certify(X, y)
            assert np.isfinite(model.certificate_.gap)
            assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
            assert recomputed.gap == pytest.approx(model.certificate_.gap, rel=1e-6)
            untouched = ~np.any(model.coef_, axis=1)
            assert np.all(model.intercept_[untouched] == -1.0)
        assert stopped
        assert untouched.any()

    def test_early_stop_is_reported(self):
        X, y = make_classification(2000, 30, random_state=0, flip_y=0.2)
        with pytest.warns(ConvergenceWarning, match=r"max_iter=1\).*relative duality gap"):
            model = hinge.LinearSVC(loss="hinge", C=100, tol=1e-12, max_iter=1).fit(X, y)
        assert model.status_ is Status.MAX_ITER
        assert np.isfinite(model.certificate_.relative_gap)
        with pytest.warns(ConvergenceWarning, match="max_time"):
            hinge.LinearSVC(loss="hinge", C=1e5, tol=1e-14, max_time=0.05, max_iter=-1, solver="descent").fit(X, y)

    def test_history_is_recorded_and_progress_is_shown(self, capsys):
        X, y = make_classification(500, 10, random_state=0)
        model = hinge.LinearSVC(verbose=1).fit(X, y)
        assert "relative gap" in capsys.readouterr().err
        assert len(model.history_) >= 1
        assert model.history_.gap[-1] <= model.history_.gap[0]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"C": 0}, "C"),
        ({"C": np.inf}, "C"),
        ({"tol": -1.0}, "tol"),
        ({"loss": "log"}, "loss"),
        ({"multi_class": "ovo"}, "multi_class"),
        ({"penalty": "elasticnet"}, "penalty"),
        ({"solver": "liblinear"}, "solver"),
        ({"intercept_scaling": 0}, "intercept_scaling"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"cache_size": -1}, "cache_size"),
        ({"dual": "yes"}, "dual"),
        ({"class_weight": {0: -1}}, "class_weight"),
    ],
)
def test_invalid_parameters_are_named(options, word):
    X, y = data("LinearSVC")
    with pytest.raises((ValueError, TypeError), match=word):
        hinge.LinearSVC(**options).fit(X, y)


def test_failed_fit_keeps_the_previous_model():
    X, y = data("LinearSVC")
    model = hinge.LinearSVC().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="one; got 1 class"):
        model.fit(X, np.zeros(len(y)))
    assert np.array_equal(model.coef_, before)


@every_estimator
def test_models_can_be_saved_and_loaded(name, tmp_path):
    X, y = data(name)
    model = make(name, solver=CoordinateDescent(tol=1e-6)).fit(X, y)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert np.array_equal(values(loaded, X), values(model, X))
    assert loaded.certify(X, y).relative_gap <= 1e-5
    assert clone(loaded).get_params().keys() == model.get_params().keys()


def test_sparsify_does_not_change_decision_values():
    X, y = data("LinearSVC")
    model = hinge.LinearSVC().fit(X, y)
    before = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    assert np.array_equal(model.decision_function(X), before)
    assert not sp.issparse(model.densify().coef_)


def test_memory_maps_are_trained_in_blocks(tmp_path):
    X, y = make_classification(3000, 40, random_state=0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    in_memory = hinge.LinearSVC(loss="hinge", C=0.1).fit(X, y)
    mapped_model = hinge.LinearSVC(loss="hinge", C=0.1, cache_size=0.2).fit(mapped, y)
    assert mapped_model.status_ is Status.SOLVED
    assert mapped_model.certificate_.primal == pytest.approx(in_memory.certificate_.primal, rel=2e-4)


def test_calls_of_the_callback_from_threads_do_not_overlap():
    """A callback that returns False stops all runs, also in the interior-point fallback."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    problems = [linear_classification(X, np.where(y == k, 1.0, -1.0), np.full(60, 1e6), "hinge") for k in range(3)]
    active, concurrent = [], []

    def callback(snapshot):
        active.append(snapshot)
        time.sleep(0.01)
        concurrent.append(len(active))
        active.pop()
        return len(concurrent) < 2

    def solve(problem, start, control):
        unfinished = CoordinateDescent(tol=1e-9, max_iter=3).solve_linear(problem, start)
        return interior_point_fallback(problem, unfinished, 1e-9, control)

    solutions = solve_in_parallel(solve, problems, [None] * 3, 2, RunControl(callback=callback))
    assert Status.INTERRUPTED in [solution.status for solution in solutions]
    assert max(concurrent) == 1
