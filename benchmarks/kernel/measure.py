"""One measurement: fit and predict of one library on one problem, in a process of its own.

The parent writes the scaled data to a folder once (`write`) and starts this file as a script for every measurement
(`measure`); the child loads the data, imports one library, warms it up on a tiny problem of the same kind, and then
times. It fits as often as it is told, and until a second has passed; the median counts. The first fit is told apart: it
pays for memory that the process did not have before, on a virtual machine perhaps several milliseconds a megabyte.
Peak memory is that of the first fit, above what was resident before it (interpreter, library, data).
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

LIBRARIES = dict(hinge="hinge", sklearn="sklearn.svm", sklearnex="sklearnex.svm")
#: Rows that are predicted: the first ones.
PREDICTED = 5_000
#: A short fit is repeated until so many seconds or so many times have passed.
ENOUGH_SECONDS, ENOUGH_TIMES = 1.0, 15


def named(libraries: str) -> list[str]:
    """The libraries of a comma-separated list."""
    wanted = [name.strip() for name in libraries.split(",")]
    unknown = [name for name in wanted if name not in LIBRARIES]
    if unknown:
        raise SystemExit(f"unknown libraries {', '.join(unknown)}; known: {', '.join(LIBRARIES)}")
    return wanted


def write(folder: Path, X: Any, y: np.ndarray) -> None:
    """Put a problem where the children find it; nothing is compressed, so that loading leaves no litter in memory."""
    for old in folder.glob("*"):
        old.unlink()
    if sparse.issparse(X):
        sparse.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def read(folder: Path, rows: int | None = None) -> tuple[Any, np.ndarray]:
    """The first rows of a written problem, all of them without a number; nothing else is read into memory."""
    y = np.load(folder / "y.npy")[:rows]
    if (folder / "X.npz").exists():
        return sparse.csr_matrix(sparse.load_npz(folder / "X.npz"))[:rows], y
    stored = np.load(folder / "X.npy", mmap_mode="r")
    return np.array(stored[:rows]), y


def measure(
    folder: Path,
    library: str,
    kind: str,
    parameters: dict[str, float],
    *,
    threads: int,
    timeout: float,
    fits: int = 1,
    judge: bool = True,
    rows: int | None = None,
    dense: bool = False,
    **options: float,
) -> dict[str, Any]:
    """Start a child and return what it found, or {"failed": reason}.

    `fits`: how many at least; `judge`: verify the answer too (after timing); `dense`: give CSR data as a dense array.
    """
    task = dict(library=library, kind=kind, parameters=parameters, options=options)
    task |= dict(folder=str(folder), threads=threads, fits=fits, judge=judge, rows=rows, dense=dense)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, str(threads))
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(task)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return dict(failed=f"more than {timeout:g} s")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return dict(failed=f"status {done.returncode}: {last}")
    return json.loads(done.stdout.splitlines()[-1])


def describe_machine(threads: int) -> list[str]:
    """Lines that say what was measured with what, and where."""
    from importlib.metadata import version

    names = ("hinge", "scikit-learn", "scikit-learn-intelex", "numpy", "scipy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return [
        f"{_processor()}, {os.cpu_count()} processors, {threads} threads used; {platform.system()}, "
        f"Python {platform.python_version()}",
        versions + _commit(),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str:
    here = Path(__file__).resolve().parent
    command = ["git", "describe", "--always", "--dirty=, with changes", "--exclude=*"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return f"; commit {done.stdout.strip()}" if done.returncode == 0 else ""


# What follows runs in the child.


def child(task: dict[str, Any]) -> dict[str, Any]:
    threads = task["threads"]
    _limit(threads, task["library"])
    module = importlib.import_module(LIBRARIES[task["library"]])
    estimator = getattr(module, task["kind"])
    arguments = task["parameters"] | task["options"]
    if task["library"] == "hinge":
        arguments["n_jobs"] = threads
    X, y = read(Path(task["folder"]), task["rows"])
    if task["dense"] and sparse.issparse(X):
        X = X.toarray()
    _warm_up(estimator(**arguments), sparse.issparse(X), task["kind"])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _forget_peak()
        before = _resident()
        model, fit_times, peak = _repeated(lambda: estimator(**arguments).fit(X, y), task["fits"])
        predicted, predict_times, _ = _repeated(lambda: model.predict(X[:PREDICTED]), task["fits"])
    found = dict(fit=float(np.median(fit_times)), first=fit_times[0], predict=float(np.median(predict_times)))
    found |= dict(memory=(peak - before) / 1e6, n=X.shape[0], d=X.shape[1])
    found["support"] = len(model.support_)
    found["classes"] = 0 if task["kind"] == "SVR" else len(model.classes_)
    found["remarks"] = _remarks(task["library"], model, caught)
    if task["judge"]:
        from verify import verify

        found |= verify(X, y, task["kind"], task["parameters"], model, predicted)
    return found


def _limit(threads: int, library: str) -> None:
    """Thread pools that heed no environment variable are limited by the processors they may use."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:threads])
    if library == "sklearnex":
        import daal4py

        daal4py.daalinit(threads)


def _warm_up(model: Any, as_sparse: bool, kind: str) -> None:
    """Start thread pools and load what is loaded lazily: that is paid once per process, not once per fit."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    y = X[:, 0] if kind == "SVR" else (X[:, 0] > 0).astype(int)
    X = sparse.csr_matrix(X) if as_sparse else X
    model.fit(X, y).predict(X)


def _repeated(action: Any, least: int) -> tuple[Any, list[float], float]:
    """Result of the last call, seconds of each, and the peak of resident memory in the first call."""
    times: list[float] = []
    peak, result = 0.0, None
    while len(times) < least or (sum(times) < ENOUGH_SECONDS and len(times) < ENOUGH_TIMES):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
        peak = peak or _peak()
    return result, times, peak


def _remarks(library: str, model: Any, caught: list) -> list[str]:
    remarks = sorted({f"{item.category.__name__}: {str(item.message).splitlines()[0]}" for item in caught})
    if library == "sklearnex" and not hasattr(model, "_onedal_estimator"):
        remarks.append("fell back to scikit-learn")
    return remarks


def _status(key: str) -> float | None:
    """A field of /proc/self/status in bytes, None where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith(key)), None)


def _resident() -> float:
    return _status("VmRSS:") or _highest()


def _peak() -> float:
    return _status("VmHWM:") or _highest()


def _forget_peak() -> None:
    """Start the high-water mark anew (Linux); elsewhere it stays that of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _highest() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    print(json.dumps(child(json.loads(sys.argv[1]))))
