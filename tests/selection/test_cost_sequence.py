"""Solutions of cost sequences are certified for every cost, by code that is independent of the solver."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hinge.control import RunControl
from hinge.formulations import CSVC, SVR
from hinge.kernels import RBF, open_access
from hinge.problems import certify, optimal_offset
from hinge.selection.cost_sequence import CostSequences, Limits
from hinge.selection.folds import PairFold, RegressionFold

COSTS = np.array([1000.0, 100.0, 10.0, 1.0, 0.1, 0.01])


def folds():
    X, y = load_iris(return_X_y=True)
    X = np.concatenate([X, X[:20]])  # duplicates, some of them with different labels
    y = np.concatenate([y, 2 - y[:20]])
    rows = np.arange(len(y))
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    members = [rows[y == c] for c in range(3)]
    yield X, PairFold(rows[::5], members, weight, lambda sign, cost, C: CSVC(sign, C * cost))
    target = X[:, 3] + 0.1 * y
    yield X, RegressionFold(rows[::5], rows, target, weight, lambda y, cost, C: SVR(y, C * cost, 0.05))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("case", [0, 1], ids=["pairs", "regression"])
def test_the_solution_of_every_cost_is_certified(case, tol, threads):
    X, fold = list(folds())[case]
    access = open_access(RBF(0.3), X)
    sequences = CostSequences([fold], COSTS, Limits(tol, -1, 1 << 30, threads))
    sequences.solve(access, RunControl(), tol < 1e-4)
    assert np.all(sequences.status == 0)
    for p, part in enumerate(sequences.parts):
        solutions = sequences.solutions(p)
        for c, cost in enumerate(COSTS):
            formulation = part.formulation(cost)
            problem = formulation.build(access.subset(part.samples))
            beta = solutions.coefficients[c]
            n = len(beta)
            alpha = np.abs(beta) if problem.size == n else np.concatenate([np.maximum(beta, 0), np.maximum(-beta, 0)])
            certificate = certify(problem, alpha, solutions.offsets[c : c + 1])
            assert certificate.gap <= tol * np.sum(problem.upper) + 1e-9
            best = certify(problem, alpha, optimal_offset(problem, alpha, problem.gradient(alpha)))
            rounding = 1e-5 if tol >= 1e-4 else 1e-10  # of f, from rows in single or double precision
            assert certificate.gap <= best.gap + rounding * np.sum(problem.upper)


def test_the_iteration_limit_is_reported():
    X, fold = next(folds())
    sequences = CostSequences([fold], COSTS, Limits(1e-3, 1, 1 << 30, 1))
    sequences.solve(open_access(RBF(0.3), X), RunControl(), False)
    assert np.any(sequences.status == 1)
    assert np.all(sequences.iterations <= 1)


def test_an_expired_deadline_leaves_problems_unfinished():
    X, fold = next(folds())
    sequences = CostSequences([fold], COSTS, Limits(1e-3, -1, 1 << 30, 1))
    sequences.solve(open_access(RBF(0.3), X), RunControl(0.0), False)
    assert not sequences.finished([0, 1, 2]).any()


def test_the_matrix_is_filled_from_its_upper_triangle():
    X = np.random.default_rng(0).normal(size=(1100, 3))
    gram = open_access(RBF(0.3), X).gram
    for dtype, precision in ((np.float32, 1e-6), (np.float64, 1e-13)):
        K = np.full((1100, 1100), np.nan, dtype)
        gram.fill(K, 2)
        assert np.allclose(K, RBF(0.3)(X), atol=precision, rtol=0)
        assert np.array_equal(K[:512, 512:], K[512:, :512].T)
