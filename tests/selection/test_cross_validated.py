"""Estimators with built-in model selection, the common result type, and the heat map."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.plotting import GridDisplay
from hinge.selection import SearchResult, grid, path_search

SMALL = [
    hinge.SVCCV(Cs=2, gammas=2, cv=3),
    hinge.SVRCV(Cs=2, gammas=2, cv=3),
    hinge.LinearSVCCV(Cs=2, cv=3),
    hinge.LinearSVRCV(Cs=2, cv=3),
]


def expected_failures(estimator):
    reason = "the folds depend on the number of samples, and therefore on repeated samples"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks([hinge.SVCCV(Cs=2, gammas=1, cv=3)], expected_failed_checks=expected_failures)
def test_common_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_scores_are_those_of_grid_search(cancer):
    X, y = cancer
    Cs, gammas = [0.1, 10.0], [0.001, 0.02]
    ours = hinge.SVCCV(Cs=Cs, gammas=gammas, cv=3, tol=1e-5).fit(X, y)
    peer = GridSearchCV(hinge.SVC(tol=1e-5), {"C": Cs, "gamma": gammas}, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=2e-3)
    assert ours.best_params_ == peer.best_params_
    assert (ours.C_, ours.gamma_) == (peer.best_params_["C"], peer.best_params_["gamma"])
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_probabilities_of_the_best_estimator(cancer):
    X, y = cancer
    assert not hasattr(hinge.SVCCV(), "predict_proba")
    model = hinge.SVCCV(Cs=2, gammas=2, probability=True).fit(X, y)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("model", [hinge.SVCCV(Cs=4, gammas=4, cv=3), hinge.LinearSVCCV(Cs=4, cv=3)], ids=str)
def test_the_scale_of_the_features_does_not_matter(model, factor, cancer):
    X, y = cancer
    first, second = clone(model).fit(X, y), clone(model).fit(factor * X, y)
    np.testing.assert_allclose(
        first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"], atol=5e-3
    )


@pytest.mark.parametrize("model", [hinge.SVRCV(Cs=3, gammas=2, cv=3), hinge.LinearSVRCV(Cs=3, cv=3)], ids=str)
def test_the_scale_of_the_targets_does_not_matter(model):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), y - y.mean()
    first, second = clone(model).fit(X, y), clone(model).fit(X, 1e3 * y)
    np.testing.assert_allclose(first.best_score_, second.best_score_, atol=5e-3)


def test_inside_a_pipeline_the_outer_validation_includes_scaling_and_search():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), hinge.SVCCV(Cs=4, gammas=4, cv=3))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.96


def test_groups_and_sample_weights_reach_the_search(cancer):
    X, y = cancer
    groups = np.arange(len(y)) % 6
    model = hinge.LinearSVCCV(Cs=2, cv=GroupKFold(3)).fit(X, y, sample_weight=np.ones(len(y)), groups=groups)
    assert model.result_.n_splits_ == 3
    with pytest.raises(ValueError, match="groups"):
        hinge.LinearSVCCV(Cs=2, cv=GroupKFold(3)).fit(X, y)


def test_kernels_without_gamma_and_sparse_data(cancer):
    X, y = cancer
    assert set(hinge.SVCCV(Cs=2, kernel="linear").fit(X, y).best_params_) == {"C"}
    assert set(hinge.SVCCV(Cs=2, kernel="precomputed").fit(X @ X.T, y).best_params_) == {"C"}
    dense = hinge.SVCCV(Cs=2, gammas=2).fit(np.maximum(X, 0), y)
    sparse = hinge.SVCCV(Cs=2, gammas=2).fit(sp.csr_matrix(np.maximum(X, 0)), y)
    np.testing.assert_allclose(dense.best_score_, sparse.best_score_, atol=5e-3)


def test_time_limit_gives_a_model(cancer):
    X, y = cancer
    with pytest.warns(ConvergenceWarning):
        model = hinge.SVCCV(max_time=1e-3).fit(X, y)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("Cs", [0, -1, True])
def test_number_of_values_must_be_positive(Cs, cancer):
    with pytest.raises((ValueError, TypeError), match="Cs"):
        hinge.SVCCV(Cs=Cs).fit(*cancer)


def test_grid_and_path_search_have_the_same_interface():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    for result in (grid(X, y, C=[0.1, 1], gamma=[0.1, 1.0], cv=3), path_search(X, y, gamma=[0.1, 1.0], cv=3)):
        assert isinstance(result, SearchResult)
        assert set(result.best_params_) == {"C", "gamma"}
        assert 0.9 < result.best_score_ <= 1
        np.testing.assert_array_equal(result.predict(X), result.best_estimator_.predict(X))
        assert result.score(X, y) > 0.9
    with pytest.raises(AttributeError, match="refit=True"):
        path_search(X, y, cv=3, refit=False).predict(X)


def test_path_search_reports_progress_and_scores_of_regression(capsys):
    X, y = load_diabetes(return_X_y=True)
    found = path_search(scale(X)[:80], y[:80], task="regression", epsilon=10.0, C_max=10.0, cv=3, verbose=True)
    assert found.best_score_ == -found.best.error
    assert "best error" in capsys.readouterr().err


def test_heat_map_shows_every_score(cancer):
    X, y = cancer
    result = grid(X, y, C=[0.1, 1, 10], gamma=[0.01, 0.1], cv=3)
    display = GridDisplay.from_result(result)
    assert display.scores.shape == (2, 3)
    assert np.nanmax(display.scores) == result.best_score_
    assert display.ax_.get_xlabel() == "C"
    one = GridDisplay.from_result(hinge.LinearSVCCV(Cs=3, cv=3).fit(X, y))
    assert one.scores.shape == (3,)
    with pytest.raises(ValueError, match="not a parameter"):
        GridDisplay.from_result(result, y="nu")
    plt.close("all")
