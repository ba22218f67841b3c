"""Campaigns: many random cases in processes that may crash, with time and memory limits.

A case is determined by the seed of the campaign and its number, so that each failure can be run again alone. The cases
run in a child process that is replaced if it crashes or hangs; the number of the current case is in shared memory.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds of one case, after which it counts as a hang.
HANG = 10.0

#: Seconds between two looks at the child process.
POLL = 0.005

#: Cases of one child process.
BATCH = 5000

#: Memory that `limited_memory` allows besides a multiple of the size of the input.
FREE_MEMORY = 64 << 20

#: Failures that are printed.
SHOWN = 20


class Failure(Exception):
    """A case did something that is not allowed."""


@dataclass
class Outcome:
    """Counts of the results of a campaign, and its failures as (case, reason)."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """Number of cases that were run."""
        return sum(self.counts.values())

    def table(self, name: str) -> str:
        """Return the counts, one per line."""
        rate = self.cases / max(self.seconds, 1e-9)
        lines = [f"{name}: {self.cases:,} cases in {self.seconds:,.0f} s ({rate:,.0f} per second)"]
        lines += [f"  {count:>12,}  {result}" for result, count in sorted(self.counts.items())]
        lines += [f"  case {case}: {reason}" for case, reason in self.failures[:SHOWN]]
        return "\n".join(lines)


#: Runs one case with its random numbers in a directory of its own, and returns the name of the result.
Case = Callable[[np.random.Generator, Path], str]


def generator(seed: int, case: int) -> np.random.Generator:
    """The random numbers of a case."""
    return np.random.default_rng([seed, case])


def run(case: Case, *, seed: int, seconds: float, cases: int | None = None, first: int = 0) -> Outcome:
    """Run cases for some seconds, or a fixed number of them."""
    total, start, number = Outcome(), time.monotonic(), first
    end = None if cases is None else first + cases
    with tempfile.TemporaryDirectory(prefix="hinge-fuzz-") as folder:
        while time.monotonic() - start < seconds and (end is None or number < end):
            stop = number + BATCH if end is None else min(number + BATCH, end)
            number = _batch(case, seed, number, stop, start + seconds, Path(folder), total)
    total.seconds = time.monotonic() - start
    return total


def _batch(case: Case, seed: int, first: int, stop: int, deadline: float, folder: Path, total: Outcome) -> int:
    """Run cases in a child process; return the number of the next case."""
    progress = mmap.mmap(-1, 8)
    progress[:] = struct.pack("q", first)
    result = folder / "result"
    result.unlink(missing_ok=True)
    log = folder / "log"
    child = os.fork()
    if child == 0:
        _child(case, seed, first, stop, deadline, folder, progress, result, log)
    current, waited = first, 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        (now,) = struct.unpack("q", progress[:])
        if now != current:
            current, waited = now, 0.0
        elif waited > HANG:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            total.counts["HANG"] += 1
            total.failures.append((current, f"no result after {HANG:.0f} s"))
            return _collect(result, total, current + 1)
        time.sleep(POLL)
        if not _stopped(child):
            waited += POLL  # not the time of a clock, which continues while both processes are suspended
    (current,) = struct.unpack("q", progress[:])
    if status != 0:
        total.counts["CRASH"] += 1
        trace = log.read_text(errors="replace")[-1500:] if log.exists() else ""
        total.failures.append((current, f"status {status}: {trace}"))
        return _collect(result, total, current + 1)
    return _collect(result, total, current)


def _stopped(process: int) -> bool:
    """Whether a process is suspended."""
    state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    return state in (b"T", b"t")


def _child(case, seed, first, stop, deadline, folder, progress, result, log):
    """Run cases until `stop` or the deadline, store the counts, and end the process."""
    status = 0
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 2)
        faulthandler.enable(file=2)
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        counts, failures, number = Counter(), [], first
        with open(result, "wb") as file:
            while number < stop and time.monotonic() < deadline:
                progress[:] = struct.pack("q", number)
                name, failure = _judge(case, seed, number, folder)
                counts[name] += 1
                if failure:
                    failures.append((number, failure))
                number += 1
                progress[:] = struct.pack("q", number)
                if number % 50 == 0 or failure:  # so that a crash loses few counts
                    pickle.dump((counts, failures), file)
                    file.flush()
                    counts, failures = Counter(), []
            pickle.dump((counts, failures), file)
    except BaseException:
        traceback.print_exc()
        status = 3
    os._exit(status)


def _judge(case: Case, seed: int, number: int, folder: Path) -> tuple[str, str]:
    """Run one case; return the name of its result, and the reason if it failed."""
    try:
        return case(generator(seed, number), folder), ""
    except Failure as failure:
        return "FAILURE", str(failure)
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return f"UNEXPECTED {type(error).__name__}", f"{type(error).__name__} at {place}: {error}"[:400]


def _collect(result: Path, total: Outcome, number: int) -> int:
    """Add the counts that the child has stored; return `number`."""
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError), open(result, "rb") as file:
        while True:
            counts, failures = pickle.load(file)
            total.counts.update(counts)
            total.failures.extend(failures)
    return number


@contextlib.contextmanager
def limited_memory(size: int, factor: int = 4, reserved: int = 0):
    """Fail on allocations beyond `factor` times the size of the input plus 64 MB.

    `reserved`: addresses that other libraries reserve for their threads. Then the resident memory is measured, too.
    """
    if "SANITIZED" in os.environ:  # AddressSanitizer reserves terabytes of addresses
        yield
        return
    failure = f"needs more than {factor} times the size of the file ({size} bytes) + 64 MB"
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = factor * size + FREE_MEMORY
    before = _peak() if reserved else 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + allowed + reserved, hard))
    try:
        yield
    except MemoryError as error:
        raise Failure(failure) from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if reserved and _peak() - before > allowed:
        raise Failure(failure)


def _peak() -> int:
    """Largest resident memory of the process up to now, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Record:
    """Counts of campaigns in a file with one JSON object per line; a campaign continues after its last case."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.runs: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def next_case(self, name: str, seed: int) -> int:
        """Number of the first case that was not run."""
        return max((run["end"] for run in self.runs if (run["name"], run["seed"]) == (name, seed)), default=0)

    def add(self, name: str, seed: int, first: int, outcome: Outcome) -> None:
        """Append the counts of a run."""
        run = {
            "name": name, "seed": seed, "first": first, "end": first + outcome.cases, "counts": dict(outcome.counts),
            "seconds": outcome.seconds, "sanitizers": "SANITIZED" in os.environ, "failures": outcome.failures,
        }  # fmt: skip
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")

    def table(self) -> str:
        """Return a Markdown table of all runs, and the failures."""
        rows = ["| campaign | sanitizers | inputs | crashes | hangs | other failures |", "| --- " * 6 + "|"]
        failures = []
        for name, sanitizers in sorted({(run["name"], run["sanitizers"]) for run in self.runs}):
            counts: Counter[str] = Counter()
            for run in self.runs:
                if (run["name"], run["sanitizers"]) == (name, sanitizers):
                    counts.update(run["counts"])
                    failures += [f"{name} --seed {run['seed']} --case {case}: {why}" for case, why in run["failures"]]
            other = sum(n for result, n in counts.items() if result == "FAILURE" or result.startswith("UNEXPECTED"))
            tools = "ASan, UBSan" if sanitizers else "none"
            rows.append(f"| {name} | {tools} | {counts.total():,} | {counts['CRASH']} | {counts['HANG']} | {other} |")
        return "\n".join(rows + failures[:SHOWN])


def main(name: str, case: Case, description: str) -> None:
    """Command line of a campaign; the exit code is 1 if a case failed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration")
    parser.add_argument("--cases", type=int, help="number of cases; by default as many as the time allows")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run one case in this process, and print its result")
    parser.add_argument("--record", type=Path, help="file of counts: continue after its last case")
    arguments = parser.parse_args()
    if arguments.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(case(generator(arguments.seed, arguments.case), Path(folder)))
        return
    record = Record(arguments.record) if arguments.record else None
    first = arguments.first if record is None else max(arguments.first, record.next_case(name, arguments.seed))
    outcome = run(case, seed=arguments.seed, seconds=arguments.seconds, cases=arguments.cases, first=first)
    if record is not None:
        record.add(name, arguments.seed, first, outcome)
    print(outcome.table(name))
    sys.exit(1 if outcome.failures else 0)


if __name__ == "__main__":
    print(Record(Path(sys.argv[1])).table())
