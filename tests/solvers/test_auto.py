"""Auto: which of its two methods has the last word."""

from dataclasses import replace

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC
from hinge.kernels import Linear, open_access
from hinge.solvers import SMO, Auto, InteriorPoint, WorkingSet

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
