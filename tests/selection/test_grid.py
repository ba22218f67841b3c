"""`hinge.selection.grid` has the scores of GridSearchCV, and reports missing scores."""

import itertools
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import SVR as TheirSVR

import hinge
from hinge.losses import loss_names
from hinge.selection import grid

COSTS = [0.03, 1.0, 30.0, 1000.0]
FORMS = ("margin", "residual")


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:400], np.array(["benign", "malignant"])[y[:400]]


def mean_decision_value(estimator, X, y):
    """A score that depends continuously on the decision function, unlike accuracy."""
    return float(np.mean(np.tanh(estimator.decision_function(X)) ** 2))


def assert_like_theirs(ours, theirs, y, slack=1):
    """Scores agree within `slack` samples in every split, and the best candidate is as good."""
    n = len(y) / ours.n_splits_
    for k in range(ours.n_splits_):
        key = f"split{k}_test_score"
        apart = np.abs(ours.cv_results_[key] - theirs.cv_results_[key])
        assert np.all(apart <= (slack + 1e-6) / n * 1.1), (k, apart * n)
    assert set(theirs.cv_results_) == set(ours.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    best = theirs.cv_results_["mean_test_score"]
    assert best[ours.best_index_] >= best.max() - 1.001 / len(y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("form", "loss"), [(form, loss) for form in FORMS for loss in loss_names(form)])
def test_every_registered_loss_has_the_scores_of_its_estimator(form, loss, fit_intercept):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = X[:, 0] + 0.7 * random.normal(size=60)  # classes overlap, so that the offset is unique
    if form == "margin":
        estimator, y = hinge.SVC(loss=loss, decision_function_shape="ovo"), np.digitize(y, [-0.5, 0.5])
    else:
        estimator = hinge.SVR(loss=loss, epsilon=0.2)
    estimator.set_params(tol=1e-7, fit_intercept=fit_intercept)
    axes = {"C": [1.0, 10.0], "gamma": [0.2]}
    scoring = None if form == "residual" else mean_decision_value
    options = {"cv": 3, "scoring": scoring}
    searches = grid(X, y, estimator=estimator, **axes, **options), GridSearchCV(estimator, axes, **options).fit(X, y)
    ours, theirs = (search.cv_results_["mean_test_score"] for search in searches)
    assert np.ptp(theirs) > 1e-3
    assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("data", [iris, digits, cancer])
def test_scores_are_those_of_scikit_learn(data):
    X, y = data()
    axes = dict(C=COSTS, gamma=[0.003, 0.05, "scale"])
    theirs = GridSearchCV(TheirSVC(), axes).fit(X, y)
    ours = grid(X, y, **axes, n_jobs=2)
    assert_like_theirs(ours, theirs, y)
    assert ours.complete_
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert ours.best_estimator_.get_params()["C"] == ours.best_params_["C"]


@pytest.mark.parametrize("shift", [100.0, 1000.0])
def test_large_kernel_values_are_stored_in_double_precision(shift):
    """In single precision these samples have equal kernel values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    ours = grid(X + shift, y, C=[1.0, 0.1], kernel="linear", refit=False)
    theirs = GridSearchCV(hinge.SVC(kernel="linear"), {"C": [1.0, 0.1]}, refit=False).fit(X + shift, y)
    apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"])
    assert np.all(apart <= 2 / len(y))


def test_sample_weights_and_class_weights_enter_training_only():
    """The scores are accuracies without weights."""
    X, y = iris()
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    for options in (dict(class_weight="balanced"), dict(class_weight={0: 2.0, 1: 0.5}, kernel="poly", coef0=1.0)):
        found = grid(X, y, C=COSTS, gamma=[0.02, 0.3], sample_weight=weight, **options)
        for k, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
            for row, params in enumerate(found.cv_results_["params"]):
                model = hinge.SVC(**options, **params).fit(X[train], y[train], sample_weight=weight[train])
                apart = model.score(X[test], y[test]) - found.cv_results_[f"split{k}_test_score"][row]
                assert abs(apart) <= 1.001 / len(test)


def test_scores_of_regression_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    axes = dict(C=[1.0, 30.0], gamma=[0.01, 0.1], epsilon=[1.0, 20.0])
    theirs = GridSearchCV(TheirSVR(), axes, cv=3).fit(X, y)
    ours = grid(X, y, **axes, cv=3)
    assert isinstance(ours.best_estimator_, hinge.SVR)
    assert ours.best_params_ == theirs.best_params_
    assert np.allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-3)


@pytest.mark.parametrize("scoring", ["f1_macro", "roc_auc", "balanced_accuracy"])
def test_scores_of_other_scorers_are_those_of_scikit_learn(scoring):
    X, y = cancer()
    y = (y == "benign").astype(int)
    axes = dict(C=[0.1, 10.0], gamma=[0.01, 0.1])
    theirs = GridSearchCV(TheirSVC(), axes, scoring=scoring).fit(X, y)
    ours = grid(X, y, **axes, scoring=scoring)
    assert np.allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=5e-3)


def test_sparse_precomputed_and_function_kernels_agree():
    X, y = iris()
    K = hinge.kernels.RBF(0.1)(X)
    known = grid(X, y, C=COSTS, gamma=0.1).cv_results_["mean_test_score"]
    for other in (
        grid(sp.csr_matrix(X), y, C=COSTS, gamma=0.1),
        grid(K, y, C=COSTS, kernel="precomputed"),
        grid(X, y, C=COSTS, kernel=hinge.kernels.RBF(0.1)),
        grid(X, y, C=COSTS, kernel=lambda A, B: hinge.kernels.RBF(0.1)(A, B)),
    ):
        assert np.allclose(other.cv_results_["mean_test_score"], known, atol=1.01 / len(y))


def test_the_result_without_memory_for_the_matrix_is_the_same():
    X, y = digits()
    axes = dict(C=[0.1, 10.0], gamma=[0.02])
    there, not_there = grid(X, y, **axes), grid(X, y, **axes, cache_size=0.5)
    assert np.allclose(
        there.cv_results_["mean_test_score"], not_there.cv_results_["mean_test_score"], atol=3.01 / len(y)
    )


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = load_diabetes(return_X_y=True)
    one, two = (grid(scale(X), y, C=COSTS, gamma=[0.01, 0.1], epsilon=5.0, n_jobs=k) for k in (1, 2))
    assert np.array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_order_and_repetition_of_costs_do_not_matter():
    X, y = iris()
    forth, back = grid(X, y, C=COSTS, gamma=0.1), grid(X, y, C=[*COSTS[::-1], 1.0], gamma=0.1)
    assert np.array_equal(
        forth.cv_results_["mean_test_score"][::-1], back.cv_results_["mean_test_score"][: len(COSTS)]
    )


def test_splitters_and_lists_of_splits_are_accepted():
    X, y = iris()
    halves = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    for cv in (KFold(4, shuffle=True, random_state=1), StratifiedKFold(3), halves):
        theirs = GridSearchCV(TheirSVC(), dict(C=[1.0], gamma=[0.1]), cv=cv).fit(X, y)
        assert_like_theirs(grid(X, y, C=np.array(1.0), gamma=0.1, cv=cv), theirs, y)


def test_groups_are_not_divided():
    X, y = iris()
    groups = np.arange(150) // 10 % 7
    theirs = GridSearchCV(TheirSVC(), dict(C=COSTS, gamma=[0.1]), cv=GroupKFold(3)).fit(X, y, groups=groups)
    for estimator in (None, hinge.LinearSVC(loss="hinge")):
        gamma = [0.1] if estimator is None else None
        found = grid(X, y, C=COSTS, gamma=gamma, cv=GroupKFold(3), groups=groups, estimator=estimator)
        assert found.complete_
        if estimator is None:
            assert_like_theirs(found, theirs, y)


def test_split_with_one_class_is_reported_and_has_no_score():
    X, y = iris()
    splits = [(np.flatnonzero(y != 2), np.arange(150)), (np.flatnonzero(y == 0), np.arange(150))]
    with pytest.warns(FitFailedWarning, match="split 1"):
        found = grid(X, y, C=[1.0], gamma=0.1, cv=splits, refit=False)
    assert found.cv_results_["split0_test_score"][0] == pytest.approx(2 / 3, abs=0.02)
    assert np.isnan(found.cv_results_["split1_test_score"][0])
    assert found.best_params_ is None
    with pytest.raises(AttributeError, match="best_estimator_"):
        found.predict(X)


def test_results_are_a_table_with_the_columns_of_scikit_learn():
    X, y = iris()
    found = grid(X, y, C=[1, 10], gamma=[0.1, "scale"])
    table = pd.DataFrame(found.cv_results_)
    assert len(table) == 4
    assert table["rank_test_score"].min() == 1
    assert table.loc[found.best_index_, "mean_test_score"] == found.best_score_
    assert "best_params_" in repr(found)


def hard():
    return make_classification(4000, 20, n_informative=10, flip_y=0.2, random_state=0)


def test_a_time_limit_keeps_the_computed_scores():
    X, y = hard()
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = grid(X, y, C=np.logspace(-1, 4, 8), gamma=[0.001, 0.1, 1.0, 0.01], max_time=0.5, refit=False)
    assert time.monotonic() - began < 5
    assert not found.complete_
    assert np.isnan(found.cv_results_["mean_test_score"]).any()


def test_an_interrupt_keeps_the_computed_scores():
    X, y = hard()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        grid(X, y, C=np.logspace(-1, 6, 20), gamma=np.logspace(-4, 1, 20))
    assert not caught.value.result.complete_
    assert len(caught.value.result.cv_results_["params"]) == 400


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(C=[]), ValueError, "at least one value"),
        (dict(C=[0.0]), ValueError, "C=0.0"),
        (dict(C=[np.inf]), ValueError, "finite"),
        (dict(C=[1.0], gamma=[-1.0]), ValueError, "gamma"),
        (dict(C=[1.0], epsilon=[0.1], estimator=hinge.SVC()), ValueError, "SVR"),
        (dict(C=[1.0], estimator=hinge.NuSVC()), TypeError, "GridSearchCV"),
        (dict(C=[1.0], solver="interior_point"), ValueError, "GridSearchCV"),
        (dict(C=[1.0], scoring=["accuracy", "f1"]), ValueError, "GridSearchCV"),
        (dict(C=[1.0], max_time=-1.0), ValueError, "max_time"),
        (dict(C=[1.0], kernel=hinge.kernels.RBF(1.0), gamma=[1.0]), ValueError, "is not used by kernel"),
        (dict(C=[1.0], nonsense=3), ValueError, "nonsense"),
        (dict(C=[1.0], estimator=hinge.SVR(epsilon=np.full(150, 0.1))), ValueError, "a number, a list"),
        (dict(C=[1.0], estimator=hinge.SVR(), epsilon=[np.full(150, 0.1)]), ValueError, "a number, a list"),
    ],
)
def test_errors_name_the_invalid_argument(arguments, error, message):
    X, y = iris()
    with pytest.raises(error, match=message):
        grid(X, y, **arguments)


@pytest.mark.parametrize("estimator", [None, hinge.LinearSVC()])
def test_one_class_is_an_error(estimator):
    X, y = iris()
    with pytest.raises(ValueError, match="number of classes"):
        grid(X, np.zeros(len(y), dtype=int), C=[1.0], estimator=estimator)


def test_a_time_limit_holds_for_problems_that_converge_slowly(monkeypatch):
    """Problems that do not converge go to the solver of estimators, with the remaining time."""
    monkeypatch.setattr("hinge.selection.cost_sequence.step_budget", lambda n: 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1.0, 30.0, 1000.0]
    y = (X[:, 0] + rng.normal(size=2000) > 0).astype(int)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = grid(X, y, C=[1e6, 1e5, 1e4], kernel="linear", max_time=0.5, refit=False)
    assert time.monotonic() - began < 5  # without a limit it takes a minute
    assert not found.cv_results_["mean_test_score"].size or np.isnan(found.cv_results_["mean_test_score"]).any()


@pytest.mark.parametrize("estimator", [hinge.SVC(), hinge.LinearSVC()])
class TestFailingScorers:
    """As in scikit-learn: NaN and a warning, or the error with error_score="raise"."""

    def test_scores_are_nan_by_default(self, estimator):
        X, y = iris()
        calls = itertools.count()

        def scorer(model, X, y):
            if next(calls) % 2:
                raise RuntimeError("not this one")
            return float(np.mean(model.predict(X) == y))

        with pytest.warns(UserWarning, match="scoring failed 3 times .RuntimeError: not this one"):
            found = grid(X, y, C=[1.0, 10.0], cv=3, estimator=estimator, scoring=scorer, n_jobs=1)
        scores = np.array([found.cv_results_[f"split{k}_test_score"] for k in range(3)])
        assert np.isnan(scores).sum() == 3
        assert found.complete_

    def test_scores_are_error_score(self, estimator):
        X, y = iris()

        def scorer(model, X, y):
            raise RuntimeError("none")

        with pytest.warns(UserWarning, match="scores are -1"):
            found = grid(X, y, C=[1.0], estimator=estimator, scoring=scorer, error_score=-1.0)
        assert found.best_score_ == -1.0

    def test_the_error_is_raised(self, estimator):
        X, y = iris()

        def scorer(model, X, y):
            raise RuntimeError("none")

        with pytest.raises(RuntimeError, match="none"):
            grid(X, y, C=[1.0], estimator=estimator, scoring=scorer, error_score="raise")
        with pytest.raises(ValueError, match="error_score='other' must be"):
            grid(X, y, C=[1.0], estimator=estimator, error_score="other")

    def test_a_scorer_must_return_a_number(self, estimator):
        X, y = iris()
        with pytest.raises(ValueError, match="scoring must return a number, got None"):
            grid(X, y, C=[1.0], estimator=estimator, scoring=lambda model, X, y: None)

    def test_splits_with_one_class_have_the_error_score(self, estimator):
        X, y = iris()
        one, other = np.flatnonzero(y == 0), np.flatnonzero(y > 0)
        cv = [(one, other), (np.arange(150), one)]
        with pytest.warns(FitFailedWarning, match="split 0 has training samples of fewer than two classes.*are 0.0"):
            found = grid(X, y, C=[1.0], cv=cv, estimator=estimator, error_score=0.0)
        assert found.cv_results_["split0_test_score"][0] == 0.0
        assert found.best_params_ == {"C": 1.0}
        with pytest.raises(ValueError, match="split 0 has training samples of fewer than two classes"):
            grid(X, y, C=[1.0], cv=cv, estimator=estimator, error_score="raise")
        for wrong in (True, np.zeros(2), None):
            with pytest.raises(ValueError, match="error_score"):
                grid(X, y, C=[1.0], estimator=estimator, error_score=wrong)
