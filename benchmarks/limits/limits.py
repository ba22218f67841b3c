"""Compare `max_time` with the elapsed time for all estimators, path functions, searches and recipes.

    python benchmarks/limits/limits.py [--sizes 20,2000,20000,300000,2000000] [--max-time 2] [--only grid,SVC]
                                       [--repeats 2] [--save]

A run must end within 10 % or 0.2 s of `max_time`, whichever is more, including its certificate. Runs that finish
earlier pass. Each run has a process of its own, which is ended after WATCHDOG seconds beyond the limit. Loading of
modules and start-up of threads are excluded by a fit of 20 samples before the measurement. With `--repeats` the
shortest time is reported, because other programs on the computer delay a run. The exit status is 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

WATCHDOG = 60.0
SIZES = "20,2000,20000,300000,2000000"


def allowed(max_time: float) -> float:
    """Largest elapsed time of a run."""
    return max_time + max(0.1 * max_time, 0.2)


def main() -> int:
    from cases import CASES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--max-time", type=float, default=2.0)
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="also write the table to limits.txt")
    arguments = parser.parse_args()
    max_time = arguments.max_time
    lines = [
        f"Elapsed time of runs with max_time={max_time:g} s (at most {allowed(max_time):g} s allowed), {date.today()}",
        f"{'run':28} {'samples':>9} {'seconds':>8}  check   result",
    ]
    print("\n".join(lines), flush=True)
    failures = 0
    for name, (_, largest) in CASES.items():
        if arguments.only and not any(name.startswith(part) for part in arguments.only.split(",")):
            continue
        for n in map(int, arguments.sizes.split(",")):
            if n > largest:
                continue
            seconds, text = float("inf"), ""
            for _ in range(arguments.repeats):
                if seconds > allowed(max_time):
                    found = measure(name, n, max_time)
                    seconds, text = min((seconds, text), found)
            passed = seconds <= allowed(max_time)
            failures += not passed
            lines.append(f"{name:28} {n:9d} {seconds:8.2f}  {'passed' if passed else 'FAILED'}  {text}")
            print(lines[-1], flush=True)
    lines += ["", f"{failures} of {len(lines) - 2} checks failed; load of the computer: {os.getloadavg()[1]:.1f}"]
    lines += ["", "Notes", f"- {os.cpu_count()} processors; ten features, float32; RBF kernel unless stated otherwise."]
    without = sum("Error: " in line for line in lines)
    lines += [f"- {without} of the runs ended with an error and no model; the check covers their time only."]
    lines += [f"- The shortest of at most {arguments.repeats} runs; a run is repeated only if it fails."]
    print("\n".join(lines[-6:]))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return int(failures > 0)


def measure(name: str, n: int, max_time: float) -> tuple[float, str]:
    """Seconds and result of one run in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--child", json.dumps([name, n, max_time])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max_time + WATCHDOG)
    except subprocess.TimeoutExpired:
        return max_time + WATCHDOG, "did not end"
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return float("inf"), last[:90]
    seconds, text = json.loads(done.stdout.splitlines()[-1])
    return seconds, text


def child(name: str, n: int, max_time: float) -> None:
    from cases import Data, outcome

    outcome(name, Data(20), 1.0)
    data = Data(n)
    if "precomputed" in name:
        _ = data.matrix
    start = time.perf_counter()
    text = outcome(name, data, max_time)
    print(json.dumps([time.perf_counter() - start, text]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*json.loads(sys.argv[2]))
    else:
        raise SystemExit(main())
