"""Check the limits on memory and time, the response to Ctrl-C, and the behavior on unscaled data.

    python benchmarks/kernel/limits.py [--only memory,time,interrupt,scale] [--tries 12] [--save]

memory     w8a with cache_size 2000, 200 and 50 MB: time, and peak memory compared with 1.1 (data + cache_size)
time       w8a with max_time 1 and 0.3: time, status, gap, and training accuracy
interrupt  Ctrl-C at `--tries` points of time during a fit of w8a: seconds until `fit` ends
scale      unscaled covtype (20,000 rows) and unscaled shuttle, C = 1e6, no time limit: time, status, and warning

Each measurement runs in a separate process. The exit status is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from jobs import JOBS, load_data, load_permuted, select
from measure import describe_environment, peak_memory, reset_peak, resident_memory

MB = 1e6
MAX_SECONDS_UNSCALED = 900  # a fit of unscaled data with C = 1e6 fails the check if it takes longer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="memory,time,interrupt,scale")
    parser.add_argument("--tries", type=int, default=12)
    parser.add_argument("--save", action="store_true", help="also write the tables to limits.txt")
    arguments = parser.parse_args()
    checks = {"memory": check_memory, "time": check_time_limit, "interrupt": check_interrupt, "scale": check_unscaled}
    lines = [f"Limits on memory and time, Ctrl-C and unscaled data, {date.today()}"]
    for name in arguments.only.split(","):
        lines += ["", *checks[name](arguments)]
    lines += ["", "Notes", *(f"- {line}" for line in describe_environment(2))]
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return int(any(line.endswith("FAILED") for line in lines))


def verdict(passed: bool) -> str:
    return "passed" if passed else "FAILED"


def check_memory(_):
    lines = [
        "Memory of a fit of w8a (peak memory must not exceed 1.1 (data + cache_size))",
        f"{'cache_size, MB':>14} {'seconds':>8} {'peak memory, MB':>16} {'allowed, MB':>12}  check",
    ]
    reference = None
    for cache in (2000, 200, 50):
        results = [run_child("fit", data="w8a", cache_size=cache) for _ in range(3)]
        seconds = float(np.median([result["seconds"] for result in results]))
        reference = reference or seconds
        peak, data = max(result["peak"] for result in results), results[0]["data"]
        allowed = 1.1 * (data + cache)
        passed = verdict(data + peak <= allowed and seconds <= 5 * reference)
        lines.append(f"{cache:14d} {seconds:8.2f} {data + peak:16.0f} {allowed:12.0f}  {passed}")
    return lines


def check_time_limit(_):
    lines = [
        "Time limit of a fit of w8a (at most max_time + 0.2 s)",
        f"{'max_time, s':>14} {'seconds':>8}  {'status':10} {'relative gap':>12} {'training accuracy':>18}  check",
    ]
    for max_time in (1.0, 0.3):
        result = run_child("fit", data="w8a", cache_size=2000, max_time=max_time)
        reported = result["status"] == "SOLVED" or (result["status"] == "TIME_LIMIT" and result["warned"])
        passed = result["seconds"] <= max_time + 0.2 and reported and result["accuracy"] > 0.9
        lines.append(
            f"{max_time:14g} {result['seconds']:8.2f}  {result['status']:10} {result['gap']:12.2g} "
            f"{result['accuracy']:18.3f}  {verdict(passed)}"
        )
    return lines


def check_interrupt(arguments):
    duration = run_child("fit", data="w8a", cache_size=2000)["seconds"]
    delays = []
    for k in range(arguments.tries):
        child = start_child("interrupted", data="w8a", cache_size=2000)
        assert child.stdout is not None
        child.stdout.readline()  # "ready"
        time.sleep((k + 0.5) / arguments.tries * 0.95 * duration)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, _ = child.communicate(timeout=600)
        result = json.loads(out.splitlines()[-1])
        if result["interrupted"]:
            delays.append(result["ended"] - sent)
    longest = max(delays, default=np.inf)
    return [
        "Ctrl-C during a fit of w8a (the fit must end within 0.2 s)",
        f"{len(delays)} interruptions of a fit of {duration:.2f} s; longest delay {longest:.3f} s  "
        f"{verdict(longest <= 0.2)}",
    ]


def check_unscaled(_):
    lines = [
        f"Unscaled data with C = 1e6 (at most {MAX_SECONDS_UNSCALED} s; solved, or a warning that recommends scaling)",
        f"{'data set':14} {'seconds':>8}  {'status':10} {'relative gap':>12} {'scaling recommended':>20}  check",
    ]
    for data in ("covtype", "shuttle"):
        result = run_child("fit", data=f"{data}-unscaled", C=1e6, cache_size=2000)
        reported = result["status"] == "SOLVED" or (result["warned"] and result["hint"])
        passed = reported and result["seconds"] <= MAX_SECONDS_UNSCALED
        lines.append(
            f"{data:14} {result['seconds']:8.1f}  {result['status']:10} {result['gap']:12.2g} "
            f"{'yes' if result['hint'] else 'no':>20}  {verdict(passed)}"
        )
    return lines


def start_child(action: str, **task) -> subprocess.Popen:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", action, json.dumps(task)]
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | dict.fromkeys(variables, "2"))


def run_child(action: str, **task):
    out, _ = start_child(action, **task).communicate(timeout=3600)
    return json.loads(out.splitlines()[-1])


# The functions below run in the child process.


def load(name: str):
    if name == "covtype-unscaled":
        X, y = load_permuted("covtype")
        return X[:20_000], y[:20_000], {}
    if name == "shuttle-unscaled":
        return *load_data("shuttle"), {}
    job = select(name, JOBS)[0]
    return *job.load(), job.parameters


def child(action: str, task) -> None:
    import hinge

    X, y, parameters = load(task.pop("data"))
    model = hinge.SVC(n_jobs=2, **(parameters | task))
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if hasattr(X, "indptr") else X.nbytes
    hinge.SVC(n_jobs=2).fit(X[:200], np.arange(200) % 2)  # warm-up: lazy imports and thread pools
    if action == "interrupted":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
        print("ready", flush=True)
        try:
            model.fit(X, y)
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        print(json.dumps(dict(interrupted=interrupted, ended=time.monotonic())))
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reset_peak()
        before, start = resident_memory(), time.perf_counter()
        model.fit(X, y)
        seconds, peak = time.perf_counter() - start, peak_memory() - before
    hint = any("StandardScaler" in str(item.message) for item in caught)
    result = dict(seconds=seconds, peak=peak / MB, data=size / MB, warned=bool(caught), hint=hint)
    result |= dict(status=model.status_.name, gap=model.certificate_.relative_gap)
    print(json.dumps(result | dict(accuracy=float(np.mean(model.predict(X[:5000]) == y[:5000])))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], json.loads(sys.argv[3]))
    else:
        raise SystemExit(main())
