"""Conformal classification and novelty detection."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import LocalOutlierFactor

import hinge
from hinge.conformal import ConformalClassifier, ConformalDetector, FullConformal
from hinge.conformal.label_addition import SampleAddition
from hinge.conformal.scores import class_scores, count_at_least
from hinge.kernels import RBF


def data(n=60, classes=3, seed=0, d=2):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % classes
    centers = 1.5 * np.array([[0, 0], [1, 1], [-1, 1], [1, -1]])[label]
    X = np.hstack([centers, np.zeros((n, d - 2))]) + rng.normal(size=(n, d))
    order = rng.permutation(n)
    return X[order], np.array(["a", "b", "c", "d"])[label][order]


def full_p_values_by_refits(X, y, x, estimator, class_conditional):
    classes, result = np.unique(y), []
    for label in classes:
        both, labels = np.vstack([X, x]), np.append(y, label)
        model = estimator.fit(both, labels)
        scores = class_scores(model, both)[np.arange(len(both)), np.searchsorted(classes, labels)]
        compared = scores[:-1][y == label] if class_conditional else scores[:-1]
        result.append((1 + np.sum(compared >= scores[-1] - 1e-7)) / (1 + len(compared)))
    return result


@pytest.mark.parametrize("class_weight", [None, {"a": 3.0, "b": 0.5}])
@pytest.mark.parametrize("class_conditional", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_full_p_values_equal_refits(classes, class_conditional, class_weight):
    X, y = data(10 * classes, classes)
    new = data(6, 2, seed=1)[0]
    estimator = hinge.SVC(C=2.0, gamma=0.4, tol=1e-10, class_weight=class_weight)
    model = ConformalClassifier(estimator, method="full", class_conditional=class_conditional).fit(X, y)
    found = model.p_values(new)
    for row, x in zip(found, new, strict=True):
        assert_allclose(row, full_p_values_by_refits(X, y, x, estimator, class_conditional), atol=1e-12)
    assert_array_equal(model.p_values(new), found)


def test_full_conformal_accepts_classifiers():
    X, y = data()
    model = FullConformal(hinge.SVC(gamma=0.5)).fit(X, y)
    assert model.predict_set(X[:4], 0.2).shape == (4, 3)
    assert model.predict_set(X[:4], [0.1, 0.2]).shape == (4, 3, 2)
    assert model.p_values(X[:4], y[:4]).shape == (4,)
    with pytest.raises(TypeError, match="predict_set"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="not among the classes"):
        model.p_values(X[:1], ["z"])


def test_inductive_p_values_follow_the_definition():
    X, y = data(200)
    model = ConformalClassifier(hinge.SVC(gamma=0.5), calibration_size=50, random_state=0).fit(X, y)
    ((_, calibration, label),) = model._calibrated
    assert len(calibration) == 50
    new = data(20, seed=3)[0]
    scores, p = class_scores(model.estimator_, new), model.p_values(new)
    for c in range(3):
        assert_allclose(p[:, c], [(1 + np.sum(calibration >= s)) / 51 for s in scores[:, c]])
    conditional = ConformalClassifier(
        hinge.SVC(gamma=0.5), calibration_size=50, random_state=0, class_conditional=True
    ).fit(X, y)
    scores = class_scores(conditional.estimator_, new)
    ((_, calibration, label),) = conditional._calibrated
    assert_allclose(np.bincount(label), np.unique(y, return_counts=True)[1] / 4, atol=1)  # stratified
    for c in range(3):
        own = calibration[label == c]
        expected = [(1 + np.sum(own >= s)) / (1 + len(own)) for s in scores[:, c]]
        assert_allclose(conditional.p_values(new)[:, c], expected)


def test_scores_of_pairs_and_of_other_classifiers():
    from sklearn.linear_model import LogisticRegression

    X, y = data()
    model = hinge.SVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    values, scores = model.decision_function(X), class_scores(model, X)
    for c in range(3):
        pairs = zip(values.T, combinations(range(3), 2), strict=True)
        signed = [v if c == pair[0] else -v for v, pair in pairs if c in pair]
        assert_array_equal(scores[:, c], -np.min(signed, axis=0))
    linear = hinge.LinearSVC().fit(X, y)
    values = linear.decision_function(X)
    assert_allclose(class_scores(linear, X)[:, 0], np.maximum(values[:, 1], values[:, 2]) - values[:, 0])
    two = y != "c"
    logistic = LogisticRegression().fit(X[two], y[two])
    assert_allclose(class_scores(logistic, X)[:, 1], -logistic.decision_function(X))
    assert_array_equal(count_at_least(np.array([1.0, 2.0, 2.0]), np.array([0.0, 2.0, 3.0])), [3, 2, 0])


@pytest.mark.parametrize("method", ["inductive", "cross", "full"])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_prediction_sets_have_the_guaranteed_coverage(method, class_conditional):
    hits = np.zeros(2)
    total = np.zeros(2)
    for seed in range(25):
        X, y = data(100, 2, seed=seed)
        model = ConformalClassifier(
            hinge.SVC(gamma=0.3), method=method, class_conditional=class_conditional, random_state=seed
        ).fit(X[:70], y[:70])
        sets = model.predict_set(X[70:], 0.2)
        label = np.searchsorted(model.classes_, y[70:])
        inside = sets[np.arange(30), label]
        for c in range(2):
            hits[c] += inside[label == c].sum()
            total[c] += np.sum(label == c)
    guarantee = 0.8 if method != "cross" else 0.75
    if class_conditional:
        assert (binom.cdf(hits, total, guarantee) > 1e-4).all()
    assert binom.cdf(hits.sum(), total.sum(), guarantee) > 1e-4
    assert binom.sf(hits.sum(), total.sum(), 0.92) > 1e-4


def test_few_calibration_samples_give_full_sets():
    X, y = data(12)
    model = ConformalClassifier(hinge.SVC(), method="full").fit(X, y)
    assert model.predict_set(X, 0.05).all()
    conditional = ConformalClassifier(hinge.SVC(), method="full", class_conditional=True).fit(X, y)
    assert conditional.predict_set(X, 0.19).all()
    assert not conditional.predict_set(X, 0.7).all()


def test_duplicates_of_a_training_sample():
    X, y = data(20, 2)
    X = np.vstack([X, X])
    y = np.append(y, y)
    model = ConformalClassifier(hinge.SVC(C=1.0, gamma=0.5, tol=1e-10), method="full").fit(X, y)
    p = model.p_values(X[:3])
    for row, x in zip(p, X[:3], strict=True):
        assert_allclose(row, full_p_values_by_refits(X, y, x, model.estimator, False), atol=1e-12)


def test_invalid_arguments():
    X, y = data()
    with pytest.raises(TypeError, match="method='cross'"):
        ConformalClassifier(hinge.NuSVC(), method="full").fit(X, y)
    with pytest.raises(ValueError, match="method"):
        ConformalClassifier(hinge.SVC(), method="split").fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        ConformalClassifier(hinge.SVC()).fit(X, np.ones(60))
    with pytest.raises(ValueError, match="no formula"):
        ConformalClassifier(hinge.SVC(kernel="precomputed"), method="full").fit(X @ X.T, y)


@pytest.mark.parametrize("method", ["inductive", "cross", "full"])
@pytest.mark.parametrize(
    ("make", "estimator"),
    [
        (ConformalClassifier, hinge.SVR()), (ConformalClassifier, hinge.OneClassSVM()),
        (ConformalDetector, hinge.SVC()), (ConformalDetector, hinge.SVR()), (ConformalDetector, LocalOutlierFactor()),
    ],
)  # fmt: skip
def test_other_estimators_are_rejected(make, estimator, method):
    X, y = data()
    with pytest.raises(TypeError, match=f"estimator is a {type(estimator).__name__}, which is not a"):
        make(estimator, method=method).fit(X, y)


@pytest.mark.parametrize("size", [0, 0.0, 1.0, 1.5, 40, 41, -0.2, True, "a", np.nan])
@pytest.mark.parametrize("make", [lambda **o: ConformalClassifier(hinge.SVC(), **o), ConformalDetector])
def test_calibration_sizes_that_leave_no_sample_are_rejected(make, size):
    X, y = data(40)
    with pytest.raises((ValueError, TypeError), match=r"^calibration_size="):
        make(calibration_size=size).fit(X, y)


@pytest.mark.parametrize("cv", [1, 0, 41, 2.5])
@pytest.mark.parametrize("make", [lambda **o: ConformalClassifier(hinge.SVC(), **o), ConformalDetector])
def test_numbers_of_folds_that_are_not_possible_are_rejected(make, cv):
    X, y = data(40)
    with pytest.raises((ValueError, TypeError), match=r"^cv="):
        make(method="cross", cv=cv).fit(X, y)


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.parametrize("method", ["inductive", "cross"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_with_one_sample_is_named(method, classes):
    X, y = data(40, classes)
    y[y == "b"] = "a"
    y[0] = "b"
    with pytest.raises(ValueError, match=r"^(cv|calibration_size)=.*\['b'\]"):
        ConformalClassifier(hinge.SVC(), method=method, class_conditional=True, random_state=0).fit(X, y)
    if method == "cross":  # in one fold it is missing from the training samples
        with pytest.raises(ValueError, match=r"^cv=5 .*\['b'\]"):
            ConformalClassifier(hinge.SVC(), method=method, random_state=0).fit(X, y)


class ScoresOfFirstFeature(ClassifierMixin, BaseEstimator):
    """A fixed function. Samples of the second class have the larger scores for their own class."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def decision_function(self, X):
        return -5.0 - X[:, 0]


def test_the_inductive_guarantee_holds_if_the_calibration_part_is_small():
    # With stratified parts, 1 of the 10 calibration samples is nearly always of the second class (14 % of the samples),
    # and the coverage is 0.86 · 0.9 = 0.774 in place of 9/11 = 0.818.
    rng = np.random.default_rng(0)
    hits, runs = 0, 2000
    for seed in range(runs):
        y, X = (rng.random(2001) < 0.14).astype(int), rng.random((2001, 1))
        model = ConformalClassifier(ScoresOfFirstFeature(), calibration_size=10, random_state=seed).fit(X[:-1], y[:-1])
        hits += model.predict_set(X[-1:], alpha=2 / 11)[0, y[-1]]
    assert binom.cdf(hits, runs, 9 / 11) > 1e-3
    assert binom.sf(hits, runs, 9 / 11) > 1e-3


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("duplicates", [False, True])
def test_full_p_values_of_one_class_models_equal_refits(nu, duplicates):
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(24, 2)), 2 * rng.normal(size=(8, 2))
    if duplicates:
        X[12:], new[0] = X[:12], X[0]
    estimator = hinge.OneClassSVM(nu=nu, gamma=0.5, tol=1e-10)
    detector = ConformalDetector(estimator, method="full", alpha=0.2).fit(X)
    found = detector.p_values(new)
    addition = SampleAddition(RBF(0.5), X, np.ones(24), nu, new)
    for t, (p, x) in enumerate(zip(found, new, strict=True)):
        scores = -estimator.fit(np.vstack([X, x])).score_samples(np.vstack([X, x]))
        assert_allclose(np.append(*addition.scores(t)[:2]), scores, atol=1e-8)
        assert_allclose(p, (1 + np.sum(scores[:-1] >= scores[-1] - 1e-7)) / 25, atol=1e-12)
    assert_array_equal(detector.predict(new), np.where(found > 0.2, 1, -1))
    assert_array_equal(detector.decision_function(new) > 0, found > 0.2)
    assert_array_equal(detector.p_values(new), found)


@pytest.mark.parametrize("nu", [0.2, 0.5, 1.0])
def test_scores_that_vanish_up_to_rounding_are_ties(nu):
    """The origin is in the convex hull of the samples: w = 0, and all scores are zero with a linear kernel."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    X -= X.mean(axis=0)
    detector = ConformalDetector(hinge.OneClassSVM(nu=nu, kernel="linear"), method="full").fit(X)
    new = 0.1 * rng.normal(size=(20, 2)) if nu < 1 else np.zeros((2, 2))
    assert_array_equal(detector.p_values(new), 1.0)


@pytest.mark.parametrize("method", ["inductive", "cross", "full"])
def test_detectors_with_few_samples_and_constant_features(method):
    """With α < 1/(n + 1) no sample is a novelty. A constant feature has no effect."""
    X = np.random.default_rng(5).normal(size=(40, 2))
    estimator = hinge.OneClassSVM(nu=0.3, gamma=0.5)
    few = ConformalDetector(estimator, method=method, alpha=0.02, random_state=0).fit(X)
    assert (few.predict(100 + X) == 1).all()
    constant = np.column_stack([X, np.full(40, 3.0)])
    both = [ConformalDetector(estimator, method=method, random_state=0).fit(each) for each in (X, constant)]
    assert_array_equal(both[0].p_values(X[:9] + 0.1), both[1].p_values(constant[:9] + [0.1, 0.1, 0.0]))


def test_full_detector_needs_an_exact_solution():
    from sklearn.ensemble import IsolationForest

    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(TypeError, match="method='cross'"):
        ConformalDetector(IsolationForest(), method="full").fit(X)
    with pytest.raises(ValueError, match="no formula"):
        ConformalDetector(hinge.OneClassSVM(kernel="precomputed"), method="full").fit(X @ X.T)


@pytest.mark.parametrize("method", ["inductive", "cross", "full"])
def test_detector_has_the_guaranteed_rate_of_false_alarms(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    alarms = 0
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(400)
        detector = ConformalDetector(hinge.OneClassSVM(nu=0.2), method=method, alpha=0.1, random_state=seed)
        detector.fit(X[rows[:200]])
        alarms += np.sum(detector.predict(X[rows[200:]]) == -1)
        assert (detector.predict(10 + X[:5]) == -1).all()
        assert (detector.p_values(10 + X[:5]) < 0.03).all()
    assert binom.sf(alarms, 2000, 0.13) > 1e-4
    assert binom.cdf(alarms, 2000, 0.06) > 1e-4
