"""Compare all reported bounds, statuses and times of random fits with exact arithmetic.

    python benchmarks/certificates/fuzz.py [--fits 20000] [--seed 0] [--jobs 2] [--results FILE] [--show 3]
                                           [--estimator NAME ...] [--exclude NAME ...]
    python benchmarks/certificates/fuzz.py --case 1234 [--estimator SVC]

The fits run in `--jobs` processes of their own, which are replaced if a fit does not return. With `--results` every
verdict is appended to a file of JSON lines, and seeds that the file contains are not run again: an interrupted run
continues with the same command. `--estimator` with one name uses it for every seed; with several names, and with
`--exclude`, only seeds of the selected estimators or solvers are run. `--case` runs one case and prints it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.fuzz import ESTIMATORS, Verdict, judge, random_case

#: Seconds without a result before the process is ended and the case counts as late.
HANG = 15.0

#: Message of the process between a fit and the checks.
FITTED = "fitted"

#: A bound that is false by more than this, relative to the optimum, is counted separately.
GROSS = 1e-12

#: Kinds of failures, with their meaning in the list of failures.
KINDS = {
    "false": "false bound",
    "order": "bounds crossed",
    "disjoint": "disjoint intervals",
    "solved": "false SOLVED",
    "loose": "large gap",
    "nan": "NaN model",
    "late": "late",
    "error": "other error",
    "convex": "indefinite kernel reported as convex",
}

#: Titles of the columns, and their widths.
COLUMNS = (
    ("", "fits", 6),
    ("", "rejected", 9),
    ("optimum", "unknown", 8),
    ("false", "bounds", 7),
    ("by more", "than 1e-12", 11),
    ("bounds", "crossed", 8),
    ("disjoint", "intervals", 10),
    ("false", "SOLVED", 7),
    ("large", "gap", 6),
    ("NaN", "model", 6),
    ("", "late", 5),
    ("other", "errors", 7),
)

NOTES = """
Notes
- Numbers of fits. rejected: fit raised a ValueError. optimum unknown: the exact bounds differ by more than 1e-18.
- false bounds: a reported lower bound above, or an upper bound below the optimum of the problem that the data and the
  parameters define: in certificate_, its best bounds, the history, or certify.
- bounds crossed: lower bound above upper bound. disjoint intervals: those of certificate_ and certify.
- false SOLVED: neither the KKT violation nor the relative gap is at most 2 tol. large gap: SOLVED with a relative gap
  above 1e-2 and 2 tol. late: longer than max_time by more than 10 % and 0.2 s, or 5 s without a limit."""


class Worker:
    """A process that judges seeds one after the other; it is replaced if a fit does not return."""

    def __init__(self, seeds, estimator):
        self.seeds, self.estimator, self.process = list(seeds), estimator, None
        self.start()

    def start(self):
        context = multiprocessing.get_context("fork")
        self.connection, child = context.Pipe(duplex=False)
        arguments = (child, list(self.seeds), self.estimator)
        self.process = context.Process(target=_judge_all, args=arguments, daemon=True)
        self.process.start()
        child.close()
        self.checking, self.last_report = False, time.monotonic()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.connection.close()

    def receive(self):
        """Return the next verdict, or None after the message between fit and checks."""
        self.last_report = time.monotonic()
        try:
            message = self.connection.recv()
        except EOFError:
            return self._replaced("crash", [("error", "the process ended")], None)
        self.checking = message == FITTED
        if self.checking:
            return None
        self.seeds.pop(0)
        return message

    def hangs(self):
        return time.monotonic() - self.last_report > HANG

    def give_up(self):
        """Return the verdict of a case that does not return. If the exact solution takes long, it is unknown."""
        late = [] if self.checking else [("late", f"no result after {HANG} s")]
        return self._replaced("hang", late, False if self.checking else None)

    def _replaced(self, outcome, failures, resolved):
        seed, seconds = self.seeds.pop(0), time.monotonic() - self.last_report
        self.stop()
        if self.seeds:
            self.start()
        return Verdict(seed, _name(seed, self.estimator), outcome, failures, seconds, resolved)


def _judge_all(connection, seeds, estimator):
    for seed in seeds:
        connection.send(judge(random_case(seed, estimator), lambda: connection.send(FITTED)))


def verdicts(seeds, estimator, jobs):
    """Yield the verdicts of all seeds in the order in which they are found."""
    workers = [Worker(part, estimator) for k in range(jobs) if len(part := seeds[k::jobs])]
    try:
        while workers := [worker for worker in workers if worker.seeds]:
            ready = wait([worker.connection for worker in workers], timeout=1.0)
            for worker in workers:
                if worker.connection in ready:
                    verdict = worker.receive()
                elif worker.hangs():
                    verdict = worker.give_up()
                else:
                    continue
                if verdict is not None:
                    yield verdict
                if not worker.seeds:
                    worker.stop()
    finally:
        for worker in workers:
            if worker.seeds:
                worker.stop()


def _name(seed, estimator):
    return type(random_case(seed, estimator).estimator).__name__


def _selected(seed, names, excluded):
    """Whether the random estimator of a seed is selected, and neither it nor its solver is excluded."""
    if not names and not excluded:
        return True
    model = random_case(seed).estimator
    name = type(model).__name__
    return (not names or name in names) and name not in excluded and getattr(model, "solver", None) not in excluded


def load(path):
    """Return the verdicts in a file of JSON lines."""
    if path is None or not path.exists():
        return []
    found = [Verdict(**json.loads(line)) for line in path.read_text().splitlines()]
    for verdict in found:
        verdict.failures = [tuple(failure) for failure in verdict.failures]
    return found


def table(results):
    """Return the table by estimator."""
    lines = [f"{'' if k == 0 else 'estimator':18}" + "".join(f"{c[k]:>{c[2]}}" for c in COLUMNS) for k in (0, 1)]
    for name in [*ESTIMATORS, "all"]:
        mine = [v for v in results if name in (v.estimator, "all")]
        if not mine:
            continue
        count = Counter(kind for v in mine for kind in {kind for kind, _ in v.failures})
        numbers = [
            len(mine),
            sum(v.outcome == "rejected" for v in mine),
            sum(v.resolved is False for v in mine),
            count["false"],
            sum(v.excess > GROSS for v in mine),
            *(count[kind] for kind in ("order", "disjoint", "solved", "loose", "nan", "late")),
            count["error"] + count["convex"],
        ]
        lines.append(f"{name:18}" + "".join(f"{n:{c[2]}}" for n, c in zip(numbers, COLUMNS, strict=True)))
    return "\n".join(lines)


def failures(results, show):
    """Return examples of every kind of failure for every estimator; the largest errors first."""
    groups = defaultdict(list)
    for verdict in results:
        for kind in {kind for kind, _ in verdict.failures}:
            groups[kind, verdict.estimator].append(verdict)
    lines, order = [], list(KINDS)
    for (kind, name), found in sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
        found.sort(key=lambda v: (-v.excess, v.seed))
        lines.append(f"{name}, {KINDS[kind]}: {len(found)}")
        for verdict in found[:show]:
            detail = next(d for k, d in verdict.failures if k == kind)
            lines.append(f"  --case {verdict.seed}: {detail}")
    return "\n".join(lines)


def show_case(seed, estimator):
    case = random_case(seed, estimator)
    np.set_printoptions(threshold=10_000, floatmode="unique")
    print(case.estimator)
    print("notes:", case.notes)
    X = case.X.toarray() if hasattr(case.X, "toarray") else case.X
    print("X =", repr(X), "\ny =", repr(case.y), "\nfit =", case.fit, flush=True)
    verdict = judge(case)
    print(f"{verdict.outcome} in {verdict.seconds:.3f} s, optimum known: {verdict.resolved}")
    if verdict.outcome not in ("rejected", "error"):
        print("fit:    ", case.estimator.certificate_)
    for kind, detail in verdict.failures:
        print(f"  {kind}: {detail}")


def run(seeds, estimator, jobs, path):
    """Return the verdicts of all seeds, those in the file at `path` included; append the others to it."""
    results = {v.seed: v for v in load(path) if v.seed in set(seeds)}
    missing = [seed for seed in seeds if seed not in results]
    start, output = time.perf_counter(), path.open("a") if path else None
    for verdict in verdicts(missing, estimator, jobs):
        results[verdict.seed] = verdict
        if output:
            print(json.dumps(asdict(verdict)), file=output, flush=True)
        if sys.stderr.isatty():
            print(f"\r{len(results)} fits, {time.perf_counter() - start:.0f} s", end="", file=sys.stderr)
    return [results[seed] for seed in sorted(results)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--estimator", choices=list(ESTIMATORS), nargs="+", default=[])
    parser.add_argument("--exclude", nargs="+", default=[], help="estimators and names of solvers")
    parser.add_argument("--case", type=int)
    parser.add_argument("--show", type=int, default=2)
    arguments = parser.parse_args()
    names = arguments.estimator
    only = names[0] if len(names) == 1 else None
    if arguments.case is not None:
        show_case(arguments.case, only)
        return
    start = time.perf_counter()
    seeds = range(arguments.seed, arguments.seed + arguments.fits)
    chosen = [seed for seed in seeds if _selected(seed, [] if only else names, arguments.exclude)]
    results = run(chosen, only, arguments.jobs, arguments.results)
    print("Certificates of random fits\n")
    print(table(results))
    examples = failures(results, arguments.show)
    if examples:
        print(f"\nFailures (at most {arguments.show} of a kind)\n{examples}")
    print(NOTES)
    excluded = f" without {', '.join(arguments.exclude)}" if arguments.exclude else ""
    print(f"- Seeds {seeds.start} to {seeds.stop - 1}{excluded}, {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
