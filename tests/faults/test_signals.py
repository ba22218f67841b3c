"""SIGINT and SIGTERM at random times in every public operation: an estimator or a file is the old or the new one.

The operations are enumerated in `faults.operations`. SIGTERM has a handler that ends the process with SystemExit, as
servers install it. Processes that a signal kills are in `test_kill.py`.
"""

import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

import hinge
from faults.operations import X, Y, change, changes, fitted, public_functions, results

#: Signals of each test; `HINGE_SIGNALS` sets another number for long runs.
SIGNALS = int(os.environ.get("HINGE_SIGNALS", "1"))

SIGNAL = (signal.SIGINT, signal.SIGTERM)
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def terminating():
    """A handler of SIGTERM that raises SystemExit."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    yield
    signal.signal(signal.SIGTERM, before)


def interrupted(call, seconds, number):
    """Run `call`, send a signal after some seconds, and return whether it ended the call."""
    start = threading.Event()

    def send():
        start.wait()
        time.sleep(seconds)
        signal.pthread_kill(threading.main_thread().ident, number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        start.set()
        call()
        thread.join()
        time.sleep(0.001)  # a signal that arrives after the call is raised here
        return False
    except (KeyboardInterrupt, SystemExit):
        return True
    finally:
        thread.join()


def answers(model):
    """Predictions of an estimator as bytes."""
    return pickle.dumps(model.predict(X))


@pytest.mark.parametrize("number", SIGNAL, ids=lambda number: number.name)
@pytest.mark.parametrize(("name", "method"), changes(), ids=lambda value: value)
@pytest.mark.filterwarnings("ignore")
def test_changes_of_estimators(name, method, number):
    """The estimator predicts as before or as after the change; an interrupted fit may keep its best model."""
    model = fitted(name)
    old = answers(model)
    start = time.monotonic()
    change(model, name, method)
    duration = time.monotonic() - start
    new = answers(model)
    for _ in range(SIGNALS):
        model = fitted(name)
        stopped = interrupted(lambda model=model: change(model, name, method), 1.2 * duration * rng.random(), number)
        now = answers(model)
        partial = getattr(model, "status_", hinge.Status.SOLVED) is hinge.Status.INTERRUPTED
        # an online learner may have learned some of the samples; it continues from there
        assert now in (old, new) or (stopped and (partial or name.startswith("Online")))
        change(fitted(name), name, method)


def test_every_public_function_is_interrupted(tmp_path):
    assert public_functions() <= set(results(tmp_path))


@pytest.mark.parametrize("number", SIGNAL, ids=lambda number: number.name)
@pytest.mark.parametrize("name", [*sorted(public_functions()), "load_libsvm", "map_libsvm", "validation_error"])
@pytest.mark.filterwarnings("ignore")
def test_results(name, number, tmp_path):
    """A function that was interrupted can be called again."""
    call = results(tmp_path)[name]
    start = time.monotonic()
    call()
    duration = time.monotonic() - start
    for _ in range(SIGNALS):
        interrupted(call, 1.2 * duration * rng.random(), number)
    call()


@pytest.mark.parametrize("number", SIGNAL, ids=lambda number: number.name)
def test_save(tmp_path, number):
    model = hinge.SVC().fit(X, Y)
    hinge.save(hinge.SVC(C=3.0), tmp_path / "model.hinge")
    for _ in range(3 * SIGNALS):
        interrupted(lambda: hinge.save(model, tmp_path / "model.hinge"), 0.004 * rng.random(), number)
        assert hinge.load(tmp_path / "model.hinge").C in (1.0, 3.0)
        assert os.listdir(tmp_path) == ["model.hinge"]


@pytest.mark.parametrize("number", SIGNAL, ids=lambda number: number.name)
def test_checkpoints(tmp_path, number):
    """The checkpoint that is resumed was complete."""
    path = tmp_path / "stream.hinge"
    for _ in range(3 * SIGNALS):

        def learn():
            with hinge.io.Checkpoint(path, every=10) as checkpoint:
                model = checkpoint.resume(lambda: hinge.OnlineSVC(gamma=0.5))
                for i in range(checkpoint.position, checkpoint.position + 40):
                    model.partial_fit(X[i % 80 : i % 80 + 1], Y[i % 80 : i % 80 + 1], classes=[-1, 1])
                    checkpoint.step(model)

        interrupted(learn, 0.05 * rng.random(), number)
        checkpoint = hinge.io.Checkpoint(path)
        model = checkpoint.resume(lambda: hinge.OnlineSVC(gamma=0.5))
        if checkpoint.position:
            rows = np.arange(checkpoint.position) % 80
            reference = hinge.OnlineSVC(gamma=0.5).partial_fit(X[rows], Y[rows], classes=[-1, 1])
            np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))


def test_a_sample_that_was_learned_but_not_counted(tmp_path):
    """A signal between the two steps: the file of the block after it had a model with one sample more."""
    path = tmp_path / "stream.hinge"
    model = hinge.OnlineSVC(gamma=0.5)
    checkpoint = hinge.io.Checkpoint(path, every=10)
    with pytest.raises(KeyboardInterrupt), checkpoint:
        for i in range(15):
            model.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
            if i == 14:
                raise KeyboardInterrupt
            checkpoint.step(model)
    resumed = hinge.io.Checkpoint(path)
    assert resumed.resume(lambda: None).t_ == resumed.position == 10
