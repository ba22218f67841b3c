"""The selection rules of LwK Table 10.1: seconds, steps and kernel rows of WorkingSet and Chunking.

    python benchmarks/kernel/rules.py [--sets spambase,a9a] [--sizes 64,256,1024,0] [--limit 60] [--budget 600] [--save]

Every set at two values of C, every rule with every size of the working set (0: the engine's choice), and chunking with
its own choice of size. tol 1e-3. A run that meets the limit is marked with `>`. The relative gap is that of the
certificate, recomputed by the formulas of `hinge.problems.certify`. `rows` are kernel rows computed, in thousands; in a
chunk, or where samples are set aside, a row is shorter. The rules take turns, so that a busy moment of the machine
does not meet all runs of one of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
from jobs import minmax, odd, per_255, standardise, stored
from measure import describe_machine

from hinge import Status, formulations
from hinge.kernels import RBF, open_access
from hinge.problems import certify
from hinge.solvers import Chunking, WorkingSet
from hinge.solvers.decomposition.working_set import RULES

TOL = 1e-3


def _binary(y, positive):
    return np.where(y == positive, 1.0, -1.0)


def _first(y):
    return _binary(y, np.unique(y)[-1])


#: name: (stored set, rows, scaling, target, γ, values of C, ε or None for classification)
SETS = {
    "spambase": ("spambase", None, standardise, _first, 0.02, (1.0, 100.0), None),
    "satimage 1-vs-rest": ("satimage", None, None, lambda y: _binary(y, 1), 1.0, (1.0, 16.0), None),
    "ijcnn1": ("ijcnn1", 10_000, None, _first, 2.0, (1.0, 32.0), None),
    "abalone": ("abalone", None, minmax, None, 1.0, (1.0, 100.0), 0.5),
    "cpusmall": ("cpusmall", None, standardise, None, 0.1, (1.0, 10.0), 0.5),
    "a9a": ("a9a", 10_000, None, _first, 0.05, (1.0, 10.0), None),
    "w8a": ("w8a", 10_000, None, _first, 0.05, (1.0, 10.0), None),
    "mnist odd": ("mnist", 6_000, per_255, lambda y: _binary(odd(y), 1), 0.02, (1.0, 10.0), None),
}


def problem_of(name, C):
    stem, rows, scaling, target, gamma, _, epsilon = SETS[name]
    X, y = stored(stem)
    X, y = X[:rows], y[:rows].astype(np.float64)
    X = X if scaling is None else scaling(X)
    y = y if target is None else target(y)
    cost = np.full(len(y), C)
    machine = formulations.CSVC(y, cost) if epsilon is None else formulations.SVR(y, cost, epsilon)
    return machine.build(open_access(RBF(gamma), X))


def measured(solver, problem):
    began = time.perf_counter()
    solution = solver.solve(problem)
    seconds = time.perf_counter() - began
    gap = certify(problem, *solution.point, gradient=solution.gradient).relative_gap
    return seconds, solution.iterations, solution.counters["row_misses"], gap, solution.status is Status.SOLVED


def cell(found):
    seconds, steps, rows, gap, solved = found
    return f"{'' if solved else '>'}{seconds:.2f} s {steps / 1e3:7.1f} {rows / 1e3:6.1f} {gap:.0e}".rjust(32)


def say(line, lines):
    print(line, flush=True)
    lines.append(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", help="comma-separated names; all without it")
    parser.add_argument("--sizes", default="64,256,1024,0")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a run")
    parser.add_argument("--budget", type=float, default=np.inf, help="seconds after which no new problem is begun")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="also write rules.txt beside this file")
    arguments = parser.parse_args()
    names = list(SETS) if arguments.sets is None else arguments.sets.split(",")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    lines: list[str] = []
    say(f"Selection rules, {date.today()}: seconds, thousand steps, thousand kernel rows, relative gap", lines)
    say(f"{describe_machine(arguments.threads)[0]}; tol {TOL:g}, limit {arguments.limit:g} s", lines)
    seconds = {}
    began = time.monotonic()
    for name, C in [(name, SETS[name][5][k]) for k in (0, 1) for name in names]:
        if time.monotonic() - began > arguments.budget:
            say(f"\n{name}, C = {C:g}: left out, the time for all was over", lines)
            continue
        problem = problem_of(name, C)
        say(f"\n{name}, n = {problem.Q.n}, C = {C:g}", lines)
        say(f"{'':18}" + "".join(rule.rjust(32) for rule in RULES), lines)
        for kind, size in [(WorkingSet, size) for size in sizes] + [(Chunking, 0)]:
            options = {"tol": TOL, "size": size, "max_time": arguments.limit, "threads": arguments.threads}
            row = {rule: measured(kind(rule=rule, polish=False, **options), problem) for rule in RULES}
            label = f"{kind.__name__} {size or 'auto'}"
            for rule, found in row.items():
                seconds.setdefault(label, {}).setdefault(rule, []).append(found)
            say(f"{label:18}" + "".join(cell(row[rule]) for rule in RULES), lines)
    say("", lines)
    say("Geometric mean of time (and steps) relative to the gradient rule, where all rules finished", lines)
    for label, of in seconds.items():
        good = [k for k in range(len(of["gradient"])) if all(of[rule][k][4] for rule in RULES)]
        if not good:
            continue
        ratios = []
        for rule in RULES[1:]:
            time_ratio, step_ratio = (
                np.exp(np.mean([np.log(max(of[rule][k][i], 1e-9) / max(of["gradient"][k][i], 1e-9)) for k in good]))
                for i in (0, 1)
            )
            ratios.append(f"{rule} {time_ratio:.2f} ({step_ratio:.2f})")
        say(f"{label:18} {', '.join(ratios)}; {len(good)} of {len(of['gradient'])} problems", lines)
    if arguments.save:
        write(lines)
    return 0


def write(lines):
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
