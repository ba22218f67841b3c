"""SIGINT at random times: an estimator is the old or the new one."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import hinge

#: Signals of each test; `HINGE_SIGNALS` sets another number for long runs.
SIGNALS = int(os.environ.get("HINGE_SIGNALS", "3"))

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)


def interrupted(call, seconds):
    """Run `call`, send SIGINT after some seconds, and return whether it arrived before the end."""
    start = threading.Event()

    def send():
        start.wait()
        time.sleep(seconds)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        start.set()
        call()
        thread.join()
        time.sleep(0.001)  # a signal that arrives after the call is raised here
        return False
    except KeyboardInterrupt:
        return True
    finally:
        thread.join()


FITS = {
    "SVC": lambda: hinge.SVC(C=10.0),
    "SVR": lambda: hinge.SVR(C=10.0),
    "NuSVC": lambda: hinge.NuSVC(nu=0.3),
    "OneClassSVM": lambda: hinge.OneClassSVM(),
    "LinearSVC": lambda: hinge.LinearSVC(C=10.0),
    "LowRankSVC": lambda: hinge.LowRankSVC(n_basis=50),
    "IncrementalSVC": lambda: hinge.IncrementalSVC(),
    "OnlineSVC": lambda: hinge.OnlineSVC(),
}


@pytest.mark.parametrize("name", FITS)
def test_fit_and_update(name):
    """A second fit, or an update, leaves a model that predicts; without a new model it is the old one."""
    first, second = (X[:150], Y[:150]), (X[150:], Y[150:])

    def change(model):
        return model.partial_fit(*second) if hasattr(model, "partial_fit") else model.fit(X, Y)

    model = FITS[name]().fit(*first)
    old = pickle.dumps(model.predict(X))
    start = time.monotonic()
    new = pickle.dumps(change(model).predict(X))
    duration = time.monotonic() - start
    for _ in range(SIGNALS):
        model = FITS[name]().fit(*first)
        stopped = interrupted(lambda model=model: change(model), 1.2 * duration * rng.random())
        now = pickle.dumps(model.predict(X))
        partial = getattr(model, "status_", hinge.Status.SOLVED) is hinge.Status.INTERRUPTED
        assert now in (old, new) or (stopped and partial)  # an interrupted fit may keep its best model, with bounds


def test_save(tmp_path):
    model = hinge.SVC().fit(X, Y)
    hinge.save(hinge.SVC(C=3.0), tmp_path / "model.hinge")
    for _ in range(3 * SIGNALS):
        interrupted(lambda: hinge.save(model, tmp_path / "model.hinge"), 0.004 * rng.random())
        assert hinge.load(tmp_path / "model.hinge").C in (1.0, 3.0)
        assert os.listdir(tmp_path) == ["model.hinge"]
