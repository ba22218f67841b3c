"""Kernel estimators without an intercept: optimality, and agreement with the linear estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_regression

import hinge
from hinge.kernels import RBF, Linear, open_access
from hinge.solvers import SMO, CoordinateDescent

SOLVERS = ["auto", "smo", "working_set", "chunking", "interior_point", SMO(tol=1e-8)]


def named(solver):
    return solver if isinstance(solver, str) else type(solver).__name__


def classes():
    return make_classification(150, 6, flip_y=0.1, random_state=0)


def targets():
    return make_regression(120, 5, noise=5.0, random_state=0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", [*SOLVERS, CoordinateDescent(tol=1e-9)], ids=named)
def test_linear_kernel_agrees_with_linear_svc(solver, loss):
    X, y = classes()
    model = hinge.SVC(kernel="linear", loss=loss, solver=solver, tol=1e-8, fit_intercept=False).fit(X, y)
    linear = hinge.LinearSVC(loss=loss, tol=1e-10, fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0
    assert model.certify(X, y).relative_gap < 1e-7
    assert np.allclose(model.coef_, linear.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_kernel_agrees_with_linear_svr(loss):
    X, y = targets()
    model = hinge.SVR(C=10, epsilon=0.5, kernel="linear", loss=loss, tol=1e-8, fit_intercept=False).fit(X, y)
    linear = hinge.LinearSVR(C=10, epsilon=0.5, loss=loss, tol=1e-10, fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0
    assert np.allclose(model.coef_, linear.coef_, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=named)
def test_margins_satisfy_the_optimality_conditions(solver):
    """α = 0: margin ≥ 1; α = C: margin ≤ 1; 0 < α < C: margin = 1."""
    X, y = classes()
    model = hinge.SVC(C=2.0, gamma=0.1, solver=solver, tol=1e-7, fit_intercept=False).fit(X, y)
    margin = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert np.all(margin[alpha < 1e-9] > 1 - 1e-6)
    assert np.all(margin[alpha > 2 - 1e-9] < 1 + 1e-6)
    assert np.allclose(margin[(alpha > 1e-6) & (alpha < 2 - 1e-6)], 1, atol=1e-6)
    assert abs(np.sum(model.dual_coef_)) > 1e-3  # with an intercept it would be 0


def test_free_intercept_decreases_the_objective():
    X, y = targets()
    with_intercept, without = (hinge.SVR(C=5, gamma=0.01, fit_intercept=fit).fit(X, y + 50) for fit in (True, False))
    assert without.intercept_ == 0 != with_intercept.intercept_
    assert with_intercept.certificate_.primal < without.certificate_.dual


def test_constant_added_to_the_kernel_is_a_penalized_intercept():
    X, y = classes()
    plain = hinge.SVC(kernel=Linear() + 1.0 * RBF(1e-12), fit_intercept=False, tol=1e-9).fit(X, y)
    linear = hinge.LinearSVC(loss="hinge", penalize_intercept=True, tol=1e-11).fit(X, y)
    assert np.allclose(plain.decision_function(X), linear.decision_function(X), atol=1e-5)


def test_several_classes_weights_and_warm_starts():
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0, 2, len(y))
    model = hinge.SVC(C=1, fit_intercept=False, class_weight="balanced", warm_start=True).fit(X, y, weight)
    assert np.all(model.intercept_ == 0)
    assert model.certify(X, y, weight).relative_gap < 1e-3
    warm = model.set_params(C=3).fit(X, y, weight)
    cold = hinge.SVC(C=3, fit_intercept=False, class_weight="balanced").fit(X, y, weight)
    assert np.allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-2)
    assert not hasattr(model, "equivalent_nu_")  # ν-classification has an intercept


def test_model_can_be_saved_and_loaded(tmp_path):
    X, y = classes()
    model = hinge.SVC(fit_intercept=False).fit(X, y)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    assert loaded.fit_intercept is False
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_solver_without_equality_rows_changes_single_variables():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = hinge.formulations.CSVC(np.array([1.0, 1.0]), np.array([5.0, 0.25]), bias=False).build(
        open_access(Linear(), X)
    )
    assert np.allclose(SMO(tol=1e-10).solve(problem).alpha, [1.0, 0.25])
    assert np.allclose(CoordinateDescent(tol=1e-12).solve(problem).alpha, [1.0, 0.25])


def test_invalid_fit_intercept_is_rejected():
    X, y = classes()
    with pytest.raises(TypeError, match="fit_intercept='no' must be True or False"):
        hinge.SVC(fit_intercept="no").fit(X, y)
