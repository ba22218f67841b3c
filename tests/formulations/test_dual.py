"""A dual problem is defined once: its kernel, linear and parametric forms have the same solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC, SVR, Formulation, NuSVC, NuSVR, OneClass
from hinge.kernels import RBF, Linear, open_access
from hinge.model import Expansion
from hinge.paths.engine import Engine
from hinge.problems import Bias, Dual, certify, kernel_variables, linear_form, linear_problem
from hinge.problems.parametric import between, constant, proportional
from hinge.solvers import SMO, CoordinateDescent


def samples(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0), X[:, 1] + 0.1 * rng.normal(size=n)


X, LABELS, TARGETS = samples()
COST = np.random.default_rng(1).uniform(0.5, 2.0, len(X))


@dataclass(frozen=True)
class Median(Formulation):
    """min ½‖w‖² + Σ Cᵢ |yᵢ − f(xᵢ)|, as an example of a formulation: its dual problem and the inverse of `recover`."""

    y: np.ndarray
    cost: np.ndarray

    def dual(self):
        return Dual(self.y, -self.cost, self.cost, np.ones(len(self.y)), np.zeros(1))

    def build(self, access):
        return self.dual().problem(access)

    def recover(self, alpha, mu):
        return Expansion(alpha, float(mu[0]))

    def dual_point(self, expansion):
        return expansion.coefficients, np.array([expansion.intercept])


PARAMETRIC = {
    "C-classification": lambda theta: CSVC(LABELS, theta * COST),
    "ε-regression": lambda theta: SVR(TARGETS, theta * COST, 0.1),
    "ε-regression without tube": lambda theta: SVR(TARGETS, theta * COST, 0.0),
    "another formulation": lambda theta: Median(TARGETS, theta * COST),
    "ν-classification": lambda theta: NuSVC(LABELS, COST, theta / 8),
    "ν-regression": lambda theta: NuSVR(TARGETS, COST, theta / 8),
    "one-class": lambda theta: OneClass(COST, theta / 8),
}
LINEAR_FUNCTIONS = {
    "C-classification": CSVC(LABELS, proportional(COST)),
    "ε-regression": SVR(TARGETS, proportional(COST), 0.1),
    "ε-regression without tube": SVR(TARGETS, proportional(COST), 0.0),
    "another formulation": Median(TARGETS, proportional(COST)),
    "ν-classification": NuSVC(LABELS, COST, np.array([0.0, 1 / 8])),
    "ν-regression": NuSVR(TARGETS, COST, np.array([0.0, 1 / 8])),
    "one-class": OneClass(COST, np.array([0.0, 1 / 8])),
}


@pytest.mark.parametrize("name", PARAMETRIC)
@pytest.mark.parametrize("theta", [0.5, 2.0])
def test_the_parametric_form_at_theta_is_the_kernel_form(name, theta):
    access = open_access(RBF(0.5), X)
    problem = PARAMETRIC[name](theta).build(access)
    parametric = LINEAR_FUNCTIONS[name].parametric()
    at_theta = parametric.problem(access, theta)
    expected, solution = (SMO(tol=1e-9).solve(each) for each in (problem, at_theta))
    value = problem.value(expected.alpha)
    assert at_theta.value(solution.alpha) == pytest.approx(value, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(
        at_theta.Q.coefficients(solution.alpha), problem.Q.coefficients(expected.alpha), atol=1e-6
    )


@pytest.mark.parametrize("name", LINEAR_FUNCTIONS)
def test_a_path_ends_at_the_solution_of_its_last_problem(name):
    access, parametric = open_access(RBF(0.5), X), LINEAR_FUNCTIONS[name].parametric()
    engine = Engine(access, parametric.group, parametric.size // len(X))
    engine.start(parametric, 0.5)
    pieces, _, status, reached = engine.follow(parametric, 0.5, 2.0)
    assert status is Status.SOLVED
    assert reached == 2.0
    alpha = parametric.sign * pieces.beta(parametric, 2.0)
    assert certify(parametric.problem(access, 2.0), alpha, pieces.multipliers(2.0)).proves(1e-8)


@pytest.mark.parametrize("name", ["C-classification", "ε-regression", "another formulation", "one-class"])
def test_the_linear_form_has_the_solution_of_the_kernel_form(name):
    formulation = PARAMETRIC[name](2.0)
    problem = formulation.build(open_access(Linear(), X))
    expected = problem.value(SMO(tol=1e-9).solve(problem).alpha)
    solver = CoordinateDescent(tol=1e-9)
    direct = solver.solve_linear(linear_problem(formulation.dual(), X, Bias.FREE))
    converted = solver.solve_linear(linear_form(problem))
    assert -direct.dual == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert -converted.dual == pytest.approx(expected, rel=1e-6, abs=1e-8)
    alpha = kernel_variables(problem, converted.beta)
    np.testing.assert_allclose(problem.Q.coefficients(alpha), converted.beta)


def test_linear_functions_have_rows_of_values_and_rates():
    start, end = np.array([1.0, 2.0]), np.array([3.0, 1.0])
    np.testing.assert_array_equal(between(start, end), [[1.0, 2.0], [2.0, -1.0]])
    np.testing.assert_array_equal(constant(start), [[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(proportional(start), [[0.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize("name", PARAMETRIC)
def test_bounds_of_problem_1_are_not_negative_zero(name):
    """A zero bound of a negative variable must not become −0.0."""
    formulation = PARAMETRIC[name](1.0)
    problem = formulation.build(open_access(RBF(0.5), X))
    assert not np.signbit(problem.upper).any()
    np.testing.assert_array_equal(formulation.upper, problem.upper)
