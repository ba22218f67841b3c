"""`hinge.selection.grid` with linear estimators: the scores of GridSearchCV, with warm starts along C."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold
from sklearn.preprocessing import scale

import hinge
from hinge.selection import grid

COSTS = [10.0, 0.01, 0.3]


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "class_weight": "balanced"},
        {"multi_class": "crammer_singer"},
        {"penalize_intercept": True, "tol": 1e-6},
    ],
    ids=str,
)
def test_scores_are_those_of_an_exhaustive_search(options):
    X, y = iris()
    estimator = hinge.LinearSVC(**options)
    theirs = GridSearchCV(estimator, {"C": COSTS}).fit(X, y)
    ours = grid(X, y, C=COSTS, estimator=estimator, n_jobs=2)
    assert set(theirs.cv_results_) == set(ours.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for k in range(5):
        key = f"split{k}_test_score"
        assert np.abs(ours.cv_results_[key] - theirs.cv_results_[key]).max() <= 1.001 / 30
    assert ours.complete_
    assert ours.best_estimator_.get_params()["C"] == ours.best_params_["C"]
    assert not ours.best_estimator_.warm_start


def test_regression_with_several_epsilon_has_the_scores_of_an_exhaustive_search():
    X, y = load_diabetes(return_X_y=True)
    axes = {"C": [0.1, 10.0], "epsilon": [0.0, 20.0]}
    estimator = hinge.LinearSVR(loss="squared_epsilon_insensitive")
    theirs = GridSearchCV(estimator, axes, scoring="neg_mean_absolute_error").fit(X, y)
    ours = grid(X, y, estimator=estimator, scoring="neg_mean_absolute_error", **axes)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-3)
    assert ours.best_params_ == theirs.best_params_


def test_results_do_not_depend_on_threads_or_data_format():
    X, y = iris()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    one = grid(X, y, C=COSTS, estimator=hinge.LinearSVC(), sample_weight=weight, n_jobs=1)
    for data in (X, sparse.csr_matrix(X)):
        two = grid(data, y, C=COSTS, estimator=hinge.LinearSVC(), sample_weight=weight, n_jobs=4)
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_sample_weights_enter_training():
    X, y = iris()
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    found = grid(X, y, C=[1.0], estimator=hinge.LinearSVC(), sample_weight=weight, refit=False)
    for k, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        model = hinge.LinearSVC().fit(X[train], y[train], sample_weight=weight[train])
        assert model.score(X[test], y[test]) == found.cv_results_[f"split{k}_test_score"][0]


def test_fits_along_C_are_warm_started(monkeypatch):
    """The start of the second fit is the scaled dual point of the first one."""
    X, y = load_breast_cancer(return_X_y=True)
    starts = []
    solve = hinge.solvers.CoordinateDescent.solve_linear

    def spy(self, problem, start=None, *rest):
        starts.append(start)
        return solve(self, problem, start, *rest)

    monkeypatch.setattr(hinge.solvers.CoordinateDescent, "solve_linear", spy)
    grid(scale(X), y, C=[1.0, 0.1], estimator=hinge.LinearSVC(), cv=2, refit=False)
    assert [start is None for start in starts] == [True, False, True, False]


def test_missing_scores_are_reported():
    X, y = iris()
    one_class = PredefinedSplit(np.where(y == 0, -1, 0))  # trains on class 0 only
    with pytest.warns(FitFailedWarning, match="two classes"):
        found = grid(X, y, C=[1.0], estimator=hinge.LinearSVC(), cv=one_class)
    assert np.isnan(found.cv_results_["mean_test_score"]).all()
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        grid(X, y, C=[1.0], estimator=hinge.LinearSVC(max_iter=1, tol=1e-9), cv=2, refit=False)
    with pytest.warns(ConvergenceWarning, match="ended the search"):
        late = grid(X, y, C=[1.0], estimator=hinge.LinearSVC(), max_time=1e-9, refit=False)
    assert not late.complete_


def test_errors_name_the_invalid_argument():
    X, y = iris()
    for wrong, message in (
        (dict(gamma=1.0), "gamma=1.0 is not a parameter of LinearSVC"),
        (dict(epsilon=0.1), "epsilon"),
        (dict(C=[]), "empty"),
    ):
        with pytest.raises(ValueError, match=message):
            grid(X, y, **{"C": [1.0], **wrong}, estimator=hinge.LinearSVC())
    with pytest.raises(TypeError, match="LinearSVR"):
        grid(X, y, C=[1.0], estimator=hinge.LinearOneClassSVM())


def test_an_interrupt_keeps_the_computed_scores(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 60)), rng.integers(0, 2, 20_000)
    solve, timers = hinge.solvers.CoordinateDescent.solve_linear, []

    def and_interrupt(self, *rest):
        if not timers:  # during the first fit
            timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()
        return solve(self, *rest)

    monkeypatch.setattr(hinge.solvers.CoordinateDescent, "solve_linear", and_interrupt)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        grid(X, y, C=np.logspace(-4, 6, 60), estimator=hinge.LinearSVC(loss="hinge", tol=1e-12, solver="descent"))
    assert time.monotonic() - began < 20
    assert not caught.value.result.complete_


def test_a_loaded_result_is_identical(tmp_path):
    X, y = iris()
    found = grid(X, y, C=COSTS, estimator=hinge.LinearSVC())
    kernel = grid(X, y, C=[1.0], gamma=["scale", 0.1])
    for result in (found, kernel, grid(X, y, C=COSTS, estimator=hinge.LinearSVC(), refit=False)):
        hinge.save(result, tmp_path / "result.hinge")
        back = hinge.load(tmp_path / "result.hinge")
        assert set(back.cv_results_) == set(result.cv_results_)
        for name, column in result.cv_results_.items():
            np.testing.assert_array_equal(back.cv_results_[name], column)
            assert type(back.cv_results_[name]) is type(column)
        assert back.best_params_ == result.best_params_
        if result.best_estimator_ is not None:
            np.testing.assert_array_equal(back.predict(X), result.predict(X))
