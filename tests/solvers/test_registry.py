"""Solvers selected by name take the options of an estimator; objects keep their own."""

import inspect
import time
from dataclasses import fields

import numpy as np
import pytest

import hinge.solvers
from hinge import SVC, Status
from hinge.solvers import SMO, Solver, choose
from hinge.solvers.base import SOLVERS

OPTIONS = {"tol": 1e-13, "max_iter": 12345, "max_time": 12.5, "cache_size": 77.0, "shrinking": False}

every_name = pytest.mark.parametrize("name", SOLVERS)


@every_name
def test_every_option_that_a_solver_has_reaches_it(name):
    solver = choose(name, threads=3, **OPTIONS)
    for option, value in {**OPTIONS, "threads": 3}.items():
        if option in {field.name for field in fields(solver)}:
            assert getattr(solver, option) == value


@every_name
def test_the_default_tolerance_of_estimators_does_not_reduce_the_accuracy(name):
    kind, tol = SOLVERS[name], SVC().tol
    assert choose(name, tol=tol).tol == (tol if kind.capabilities.tol == "kkt_violation" else kind.tol)
    assert choose(name, tol=tol).tol <= tol


@pytest.mark.parametrize("name", sorted(hinge.solvers.__all__))
def test_every_solver_declares_its_capabilities(name):
    kind = getattr(hinge.solvers, name)
    if not inspect.isclass(kind) or not issubclass(kind, Solver) or inspect.isabstract(kind):
        pytest.skip("not a solver of problem (1)")
    declared = kind.capabilities
    assert declared.tol in ("kkt_violation", "relative_gap")
    assert set(declared.options) <= {field.name for field in fields(kind)}
    assert (declared.factor != "unused") == (kind.approximate is not Solver.approximate)


def test_objects_are_not_changed():
    solver = SMO(tol=1e-5, max_iter=7)
    assert choose(solver, threads=4, **OPTIONS) is solver


@pytest.mark.parametrize("solver", [SMO, 3, None, object()], ids=["class", "integer", "None", "object"])
def test_other_objects_are_refused(solver):
    with pytest.raises(TypeError, match=r"solver=.*must be one of 'adatron'"):
        choose(solver)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="solver='fast' is unknown; choose one of 'adatron'"):
        choose("fast")


@pytest.mark.parametrize(
    "solver", ["smo", "chunking", "gradient_descent", SMO(tol=1e-15), hinge.solvers.InteriorPoint()], ids=repr
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_time_limit_of_an_estimator_reaches_every_solver(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = np.where(rng.random(1500) < 0.5, 1, -1)
    began = time.monotonic()
    model = SVC(C=1e6, gamma=100.0, tol=1e-14, solver=solver, max_time=0.05).fit(X, y)
    assert time.monotonic() - began < 10.0
    assert model.status_ in (Status.TIME_LIMIT, Status.SOLVED)
