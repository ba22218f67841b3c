"""What every solver checks of its options before any work, and what it has where it was stopped before any."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from hinge.control import heard
from hinge.problems import History, Problem, Solution, Status
from hinge.solvers.feasibility import nearest_feasible


def check_limits(solver: Any) -> None:
    """A ValueError that names the option unless `tol`, `max_iter` and `max_time` of `solver` mean something."""
    tol, max_iter, max_time = solver.tol, solver.max_iter, solver.max_time
    if not isinstance(tol, Real) or not 0 < float(tol) < np.inf:
        raise ValueError(f"tol={tol!r} must be a positive number")
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number, -1 for no limit")
    if max_time is not None and not (isinstance(max_time, Real) and float(max_time) >= 0):
        raise ValueError(f"max_time={max_time!r} must be None or a number of seconds")


def cut_off(problem: Problem) -> Solution:
    """A feasible point of which nothing is known: a signal came before the first step."""
    story = History.from_columns({field.name: np.empty(0) for field in fields(History)})
    return Solution(
        alpha=nearest_feasible(problem, None),
        mu=np.zeros(len(problem.d)),
        gradient=np.array(problem.p, dtype=np.float64),
        status=Status.INTERRUPTED,
        iterations=0,
        history=story,
        exact=False,
        error=heard(),
    )
