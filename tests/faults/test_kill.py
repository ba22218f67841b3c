"""Processes that are killed while they write files: files are the old or the new ones, and nothing else remains."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import hinge

#: Kills of each test; `HINGE_KILLS` sets another number for long runs.
KILLS = int(os.environ.get("HINGE_KILLS", "2"))


class Killed:
    """A process that runs code in a loop until it is killed at a random time."""

    def __init__(self, code, *arguments):
        self.command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
        self.rng = np.random.default_rng(0)

    def __call__(self, seconds, how=signal.SIGKILL):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()  # the first line: everything is imported
        time.sleep(seconds * self.rng.random())
        process.send_signal(how)
        process.wait()
        process.stdout.close()


def test_save(tmp_path):
    """The file is complete, and no temporary file remains."""
    path = tmp_path / "model.hinge"
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
    models = [hinge.SVC(C=C, gamma=0.5).fit(X, y) for C in (1.0, 10.0)]
    hinge.save(models[0], path)
    os.chmod(path, 0o600)
    kill = Killed(
        """
        import pickle, sys, hinge
        with open(sys.argv[2], "rb") as file:
            X, y = pickle.load(file)
        models = [hinge.SVC(C=C, gamma=0.5).fit(X, y) for C in (1.0, 10.0)]
        print(flush=True)
        while True:
            for model in models[::-1]:
                hinge.save(model, sys.argv[1])
        """,
        path,
        tmp_path / "data",
    )
    (tmp_path / "data").write_bytes(pickle.dumps((X, y)))
    expected = [model.decision_function(X).tobytes() for model in models]
    left = 0
    for _ in range(KILLS):
        kill(0.05)
        assert hinge.load(path).decision_function(X).tobytes() in expected
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        left += len([name for name in os.listdir(tmp_path) if name.endswith(".tmp")])
    assert left <= 1 + KILLS // 50  # a kill between the last two system calls leaves one until the next call
    hinge.save(models[0], path)
    assert sorted(os.listdir(tmp_path)) == ["data", "model.hinge"]


def test_checkpoints(tmp_path):
    """At most `every` samples are lost, and the resumed model is the one of an uninterrupted stream."""
    path = tmp_path / "stream.hinge"
    kill = Killed(
        """
        import sys, numpy as np, hinge
        with hinge.io.Checkpoint(sys.argv[1], every=20) as checkpoint:
            model = checkpoint.resume(lambda: hinge.OnlineSVC(gamma=0.5, budget=50))
            rng = np.random.default_rng(0)
            X = rng.normal(size=(100000, 3))
            y = np.where(X[:, 0] > 0, 1, -1)
            print(flush=True)
            learned = open(sys.argv[2], "ab", buffering=0)
            for i in range(checkpoint.position, len(X)):
                model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
                checkpoint.step(model)
                learned.write(b"%d\\n" % i)
        """,
        path,
        tmp_path / "learned",
    )
    for _ in range(max(2, KILLS // 4)):
        kill(0.3)
    checkpoint = hinge.io.Checkpoint(path)
    model = checkpoint.resume(lambda: None)
    learned = [int(line) for line in (tmp_path / "learned").read_text().split()]
    assert max(learned) + 1 - checkpoint.position < 20
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100000, 3))[: checkpoint.position]
    y = np.where(X[:, 0] > 0, 1, -1)
    reference = hinge.OnlineSVC(gamma=0.5, budget=50).partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_array_equal(model.decision_function(X[:50]), reference.decision_function(X[:50]))
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_signals_during_save(tmp_path, how):
    path = tmp_path / "model.hinge"
    hinge.save(hinge.SVC(C=7.0), path)
    kill = Killed(
        """
        import sys, hinge
        print(flush=True)
        while True:
            hinge.save(hinge.SVC(C=8.0), sys.argv[1])
        """,
        path,
    )
    for _ in range(KILLS):
        kill(0.02, how)
        assert hinge.load(path).C in (7.0, 8.0)
    hinge.save(hinge.SVC(C=7.0), path)
    assert os.listdir(tmp_path) == ["model.hinge"]
