"""Fits with kernel rows in single precision have certificates that hold in double precision."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from hinge import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from hinge.formulations import CSVC
from hinge.kernels import RBF, open_access
from hinge.problems import optimality
from hinge.solvers import SMO, WorkingSet

N = 2500
SLACK = 1e-9  # relative difference of primal and dual values: below any gap, above rounding in double precision


def overlapping(n=N, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)


X, LABELS = overlapping()
VALUES = 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * LABELS
SPARSE = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))

CASES = {
    # with float32 rows, f would be wrong by 1e-4 and the dual value by several gaps
    "flat kernel": (SVC(C=100, gamma=0.001), X, LABELS),
    "large C": (SVC(C=1e4, gamma=0.1, max_iter=20_000), X, LABELS),
    "linear": (SVC(C=1, kernel="linear"), 3 * X, LABELS),
    "polynomial": (SVC(C=1, kernel="poly", degree=2, coef0=1.0), X, LABELS),
    "sparse": (SVC(C=10, gamma=0.3), SPARSE, LABELS),
    "float32 samples": (SVC(C=10, gamma=0.3), X.astype(np.float32), LABELS),
    "nu": (NuSVC(nu=0.4, gamma=0.3), X, LABELS),
    "regression": (SVR(C=50, gamma=0.1, epsilon=0.05), X, VALUES),
    "nu regression": (NuSVR(C=1, nu=0.3, gamma=0.1), X, VALUES),
    "one class": (OneClassSVM(nu=0.3, gamma=0.1), X, None),
    "smo": (SVC(C=100, gamma=0.001, solver=SMO()), X, LABELS),
}


def assert_certified(model, data, y):
    """`certificate_` agrees with `certify`."""
    fitted, recomputed = model.certificate_, model.certify(data, y)
    for name in ("primal", "dual"):
        allowed = fitted.rounding + recomputed.rounding + SLACK * abs(recomputed.primal)
        assert getattr(fitted, name) == pytest.approx(getattr(recomputed, name), rel=0, abs=allowed), name
    assert fitted.rounding <= 2e-2 * model.tol * abs(fitted.primal)
    assert fitted.best_primal <= fitted.primal
    assert fitted.best_dual >= fitted.dual
    assert fitted.best_primal >= recomputed.dual
    assert fitted.best_dual <= recomputed.primal


@pytest.mark.filterwarnings("ignore:.*(max_iter|gave up)")
@pytest.mark.parametrize("name", CASES)
def test_certificate_is_recomputed_in_double_precision(name):
    model, data, y = CASES[name]
    model.fit(data, y)
    assert_certified(model, data, y)


def test_certificate_of_several_classes_is_valid():
    digits, y = load_digits(return_X_y=True)
    digits, y = np.tile(digits, (4, 1)) + np.random.default_rng(0).normal(size=(4 * len(y), 64)), np.tile(y, 4)
    model = SVC(C=10, gamma=0.002, n_jobs=2).fit(digits, y)
    assert_certified(model, digits, y)


@pytest.mark.filterwarnings("ignore:.*max_time")
def test_certificate_at_the_time_limit_is_valid():
    model = SVC(C=1e4, gamma=0.01, max_time=0.05).fit(X, LABELS)
    if model.status_ is Status.TIME_LIMIT and np.isfinite(model.certificate_.primal):
        assert_certified(model, X, LABELS)


@pytest.mark.parametrize("stop", ["kkt", "gap"])
@pytest.mark.parametrize("solver", [SMO, WorkingSet])
def test_tolerance_holds_in_double_precision(solver, stop):
    problem = CSVC(LABELS.astype(float), np.full(N, 100.0)).build(open_access(RBF(0.001), X))
    solution = solver(tol=1e-3, stop=stop, precision="float32", polish=False).solve(problem)
    assert solution.status is Status.SOLVED
    certificate = optimality(problem, *solution.point)
    if stop == "kkt":
        assert certificate.kkt_violation <= (1e-3 if solver is WorkingSet else 2e-3)
    else:
        assert certificate.relative_gap <= 1e-3


def test_bounds_enclose_the_optimum():
    precise = SVC(C=100, gamma=0.001, tol=1e-7).fit(X, LABELS).certify(X, LABELS)
    default = SVC(C=100, gamma=0.001).fit(X, LABELS).certificate_
    assert default.best_dual <= precise.primal
    assert precise.dual <= default.best_primal


def test_bounds_of_an_interrupted_run_are_valid():
    """Without time to recompute f in double precision, no bound is known."""
    precise = SVC(C=8000, gamma=1e-3, tol=1e-5).fit(X, LABELS).certify(X, LABELS)
    for solver in ("auto", SMO(tol=1e-9, precision="float32")):
        model = SVC(C=8000, gamma=1e-3, solver=solver)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            model.fit(X, LABELS)
            time.sleep(5.0)  # the fit may end before the signal is sent
        timer.join()
        if model.status_ is Status.INTERRUPTED:
            assert model.certificate_.best_dual <= precise.primal
            assert model.certificate_.best_primal >= precise.dual


def test_accurate_rows_need_no_recomputation():
    """The check in double precision confirms the solution."""
    problem = CSVC(LABELS.astype(float), np.ones(N)).build(open_access(RBF(0.3), X))
    solution = WorkingSet(tol=1e-3, precision="float32", polish=False).solve(problem)
    assert solution.rounded
    assert solution.counters["recomputations"] == 0
