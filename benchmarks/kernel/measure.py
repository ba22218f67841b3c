"""Measure fit and predict of one library on one problem, in a separate process.

The parent process writes the scaled data to a folder (`write`) and runs this file as a script for each measurement
(`measure`). The child process loads the data, imports one library, runs a small problem of the same kind as a warm-up,
and then measures the times. Fits are repeated for at least one second, and the median is reported. The first fit is
also reported separately, because it includes the allocation of memory, which can take several milliseconds per megabyte
on a virtual computer. Peak memory is that of the first fit, without the memory used before it (interpreter, library,
data).
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
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

LIBRARIES = dict(hinge="hinge", sklearn="sklearn.svm", sklearnex="sklearnex.svm")
#: Number of rows that are predicted.
PREDICTED_ROWS = 5_000
#: A short fit is repeated until one of these limits is reached.
REPEAT_SECONDS, MAX_REPEATS = 1.0, 15


def parse_libraries(text: str) -> list[str]:
    """Return the libraries in a comma-separated list."""
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in LIBRARIES]
    if unknown:
        raise SystemExit(f"unknown libraries: {', '.join(unknown)}; available: {', '.join(LIBRARIES)}")
    return names


def write(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write the data for the child processes, uncompressed so that loading needs no temporary memory."""
    for old in folder.glob("*"):
        old.unlink()
    if sparse.issparse(X):
        sparse.save_npz(folder / "X.npz", X, compressed=False)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def read(folder: Path, rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Return the first rows of the written data (None: all rows); other rows are not read into memory."""
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
    verify_solution: bool = True,
    rows: int | None = None,
    dense: bool = False,
    **options: float,
) -> dict[str, Any]:
    """Run a child process and return its measurements, or {"failed": reason}.

    `fits` is the minimal number of fits. `verify_solution` recomputes the gap after the measurement. `dense` converts
    CSR data to a dense array.
    """
    task = dict(library=library, kind=kind, parameters=parameters, options=options)
    task |= dict(folder=str(folder), threads=threads, fits=fits, rows=rows, dense=dense)
    task |= dict(verify_solution=verify_solution)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, str(threads))
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(task)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return dict(failed=f"more than {timeout:g} s")
    if done.returncode != 0:
        message = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return dict(failed=f"exit status {done.returncode}: {message}")
    return json.loads(done.stdout.splitlines()[-1])


def describe_environment(threads: int) -> list[str]:
    """Return lines that describe the computer and the versions of the libraries."""
    names = ("hinge", "scikit-learn", "scikit-learn-intelex", "numpy", "scipy")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    return [
        f"{_processor()}, {os.cpu_count()} processors, {threads} threads used; {platform.system()}, "
        f"Python {platform.python_version()}",
        versions + _commit(),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str:
    here = Path(__file__).resolve().parent
    command = ["git", "describe", "--always", "--dirty=, with uncommitted changes", "--exclude=*"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return f"; commit {done.stdout.strip()}" if done.returncode == 0 else ""


# The functions below run in the child process.


def child(task: dict[str, Any]) -> dict[str, Any]:
    threads = task["threads"]
    _limit_threads(threads, task["library"])
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
        reset_peak()
        before = resident_memory()
        model, fit_times, peak = _repeat(lambda: estimator(**arguments).fit(X, y), task["fits"])
        predicted, predict_times, _ = _repeat(lambda: model.predict(X[:PREDICTED_ROWS]), task["fits"])
    result = dict(fit=float(np.median(fit_times)), first=fit_times[0], predict=float(np.median(predict_times)))
    result |= dict(memory=(peak - before) / 1e6, n=X.shape[0], d=X.shape[1])
    result["support"] = len(model.support_)
    result["classes"] = 0 if task["kind"] == "SVR" else len(model.classes_)
    result["remarks"] = _remarks(task["library"], model, caught)
    if task["verify_solution"]:
        from verify import verify

        result |= verify(X, y, task["kind"], task["parameters"], model, predicted)
    return result


def _limit_threads(threads: int, library: str) -> None:
    """Limit thread pools that ignore environment variables by restricting the processors of the process."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:threads])
    if library == "sklearnex":
        import daal4py

        daal4py.daalinit(threads)


def _warm_up(model: Any, as_sparse: bool, kind: str) -> None:
    """Fit a small problem, so that thread pools and lazy imports are not part of the measurement."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    y = X[:, 0] if kind == "SVR" else (X[:, 0] > 0).astype(int)
    X = sparse.csr_matrix(X) if as_sparse else X
    model.fit(X, y).predict(X)


def _repeat(action: Any, min_repeats: int) -> tuple[Any, list[float], float]:
    """Return the result of the last call, the seconds of all calls, and the peak memory of the first call."""
    times: list[float] = []
    peak, result = 0.0, None
    while len(times) < min_repeats or (sum(times) < REPEAT_SECONDS and len(times) < MAX_REPEATS):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
        peak = peak or peak_memory()
    return result, times, peak


def _remarks(library: str, model: Any, caught: list) -> list[str]:
    remarks = sorted({f"{item.category.__name__}: {str(item.message).splitlines()[0]}" for item in caught})
    if library == "sklearnex" and not hasattr(model, "_onedal_estimator"):
        remarks.append("fell back to scikit-learn")
    return remarks


def _status(key: str) -> float | None:
    """Return a field of /proc/self/status in bytes, or None if the file does not exist."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith(key)), None)


def resident_memory() -> float:
    return _status("VmRSS:") or _max_resident()


def peak_memory() -> float:
    return _status("VmHWM:") or _max_resident()


def reset_peak() -> None:
    """Reset the peak memory counter (Linux only; elsewhere it covers the whole process)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _max_resident() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    print(json.dumps(child(json.loads(sys.argv[1]))))
