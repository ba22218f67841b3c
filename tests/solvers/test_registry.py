"""Solvers selected by name take the options of an estimator; objects keep their own."""

import inspect
import time
from dataclasses import fields, replace

import numpy as np
import pytest

import hinge.solvers
from hinge import SVC, Status
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import RBF, Linear, open_access
from hinge.losses import Logistic
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


def unaccepted(declared):
    """Problems that a solver with these capabilities does not accept, by the reason."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    sign = np.where(X[:, 0] > 0, 1.0, -1.0)
    rbf, linear = open_access(RBF(1.0), X), open_access(Linear(), X)
    plain = CSVC(sign, np.ones(20))
    if "convex" not in declared.terms:
        yield "convex", ConvexLoss(sign, np.ones(20), Logistic()).build(linear)
    if "none" not in declared.terms:
        yield "none", plain.build(rbf)
    if declared.kernel == "linear":
        yield "kernel", plain.build(rbf)
    if declared.equality_rows == "groups":
        problem = plain.build(linear)
        yield "rows", replace(problem, A=np.vstack([sign, np.ones(20)]), d=np.array([0.0, 1.0]))


@every_name
def test_problems_outside_of_the_declared_capabilities_are_rejected_with_a_remedy(name):
    for reason, problem in unaccepted(SOLVERS[name].capabilities):
        with pytest.raises(ValueError, match=r"use|scale") as refusal:
            choose(name, max_time=1.0).solve(problem)
        assert len(str(refusal.value)) > 40, reason


def test_objects_are_not_changed():
    solver = SMO(tol=1e-5, max_iter=7)
    assert choose(solver, threads=4, **OPTIONS) is solver


@pytest.mark.parametrize("solver", [SMO, 3, None, object()], ids=["class", "integer", "None", "object"])
def test_other_objects_are_rejected(solver):
    with pytest.raises(TypeError, match=r"solver=.*must be one of 'adatron'"):
        choose(solver)


def test_unknown_names_are_rejected():
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
