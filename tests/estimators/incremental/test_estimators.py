"""Incremental estimators: adding, removing and reweighting samples equals training from scratch."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from paths.cases import classification, regression


def refitted_values(model, X):
    """Decision values at X of a batch estimator fitted to the same training data."""
    X_now, y_now, weight = model.training_data_
    kernel = model.model_.kernel
    if isinstance(model, hinge.IncrementalSVC):
        cost = dict(class_weight=dict(zip(model.classes_.tolist(), model.class_weight_, strict=True)))
        return hinge.SVC(C=model.C, kernel=kernel, tol=1e-10, **cost).fit(X_now, y_now, weight).decision_function(X)
    return hinge.SVR(C=model.C, epsilon=model.epsilon, kernel=kernel, tol=1e-10).fit(X_now, y_now, weight).predict(X)


def values(model, X):
    return model.decision_function(X) if isinstance(model, hinge.IncrementalSVC) else model.predict(X)


def random_operations(model, X, y, rng, steps):
    """Apply `steps` random operations."""
    for _ in range(steps):
        n, kind = model.n_samples_, rng.integers(4)
        new = rng.integers(0, len(y), rng.integers(1, 4))
        old = rng.choice(n, rng.integers(1, 4), replace=False)
        if n < 25 or kind == 0:
            model.partial_fit(X[new], y[new])
        elif kind == 1:
            model.forget(old)
        elif kind == 2:
            model.update(X[new], y[new], rng.uniform(0.5, 2, len(new)), forget=old)
        else:
            model.reweight(rng.uniform(0.1, 2, n) * (rng.random(n) < 0.9))


def make(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(120, 3)), 1)  # some samples are equal
    if kind == "svc":
        return hinge.IncrementalSVC(C=5.0, gamma=0.5), X, np.where(X[:, 0] + 0.7 * rng.normal(size=120) > 0, "b", "a")
    if kind == "three classes":
        return hinge.IncrementalSVC(C=5.0, gamma=0.5), X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=120), [-0.5, 0.5])
    if kind == "linear":
        return hinge.IncrementalSVC(C=5.0, kernel="linear"), X, np.where(X[:, 0] + 0.7 * rng.normal(size=120) > 0, 1, 0)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    return hinge.IncrementalSVR(C=5.0, gamma=0.5, epsilon=0.1 if kind == "svr" else 0.0), X, y


@pytest.mark.parametrize("kind", ["svc", "three classes", "linear", "svr", "svr without tube"])
def test_sequence_of_operations_equals_a_new_fit(kind):
    model, X, y = make(kind)
    rng = np.random.default_rng(1)
    model.fit(X[:40], y[:40])
    random_operations(model, X, y, rng, 80)
    np.testing.assert_allclose(values(model, X), refitted_values(model, X), atol=1e-8)
    assert model.certificate_.relative_gap < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svc", "three classes", "svr"])
def test_thousand_operations_equal_a_new_fit(kind):
    model, X, y = make(kind)
    model.fit(X[:40], y[:40])
    random_operations(model, X, y, np.random.default_rng(2), 1000)
    np.testing.assert_allclose(values(model, X), refitted_values(model, X), atol=1e-8)


def test_adding_and_removing_single_samples_gives_the_refitted_model():
    X, y = classification()["some of each"]
    model = hinge.IncrementalSVC(C=3.0, gamma=1.0)
    first = [int(np.argmax(y)), int(np.argmin(y))]
    model.partial_fit(X[first], y[first])
    for i in range(20):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-8)
    while model.n_samples_ > 4:
        labels = model.training_data_[1]
        removable = [i for i in range(len(labels)) if np.sum(labels == labels[i]) > 1]
        model.forget([removable[0]])
        np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-8)


def test_sliding_window_equals_a_new_fit():
    rng = np.random.default_rng(5)
    X = np.sort(rng.uniform(0, 10, 150))[:, None]
    y = np.sin(X[:, 0])
    model = hinge.IncrementalSVR(C=10.0, gamma=1.0, epsilon=0.02).fit(X[:50], y[:50])
    for start in range(50, 150, 10):
        model.update(X[start : start + 10], y[start : start + 10], forget=range(10))
        assert model.n_samples_ == 50
    np.testing.assert_array_equal(model.training_data_[0], X[100:])
    np.testing.assert_allclose(model.predict(X), refitted_values(model, X), atol=1e-8)


def test_weight_zero_removes_a_sample_reversibly():
    model, X, y = make("svc")
    model.fit(X[:60], y[:60])
    before = model.decision_function(X)
    weight = np.ones(60)
    weight[10:20] = 0.0
    model.reweight(weight)
    kept = np.r_[0:10, 20:60]
    without = hinge.IncrementalSVC(C=5.0, gamma=0.5).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.decision_function(X), without.decision_function(X), atol=1e-9)
    model.reweight(np.ones(60))
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-9)


def test_new_class_can_be_added():
    model, X, y = make("three classes")
    model.fit(X[y < 2], y[y < 2]).partial_fit(X[y == 2], y[y == 2])
    np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-8)


@pytest.mark.parametrize("kind", ["svc", "three classes", "svr"])
def test_leave_out_equals_fits_without_each_group(kind):
    model, X, y = make(kind)
    X, y = X[:70], y[:70]
    model.fit(X, y)
    before = values(model, X)
    groups = np.arange(70) % 9
    left_out = model.leave_out(groups)
    for g in range(9):
        rest = groups != g
        other = type(model)(**model.get_params()).fit(X[rest], y[rest])
        np.testing.assert_allclose(left_out[~rest], values(other, X[~rest]), atol=1e-8)
    lists = model.leave_out([np.flatnonzero(groups == g) for g in range(9)])
    np.testing.assert_array_equal(np.concatenate(lists), np.concatenate([left_out[groups == g] for g in range(9)]))
    np.testing.assert_array_equal(values(model, X), before)


@pytest.mark.parametrize("kind", ["svc", "three classes", "svr"])
def test_saved_and_pickled_models_can_be_updated(kind, tmp_path):
    model, X, y = make(kind)
    model.fit(X[:60], y[:60]).forget([3, 4])
    hinge.save(model, tmp_path / "model.hinge")
    for other in (hinge.load(tmp_path / "model.hinge"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(values(other, X), values(model, X))
        other.update(X[60:70], y[60:70], forget=[0])
        np.testing.assert_allclose(values(other, X), refitted_values(other, X), atol=1e-8)


def test_sparse_samples_equal_dense_ones():
    model, X, y = make("svc")
    dense = hinge.IncrementalSVC(C=5.0, gamma=0.5).fit(X[:40], y[:40]).update(X[40:60], y[40:60], forget=[1, 2])
    model.fit(sp.csr_matrix(X[:40]), y[:40]).update(sp.csr_matrix(X[40:60]), y[40:60], forget=[1, 2])
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-9)


def invalid_requests(model, X, y):
    yield "forget would leave", lambda: model.forget(np.flatnonzero(model.training_data_[1] == "a"))
    yield "position 500", lambda: model.forget([500])
    yield "positions of samples", lambda: model.forget([0.5])
    yield "mask", lambda: model.forget(np.ones(3, dtype=bool))
    yield "negative", lambda: model.reweight(np.r_[-1.0, np.ones(59)])
    yield "incompatible", lambda: model.reweight(np.ones(3))
    yield "leave no sample", lambda: model.reweight((model.training_data_[1] == "a").astype(float))
    yield "features", lambda: model.partial_fit(X[:3, :2], y[:3])
    yield "NaN", lambda: model.partial_fit(np.full((2, 3), np.nan), y[:2])
    yield "groups", lambda: model.leave_out([1, 2, 3])
    yield "leave no sample", lambda: model.leave_out((model.training_data_[1] == "a").astype(int))


def test_invalid_requests_do_not_change_the_model():
    model, X, y = make("svc")
    model.fit(X[:60], y[:60])
    before = model.decision_function(X)
    for message, request in invalid_requests(model, X, y):
        with pytest.raises((ValueError, IndexError, TypeError), match=message):
            request()
        np.testing.assert_array_equal(model.decision_function(X), before)
        assert model.n_samples_ == 60
    model.partial_fit(X[60:], y[60:])
    np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-8)


def test_update_is_rolled_back_at_the_time_limit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = np.sign(rng.normal(size=900))
    model = hinge.IncrementalSVC(C=100.0, gamma=0.3).fit(X[:500], y[:500])
    before = model.decision_function(X)
    model.set_params(max_time=1e-4)
    with pytest.raises(TimeoutError):
        model.partial_fit(X[500:], y[500:])
    assert model.n_samples_ == 500
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.set_params(max_time=None)
    model.partial_fit(X[500:520], y[500:520])
    np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-7)


@pytest.mark.parametrize("kind", ["svc", "three classes", "svr"])
def test_leave_out_returns_complete_results_or_raises(kind):
    """At any time limit, partial results are not returned."""
    model, X, y = make(kind)
    model.fit(X, y)
    before, groups, results, timeouts = values(model, X), np.arange(len(y)) % 5, [], 0
    expected = model.leave_out(groups)
    for seconds in 10.0 ** np.arange(-8, 2):
        try:
            results.append(model.set_params(max_time=seconds).leave_out(groups))
        except TimeoutError:
            timeouts += 1
    assert timeouts >= 3
    assert results
    for result in results:
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(values(model, X), before)


@pytest.mark.parametrize("change", [lambda m: m.forget([3]), lambda m: m.reweight(np.ones(m.n_samples_))])
def test_update_uses_a_changed_C(change):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    y = np.sign(X[:, 0] + rng.normal(size=80))
    model = hinge.IncrementalSVC(C=10.0, gamma=0.5).fit(X, y).set_params(C=2.0)
    with pytest.raises(ValueError, match="NaN"):
        model.update(np.full((1, X.shape[1]), np.nan), y[:1])  # the change of C is kept after an error
    np.testing.assert_allclose(values(change(model), X), refitted_values(model, X), atol=1e-8)


def test_kernel_and_epsilon_cannot_be_changed_by_an_update():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    model = hinge.IncrementalSVR(C=10.0, gamma=0.5).fit(X, y)
    before = model.predict(X)
    for name, value in (("gamma", 3.0), ("epsilon", 0.5), ("kernel", "linear")):
        previous = getattr(model, name)
        with pytest.raises(ValueError, match=f"{name}=.*when the model was fitted.*set it back"):
            model.set_params(**{name: value}).forget([0])
        np.testing.assert_array_equal(model.set_params(**{name: previous}).predict(X), before)
    np.testing.assert_allclose(model.forget([0]).predict(X), refitted_values(model, X), atol=1e-8)


@pytest.mark.parametrize("megabytes", [0.05, 50.0])
def test_cached_rows_are_extended_for_new_samples(megabytes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 6))
    y = np.where(X[:, 0] + rng.normal(size=900) > 0, 1, -1)
    model = hinge.IncrementalSVC(C=30.0, gamma=0.3, cache_size=megabytes).fit(X[:300], y[:300])
    for first in range(300, 900, 50):  # rows are extended, moved, evicted and recomputed
        new = slice(first, first + 50)
        model.update(X[new], y[new], forget=rng.choice(model.n_samples_, 20, replace=False))
    np.testing.assert_allclose(model.decision_function(X), refitted_values(model, X), atol=1e-7)
    assert model.certificate_.relative_gap < 1e-9


def test_precomputed_kernels_are_rejected():
    with pytest.raises(ValueError, match="precomputed"):
        hinge.IncrementalSVC(kernel="precomputed").fit(np.eye(4), [0, 1, 0, 1])


def test_all_samples_but_one_can_be_removed_from_a_regression():
    X, y = regression()["smooth"]
    model = hinge.IncrementalSVR(gamma=1.0).fit(X, y)
    model.forget(range(1, len(y)))
    assert model.n_samples_ == 1
    np.testing.assert_allclose(model.predict(X), y[0], atol=0.1 + 1e-9)
    with pytest.raises(ValueError, match="no sample"):
        model.forget([0])


def test_large_updates_with_a_subset_of_event_candidates_are_exact():
    """For large n·|M|, events are searched among a subset of the samples; the others are checked at the end."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1300, 4))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=1300) > 0, 1, 0)
    model = hinge.IncrementalSVC(C=30.0, gamma=1.0).fit(X[:1200], y[:1200])
    for start in range(1200, 1300, 25):
        new = slice(start, start + 25)
        model.update(X[new], y[new], forget=rng.choice(model.n_samples_, 25, replace=False))
        certificate = model.certificate_
        assert certificate.kkt_violation < 1e-9
        assert certificate.infeasibility < 1e-9
    model.update(X[:30] + 3.0, y[:30])  # far from the previous candidates
    assert model.certificate_.kkt_violation < 1e-9
    refitted = hinge.IncrementalSVC(C=30.0, gamma=1.0).fit(*model.training_data_)
    np.testing.assert_allclose(model.decision_function(X), refitted.decision_function(X), atol=1e-8)


def test_large_updates_of_regression_are_exact():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(640, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=640)
    model = hinge.IncrementalSVR(C=100.0, gamma=1.0, epsilon=0.2).fit(X[:600], y[:600])
    assert 600 * np.sum(np.abs(model.dual_coef_) < 99) > 150_000  # the size above which a subset is searched
    for new in (slice(600, 620), slice(620, 640)):
        model.update(X[new], y[new], forget=rng.choice(model.n_samples_, 20, replace=False))
        assert model.certificate_.kkt_violation < 1e-9
    refitted = hinge.IncrementalSVR(C=100.0, gamma=1.0, epsilon=0.2).fit(*model.training_data_)
    np.testing.assert_allclose(model.predict(X), refitted.predict(X), atol=1e-8)


@parametrize_with_checks([hinge.IncrementalSVC(), hinge.IncrementalSVR()])
def test_common_checks(estimator, check):
    check(estimator)
