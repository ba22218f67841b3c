"""Online learners agree with the formulas of the book; results do not depend on how a stream is divided into calls."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import hinge
from online.cases import CLASSIFIERS, ESTIMATORS, KERNELS, RATES, learn, stream
from reference.online_learners import SlowLearner


def reference_of(model, kernel):
    """The reference learner with the options of a model."""
    o = model._learner.options
    nu = o.nu if o.nu >= 0 else None
    loss = model.loss if o.loss.startswith("quadratic") else o.loss
    return SlowLearner(kernel, loss, o.rate, o.power, o.regularization, nu, o.level, o.offset, o.budget or None)


def targets_of(name, labels, values):
    return np.ones(len(labels)) if name == "novelty" else labels if name in CLASSIFIERS else values


def assert_same(model, slow, X):
    """Equal function, offset, level and counts; the exact truncation error is within its bounds."""
    state = model._learner.state()
    scale = 1e-9 * (1 + abs(slow.b) + sum(abs(a) for _, a in slow.kept))
    assert state.seen == slow.t
    assert state.beyond[0] == slow.beyond
    np.testing.assert_allclose(model.dual_coef_[0], [a for _, a in slow.kept], atol=scale)
    np.testing.assert_array_equal(model.support_vectors_, np.reshape([z for z, _ in slow.kept], (-1, X.shape[1])))
    np.testing.assert_allclose([model.intercept_[0], state.level[0]], [slow.b, slow.level], atol=scale)
    np.testing.assert_allclose(model._decide(X)[:, 0], [slow.value(x) for x in X], atol=scale)
    if model.kernel_.psd:
        error = slow.dropped_norm()
        assert error <= model.truncation_error_ * (1 + 1e-9) + 1e-12
        assert model.truncation_error_ <= model.truncation_bound_ * (1 + 1e-9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_losses_agree_with_the_book(name, rate):
    X, labels, values = stream(150)
    model = ESTIMATORS[name](gamma=0.7, budget=20, **RATES[rate])
    values_before_learning = []
    learn(model, name, X[:1], labels[:1], values[:1])
    slow = reference_of(model, KERNELS["rbf"])
    target = targets_of(name, labels, values)
    slow.learn(X[0], target[0])
    for i in range(1, len(X)):
        values_before_learning.append((model._learner.learn_one(X[i], float(target[i])), slow.learn(X[i], target[i])))
    np.testing.assert_allclose(*zip(*values_before_learning, strict=True), atol=1e-10)
    assert_same(model, slow, X[:10])


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_agree_with_the_reference(kernel):
    X, labels, values = stream(120, d=5, seed=1)
    for name in ("hinge", "nu tube", "novelty"):
        model = ESTIMATORS[name](kernel=KERNELS[kernel], budget=30, eta0=0.1)
        learn(model, name, X, labels, values)
        slow = reference_of(model, KERNELS[kernel])
        for x, y in zip(X, targets_of(name, labels, values), strict=True):
            slow.learn(x, y)
        assert_same(model, slow, X[:10])


@given(
    name=st.sampled_from(sorted(ESTIMATORS)),
    d=st.integers(1, 9),
    budget=st.integers(1, 40),
    seed=st.integers(0, 1000),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    storage=st.sampled_from(["float64", "float32", "csr"]),
)
def test_batches_equal_single_samples(name, d, budget, seed, cuts, storage):
    """To the bit: one call, several calls, single samples, copies in between; dense, float32 or CSR."""
    X, labels, values = stream(200, d, seed)
    X[np.abs(X) < 0.3] = 0.0
    X = X.astype(np.float32)
    given_X = {"float64": X.astype(np.float64), "float32": X, "csr": sparse.csr_matrix(X)}[storage]
    options = dict(budget=budget, gamma=0.5)
    one_call = learn(ESTIMATORS[name](**options), name, given_X, labels, values)
    several_calls = ESTIMATORS[name](**options)
    edges = sorted({0, 200, *cuts})
    for first, last in pairwise(edges):
        learn(several_calls, name, given_X[first:last], labels[first:last], values[first:last])
        several_calls = pickle.loads(pickle.dumps(several_calls)) if first % 2 else copy.deepcopy(several_calls)
    single = ESTIMATORS[name](**options)
    learn(single, name, X[:1].astype(np.float64), labels[:1], values[:1])
    for x, y in zip(X[1:], targets_of(name, labels, values)[1:], strict=True):
        single.learn_one(x) if name == "novelty" else single.learn_one(x, y)
    expected = one_call._learner.state()
    for other in (several_calls, single):
        state = other._learner.state()
        for field in ("vectors", "coefficients", "offset", "level", "dropped", "beyond"):
            np.testing.assert_array_equal(getattr(state, field), getattr(expected, field))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_loaded_model_continues_like_the_saved_one(name, tmp_path):
    X, labels, values = stream(300)
    model = learn(ESTIMATORS[name](budget=25), name, X[:150], labels[:150], values[:150])
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded._decide(X), model._decide(X))
    for each in (model, loaded):
        learn(each, name, X[150:], labels[150:], values[150:])
    np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(loaded._decide(X), model._decide(X))


def test_inconsistent_state_is_rejected(tmp_path):
    X, labels, _ = stream(100)
    model = hinge.OnlineSVC(budget=10).fit(X, labels)
    state = model._plain()["_state"]
    for change in (
        {"head": 11}, {"norms": state.norms[1:]}, {"scale": np.nan}, {"seen": -1}, {"offset": np.zeros(2)},
        {"coefficients": np.full_like(state.coefficients, np.inf)}, {"vectors": state.vectors[:, 1:]},
    ):  # fmt: skip
        broken = type(state)(**{**vars(state), **change})
        with pytest.raises(ValueError, match="inconsistent"):
            hinge.online.Learner.of(broken, 3)


def test_one_versus_rest_agrees_with_binary_models():
    """Without a budget, each class has the function of a binary model, up to rounding."""
    X, _, values = stream(300, seed=3)
    y = np.digitize(values, [-0.5, 0.5])
    for estimator in (hinge.OnlineSVC, hinge.OnlineNuSVC):
        model = estimator(budget=None, gamma=0.7).fit(X, y)
        for k in range(3):
            binary = estimator(budget=None, gamma=0.7).fit(X, y == k)
            np.testing.assert_allclose(model.decision_function(X)[:, k], binary.decision_function(X), atol=1e-10)
            assert model.n_beyond_[k] == binary.n_beyond_[0]
        assert set(model.predict(X)) <= {0, 1, 2}
        assert model.score(X, y) > 0.6


def test_predictions_of_single_samples_equal_those_of_batches():
    X, labels, values = stream(200)
    model = hinge.OnlineSVC(gamma=0.5).fit(X, labels)
    assert [model.predict_one(x) for x in X[:20]] == model.predict(X[:20]).tolist()
    np.testing.assert_allclose([model.decide_one(x) for x in X[:20]], model.decision_function(X[:20]), atol=1e-12)
    three = hinge.OnlineSVC(gamma=0.5).fit(X, np.digitize(values, [-0.5, 0.5]))
    np.testing.assert_allclose([three.decide_one(x) for x in X[:20]], three.decision_function(X[:20]), atol=1e-12)
    regressor = hinge.OnlineSVR(gamma=0.5).fit(X, values)
    np.testing.assert_allclose([regressor.predict_one(x) for x in X[:20]], regressor.predict(X[:20]), atol=1e-12)
    detector = hinge.OnlineNoveltyDetector(gamma=0.5).fit(X)
    np.testing.assert_allclose([detector.score_one(x) for x in X[:20]], detector.decision_function(X[:20]), atol=1e-12)


def test_decay_does_not_underflow():
    """The scale factor (1 − λΛ)^t, 10⁻³⁶⁰ at the end, is multiplied into the coefficients before it underflows."""
    X, labels, _ = stream(1200, d=2)
    options = dict(learning_rate="constant", eta0=0.5, regularization=1.0)
    model = hinge.OnlineSVC(gamma=0.7, budget=16, **options).fit(X, labels)
    slow = reference_of(model, KERNELS["rbf"])
    for x, y in zip(X, labels, strict=True):
        slow.learn(x, y)
    assert_same(model, slow, X[:5])
    idle = hinge.OnlineSVR(epsilon=3.0, gamma=0.7, **options).fit(X, np.r_[5.0, np.zeros(1199)])
    np.testing.assert_array_equal(idle.dual_coef_, 0.0)  # the coefficient of the first sample decays to 0, not NaN


@pytest.mark.parametrize("T", [1, 5, 20])
def test_truncation_bound_agrees_with_the_book(T):
    """LwK (10.130): λ⁻¹(1 − λΛ)^T LX with L = X = 1; for steps Λ_t = η/√t the product of the last T, (410)."""
    X, labels, _ = stream(60)
    model = hinge.OnlineSVC(gamma=0.7, budget=T, regularization=0.1, eta0=0.5).partial_fit(X, labels)
    assert model.truncation_bound_ == pytest.approx((1 - 0.1 * 0.5) ** T / 0.1, rel=1e-12)
    model = hinge.OnlineSVC(gamma=0.7, budget=T, regularization=0.1, eta0=0.5, learning_rate="invscaling", power_t=0.5)
    model.partial_fit(X, labels)
    last = np.arange(60 - T + 1, 61)
    assert model.truncation_bound_ == pytest.approx(np.prod(1 - 0.1 * 0.5 / np.sqrt(last)) / 0.1, rel=1e-12)
    longer = hinge.OnlineSVC(gamma=0.7, budget=100, regularization=0.1).partial_fit(X, labels)
    assert longer.truncation_bound_ == 0.0  # no term was dropped
