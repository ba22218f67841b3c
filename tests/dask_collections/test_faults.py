"""Loss of workers and of the scheduler."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed", reason="hinge.dask needs the packages dask and distributed")

import dask.array as da
from distributed import Client, LocalCluster

from hinge import dask as hd
from hinge.problems import Status

LOSSES = ("squared_hinge", "hinge")


def collections(n=4000, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    return da.from_array(X, chunks=(n // 8, d)), da.from_array(y, chunks=n // 8)


def fit(loss, X, y):
    return hd.LinearSVC(loss=loss, tol=1e-10).fit(X, y)


def kill_a_worker(client, delay):
    """SIGKILL a worker process that is connected to the scheduler, after `delay` seconds."""
    time.sleep(delay)
    pids = list(client.run(os.getpid).values())
    os.kill(pids[int(1000 * delay) % len(pids)], signal.SIGKILL)


def fit_during_kill(client, loss, X, y, delay):
    killer = threading.Thread(target=kill_a_worker, args=(client, delay))
    killer.start()
    model = fit(loss, X, y)
    killer.join()
    return model


def wait_for_workers(client, count):
    client.wait_for_workers(count, timeout=60)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_of_a_worker_does_not_change_the_model(cluster, client, loss):
    X, y = collections()
    reference = fit(loss, X, y)
    wait_for_workers(client, 2)
    model = fit_during_kill(client, loss, X, y, 0.1)
    assert model.status_ is Status.SOLVED
    assert_array_equal(model.coef_, reference.coef_)
    assert_array_equal(model.intercept_, reference.intercept_)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_fifty_fits_with_workers_killed_at_random_times(loss):
    X, y = collections()
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=3, **options) as cluster, Client(cluster) as client:
        reference = fit(loss, X, y)
        for delay in np.random.default_rng(0).uniform(0.0, 1.0, 50):
            wait_for_workers(client, 3)
            model = fit_during_kill(client, loss, X, y, float(delay))
            assert model.status_ is Status.SOLVED
            assert_array_equal(model.coef_, reference.coef_)
            assert_array_equal(model.intercept_, reference.intercept_)


SCHEDULER_LOSS = """
import dask.array as da
from distributed import Client
from hinge import dask as hd
from hinge.dask.linear.newton import Run

record = Run.record

def record_and_print(run, *arguments):
    record(run, *arguments)
    print("step", flush=True)

Run.record = record_and_print
if __name__ == "__main__":
    client = Client(ADDRESS)
    X = da.random.default_rng(0).normal(size=(2000, 300), chunks=(250, 300))
    y = (X[:, 0] > 0).astype(int)
    model = hd.LinearSVC(loss="hinge", C=1e6, tol=1e-15, max_iter=-1, solver="newton_cg", max_time=60)
    try:
        model.fit(X, y)
    except hd.ClusterError as error:
        print("error", error, model.coef_.shape, model.status_, flush=True)
"""


def test_loss_of_the_scheduler_keeps_the_best_model(tmp_path):
    """The scheduler runs in its own process, which is killed during a fit."""
    address_file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(address_file)], stderr=subprocess.DEVNULL)
    worker = None
    try:
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address_file),
             "--no-dashboard", "--nthreads", "1", "--no-nanny", "--death-timeout", "30"],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        script = tmp_path / "train.py"
        script.write_text(SCHEDULER_LOSS.replace("Client(ADDRESS)", f"Client(scheduler_file={str(address_file)!r})"))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        training = subprocess.Popen([sys.executable, str(script)], text=True, **pipes)
        for _ in range(3):
            assert training.stdout.readline().strip() == "step"
        scheduler.kill()
        output, errors = training.communicate(timeout=90)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
    assert "connection to the Dask scheduler was lost" in output, errors[-2000:]
    assert "(1, 300) INTERRUPTED" in output


LEFT_BEHIND = """
import os
from distributed import Client, LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(*Client(cluster).run(os.getpid).values(), flush=True)
    os._exit(1)
"""


def test_workers_end_with_the_process_that_started_them(tmp_path):
    """A test process that is killed by its time limit leaves no workers behind."""
    script = tmp_path / "cluster.py"
    script.write_text(LEFT_BEHIND)
    output = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60).stdout
    pids = [int(pid) for pid in output.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except FileNotFoundError:
        return False
