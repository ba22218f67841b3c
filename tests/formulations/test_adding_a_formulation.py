"""CONTRIBUTING.md, "How to add a formulation": one module and one estimator.

The example is quantile regression, min ½‖w‖² + Σ Cᵢ max(τ rᵢ, (τ − 1) rᵢ) with the residuals r = y − f(x).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import hinge
from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, SOLVER_RULES, Number
from hinge.estimators.common.training import Settings, Subproblem, train
from hinge.estimators.kernel.regression import KernelRegressor, store_function
from hinge.formulations import Formulation
from hinge.formulations.svr import difference, split_signs
from hinge.io import registry as files
from hinge.io.checks.estimators import ATTRIBUTES
from hinge.kernels import RBF, open_access
from hinge.model import Expansion
from hinge.paths.regularization import check_samples, follow
from hinge.problems import Dual, certify
from hinge.problems.parametric import proportional
from hinge.solvers import choose
from hinge.solvers.base import SOLVERS


@dataclass(frozen=True)
class Quantile(Formulation):
    """min ½‖w‖² + Σ Cᵢ max(τ rᵢ, (τ − 1) rᵢ),  r = y − f(x)."""

    y: np.ndarray
    cost: np.ndarray
    tau: float

    def dual(self):
        """min ½βᵀKβ − yᵀβ,  (τ − 1) C ≤ β ≤ τ C,  Σβ = 0."""
        lower, upper = (self.tau - 1.0) * self.cost, self.tau * self.cost
        return Dual(self.y, lower, upper, np.ones(self.y.shape), np.zeros(1), split=True)

    def build(self, access):
        return self.dual().problem(access)

    def recover(self, alpha, mu):
        return Expansion(difference(alpha), float(mu[0]))

    def dual_point(self, expansion):
        return split_signs(expansion.coefficients), np.array([expansion.intercept])


class QuantileSVR(KernelRegressor):
    """Support vector regression of a quantile."""

    _rules: ClassVar = {
        "tau": Number(0.0, 1.0, open_low=True),
        "C": POSITIVE,
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
    }

    def __init__(
        self, *, tau=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, solver="auto", shrinking=True,
        tol=1e-3, max_iter=-1, max_time=None, cache_size="auto", warm_start=False, n_jobs=None, verbose=False,
    ):  # fmt: skip
        self.tau = tau
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        settings = Settings.of(self)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, settings.kernel)
            trained = train(self, data, self._subproblems(data), settings, control)
            store_function(self, data, trained)
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _subproblems(self, data):
        return [Subproblem(None, Quantile(data.y, self.C * data.weight, float(self.tau)))]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(80, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=80)


def pinball(tau, residual):
    return np.maximum(tau * residual, (tau - 1.0) * residual)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_certificate_encloses_the_primal_value_of_the_textbook(tau, data):
    X, y = data
    model = QuantileSVR(tau=tau, C=2.0, tol=1e-8).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    K = RBF(1.0 / X.var())(X)
    value = 0.5 * beta @ K @ beta + 2.0 * np.sum(pinball(tau, y - model.predict(X)))
    assert model.certify(X, y).primal == pytest.approx(value, rel=1e-9)
    assert model.certificate_.relative_gap < 1e-6
    assert np.mean(y < model.predict(X)) == pytest.approx(tau, abs=0.1)


def test_median_is_that_of_regression_with_a_tube_of_zero_width(data):
    X, y = data
    median = QuantileSVR(tau=0.5, C=2.0, tol=1e-8).fit(X, y)
    tube = hinge.SVR(C=1.0, epsilon=0.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(median.predict(X), tube.predict(X), atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"coordinate_descent", "lagrangian", "newton"}))
def test_solvers_reach_the_optimum(name, data):
    """Every solver that accepts a nonsmooth loss and a general kernel."""
    X, y = data
    problem = Quantile(y, np.ones(len(y)), 0.3).build(open_access(RBF(1.0), X))
    solution = choose(name, tol=1e-4).solve(problem)
    assert certify(problem, *solution.point).relative_gap < 1e-3


def test_path_over_the_cost_needs_no_further_code(data):
    X, y = data
    samples = check_samples(X, y, "regression", "rbf", 3, 1.0, 0.0)
    path = follow(samples, Quantile(samples.y, proportional(np.ones(len(y))), 0.3), 0.1, 2.0, "C")
    for C in (0.2, 1.7):
        model = QuantileSVR(tau=0.3, C=C, gamma=1.0, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(path.decision_function(X, C), model.predict(X), atol=1e-5)


def test_model_files_hold_the_estimator(data, tmp_path, monkeypatch):
    X, y = data
    monkeypatch.setitem(files.ESTIMATORS, "QuantileSVR", QuantileSVR)
    monkeypatch.setitem(ATTRIBUTES, "QuantileSVR", ATTRIBUTES["SVR"])
    model = QuantileSVR(tau=0.2).fit(X, y)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certify(X, y).relative_gap < 1e-2


def test_weights_repeat_and_remove_samples(data):
    X, y = data
    weight = np.r_[np.zeros(10), np.full(10, 2.0), np.ones(60)]
    rows = np.repeat(np.arange(80), weight.astype(int))
    model = QuantileSVR(tau=0.3, tol=1e-8, gamma=1.0)
    weighted = model.fit(X, y, weight).predict(X)
    np.testing.assert_allclose(weighted, model.fit(X[rows], y[rows]).predict(X), atol=1e-6)


def test_warm_start_reaches_the_solution_of_the_new_cost(data):
    X, y = data
    warm = QuantileSVR(tau=0.3, C=1.0, tol=1e-8, warm_start=True).fit(X, y).set_params(C=1.1).fit(X, y)
    cold = QuantileSVR(tau=0.3, C=1.1, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-6)
