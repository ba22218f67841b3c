"""Full disks, limited memory and forks."""

import errno
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import hinge

X = np.random.default_rng(0).normal(size=(2000, 20))
Y = np.where(X[:, 0] > 0, 1, -1)


def test_full_disk(tmp_path):
    """A limit on the size of files has the effect of a full disk: the old file is kept, and the error names it."""
    path = tmp_path / "model.hinge"
    hinge.save(hinge.SVC(C=3.0), path)
    code = f"""
        import resource, signal, numpy as np, hinge
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        X = np.random.default_rng(0).normal(size=(2000, 20))
        model = hinge.SVC().fit(X, np.where(X[:, 0] > 0, 1, -1))
        for size in (0, 100, 5000, 20000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            try:
                hinge.save(model, {str(path)!r})
            except OSError as error:
                print(error.errno, error.filename == {str(path)!r})
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"{errno.EFBIG} True"] * 4
    assert hinge.load(path).C == 3.0
    assert os.listdir(tmp_path) == ["model.hinge"]


@pytest.mark.parametrize("megabytes", [5, 50])
def test_limited_memory(megabytes):
    """A fit without memory for the kernel matrix succeeds with a smaller cache, or raises a MemoryError."""
    code = f"""
        import resource, numpy as np, hinge
        X = np.random.default_rng(0).normal(size=(3000, 20))
        y = np.where(X[:, 0] > 0, 1, -1)
        hinge.SVC(max_time=5).fit(X[:100], y[:100]).predict(X[:10])
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + ({megabytes} << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for model in (hinge.SVC(cache_size=1000.0, max_time=5), hinge.LinearSVC(max_time=5)):
            try:
                model.fit(X, y)
            except MemoryError:
                pass
        print("end")
    """
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True,
                         timeout=300)  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "end\n"


def _fit_in_child(queue):
    queue.put(hinge.SVC(gamma=0.5).fit(X[:200], Y[:200]).score(X, Y))


def test_fork_during_a_fit():
    """A process that is forked while another thread trains can train itself."""
    expected = hinge.SVC(gamma=0.5).fit(X[:200], Y[:200]).score(X, Y)
    stop = threading.Event()

    def train():
        while not stop.is_set():
            hinge.SVC(gamma=0.5, n_jobs=2).fit(X, Y)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(3):
            queue = context.Queue()
            child = context.Process(target=_fit_in_child, args=(queue,))
            child.start()
            assert queue.get(timeout=60) == expected
            child.join(60)
            assert child.exitcode == 0
    finally:
        stop.set()
        thread.join()
