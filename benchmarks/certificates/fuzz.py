"""Compare all reported bounds, statuses and times of random fits with exact arithmetic.

    python benchmarks/certificates/fuzz.py [--fits 20000] [--seed 0] [--estimator SVC] [--show 3]
    python benchmarks/certificates/fuzz.py --case 1234 [--estimator SVC]

The fits run in a process of its own, which is ended if a fit does not return. `--case` runs one case and prints it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
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

KINDS = ("false", "order", "disjoint", "solved", "loose", "nan", "late", "error", "convex")

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


def work(connection, seeds, estimator):
    """Judge cases one after the other."""
    for seed in seeds:
        connection.send(judge(random_case(seed, estimator), lambda: connection.send(FITTED)))
    connection.send(None)


def verdicts(seeds, estimator):
    """Yield the verdict of every seed; a process that does not answer is replaced."""
    context = multiprocessing.get_context("fork")
    seeds = list(seeds)
    while seeds:
        parent, child = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(child, seeds, estimator), daemon=True)
        process.start()
        child.close()
        checking = False
        while seeds:
            if parent.poll(HANG):
                try:
                    verdict = parent.recv()
                except EOFError:
                    verdict = Verdict(seeds[0], _name(seeds[0], estimator), "crash", [("error", "the process ended")])
                    yield verdict
                    seeds.pop(0)
                    break
                if verdict is None:
                    break
                checking = verdict == FITTED
                if not checking:
                    yield verdict
                    seeds.pop(0)
            else:
                # The exact solution may take long as well: the optimum is then unknown.
                late = [] if checking else [("late", f"no result after {HANG} s")]
                yield Verdict(seeds[0], _name(seeds[0], estimator), "hang", late, HANG, False if checking else None)
                seeds.pop(0)
                break
        process.kill()
        process.join()
        parent.close()


def _name(seed, estimator):
    return type(random_case(seed, estimator).estimator).__name__


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
    lines = []
    for (kind, name), found in sorted(groups.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1])):
        found.sort(key=lambda v: -v.excess)
        for verdict in found[:show]:
            detail = next(d for k, d in verdict.failures if k == kind)
            lines.append(f"{kind:8} --estimator {name} --case {verdict.seed}: {detail}")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--estimator", choices=list(ESTIMATORS))
    parser.add_argument("--case", type=int)
    parser.add_argument("--show", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.case is not None:
        show_case(arguments.case, arguments.estimator)
        return
    start, results = time.perf_counter(), []
    for verdict in verdicts(range(arguments.seed, arguments.seed + arguments.fits), arguments.estimator):
        results.append(verdict)
        if sys.stderr.isatty():
            print(f"\r{len(results)} fits, {time.perf_counter() - start:.0f} s", end="", file=sys.stderr)
    print("Certificates of random fits\n")
    print(table(results))
    examples = failures(results, arguments.show)
    if examples:
        print(f"\nFailures (at most {arguments.show} of a kind)\n{examples}")
    print(NOTES)
    print(f"- Seeds {arguments.seed} to {arguments.seed + arguments.fits - 1}, {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
