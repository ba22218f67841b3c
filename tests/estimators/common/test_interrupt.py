"""Ctrl-C at any line from the start of a solver to the end of `fit`: KeyboardInterrupt, and a certified model."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import LPSVC, SVC, SVR, LinearSVC, LowRankSVC, NuSVC, NuSVR, OneClassSVM, RankingSVM, Status
from hinge.estimators.common import report
from hinge.lowrank import Nystrom
from hinge.problems import Problem
from hinge.solvers import InteriorPoint, Lagrangian, LinearProgramming, LowRankInteriorPoint, auto

PACKAGE = str(Path(hinge.__file__).parent)

SOLVES = ("solve", "solve_batch", "solve_linear", "solve_crammer_singer")

#: Lines at which a signal is raised for each estimator; all of them would take minutes.
MAX_LINES = 60


class Signal:
    """Trace function that counts lines of hinge from the first call of a solver and raises SIGINT at one of them."""

    def __init__(self, at=-1):
        self.at, self.lines, self.armed, self.location = at, 0, False, None

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if frame.f_code.co_filename.startswith(PACKAGE + "/solvers") and frame.f_code.co_name in SOLVES:
            self.armed = True
        if event == "line" and self.armed:
            self.lines += 1
            if self.lines == self.at:
                self.location = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


@pytest.fixture(autouse=True)
def default_sigint_handler(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def data(classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(18, 2))
    return X, np.arange(18) % classes


ESTIMATORS = [
    SVC(C=1e3),
    SVC(C=1e3, solver="working_set"),
    SVC(C=1e3, solver="smo"),
    SVC(C=1e3, solver="chunking"),
    SVC(C=10.0, loss="squared_hinge"),
    NuSVC(nu=0.5),
    NuSVC(nu=0.4, class_weight={0: 2.0}),
    SVR(C=1e3, epsilon=0.01),
    NuSVR(C=1e3),
    OneClassSVM(nu=0.5),
    RankingSVM(C=10.0),
    LinearSVC(C=10.0),
    LinearSVC(C=10.0, multi_class="crammer_singer"),
    LowRankSVC(n_basis=6, basis="random"),
    SVC(C=1e3, solver="interior_point"),
    SVR(loss="huber", solver=InteriorPoint()),
    SVC(loss="logistic"),
    SVC(C=10.0, solver=LowRankInteriorPoint(approximation=Nystrom(rank=6), rounds=2)),
    SVC(C=10.0, loss="squared_hinge", solver=Lagrangian()),
]


SEVERAL_CLASSES = [0, 1, 4, 5, 6, 11, 13]  # also tested with three classes


@pytest.mark.parametrize(
    ("estimator", "classes"), [(each, 2) for each in ESTIMATORS] + [(ESTIMATORS[k], 3) for k in SEVERAL_CLASSES],
    ids=lambda each: each if isinstance(each, int) else f"{type(each).__name__}-{ESTIMATORS.index(each)}",
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_signal_at_any_line_leaves_a_certified_model(estimator, classes, monkeypatch):
    monkeypatch.setattr(auto, "step_budget", lambda n: 3)  # so that Auto changes its solver
    X, y = data(classes)

    def fit(watch):
        model = type(estimator)(**estimator.get_params())
        with watch:
            model.fit(X, y)
        return model

    fit(Signal())  # for lazy imports
    counted = Signal()
    fit(counted)
    assert counted.lines > 20
    step = max(1, counted.lines // MAX_LINES)
    for at in range(1, counted.lines, step):
        model = type(estimator)(**estimator.get_params())
        watch = Signal(at)
        try:
            with watch:
                model.fit(X, y)
        except KeyboardInterrupt:
            pass
        else:
            pytest.fail(f"no interrupt from {watch.location}")
        assert hasattr(model, "status_"), watch.location
        assert model.status_ in (Status.SOLVED, Status.INTERRUPTED), watch.location
        assert np.isfinite(model.predict(X)).all(), watch.location
        assert model.certify(X, y).infeasibility <= 1e-9, watch.location


@pytest.mark.parametrize("solver", ["smo", "chunking", "gradient_descent", "lagrangian", "adatron"])
def test_no_gradient_is_computed_after_an_interrupt(solver, monkeypatch):
    """A product with the kernel matrix of many samples takes longer than Ctrl-C may take."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 10))
    y = X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0
    sent, computed = [], []
    bounded_gradient = Problem.bounded_gradient

    def recorded(problem, alpha, accurate=False, **options):
        computed.append(bool(sent))
        return bounded_gradient(problem, alpha, accurate, **options)

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Problem, "bounded_gradient", recorded)
    loss = "squared_hinge" if solver == "lagrangian" else "hinge"
    model = SVC(C=1e5, gamma=0.1, tol=1e-12, loss=loss, solver=solver)
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ is Status.INTERRUPTED
    assert not any(computed)


def test_interrupt_of_the_accurate_gradient_keeps_the_certificate(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    bounded_gradient = Problem.bounded_gradient

    def interrupted(problem, alpha, accurate=False, **options):
        if accurate:
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the signal was not raised at once")
        return bounded_gradient(problem, alpha, accurate, **options)

    monkeypatch.setattr(report, "ROUNDING_SHARE", 0.0)
    monkeypatch.setattr(Problem, "bounded_gradient", interrupted)
    model = SVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.relative_gap <= 1e-2


@pytest.mark.parametrize("kind", [SVC, SVR, NuSVC, OneClassSVM], ids=lambda kind: kind.__name__)
def test_signal_in_a_kernel_function_is_raised_at_once(kind):
    """Before the first solver there is no model to complete."""
    finished = []

    def kernel(A, B):
        signal.raise_signal(signal.SIGINT)
        finished.append(True)
        return A @ B.T

    model = kind(kernel=kernel)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data())
    assert not finished
    assert not hasattr(model, "model_")


def test_signal_before_a_linear_program_is_solved_is_raised_at_once(monkeypatch):
    finished = []
    arguments = LinearProgramming._arguments

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        finished.append(True)
        return arguments(*args)

    monkeypatch.setattr(LinearProgramming, "_arguments", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LPSVC().fit(*data())
    assert not finished
