"""What training promises about memory, time, signals and badly scaled data, checked one promise after the other.

    python benchmarks/kernel/limits.py [--only memory,time,interrupt,scale] [--tries 12] [--save]

memory     w8a with cache_size 2000, 200 and 50 MB: seconds, and peak memory against data + budget + 10 %
time       w8a with max_time 1 and 0.3: seconds, status, gap, and whether the model predicts
interrupt  Ctrl-C at `--tries` moments spread over a fit of w8a: seconds until `fit` has ended
scale      raw covtype (20,000 rows) and raw shuttle, C = 1e6, no limit of time: seconds, status, and the hint

Every measurement is a process of its own. The command fails (and says MISS) where a promise is not kept.
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
from jobs import JOBS, chosen, permuted, stored
from measure import _forget_peak, _peak, _resident, describe_machine

MB = 1e6
BOUNDED = 900  # seconds: what "ends in bounded time" means for raw data and C = 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="memory,time,interrupt,scale")
    parser.add_argument("--tries", type=int, default=12)
    parser.add_argument("--save", action="store_true", help="also write limits.txt beside this file")
    arguments = parser.parse_args()
    lines = [f"limits, {date.today()}", *describe_machine(2)]
    for name in arguments.only.split(","):
        lines += ["", *{"memory": memory, "time": limit, "interrupt": interrupt, "scale": scale}[name](arguments)]
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return int(any(line.endswith("MISS") for line in lines))


def verdict(kept: bool) -> str:
    return "ok" if kept else "MISS"


def memory(_):
    lines = ["w8a          seconds  peak MB  data + budget + 10 %"]
    best = None
    for cache in (2000, 200, 50):
        found = [start("fit", data="w8a", cache_size=cache) for _ in range(3)]
        seconds = float(np.median([f["seconds"] for f in found]))
        best = best or seconds
        peak, data = max(f["peak"] for f in found), found[0]["data"]
        allowed = 1.1 * (data + cache)
        kept = verdict(data + peak <= allowed and seconds <= 5 * best)
        lines.append(f"cache {cache:5d} {seconds:8.2f} {data + peak:8.0f} {allowed:11.0f}   {kept}")
    return lines


def limit(_):
    lines = []
    for allowed in (1.0, 0.3):
        found = start("fit", data="w8a", cache_size=2000, max_time=allowed)
        honest = found["status"] == "SOLVED" or (found["status"] == "TIME_LIMIT" and found["warned"])
        kept = found["seconds"] <= allowed + 0.2 and honest and found["accuracy"] > 0.9
        lines.append(
            f"max_time={allowed:<4g} {found['seconds']:.2f} s, {found['status']}, gap {found['gap']:.2g}, "
            f"training accuracy {found['accuracy']:.3f}   {verdict(kept)}"
        )
    return lines


def interrupt(arguments):
    whole = start("fit", data="w8a", cache_size=2000)["seconds"]
    delays = []
    for k in range(arguments.tries):
        child = begin("interrupted", data="w8a", cache_size=2000)
        assert child.stdout is not None
        child.stdout.readline()  # "ready"
        time.sleep((k + 0.5) / arguments.tries * 0.95 * whole)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, _ = child.communicate(timeout=600)
        answer = json.loads(out.splitlines()[-1])
        if answer["interrupted"]:
            delays.append(answer["ended"] - sent)
    longest = max(delays, default=np.inf)
    kept = verdict(longest <= 0.2)
    return [f"Ctrl-C       {len(delays)} times during a fit of {whole:.2f} s: at most {longest:.3f} s   {kept}"]


def scale(_):
    lines = ["C = 1e6, raw data          seconds  status      relative gap  the warning names scaling"]
    for data in ("covtype-raw", "shuttle-raw"):
        found = start("fit", data=data, C=1e6, cache_size=2000)
        honest = found["status"] == "SOLVED" or (found["warned"] and found["hint"])
        kept = honest and found["seconds"] <= BOUNDED
        lines.append(
            f"{data:26} {found['seconds']:7.1f}  {found['status']:10} {found['gap']:13.2g}  {found['hint']}"
            f"   {verdict(kept)}"
        )
    return lines


def begin(action: str, **task) -> subprocess.Popen:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", action, json.dumps(task)]
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | dict.fromkeys(variables, "2"))


def start(action: str, **task):
    out, _ = begin(action, **task).communicate(timeout=3600)
    return json.loads(out.splitlines()[-1])


# What follows runs in the child.


def load(name: str):
    if name == "covtype-raw":
        X, y = permuted("covtype")
        return X[:20_000], y[:20_000], {}
    if name == "shuttle-raw":
        return *stored("shuttle"), {}
    job = chosen(name, JOBS)[0]
    return *job.load(), job.parameters


def child(action: str, task) -> None:
    import hinge

    X, y, parameters = load(task.pop("data"))
    model = hinge.SVC(n_jobs=2, **(parameters | task))
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if hasattr(X, "indptr") else X.nbytes
    hinge.SVC(n_jobs=2).fit(X[:200], np.arange(200) % 2)  # what is loaded lazily is loaded now
    if action == "interrupted":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
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
        _forget_peak()
        before, began = _resident(), time.perf_counter()
        model.fit(X, y)
        seconds, peak = time.perf_counter() - began, _peak() - before
    hint = any("StandardScaler" in str(item.message) for item in caught)
    found = dict(seconds=seconds, peak=peak / MB, data=size / MB, warned=bool(caught), hint=hint)
    found |= dict(status=model.status_.name, gap=model.certificate_.relative_gap)
    print(json.dumps(found | dict(accuracy=float(np.mean(model.predict(X[:5000]) == y[:5000])))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], json.loads(sys.argv[3]))
    else:
        raise SystemExit(main())
