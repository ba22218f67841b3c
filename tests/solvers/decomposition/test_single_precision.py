"""Certificates of fits on kernel rows in single precision are those of their own double-precision answers."""

import contextlib
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from hinge import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from hinge.formulations import CSVC
from hinge.kernels import RBF, open_access
from hinge.problems import certify
from hinge.solvers import SMO, WorkingSet

N = 2500
SLACK = 1e-9  # of primal and dual, relative: far below any gap, far above rounding in double precision


def overlapping(n=N, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)


X, LABELS = overlapping()
VALUES = 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * LABELS
SPARSE = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))

MACHINES = {
    # f is off by 1e-4 and the dual value by several gaps if rows are believed
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


def assert_own(model, data, y):
    """`certificate_` is what other code finds for this model."""
    said, found = model.certificate_, model.certify(data, y)
    for name in ("primal", "dual"):
        assert getattr(said, name) == pytest.approx(getattr(found, name), rel=SLACK), name
    assert said.best_primal <= said.primal
    assert said.best_dual >= said.dual
    assert said.best_primal >= found.dual - SLACK * abs(found.dual)
    assert said.best_dual <= found.primal + SLACK * abs(found.primal)


@pytest.mark.filterwarnings("ignore:.*(max_iter|gave up)")
@pytest.mark.parametrize("name", MACHINES)
def test_certificates_are_of_the_model_itself(name):
    model, data, y = MACHINES[name]
    model.fit(data, y)
    assert_own(model, data, y)


def test_of_many_classes():
    digits, y = load_digits(return_X_y=True)
    digits, y = np.tile(digits, (4, 1)) + np.random.default_rng(0).normal(size=(4 * len(y), 64)), np.tile(y, 4)
    model = SVC(C=10, gamma=0.002, n_jobs=2).fit(digits, y)
    assert_own(model, digits, y)


@pytest.mark.filterwarnings("ignore:.*max_time")
def test_of_a_run_that_was_cut_off():
    model = SVC(C=1e4, gamma=0.01, max_time=0.05).fit(X, LABELS)
    if model.status_ is Status.TIME_LIMIT and np.isfinite(model.certificate_.primal):
        assert_own(model, X, LABELS)


@pytest.mark.parametrize("stop", ["kkt", "gap"])
@pytest.mark.parametrize("kind", [SMO, WorkingSet])
def test_the_tolerance_holds_for_the_exact_function(kind, stop):
    task = CSVC(LABELS.astype(float), np.full(N, 100.0)).build(open_access(RBF(0.001), X))
    found = kind(tol=1e-3, stop=stop, precision="float32", polish=False).solve(task)
    assert found.status is Status.SOLVED
    certificate = certify(task, *found.point)
    if stop == "kkt":
        assert certificate.kkt_violation <= (1e-3 if kind is WorkingSet else 2e-3)
    else:
        assert certificate.relative_gap <= 1e-3


def test_the_optimum_lies_within():
    sharp = SVC(C=100, gamma=0.001, tol=1e-7).fit(X, LABELS).certify(X, LABELS)
    quick = SVC(C=100, gamma=0.001).fit(X, LABELS).certificate_
    assert quick.best_dual <= sharp.primal
    assert sharp.dual <= quick.best_primal


def test_an_interrupted_run_claims_nothing(monkeypatch):
    """f of rows in single precision, and no time for another: neither bound is known."""
    sharp = SVC(C=8000, gamma=1e-3, tol=1e-5).fit(X, LABELS).certify(X, LABELS)
    for solver in ("auto", SMO(tol=1e-9, precision="float32")):
        model = SVC(C=8000, gamma=1e-3, solver=solver)
        began = time.monotonic()
        stop = lambda snapshot, began=began: time.monotonic() < began + 0.2  # noqa: E731
        monkeypatch.setattr(SVC, "_progress", lambda self, stop=stop: contextlib.nullcontext(stop))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, LABELS)
        if model.status_ is Status.INTERRUPTED:
            assert model.certificate_.best_dual <= sharp.primal
            assert model.certificate_.best_primal >= sharp.dual


def test_where_rows_are_good_enough_nothing_is_done_twice():
    """The look confirms them: no recomputation, no second run in double precision."""
    task = CSVC(LABELS.astype(float), np.ones(N)).build(open_access(RBF(0.3), X))
    found = WorkingSet(tol=1e-3, precision="float32", polish=False).solve(task)
    assert found.rounded
    assert found.counters["recomputations"] == 0
