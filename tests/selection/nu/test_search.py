"""Searches over ν, and separate parameters for every pair of classes."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC as LibsvmSVC
from sklearn.svm import NuSVC as LibsvmNuSVC

import hinge
from hinge.selection import epsilon_for_noise, nu_for_noise, nu_grid, pairwise_grid
from reference.data_sets import binary_data, regression_data, standardized


@pytest.mark.parametrize("data", binary_data())
def test_scores_are_those_of_a_plain_search(data):
    X, y = binary_data()[data]
    axes = {"gamma": [0.1, 1.0], "nu": [0.1, 0.3]}
    ours = nu_grid(X, y, **axes, cv=4, tol=1e-6)
    plain = GridSearchCV(hinge.NuSVC(tol=1e-6), axes, cv=4).fit(X, y)
    assert ours.cv_results_["params"] == plain.cv_results_["params"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-12)
    theirs = GridSearchCV(LibsvmNuSVC(tol=1e-6), axes, cv=4).fit(X, y)  # numerically different for small nu
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.05
    )


def test_regression_searches_nu_and_C():
    X, y = regression_data()["diabetes"]
    search = nu_grid(X, y, nu=[0.2, 0.6], C=[0.1, 1.0], gamma="scale", cv=3)
    assert len(search.cv_results_["params"]) == 4
    expected = [cross_val_score(hinge.NuSVR(**p), X, y, cv=3).mean() for p in search.cv_results_["params"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, atol=1e-6)
    assert search.predict(X).shape == y.shape


def test_a_number_of_values_divides_the_admissible_interval():
    """ν tutorial §8: points of the interval (91), or of the interval of each pair."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]  # 50, 50 and 20 samples
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # all values are feasible for every split
        common = nu_grid(X, y, nu=4, cv=4)
        separate = pairwise_grid(X, y, nu=4, cv=4)
    np.testing.assert_allclose(common.cv_results_["param_nu"], 2 * 20 / 70 * np.array([0.125, 0.375, 0.625, 0.875]))
    for pair, high in {(0, 1): 1.0, (0, 2): 40 / 70, (1, 2): 40 / 70}.items():
        values = separate.searches_[pair].cv_results_["param_nu"]
        np.testing.assert_allclose(values, high * np.array([0.125, 0.375, 0.625, 0.875]))
    balanced = nu_grid(X, y, nu=2, cv=4, balance="class")
    np.testing.assert_allclose(balanced.cv_results_["param_nu"], [0.25, 0.75])
    regression = nu_grid(X, X[:, 0], nu=2, C=1.0, cv=2)
    np.testing.assert_allclose(regression.cv_results_["param_nu"], [0.25, 0.75])
    with pytest.raises(ValueError, match="nu=0"):
        nu_grid(X, y, nu=0)


def test_infeasible_values_are_reported_and_not_chosen():
    X, y = binary_data()["iris"]  # 50 of 150 samples are positive
    with pytest.warns(FitFailedWarning, match=r"nu=0.9 is infeasible for split 0"):
        search = nu_grid(X, y, nu=[0.2, 0.9], cv=3)
    assert search.best_params_["nu"] == 0.2
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    with pytest.raises(ValueError, match="infeasible"):
        nu_grid(X, y, nu=[0.2, 0.9], cv=3, error_score="raise")


def test_a_time_limit_ends_the_search():
    X, y = binary_data()["moons"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = nu_grid(X, y, nu=np.linspace(0.01, 0.9, 300), max_time=0.05)
    assert not search.complete_


def test_invalid_arguments_are_rejected():
    X, y = binary_data()["iris"]
    with pytest.raises(TypeError, match=r"must be a hinge\.NuSVC or NuSVR"):
        nu_grid(X, y, nu=0.2, estimator=hinge.SVC())
    with pytest.raises(ValueError, match="not a parameter of NuSVC"):
        nu_grid(X, y, nu=0.2, C=1.0, estimator=hinge.NuSVC())
    with pytest.raises(ValueError, match="nu"):
        nu_grid(X, y, nu=[0.2, 1.5])
    with pytest.raises(ValueError, match="exactly one of C"):
        pairwise_grid(X, y, C=1.0, nu=0.2)
    with pytest.raises(TypeError, match=r"must be a hinge\.NuSVC if nu is given"):
        pairwise_grid(X, y, nu=0.2, estimator=hinge.SVC())
    with pytest.raises(ValueError, match="needs at least two"):
        pairwise_grid(X, np.ones(len(y)), C=1.0)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("axis", ["C", "nu"])
def test_every_pair_has_the_best_parameters_of_its_own_search(load, axis):
    X, y = load(return_X_y=True)
    X = standardized(X)
    axes = {"C": [0.1, 1.0, 10.0]} if axis == "C" else {"nu": [0.05, 0.2, 0.5]}
    axes["gamma"] = [0.01, 0.1, 1.0]
    cv = StratifiedKFold(3)
    search = pairwise_grid(X, y, **axes, cv=cv)
    kind = LibsvmSVC if axis == "C" else LibsvmNuSVC
    votes = np.zeros((len(y), 3))
    for (a, b), result in search.searches_.items():
        rows = (y == a) | (y == b)
        reference = GridSearchCV(kind(), axes, cv=cv).fit(X[rows], y[rows])
        assert result.best_score_ == pytest.approx(reference.best_score_, abs=0.02)
        pair = kind(tol=1e-6, **search.params_[a, b]).fit(X[rows], y[rows])
        votes[np.arange(len(y)), pair.predict(X)] += 1
    assert np.mean(search.predict(X) == np.argmax(votes, axis=1)) > 0.99
    np.testing.assert_array_equal(search.votes(X).sum(axis=1), 3)


def test_labels_may_be_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    search = pairwise_grid(X, names, C=[1.0], cv=3)
    assert ("setosa", "virginica") in search.params_
    assert search.score(X, names) > 0.95


def test_the_epsilon_of_a_noise_model_leaves_the_fraction_nu_outside():
    for name, model in {"gaussian": stats.norm(), "logistic": stats.logistic(), "student_t3": stats.t(3)}.items():
        epsilon = epsilon_for_noise(name)
        assert 2 * model.sf(epsilon) == pytest.approx(nu_for_noise(name), abs=1e-6)
        assert epsilon_for_noise(name, 3.0) == pytest.approx(3 * epsilon)
        tau = np.linspace(0.5 * epsilon, 2 * epsilon, 20001)
        variance = 2 * model.sf(tau) / (2 * model.pdf(tau)) ** 2
        assert tau[np.argmin(variance)] == pytest.approx(epsilon, rel=2e-3)
    assert epsilon_for_noise("gaussian") == pytest.approx(0.612, abs=1e-3)
    assert epsilon_for_noise("polynomial:2") == pytest.approx(epsilon_for_noise("gaussian"), abs=1e-6)
    assert epsilon_for_noise("laplace") == 0.0
    assert epsilon_for_noise("uniform") == pytest.approx(1.0)
    with pytest.raises(ValueError, match="scale=0"):
        epsilon_for_noise("gaussian", 0)


def test_the_data_of_nu_grid_may_be_a_kernel_matrix():
    X, y = load_diabetes(return_X_y=True)
    X, y = standardized(X)[:90], y[:90] > np.median(y[:90])
    plain = nu_grid(X, y, nu=[0.75, 0.9], kernel="linear", cv=3)
    precomputed = nu_grid(X @ X.T, y, nu=[0.75, 0.9], kernel="precomputed", cv=3)
    np.testing.assert_allclose(
        precomputed.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.02
    )
