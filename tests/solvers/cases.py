"""Problems for the tests of the solvers."""

from __future__ import annotations

import os
import time

import numpy as np

from hinge import formulations
from hinge.kernels import RBF, DirectAccess, FunctionKernel, Linear, open_access
from hinge.problems import Problem, Quadratic, optimality
from reference.qp import dense_matrix, solve_with_clarabel

FORMULATIONS = ("CSVC", "NuSVC", "SVR", "NuSVR", "OneClass", "CSVC without bias", "SVR without bias")

#: Time limits of tests are multiplied by this factor; code runs more slowly with a sanitizer.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
TIME_FACTOR = 8.0 if SANITIZED else 1.0


def dense(Q, p, A=None, d=(), lower=0.0, upper=1.0):
    """Problem (1) from arrays; bounds may be numbers."""
    size = len(p)
    A = np.empty((0, size)) if A is None else np.atleast_2d(A)
    return Problem(
        Quadratic.dense(np.asarray(Q, float)),
        np.asarray(p, float),
        A,
        np.atleast_1d(np.asarray(d, float)),
        np.full(size, lower) if np.isscalar(lower) else lower,
        np.full(size, upper) if np.isscalar(upper) else upper,
    )


def formulation(name, n, seed=0, C=1.0, features=3):
    """(X, formulation) of overlapping classes or a noisy function."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    target = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    bias = not name.endswith("without bias")
    if "SVC" in name:
        X[:, 0] += sign
    cost = np.full(n, float(C))
    return X, {
        "CSVC": lambda: formulations.CSVC(sign, cost, bias),
        "SVR": lambda: formulations.SVR(target, cost, 0.1, bias=bias),
        "NuSVC": lambda: formulations.NuSVC(sign, np.ones(n), 0.4),
        "NuSVR": lambda: formulations.NuSVR(target, cost, 0.4),
        "OneClass": lambda: formulations.OneClass(np.ones(n), 0.3),
    }[name.split()[0]]()


def make_problem(name, n, seed=0, C=1.0, kernel=None, **options):
    """Problem (1) of a formulation, with the kernel RBF(0.5) by default."""
    X, dual = formulation(name, n, seed, C, **options)
    return dual.build(open_access(RBF(0.5) if kernel is None else kernel, X))


def certified(problem, solution):
    """Certificate computed with NumPy in float64, without kernel rows of the solver."""
    access = problem.Q.access
    direct = Quadratic(DirectAccess(access.kernel, access.data), problem.Q.sign)
    independent = Problem(direct, problem.p, problem.A, problem.d, problem.lower, problem.upper)
    return optimality(independent, *solution.point)


def assert_feasible(problem, alpha):
    """Bounds hold exactly, equality rows up to rounding."""
    assert np.all(alpha >= problem.lower)
    assert np.all(alpha <= problem.upper)
    residual = np.abs(problem.A @ alpha - problem.d)
    assert np.all(residual <= 1e-12 * (np.abs(problem.A) @ np.abs(alpha) + np.abs(problem.d)) + 1e-300)


def clarabel(problem):
    """Optimum by clarabel."""
    return solve_with_clarabel(
        dense_matrix(problem.Q), problem.p, problem.A, problem.d, problem.lower, problem.upper
    )


def slow_problem(n=3000, C=1e6, seed=0):
    """Overlapping classes and features of sizes 1 to 10⁴, for which SMO needs minutes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * 10.0 ** np.arange(5)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return formulations.CSVC(sign, np.full(n, C)).build(open_access(Linear(), X))


def slow_access(n, seconds, seed=0):
    """Access to a callable kernel that takes `seconds` for every row, one row at a time."""
    X = np.random.default_rng(seed).normal(size=(n, 2))

    def rbf(A, B):
        if len(A) == 1:
            time.sleep(seconds)
        return np.exp(-0.5 * np.square(A[:, None] - B[None]).sum(axis=2))

    return open_access(FunctionKernel(rbf), X, budget_bytes=0)
