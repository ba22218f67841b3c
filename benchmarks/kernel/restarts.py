"""Restarts for a decreasing C, hit rates of the row cache, element cache and sticky samples: LwK 10.1.2 to 10.1.4.

    python benchmarks/kernel/restarts.py [--sets spambase,abalone] [--save]

Restarts: SMO solves a sequence of problems with C = 100, 50, ..., 0.1, each from zero, from the previous solution
clipped to the new box, or from the previous solution multiplied by C'/C. Hit rates: SMO with a row cache for a share of
the kernel matrix; the rate is the share of the requested rows that were in the cache. Element cache: the share of the
computed kernel values that were computed before as Kⱼᵢ, the largest saving of a cache of single values, and the times
to compute a value and to read one at random from a table. Sticky samples: steps and seconds of SMO(sticky=...).
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

from hinge.solvers import SMO

COSTS = (100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
ROWS = 64  # rows of the kernel matrix per measurement of a time
STICKY = (0, 10, 100, 1000)  # steps for which a sample at a bound stays fixed
SHARES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
NOTES = [
    "",
    "Notes",
    "- Restarts: the sum over the ten values of C of seconds and of SMO steps (in thousands); the last column is the",
    "  ratio of the steps from zero to those with rescaled multipliers.",
    "- zero: α = 0. clipped: the previous α, reduced to the new upper bound. rescaled: α C'/C.",
    "- Hit rates: rows are stored in single precision, LRU replacement, shrinking off, so all rows have full length.",
    "- Element cache: repeated is the share of the values in the computed rows that another row contains; the times",
    "  are those of a kernel value in a block of rows and of a read at random from a table of a quarter of the",
    "  matrix, without the search for its place.",
    "- Sticky samples: seconds and thousands of steps; 0 is the default.",
    "- misses per sample: computed rows divided by the number of samples; at least 1 for the rows that are used once.",
]


def restarts(name, lines):
    starts = {
        "zero": lambda alpha, old, new: None,
        "clipped": lambda alpha, old, new: np.minimum(alpha, new),
        "rescaled": lambda alpha, old, new: alpha * (new / old),
    }
    totals = {}
    for label, start in starts.items():
        seconds, steps, alpha, before = 0.0, 0, None, None
        for C in COSTS:
            problem = build_problem(name, C)
            begin = time.perf_counter()
            initial = None if alpha is None else start(alpha, before, C)
            solution = SMO(tol=1e-3, polish=False, max_time=20.0).solve(problem, initial)
            seconds += time.perf_counter() - begin
            steps += solution.iterations
            alpha, before = solution.alpha, C
        totals[label] = seconds, steps
    cells = "".join(f"{seconds:9.2f}{steps / 1e3:9.1f}" for seconds, steps in totals.values())
    add(f"{name:20}{cells}{totals['zero'][1] / max(totals['rescaled'][1], 1):9.2f}", lines)


def hit_rates(name, C, lines):
    problem = build_problem(name, C)
    matrix = 4e-6 * problem.Q.n**2
    rates, misses = [], []
    for share in SHARES:
        solver = SMO(tol=1e-3, polish=False, shrinking=False, precision="float32", cache_size=share * matrix,
                     max_time=20.0)  # fmt: skip
        counters = solver.solve(problem).counters
        rates.append(counters["row_hits"] / max(counters["row_hits"] + counters["row_misses"], 1))
        misses.append(counters["row_misses"] / problem.Q.n)
    add(f"{name + f', C = {C:g}':28}" + "".join(f"{rate:8.2f}" for rate in rates) + f"{misses[3]:10.2f}", lines)


def element_cache(name, C, lines):
    problem = build_problem(name, C)
    solver = SMO(tol=1e-3, polish=False, precision="float32", max_time=20.0)
    rows, n = solver.solve(problem).counters["row_misses"], problem.Q.n
    repeated = min(rows, n) / (2 * n) if rows else 0.0  # of r rows, r (r − 1)/2 values occur twice
    compute = 1e9 * fastest(lambda: problem.Q.access.block(np.arange(ROWS), np.arange(n))) / (ROWS * n)
    table, where = np.zeros(n * n // 4, dtype=np.float32), np.random.default_rng(0).integers(0, n * n // 4, ROWS * n)
    read = 1e9 * fastest(lambda: table.take(where)) / (ROWS * n)
    add(f"{name + f', C = {C:g}':28}{repeated:12.2f}{compute:12.1f}{read:12.1f}", lines)


def fastest(run, repeats=5):
    """The shortest time of several runs in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def sticky(name, C, lines):
    problem = build_problem(name, C)
    cells = ""
    for steps in STICKY:
        begin = time.perf_counter()
        solution = SMO(tol=1e-3, polish=False, max_time=20.0, sticky=steps).solve(problem)
        cells += f"{time.perf_counter() - begin:9.2f}{solution.iterations / 1e3:9.1f}"
    add(f"{name + f', C = {C:g}':28}{cells}", lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="spambase,satimage 1-vs-rest,abalone,cpusmall")
    parser.add_argument("--save", action="store_true", help="also write the tables to restarts.txt")
    arguments = parser.parse_args()
    lines: list[str] = []
    add(f"Restarts and hit rates of SMO, {date.today()}", lines)
    add("\nRestarts, C = 100 to 0.1", lines)
    add(f"{'':20}" + "".join(f"{label:>18}" for label in ("zero", "clipped", "rescaled")), lines)
    add(f"{'data set':20}" + f"{'seconds':>9}{'steps':>9}" * 3 + f"{'ratio':>9}", lines)
    for name in arguments.sets.split(","):
        restarts(name, lines)
    add("\nHit rate of the row cache for a share of the kernel matrix", lines)
    add(f"{'data set':28}" + "".join(f"{share:8.0%}" for share in SHARES) + f"{'misses':>10}", lines)
    for name in arguments.sets.split(","):
        for C in SETS[name][5]:
            hit_rates(name, C, lines)
    add("\nElement cache", lines)
    add(f"{'data set':28}{'repeated':>12}{'ns compute':>12}{'ns read':>12}", lines)
    for name in arguments.sets.split(","):
        element_cache(name, SETS[name][5][-1], lines)
    add("\nSticky samples", lines)
    add(f"{'steps at a bound':28}" + "".join(f"{steps:>18}" for steps in STICKY), lines)
    add(f"{'data set':28}" + f"{'seconds':>9}{'steps':>9}" * len(STICKY), lines)
    for name in arguments.sets.split(","):
        for C in SETS[name][5]:
            sticky(name, C, lines)
    notes = [*NOTES, "- The last column is for a cache of 10 % of the matrix.", "- tol 0.001", *describe_environment(1)]
    for line in notes:
        add(line, lines)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
