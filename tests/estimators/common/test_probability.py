"""Probabilities of classifiers and p-values of one-class estimators."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import hinge
from hinge.calibration import SoftmaxScaling, agree
from hinge.estimators.common.cross_fitting import fold_numbers

CLASSIFIERS = [
    hinge.SVC(probability=True),
    hinge.SVC(probability=True, class_weight="balanced", break_ties=True),
    hinge.SVC(probability=True, loss="squared_hinge"),
    hinge.SVC(probability=True, loss="logistic"),
    hinge.SVC(probability=True, solver="low_rank_interior_point"),
    hinge.NuSVC(nu=0.2, probability=True),
    hinge.NuSVC(nu=0.2, probability=True, class_weight="balanced"),
    hinge.LinearSVC(probability=True),
    hinge.LinearSVC(probability=True, multi_class="crammer_singer"),
]
WITH_PROBABILITY = [hinge.SVC, hinge.NuSVC, hinge.LinearSVC, hinge.OneClassSVM]


def samples(n_classes, n=240, seed=0):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.1,
        weights=[0.6] if n_classes == 2 else None, random_state=seed,
    )  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_largest_probability_is_the_predicted_class(model, n_classes):
    X, y = samples(n_classes)
    labels = np.array(["a", "b", "c", "d"])[y]
    fitted = clone(model).fit(X[:160], labels[:160])
    p = fitted.predict_proba(X)
    assert p.shape == (len(X), n_classes)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(X))
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(p))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_training_is_not_changed_and_the_result_is_deterministic(model):
    X, y = samples(3)
    fitted, again = clone(model).fit(X, y), clone(model).fit(X, y)
    plain = clone(model).set_params(probability=False).fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("estimator", WITH_PROBABILITY)
def test_methods_exist_only_with_the_parameter(estimator):
    assert not hasattr(estimator(), "predict_proba")
    assert not hasattr(estimator(), "predict_log_proba")
    assert hasattr(estimator(probability=True), "predict_proba")
    with pytest.raises(AttributeError) as raised:
        estimator().predict_proba([[0.0]])
    assert f"{estimator.__name__}(probability=True)" in str(raised.value.__cause__)


@pytest.mark.parametrize("estimator", WITH_PROBABILITY)
def test_a_model_without_calibration_names_the_remedy(estimator):
    X, y = samples(2)
    model = estimator().fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="probability=True"):
        model.predict_proba(X)
    model.fit(X, y).set_params(probability=False).fit(X, y)
    assert hasattr(model, "calibration_") is False


@pytest.mark.parametrize("estimator", [hinge.SVC(C=2.0), hinge.LinearSVC(C=0.1)], ids=str)
@pytest.mark.parametrize("data", [load_breast_cancer, load_digits])
def test_log_loss_is_not_larger_than_that_of_calibrated_classifier(estimator, data):
    X, y = data(return_X_y=True)
    X, X_test, y, y_test = train_test_split(scale(X), y, test_size=0.5, random_state=0, stratify=y)
    ours = log_loss(y_test, clone(estimator).set_params(probability=True).fit(X, y).predict_proba(X_test))
    peer = log_loss(y_test, CalibratedClassifierCV(estimator, ensemble=False).fit(X, y).predict_proba(X_test))
    assert ours <= 1.05 * peer + 0.005


def test_probabilities_are_close_to_the_true_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 1))
    true = 1 / (1 + np.exp(-1.5 * X[:, 0]))
    y = rng.uniform(size=3000) < true
    p = hinge.SVC(kernel="linear", probability=True).fit(X, y).predict_proba(X)[:, 1]
    assert np.mean(np.abs(p - true)) < 0.03


@pytest.mark.parametrize("estimator", [hinge.SVC, hinge.LinearSVC])
def test_sparse_and_dense_data_give_the_same_probabilities(estimator):
    X, y = samples(3)
    X[X < 0.5] = 0.0
    dense = estimator(probability=True, tol=1e-6).fit(X, y).predict_proba(X)
    sparse = estimator(probability=True, tol=1e-6).fit(sp.csr_matrix(X), y).predict_proba(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=2e-3)


def test_precomputed_kernel_and_kernel_function():
    X, y = samples(3)
    expected = hinge.SVC(kernel="linear", probability=True).fit(X, y).predict_proba(X)
    K = X @ X.T
    precomputed = hinge.SVC(kernel="precomputed", probability=True).fit(K, y).predict_proba(K)
    function = hinge.SVC(kernel=lambda a, b: a @ b.T, probability=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(precomputed, expected, atol=1e-2)
    np.testing.assert_allclose(function, expected, atol=1e-2)


def test_samples_of_weight_zero_do_not_matter():
    X, y = samples(2)
    weight = np.ones(len(y))
    weight[::3] = 0.0
    kept = weight > 0
    first = hinge.SVC(gamma=0.1, probability=True).fit(X, y, sample_weight=weight).predict_proba(X)
    second = hinge.SVC(gamma=0.1, probability=True).fit(X[kept], y[kept]).predict_proba(X)
    np.testing.assert_allclose(first, second, atol=1e-8)


@pytest.mark.parametrize("estimator", [hinge.SVC, hinge.LinearSVC])
@pytest.mark.parametrize("y", [[0, 1], [0, 1, 1], [0, 1, 2], [0, 0, 0, 1, 2, 2]])
def test_classes_with_one_sample(estimator, y):
    X = np.arange(float(len(y)))[:, None]
    model = estimator(probability=True).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_files_read_in_blocks_are_refused(tmp_path):
    X, y = samples(2, 4000)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match=r"probability=True .*FrozenEstimator"):
        hinge.LinearSVC(probability=True, cache_size=0.01).fit(mapped, y)
    assert hinge.LinearSVC(probability=True).fit(mapped, y).predict_proba(X[:3]).shape == (3, 2)


def test_constant_function_of_nu_classification():
    X, y = np.zeros((8, 1)), np.arange(8) % 2
    with pytest.warns(UserWarning, match="constant"):
        model = hinge.NuSVC(nu=0.5, probability=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-6)


def test_time_limit_keeps_the_probabilities():
    X, y = samples(2, 4000)
    with pytest.warns(ConvergenceWarning):
        model = hinge.SVC(C=1e4, probability=True, max_time=0.01).fit(X, y)
    assert np.isfinite(model.predict_proba(X[:5])).all()


@pytest.mark.parametrize("model", [*CLASSIFIERS, hinge.OneClassSVM(probability=True)], ids=str)
def test_files_keep_the_calibration(model, tmp_path):
    X, y = samples(3)
    fitted = clone(model).fit(X, y)
    hinge.save(fitted, tmp_path / "model.hinge")
    np.testing.assert_array_equal(hinge.load(tmp_path / "model.hinge").predict_proba(X), fitted.predict_proba(X))


def test_p_values_are_uniform_for_new_samples():
    rng = np.random.default_rng(0)
    model = hinge.OneClassSVM(nu=0.2, gamma=0.2, probability=True).fit(rng.standard_normal((800, 2)))
    p = model.p_values(rng.standard_normal((4000, 2)))
    for level in (0.05, 0.1, 0.3, 0.6):
        assert abs(np.mean(p <= level) - level) < 0.04
    assert model.p_values([[9.0, 9.0]])[0] < 0.01


def test_one_class_probabilities_agree_with_predictions():
    rng = np.random.default_rng(1)
    model = hinge.OneClassSVM(nu=0.3, gamma=0.5, probability=True).fit(rng.standard_normal((200, 2)))
    X = 2 * rng.standard_normal((500, 2))
    p = model.predict_proba(X)
    np.testing.assert_array_equal(np.array([-1, 1])[p.argmax(axis=1)], model.predict(X))
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(p[order, 1]) >= -1e-12)


# ---- calibration ----------------------------------------------------------------------------------------------------


def test_projection_is_the_nearest_point_that_agrees():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=60)
    predicted = rng.integers(4, size=60)
    projected = agree(p, predicted)
    np.testing.assert_allclose(projected.sum(axis=1), 1)
    np.testing.assert_array_equal(projected.argmax(axis=1), predicted)
    distance = np.linalg.norm(projected - p, axis=1)
    for _ in range(300):
        other = rng.dirichlet(np.ones(4), size=60)
        agrees = other.argmax(axis=1) == predicted
        assert np.all(distance[agrees] <= np.linalg.norm(other - p, axis=1)[agrees] + 1e-8)


def test_softmax_scaling_recovers_its_parameters():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(20000, 3))
    z = 2.0 * f + np.array([0.5, 0.0, -0.5])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    label = np.array([rng.choice(3, p=row) for row in p])
    found = SoftmaxScaling.fit(f, label, np.ones(len(f)))
    assert abs(found.scale - 2.0) < 0.1
    np.testing.assert_allclose(found.offset, [0.5, 0.0, -0.5], atol=0.1)


def test_folds_divide_every_class_evenly():
    label = np.repeat([0, 1, 2], [50, 7, 2])
    folds = fold_numbers(label, 3)
    for k in range(3):
        counts = np.bincount(folds[label == k], minlength=3)
        assert counts.max() - counts.min() <= 1
