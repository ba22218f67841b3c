"""Compare the rules for the pair of an SMO step.

    python benchmarks/kernel/pair_rules.py [--sets spambase,abalone] [--limit 20] [--save]

Every rule solves every problem with tol=1e-3, without polishing, on one thread. The table shows seconds, steps,
computed kernel rows, the share of row requests that the cache answered, and the certified relative gap.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
from measure import describe_environment
from rules import SETS, add, build_problem

from hinge import Status
from hinge.problems import certify
from hinge.solvers import SMO
from hinge.solvers.decomposition.smo import PAIR_RULES

NOTES = [
    "",
    "Notes",
    "- steps in thousands; rows: computed kernel rows in thousands; hits: share of the requests for a kernel row that",
    "  the row cache answered.",
    "- gap: relative duality gap of the solution, computed by hinge.problems.certify.",
    "- >: the time limit was reached.",
    "- The rules alternate, so other load on the computer affects all of them.",
]


def measure(problem, rule, limit):
    start = time.perf_counter()
    solution = SMO(rule=rule, tol=1e-3, polish=False, max_time=limit).solve(problem)
    seconds, counters = time.perf_counter() - start, solution.counters
    requests = counters["row_hits"] + counters["row_misses"]
    gap = certify(problem, *solution.point, gradient=solution.gradient).relative_gap
    hits = counters["row_hits"] / max(requests, 1)
    return seconds, solution.iterations, counters["row_misses"], hits, gap, solution.status is Status.SOLVED


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names; default: all")
    parser.add_argument("--limit", type=float, default=20.0, help="time limit of a run in seconds")
    parser.add_argument("--save", action="store_true", help="also write the table to pair_rules.txt")
    arguments = parser.parse_args()
    lines: list[str] = []
    add(f"Rules for the pair of an SMO step, {date.today()}", lines)
    ratios = {rule: [] for rule in PAIR_RULES}
    for name, C in [(chosen, C) for chosen in arguments.sets.split(",") for C in SETS[chosen][5]]:
        problem = build_problem(name, C)
        add(f"\n{name}, {problem.Q.n} samples, C = {C:g}", lines)
        add(f"{'rule':14}{'seconds':>9}{'steps':>9}{'rows':>8}{'hits':>7}{'gap':>8}", lines)
        results = {rule: measure(problem, rule, arguments.limit) for rule in PAIR_RULES}
        for rule, (seconds, steps, rows, hits, gap, solved) in results.items():
            cell = f"{'' if solved else '>'}{seconds:.2f}"
            add(f"{rule:14}{cell:>9}{steps / 1e3:9.1f}{rows / 1e3:8.1f}{hits:7.2f}{gap:8.0e}", lines)
        if all(result[-1] for result in results.values()):
            first = results["second_order"]
            for rule, result in results.items():
                ratios[rule].append(np.log(np.maximum(result[:3], 1e-9) / np.maximum(first[:3], 1e-9)))
    add("\nGeometric means relative to second_order, over the problems that all rules finished", lines)
    add(f"{'rule':14}{'seconds':>9}{'steps':>9}{'rows':>8}   problems", lines)
    for rule, values in ratios.items():
        if values:
            seconds, steps, rows = np.exp(np.mean(values, axis=0))
            add(f"{rule:14}{seconds:9.2f}{steps:9.2f}{rows:8.2f}   {len(values)}", lines)
    for line in NOTES + [f"- tol 0.001, time limit {arguments.limit:g} s", *describe_environment(1)]:
        add(line, lines)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
