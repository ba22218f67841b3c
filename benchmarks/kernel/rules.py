"""Compare the selection rules of LwK Table 10.1 for `WorkingSet` and `Chunking`.

    python benchmarks/kernel/rules.py [--sets spambase,a9a] [--sizes 64,256,1024,0] [--limit 60] [--budget 600] [--save]

The benchmark runs each data set with two values of C, each rule with several sizes of the working set (0: automatic),
and chunking with automatic size, with tol=1e-3. The rules alternate, so other load on the computer affects all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
from jobs import divide_by_255, is_odd, load_data, minmax, standardize
from measure import describe_environment

from hinge import Status, formulations
from hinge.kernels import RBF, open_access
from hinge.problems import certify
from hinge.solvers import Chunking, WorkingSet
from hinge.solvers.decomposition.base import RULES

TOL = 1e-3
NOTES = [
    "",
    "Notes",
    "- size: number of samples in a working set; auto: chosen by the solver.",
    "- steps: SMO steps in thousands. rows: computed kernel rows in thousands; rows are shorter in a chunk, and when",
    "  shrinking has removed samples.",
    "- gap: relative duality gap of the solution, computed by hinge.problems.certify.",
    "- >: the time limit was reached.",
    "- The rules alternate, so other load on the computer affects all of them.",
]


def _binary(y, positive):
    return np.where(y == positive, 1.0, -1.0)


def _last_class(y):
    return _binary(y, np.unique(y)[-1])


#: name: (data set, rows, scaling, target, γ, values of C, ε or None for classification)
SETS = {
    "spambase": ("spambase", None, standardize, _last_class, 0.02, (1.0, 100.0), None),
    "satimage 1-vs-rest": ("satimage", None, None, lambda y: _binary(y, 1), 1.0, (1.0, 16.0), None),
    "ijcnn1": ("ijcnn1", 10_000, None, _last_class, 2.0, (1.0, 32.0), None),
    "abalone": ("abalone", None, minmax, None, 1.0, (1.0, 100.0), 0.5),
    "cpusmall": ("cpusmall", None, standardize, None, 0.1, (1.0, 10.0), 0.5),
    "a9a": ("a9a", 10_000, None, _last_class, 0.05, (1.0, 10.0), None),
    "w8a": ("w8a", 10_000, None, _last_class, 0.05, (1.0, 10.0), None),
    "mnist odd": ("mnist", 6_000, divide_by_255, lambda y: _binary(is_odd(y), 1), 0.02, (1.0, 10.0), None),
}


def build_problem(name, C):
    data_set, rows, scaling, target, gamma, _, epsilon = SETS[name]
    X, y = load_data(data_set)
    X, y = X[:rows], y[:rows].astype(np.float64)
    X = X if scaling is None else scaling(X)
    y = y if target is None else target(y)
    cost = np.full(len(y), C)
    formulation = formulations.CSVC(y, cost) if epsilon is None else formulations.SVR(y, cost, epsilon)
    return formulation.build(open_access(RBF(gamma), X))


def measure(solver, problem):
    """Return seconds, steps, computed kernel rows, relative gap, and whether the solver finished."""
    start = time.perf_counter()
    solution = solver.solve(problem)
    seconds = time.perf_counter() - start
    gap = certify(problem, *solution.point, gradient=solution.gradient).relative_gap
    return seconds, solution.iterations, solution.counters["row_misses"], gap, solution.status is Status.SOLVED


def cell(result):
    seconds, steps, rows, gap, solved = result
    return f"{'' if solved else '>'}{seconds:.2f} {steps / 1e3:7.1f} {rows / 1e3:6.1f} {gap:6.0e}".rjust(32)


def add(line, lines):
    print(line, flush=True)
    lines.append(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", help="comma-separated names; default: all")
    parser.add_argument("--sizes", default="64,256,1024,0")
    parser.add_argument("--limit", type=float, default=60.0, help="time limit of a run in seconds")
    parser.add_argument("--budget", type=float, default=np.inf, help="seconds after which no problem is started")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="also write the tables to rules.txt")
    arguments = parser.parse_args()
    names = list(SETS) if arguments.sets is None else arguments.sets.split(",")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    lines: list[str] = []
    add(f"Selection rules of the working-set and chunking solvers, {date.today()}", lines)
    results = {}
    start = time.monotonic()
    for name, C in [(name, SETS[name][5][k]) for k in (0, 1) for name in names]:
        if time.monotonic() - start > arguments.budget:
            add(f"\n{name}, C = {C:g}: skipped, the time budget is exhausted", lines)
            continue
        problem = build_problem(name, C)
        add(f"\n{name}, {problem.Q.n} samples, C = {C:g}", lines)
        add(f"{'':18}" + "".join(f'rule "{rule}"'.rjust(32) for rule in RULES), lines)
        add(f"{'solver and size':18}" + "   seconds   steps   rows    gap" * len(RULES), lines)
        for kind, size in [(WorkingSet, size) for size in sizes] + [(Chunking, 0)]:
            options = {"tol": TOL, "size": size, "max_time": arguments.limit, "threads": arguments.threads}
            row = {rule: measure(kind(rule=rule, polish=False, **options), problem) for rule in RULES}
            label = f"{kind.__name__} {size or 'auto'}"
            for rule, result in row.items():
                results.setdefault(label, {}).setdefault(rule, []).append(result)
            add(f"{label:18}" + "".join(cell(row[rule]) for rule in RULES), lines)
    add("", lines)
    add('Geometric means relative to the rule "gradient", over the problems that all rules finished', lines)
    add(f"{'':18}" + "".join(f'rule "{rule}"'.rjust(18) for rule in RULES[1:]), lines)
    add(f"{'solver and size':18}" + "      time   steps" * len(RULES[1:]) + "  problems", lines)
    for label, of_rule in results.items():
        finished = [k for k in range(len(of_rule["gradient"])) if all(of_rule[rule][k][4] for rule in RULES)]
        if finished:
            ratios = [ratio(of_rule, rule, finished, column) for rule in RULES[1:] for column in (0, 1)]
            cells = "".join(f"{time:10.2f}{steps:8.2f}" for time, steps in zip(ratios[::2], ratios[1::2], strict=True))
            add(f"{label:18}{cells}  {len(finished)} of {len(of_rule['gradient'])}", lines)
    for note in NOTES:
        add(note, lines)
    add(f"- tol {TOL:g}, time limit {arguments.limit:g} s", lines)
    add(f"- {describe_environment(arguments.threads)[0]}", lines)
    if arguments.save:
        write(lines)
    return 0


def ratio(of_rule, rule, problems, column):
    """Return the geometric mean of seconds (column 0) or steps (column 1) relative to the rule "gradient"."""
    pairs = [(of_rule[rule][k][column], of_rule["gradient"][k][column]) for k in problems]
    return float(np.exp(np.mean([np.log(max(value, 1e-9) / max(reference, 1e-9)) for value, reference in pairs])))


def write(lines):
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
