"""Auto: which of its two methods has the last word."""

from dataclasses import replace

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import Quadratic, certify
from hinge.solvers import SMO, Auto, InteriorPoint, WorkingSet, decide
from hinge.solvers.auto import factored_patience, low_rank

rng = np.random.default_rng(0)
X = 100 * rng.normal(size=(18, 3))
y = np.where(X[:, 0] + 60 * rng.normal(size=18) > 0, 1.0, -1.0)


def creeping():
    """Unscaled data: SMO alone does not get there."""
    return CSVC(y, np.full(len(y), 1e4)).build(open_access(Linear(), X))


def test_goes_on_where_smo_creeps():
    problem = creeping()
    assert SMO(tol=1e-6, max_iter=30_000).solve(problem).status is Status.MAX_ITER
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.SOLVED
    assert len(found.history) > 0
    assert found.iterations > 20_000


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_an_interior_point_cut_short_does_not_replace_smo(monkeypatch, status):
    problem = creeping()
    patience = 20_000 + len(y) ** 2 // 4
    by_smo = WorkingSet(tol=1e-6, max_iter=patience).solve(problem)

    def cut_short(self, problem, start=None, monitor=None):
        return replace(by_smo, alpha=np.zeros_like(by_smo.alpha), status=status)

    monkeypatch.setattr(InteriorPoint, "solve", cut_short)
    found = Auto(tol=1e-6, max_time=60.0).solve(problem)
    assert found.status is status
    np.testing.assert_array_equal(found.alpha, by_smo.alpha)


def test_a_small_gap_far_from_tol_is_not_called_solved(monkeypatch):
    """An interior point that could be neither polished nor carried to the bounds."""
    problem = creeping()
    rough = replace(WorkingSet(tol=1e-6, max_iter=100).solve(problem), status=Status.SOLVED)
    monkeypatch.setattr(InteriorPoint, "solve", lambda self, problem, start=None, monitor=None: rough)
    monkeypatch.setattr(Auto, "_patience", lambda self, problem: 10)
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.NUMERICAL
    np.testing.assert_array_equal(found.alpha, rough.alpha)


def flat(m=2500, C=1e3, seed=3):
    """Many samples of few features with a large C: working sets creep, and the matrix has rank 3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)) * [1.0, 10.0, 0.1]
    y = np.where(X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=m) > 0, 1.0, -1.0)
    return CSVC(y, np.full(m, C)).build(open_access(Linear(), X))


def test_a_small_rank_takes_over_where_working_sets_creep():
    problem = flat()
    steps = factored_patience(problem)
    assert low_rank(problem) == 3
    assert WorkingSet(tol=1e-6, max_iter=steps).solve(problem).status is Status.MAX_ITER
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.SOLVED
    assert steps <= found.iterations <= 1.1 * steps  # working sets may finish what interior point has found
    certificate = certify(problem, *found.point)
    assert certificate.kkt_violation <= 1e-6
    assert certificate.relative_gap <= 1e-9
    assert any("rank 3" in reason for reason in decide(Auto(tol=1e-6), [problem]).reasons)


def test_only_linear_kernels_of_few_features_have_a_known_rank():
    problem = flat(m=50)
    assert low_rank(problem) == 3
    rbf = replace(problem, Q=Quadratic(open_access(RBF(1.0), rng.normal(size=(50, 3))), problem.Q.sign))
    wide = replace(problem, Q=Quadratic(open_access(Linear(), rng.normal(size=(50, 40))), problem.Q.sign))
    open_box = replace(problem, upper=np.full(50, np.inf))
    assert low_rank(rbf) is None
    assert low_rank(wide) is None
    assert low_rank(open_box) is None
