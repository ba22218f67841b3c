"""Cross-validation along paths, leave-one-out by removal, bounds that bound."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import hinge
from hinge.selection import leave_one_out, loo_bounds, path_search
from paths.cases import classification, regression

X, Y = classification()["some of each"]


def test_the_cross_validated_error_is_exact_everywhere():
    folds = StratifiedKFold(4)
    found = path_search(X, Y, gamma=[0.1, 1.0], cv=folds)
    rng = np.random.default_rng(0)
    for gamma, error in zip(found.gammas, found.errors, strict=True):
        for C in 10 ** rng.uniform(-3, 3, 8):
            wrong = 0
            for train, test in folds.split(X, Y):
                model = hinge.SVC(C=C, gamma=gamma, tol=1e-10).fit(X[train], Y[train])
                wrong += np.sum(model.predict(X[test]) != Y[test])
            assert error(C) == pytest.approx(wrong / len(Y))
    assert found.best.error == min(np.min(error.values) for error in found.errors)
    assert found.best.low <= found.best_C <= found.best.high


def test_regression_and_precomputed_kernels():
    A, b = regression()["smooth"]
    found = path_search(A, b, gamma=0.5, cv=KFold(3), task="regression")
    K = hinge.kernels.RBF(0.5)(A)
    same = path_search(K, b, kernel="precomputed", cv=KFold(3), task="regression")
    assert same.best.error == pytest.approx(found.best.error, rel=1e-8)
    assert found.best.error <= np.min(found.error(np.geomspace(1e-3, 1e3, 999)))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_leave_one_out_is_exact(task):
    A, b = classification()["integer grid"] if task == "classification" else regression()["twice with other targets"]
    found = leave_one_out(A, b, C=3.0, gamma=0.5, task=task)
    make = hinge.SVC if task == "classification" else hinge.SVR
    for i in range(0, len(b), 3):
        model = make(C=3.0, gamma=0.5, tol=1e-10).fit(np.delete(A, i, 0), np.delete(b, i))
        value = (model.decision_function if task == "classification" else model.predict)(A[i : i + 1])[0]
        assert found.decision_values[i] == pytest.approx(value, abs=1e-7)
    if task == "classification":
        assert found.error == pytest.approx(np.mean((found.decision_values > 0) != (b > 0)))
    else:
        assert found.error == pytest.approx(np.mean((found.decision_values - b) ** 2))


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_bound_and_estimates_are_close(C, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(70, 2))
    b = np.where(A[:, 0] + 0.8 * rng.normal(size=70) > 0, 1, -1)
    exact = leave_one_out(A, b, C=C, gamma=1.0).error
    found = loo_bounds(A, b, C=C, gamma=1.0)
    for bound in (found.support_vectors, found.xi_alpha, found.span_bound):
        assert bound >= exact - 1e-12
    assert abs(found.span_estimate - exact) <= 0.1
    assert abs(found.nu_restricted - exact) <= 0.1
    assert abs(found.nu_maximized_target - exact) <= 0.2


def test_the_span_estimate_is_exact_where_no_index_set_changes():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(60, 2))
    b = np.where(A[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    exact, found = leave_one_out(A, b, C=1.0, gamma=1.0), loo_bounds(A, b, C=1.0, gamma=1.0)
    closest = np.sort(np.abs(exact.decision_values - found.span_values))
    assert closest[len(closest) // 4] < 1e-9


def test_nu_and_c_name_the_same_machine():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(60, 2))
    b = np.where(A[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    by_nu = loo_bounds(A, b, nu=0.5, gamma=1.0)
    model = hinge.NuSVC(nu=0.5, gamma=1.0, tol=1e-10).fit(A, b)
    by_C = loo_bounds(A, b, C=float(np.max(np.abs(model.dual_coef_))), gamma=1.0)
    np.testing.assert_allclose(by_nu.span_values, by_C.span_values, atol=1e-5)


def test_bad_requests_are_named():
    with pytest.raises(ValueError, match="not both"):
        loo_bounds(X, Y, C=1.0, nu=0.5)
    with pytest.raises(ValueError, match="nu="):
        loo_bounds(X, Y, nu=1.5)
    with pytest.raises(ValueError, match="C="):
        leave_one_out(X, Y, C=-1.0)
    with pytest.raises(ValueError, match="at least two"):
        leave_one_out(np.eye(4), [0, 0, 0, 1])
