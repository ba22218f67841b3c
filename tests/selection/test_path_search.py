"""Cross-validation along paths, exact leave-one-out values, and bounds of the leave-one-out error."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import hinge
from hinge.selection import leave_one_out, loo_bounds, path_search
from paths.cases import classification, regression

X, Y = classification()["some of each"]


def test_the_cross_validated_error_is_exact_at_every_C():
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


def test_regression_with_a_precomputed_kernel_has_the_same_minimum():
    A, b = regression()["smooth"]
    found = path_search(A, b, gamma=0.5, cv=KFold(3), task="regression")
    K = hinge.kernels.RBF(0.5)(A)
    same = path_search(K, b, kernel="precomputed", cv=KFold(3), task="regression")
    assert same.best.error == pytest.approx(found.best.error, rel=1e-8)
    assert found.best.error <= np.min(found.error(np.geomspace(1e-3, 1e3, 999)))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_leave_one_out_values_are_those_of_fits(task):
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
def test_bounds_hold_and_estimates_are_close(C, seed):
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


@pytest.mark.parametrize("C", [0.5, 1.0, 20.0])
def test_the_span_bound_is_that_of_its_formula(C):
    rng = np.random.default_rng(0)
    b = np.where(np.arange(200) < 100, 1, -1)
    A = 0.2 * rng.normal(size=(200, 2)) + b[:, None]
    model = hinge.SVC(C=C, gamma=0.3, tol=1e-10).fit(A, b)
    alpha, K = np.abs(model.dual_coef_.ravel()), hinge.kernels.RBF(0.3)(A)
    free = alpha < C * (1 - 1e-9)
    diameter = np.sqrt(np.max(2 - 2 * K))
    expected = (diameter * max(diameter, C**-0.5) * alpha[free].sum() + np.sum(~free)) / 200
    assert 0 < expected < 1
    assert loo_bounds(A, b, C=C, gamma=0.3).span_bound == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("name", "nu", "gamma"), [("overlap", 0.3, 2.0), ("every point twice", 0.2, 0.3)])
def test_leave_one_out_values_of_nu_lie_in_their_intervals(name, nu, gamma):
    A, b = classification()[name]
    signs = np.where(b == np.unique(b)[1], 1.0, -1.0)
    found = loo_bounds(A, b, nu=nu, gamma=gamma)
    wrong = 0
    for p in range(len(b)):
        rest = np.arange(len(b)) != p
        path = hinge.nu_path(A[rest], b[rest], nu_min=0.9 * nu, nu_max=1.1 * nu, gamma=gamma)
        value = signs[p] * path.decision_function(A[p : p + 1], nu)[0] * path._scale(path._multipliers(nu))
        low, high = found.nu_intervals[p]
        assert low - 1e-9 <= value <= high + 1e-9
        wrong += value <= 0
    assert wrong / len(b) <= found.nu_general < 0.5


def test_the_error_of_several_classes_is_exact():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(90, 2))
    b = np.array(["a", "b", "c"])[np.digitize(A[:, 0] + 0.4 * rng.normal(size=90), [-0.5, 0.5])]
    folds = StratifiedKFold(3)
    found = path_search(A, b, gamma=[0.5], cv=folds, C_min=0.05, C_max=50)
    for C in [*np.geomspace(0.051, 49, 7), found.best_C]:
        wrong = 0
        for train, test in folds.split(A, b):
            wrong += np.sum(hinge.SVC(C=C, gamma=0.5, tol=1e-10).fit(A[train], b[train]).predict(A[test]) != b[test])
        assert found.error(C) == pytest.approx(wrong / len(b))
    assert found.best.error == pytest.approx(found.error(found.best_C))
    paths = found.paths[0]
    assert paths["c", "a"] is paths.paths[paths.pairs.index(("a", "c"))]
    train, test = next(iter(folds.split(A, b)))
    K = hinge.kernels.RBF(0.5)
    same = hinge.one_vs_one_paths(K(A[train]), b[train], kernel="precomputed", C_min=0.05, C_max=50)
    np.testing.assert_allclose(
        same.decision_values(K(A[test], A[train]), 3.0), paths.decision_values(A[test], 3.0), atol=1e-9
    )
    with pytest.raises(ValueError, match="one_vs_one_paths"):
        hinge.regularization_path(A, b)
    with pytest.raises(ValueError, match="label"):
        paths.validation_error(A[:2], ["a", "x"])


def test_the_span_estimate_is_exact_if_no_index_set_changes():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(60, 2))
    b = np.where(A[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    exact, found = leave_one_out(A, b, C=1.0, gamma=1.0), loo_bounds(A, b, C=1.0, gamma=1.0)
    closest = np.sort(np.abs(exact.decision_values - found.span_values))
    assert closest[len(closest) // 4] < 1e-9


def test_equivalent_C_and_nu_have_the_same_bounds():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(60, 2))
    b = np.where(A[:, 0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    by_nu = loo_bounds(A, b, nu=0.5, gamma=1.0)
    model = hinge.NuSVC(nu=0.5, gamma=1.0, tol=1e-10).fit(A, b)
    by_C = loo_bounds(A, b, C=float(np.max(np.abs(model.dual_coef_))), gamma=1.0)
    np.testing.assert_allclose(by_nu.span_values, by_C.span_values, atol=1e-5)


def test_errors_name_the_invalid_argument():
    with pytest.raises(ValueError, match="exclude each other"):
        loo_bounds(X, Y, C=1.0, nu=0.5)
    with pytest.raises(ValueError, match="nu="):
        loo_bounds(X, Y, nu=1.5)
    with pytest.raises(ValueError, match="C="):
        leave_one_out(X, Y, C=-1.0)
    with pytest.raises(ValueError, match="at least two"):
        leave_one_out(np.eye(4), [0, 0, 0, 1])


def test_results_are_printed_in_one_line():
    A, b = regression()["smooth"]
    found = path_search(X, Y, gamma=[0.1, 1.0], cv=3), path_search(A, b, gamma=0.5, cv=3, task="regression")
    for shown in (*found, *(each.error for each in found), leave_one_out(X, Y, C=1.0, gamma=0.5)):
        assert len(repr(shown)) < 150
        assert "error" in repr(shown) or f"{shown.best().error:.6g}" in repr(shown)
