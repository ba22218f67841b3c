"""Online estimators: ν-property, convergence to the batch solution, prequential evaluation, invalid streams."""

import os
import resource
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.online import prequential
from online.cases import CLASSIFIERS, ESTIMATORS, KERNELS, learn, stream


def wave(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_t(4, size=n)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_fraction_beyond_the_level_converges_to_nu(nu):
    """docs/math (407): with a constant step the deviation is exactly (level − its start) / (Λt)."""
    X, labels, _ = stream(40_000, d=2)
    Z, values = wave(40_000)
    for rate in ({"eta0": 0.02}, {"eta0": 0.5, "learning_rate": "invscaling"}):
        models = (
            hinge.OnlineNuSVC(nu=nu, gamma=1.0, budget=60, **rate).fit(X, labels),
            hinge.OnlineNoveltyDetector(nu=nu, gamma=1.0, budget=60, **rate).fit(X),
            hinge.OnlineSVR(nu=nu, gamma=1.0, budget=60, **rate).fit(Z, values),
            hinge.OnlineSVR(nu=nu, loss="huber", gamma=1.0, budget=60, **rate).fit(Z, values),
        )
        for model in models:
            share = model.n_beyond_[0] / model.t_
            assert abs(share - nu) < 0.01, (model, share)
            if "learning_rate" not in rate:
                options, level = model._learner.options, model._learner.state().level[0]
                moved = (level - options.level) / (options.rate * model.t_)
                sign = 1 if isinstance(model, hinge.OnlineSVR) else -1
                np.testing.assert_allclose(share, nu + sign * moved, atol=1e-10)


def test_adaptive_widths_converge_to_quantiles():
    """A fraction ν of the errors is larger than ε or σ."""
    X, values = wave(30_000)
    for loss in ("epsilon_insensitive", "huber"):
        rate = dict(eta0=1.0, learning_rate="invscaling")
        model = hinge.OnlineSVR(nu=0.2, loss=loss, gamma=1.0, regularization=1e-3, **rate).fit(X, values)
        width = model.epsilon_ if loss == "epsilon_insensitive" else model.sigma_
        quantile = np.quantile(np.abs(values - model.predict(X)), 0.8)
        assert abs(width - quantile) < 0.1 * quantile


def risk(model, X, y, lam):
    """Mean hinge loss + λ/2 ‖f‖², from the expansion."""
    vectors, a = model.support_vectors_, np.ravel(model.dual_coef_)
    K = hinge.kernels.RBF(1.0)(vectors, vectors)
    return np.mean(np.maximum(0, 1 - y * model.decision_function(X))) + 0.5 * lam * a @ K @ a


def test_batch_solution_is_approached_as_the_step_decreases():
    X, y, _ = stream(80, d=2, seed=5)
    lam = 0.05
    batch = hinge.SVC(C=1 / (lam * len(y)), gamma=1.0, tol=1e-8).fit(X, y)
    best = risk(batch, X, y, lam)
    assert best == pytest.approx(batch.certificate_.primal * lam, rel=1e-6)
    excess = []
    for eta, passes in ((0.5, 30), (0.1, 60), (0.02, 150)):
        options = dict(learning_rate="constant", eta0=eta, n_passes=passes, shuffle=True, random_state=0)
        model = hinge.OnlineSVC(regularization=lam, gamma=1.0, budget=2000, **options).fit(X, y)
        excess.append(risk(model, X, y, lam) / best - 1)
    assert excess[0] > excess[1] > excess[2] > -1e-9
    assert excess[2] < 0.02
    decreasing = hinge.OnlineSVC(
        regularization=lam, gamma=1.0, budget=3000, eta0=0.5, learning_rate="invscaling", n_passes=200, shuffle=True,
        random_state=0,
    ).fit(X, y)
    assert -1e-9 < risk(decreasing, X, y, lam) / best - 1 < 0.06
    difference = decreasing.decision_function(X) - batch.decision_function(X)
    assert np.sqrt(np.mean(difference**2)) < 0.2


def test_prequential_predicts_before_learning():
    X, labels, values = stream(400)
    fast = prequential(hinge.OnlineSVC(gamma=0.7, budget=50), X, labels)
    model, predictions = hinge.OnlineSVC(gamma=0.7, budget=50), []
    model.learn_one(X[0], labels[0], classes=[-1, 1])
    for x, y in zip(X[1:], labels[1:], strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, y)
    np.testing.assert_array_equal(fast.predictions[1:], predictions)
    assert fast.accuracy == np.mean(fast.predictions == labels)
    np.testing.assert_allclose(fast.curve(100)[-1], np.mean(fast.losses[-100:]))
    np.testing.assert_allclose(fast.curve(100)[9], np.mean(fast.losses[:10]))
    regression = prequential(hinge.OnlineSVR(gamma=0.7), X, values)
    np.testing.assert_allclose(regression.mean, np.mean(np.abs(regression.predictions - values)))
    other = prequential(SGDClassifier(random_state=0), X, labels, batch=10)
    assert other.skipped == 10
    assert 0 < other.mean < 1
    with pytest.raises(ValueError, match="one target per row"):
        prequential(hinge.OnlineSVC(), X, labels[1:])
    with pytest.raises(ValueError, match="batch"):
        prequential(hinge.OnlineSVC(), X, labels, batch=0)
    with pytest.raises(ValueError, match="window=0"):
        fast.curve(0)


class Majority:
    """Model that is not a scikit-learn estimator: predicts the most frequent label."""

    _estimator_type = "classifier"

    def partial_fit(self, X, y, classes=()):
        self.seen = [*getattr(self, "seen", ()), *y]

    def predict(self, X):
        return np.full(len(X), max(set(self.seen), key=self.seen.count))


@pytest.mark.parametrize("make", [lambda: hinge.OnlineSVC(gamma=0.7), lambda: SGDClassifier(random_state=0)])
def test_prequential_continues_with_a_fitted_model(make):
    """Several parts give the same result as one call, also if a part lacks a class."""
    X, labels, _ = stream(300)
    labels[100:130] = 1
    whole = prequential(make(), X, labels)
    model, parts = make(), []
    for rows in (slice(0, 100), slice(100, 130), slice(130, 300)):
        parts.append(prequential(model, X[rows].tolist(), labels[rows].tolist()))
    assert [part.skipped for part in parts[1:]] == [0, 0]
    np.testing.assert_array_equal(np.concatenate([part.losses for part in parts]), whole.losses)


def test_prequential_of_detectors_and_other_models():
    """Losses of a detector are 0 or 1; a model that is not an estimator is treated as not fitted."""
    X, labels, _ = stream(300)
    expected = np.where(np.abs(X[:, 0]) < 2, 1, -1)
    detector = hinge.OnlineNoveltyDetector(nu=0.1, gamma=0.5)
    result = prequential(detector, X, expected)
    assert set(result.losses) <= {0.0, 1.0}
    assert result.mean == np.mean((result.predictions != expected)[1:])
    assert detector.t_ == 300
    assert prequential(Majority(), X, labels, batch=50).skipped == 50


# ---- invalid streams ----------------------------------------------------------------------------------------


def same(before, after):
    return all(np.array_equal(getattr(before, f), getattr(after, f))
               for f in ("vectors", "coefficients", "offset", "level", "dropped", "beyond"))  # fmt: skip


def test_warning_about_the_scale_of_targets_and_its_remedies():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    with pytest.warns(UserWarning, match="standard deviation of the targets is 77.*eta0=0.2.*Standardize y"):
        hinge.OnlineSVR().fit(X, y)
    standardized = TransformedTargetRegressor(hinge.OnlineSVR(), transformer=StandardScaler())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (standardized, hinge.OnlineSVR(loss="squared")):
            assert model.fit(X[:221], y[:221]).score(X[221:], y[221:]) > 0.3


@pytest.mark.parametrize("name", ESTIMATORS)
def test_invalid_sample_is_rejected_and_state_is_unchanged(name):
    X, labels, values = stream(50)
    model = learn(ESTIMATORS[name](budget=10), name, X, labels, values)
    before = model._learner.state()
    with_nan, infinite = X.copy(), X[0].copy()
    with_nan[30, 1], infinite[2] = np.nan, np.inf
    more = () if name == "novelty" else (labels[0],)
    for call, what in (
        (lambda: learn(model, name, with_nan, labels, values), "NaN"),
        (lambda: learn(model, name, X[:, :2], labels, values), "features"),
        (lambda: model.learn_one(X[0, :2], *more), "features"),
        (lambda: model.learn_one(infinite, *more), "NaN or infinity"),
        (lambda: model.learn_one(X[:2], *more), "one sample is a vector"),
        (lambda: model.predict(X[:, :2]), "features"),
    ):
        with pytest.raises(ValueError, match=what):
            call()
    if name not in ("novelty",):
        with pytest.raises(ValueError, match=r"NaN|not in classes_"):
            model.learn_one(X[0], np.nan)
        broken = np.where(np.arange(50) == 9, np.nan, values)
        with pytest.raises(ValueError, match=r"NaN|not in classes_"):
            model.partial_fit(X, broken)
    assert same(before, model._learner.state())


def test_new_class_is_rejected_and_state_is_unchanged():
    X, labels, _ = stream(50)
    model = hinge.OnlineSVC().partial_fit(X, labels)
    before = model._learner.state()
    for call in (
        lambda: model.partial_fit(X, np.where(np.arange(50) == 40, 7, labels)),
        lambda: model.learn_one(X[0], 7),
        lambda: model.partial_fit(X, np.array(["a"] * 50)),
    ):
        with pytest.raises(ValueError, match=r"not in classes_ \[-1, 1\]: name every class in the first partial_fit"):
            call()
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, labels, classes=[-1, 1, 7])
    assert same(before, model._learner.state())
    with pytest.raises(ValueError, match="greater than one"):
        hinge.OnlineSVC().learn_one(X[0], 1)
    with pytest.raises(ValueError, match="without None"):
        hinge.OnlineSVC().partial_fit(X, np.where(labels > 0, "a", None))
    with pytest.raises(ValueError, match="y=None is not a number"):
        hinge.OnlineSVR().partial_fit(X, X[:, 0]).learn_one(X[0], None)
    with_classes = hinge.OnlineSVC().learn_one(X[0], 1, classes=[-1, 1, 7]).learn_one(X[1], 7)
    assert with_classes.classes_.tolist() == [-1, 1, 7]


def test_failed_first_batch_does_not_change_the_estimator():
    X, labels, _ = stream(20)
    X[3, 1] = np.nan
    model = hinge.OnlineSVC()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, labels)
    assert vars(model) == before


def test_divergence_is_reported_and_rolled_back():
    X, values = wave(100)
    model = hinge.OnlineSVR(loss="squared", kernel="linear", eta0=1e3, learning_rate="constant", regularization=0.0)
    model.partial_fit(X[:2], values[:2])
    before = model._learner.state()
    with pytest.raises(FloatingPointError, match="eta0=1000 is too large"):
        model.partial_fit(1e3 * X, values)
    assert same(before, model._learner.state())
    assert model.t_ == 2
    with pytest.raises(FloatingPointError, match="unchanged"):
        for x in np.full((200, 1), 1e6):
            model.learn_one(x, 1.0)
    assert np.isfinite(model.predict(X)).all()


OVERFLOWING = {"linear": 1e160, "poly": 1e90, "sum": 1e160}


@pytest.mark.parametrize("kernel", OVERFLOWING)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_overflowing_kernel_value_is_rejected_and_state_is_unchanged(name, kernel, tmp_path):
    X, labels, values = stream(30)
    bad = X.copy()
    bad[17] = OVERFLOWING[kernel]
    options = {"kernel": KERNELS[kernel], "eta0": 0.01, "budget": 8}
    fresh = ESTIMATORS[name](**options)
    unchanged = dict(vars(fresh))
    for call in (fresh.fit, lambda *a: learn(fresh, name, a[0], labels, values)):
        with pytest.raises(ValueError, match=r"not finite at sample 17 of 30.*Scale the data.*unchanged"):
            call(bad, values if name not in CLASSIFIERS else labels)
        assert vars(fresh) == unchanged
    model = learn(ESTIMATORS[name](**options), name, X, labels, values)
    before = model._learner.state()
    target = () if name == "novelty" else (labels[17],) if name in CLASSIFIERS else (values[17],)
    for call in (
        lambda: learn(model, name, bad, labels, values),
        lambda: learn(model, name, sp.csr_array(bad), labels, values),
        lambda: learn(model, name, bad[17:18], labels[17:18], values[17:18]),
        lambda: model.learn_one(bad[17], *target),
    ):
        with pytest.raises(ValueError, match=r"not finite at.*Scale the data.*unchanged"):
            call()
        assert same(before, model._learner.state())
    hinge.save(model, tmp_path / "model")
    loaded = hinge.load(tmp_path / "model")
    learn(loaded, name, X, labels, values)
    learn(model, name, X, labels, values)
    assert same(loaded._learner.state(), model._learner.state())


@pytest.mark.parametrize("budget", [1, None])
@pytest.mark.parametrize("size", [1e90, 1e120, 1e150])
def test_states_with_large_values_can_be_saved(size, budget, tmp_path):
    """The product of step size, kernel norm and decay may overflow although each factor is finite."""
    X, _, values = stream(40)
    model = hinge.OnlineSVR(loss="squared", kernel="linear", eta0=0.5, regularization=1.9, budget=budget)
    model.partial_fit(X[:1], values[:1])
    for x, value in zip(size * X, size * values, strict=True):
        try:
            model.learn_one(x, value)
        except FloatingPointError:
            continue
    hinge.save(model, tmp_path / "model")
    assert same(model._learner.state(), hinge.load(tmp_path / "model")._learner.state())


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"kernel": "precomputed"}, ValueError, "at later samples"),
        ({"kernel": lambda X, Z: X @ Z.T}, ValueError, "at later samples"),
        ({"eta0": 0.0}, ValueError, "eta0=0.0"),
        ({"eta0": 2.0, "regularization": 0.6}, ValueError, "exceeds 1"),
        ({"budget": 0}, ValueError, "budget=0"),
        ({"budget": 2.5}, TypeError, "integer"),
        ({"learning_rate": "fast"}, ValueError, "'constant', 'invscaling'"),
        ({"loss": "log"}, ValueError, "'hinge', 'perceptron'"),
        ({"n_passes": 0}, ValueError, "n_passes"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"gamma": "wide"}, ValueError, "gamma"),
    ],
)
def test_invalid_parameters_are_named(options, error, what):
    X, labels, _ = stream(20)
    with pytest.raises(error, match=what):
        hinge.OnlineSVC(**options).fit(X, labels)


def test_parameters_cannot_change_during_a_stream():
    X, labels, _ = stream(20)
    model = hinge.OnlineSVC().partial_fit(X, labels)
    with pytest.raises(ValueError, match=r"rate was 0\.5, is 0\.1"):
        model.set_params(eta0=0.1).partial_fit(X, labels)
    assert model.set_params(eta0=0.5).partial_fit(X, labels).t_ == 40
    for change in ({"gamma": 3.0}, {"kernel": "linear"}):
        with pytest.raises(ValueError, match=r"kernel was RBF\(gamma=0\.33.*\), is"):
            model.set_params(**change).partial_fit(X, labels)
        model.set_params(gamma="auto", kernel="rbf")
    assert model.partial_fit(X, labels).t_ == 60


def test_gamma_scale_needs_more_than_one_sample():
    X, labels, _ = stream(20)
    with pytest.raises(ValueError, match="gamma='scale' needs the variance"):
        hinge.OnlineSVC(gamma="scale").learn_one(X[0], 1, classes=[-1, 1])
    model = hinge.OnlineSVC(gamma="scale").partial_fit(X, labels)
    assert model.kernel_.gamma == pytest.approx(1 / (3 * X.var()))
    with pytest.raises(ValueError, match=r"nu=0\.5 needs a width"):
        hinge.OnlineSVR(loss="squared", nu=0.5).fit(X, labels)


def test_interrupt_keeps_the_learned_samples():
    X, labels, _ = stream(2000, d=50)
    X, labels = np.tile(X, (100, 1)), np.tile(labels, 100)
    model = hinge.OnlineSVC(budget=4000, gamma=0.01, regularization=0.0).partial_fit(X[:10], labels[:10])
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, labels)
    assert time.perf_counter() - sent[0] < 1
    assert 10 < model.t_ < len(X)
    assert np.isfinite(model.decision_function(X[:5])).all()


def test_concurrent_updates_are_serialized():
    X, labels, _ = stream(3000)
    model = hinge.OnlineSVC(budget=None).partial_fit(X[:10], labels[:10])
    threads = [threading.Thread(target=lambda: [model.learn_one(x, 1) for x in X]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.t_ == 6010


@pytest.mark.slow
def test_memory_does_not_grow_over_ten_million_samples():
    rng = np.random.default_rng(0)
    model = hinge.OnlineSVC(gamma=1.0, budget=50, learning_rate="constant", eta0=0.1)
    peaks = []
    for _ in range(100):
        X = rng.normal(size=(100_000, 4))
        model.partial_fit(X, X[:, 0] * X[:, 1] > 0)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert model.t_ == 10_000_000
    assert peaks[-1] - peaks[5] < 2048  # kilobytes


def test_warning_about_gamma_too_small_for_the_data():
    X, y = load_diabetes(return_X_y=True)  # columns of norm 1: entries of about 0.05
    y = (y - y.mean()) / y.std()
    with pytest.warns(UserWarning, match=r"gamma='auto' is 0.1.*0.0045 on average.*gamma='scale'"):
        flat = hinge.OnlineSVR().fit(X, y).score(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hinge.OnlineSVR(gamma="scale").fit(X, y).score(X, y) > 0.4 > flat
        hinge.OnlineSVR().fit(np.ones((5, 2)), np.arange(5.0))  # identical samples: no gamma would help
