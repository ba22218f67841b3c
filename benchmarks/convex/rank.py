"""Where the rank of the kernel matrix decides: working sets beside an interior point method on the factor.

    python benchmarks/convex/rank.py [--limit 6] [--probe] [--plane]

Linear kernels of few features, columns of zero mean and unit variance, C from 1 to 1e4: processor seconds, the relative
gap and the largest KKT violation of working sets (tol 1e-3, up to --limit seconds) and of `LowRankInteriorPoint` (tol
1e-10), and the steps of the former for every sample.  `solver="auto"` goes from the first to the second after a number
of steps that take about as long: docs/decisions/low-rank.md.

--probe: other kernels, whose rank is probed.  Milliseconds of the probe, the rank it finds, processor seconds and
relative gap of working sets (tol 1e-3, up to --limit seconds) and of `Auto` (tol 1e-3).
--plane: the same for noisy values (or signs) of a smooth function in the plane, which need no data files: 4,000 points
drawn in a square, RBF, large C.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from hinge.formulations import CSVC, SVR
from hinge.kernels import RBF, Linear, Polynomial, open_access
from hinge.problems import Status, certify
from hinge.solvers import Auto, LowRankInteriorPoint, WorkingSet
from hinge.solvers.interior_point.rank import estimated_rank

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder, load


def scaled(name, rows):
    X, y = load(name)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:rows]
    X, y = X[chosen], y[chosen]
    X = X.toarray() if sparse.issparse(X) else X
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=6.0)
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--plane", action="store_true")
    arguments = parser.parse_args()
    limit = arguments.limit
    if arguments.plane:
        return plane(limit)
    if data_folder() is None:
        print("no ../shared/data beside the repository")
        return 1
    if arguments.probe:
        return probe(limit)
    head = "".join(f"{name:>{width}}" for name, width in (("s", 8), ("gap", 9), ("KKT", 9)))
    print(f"{'problem':34}{'working set':>26}{'steps/n':>9}{'factor':>26}\n{'':34}{head}{'':9}{head}")
    for name, rows in (("spambase", 4601), ("ijcnn1", 10000), ("cpusmall", 8000)):
        X, y = scaled(name, rows)
        access, n = open_access(Linear(), X), len(y)
        for C in (1.0, 10.0, 100.0, 1e4):
            cost = np.full(n, C)
            regression = name == "cpusmall"
            machine = SVR((y - y.mean()) / y.std(), cost, 0.1) if regression else CSVC(2.0 * (y == y.max()) - 1, cost)
            problem = machine.build(access)
            line = f"{name + f' {n} × {X.shape[1]}, C={C:g}':34}"
            for solver in (WorkingSet(tol=1e-3, max_time=limit), LowRankInteriorPoint(tol=1e-10)):
                began = time.process_time()
                found = solver.solve(problem)
                seconds = time.process_time() - began
                proof = certify(problem, *found.point)
                line += f"{seconds:8.2f}{proof.relative_gap:9.0e}{proof.kkt_violation:9.0e}"
                line += f"{found.iterations / n:9.0f}" if isinstance(solver, WorkingSet) else ""
            print(line, flush=True)
    return 0


HEAD = f"{'problem':46}{'probe ms':>9}{'rank':>6}{'working set':>20}{'auto':>20}"


def probe(limit):
    print(HEAD)
    for name, rows, kernel in (
        ("abalone", 4177, Polynomial(degree=2, gamma=1.0, coef0=1.0)),
        ("cpusmall", 8000, Polynomial(degree=2, gamma=1.0, coef0=1.0)),
        ("abalone", 4177, RBF(1e-4)),
        ("cpusmall", 8000, RBF(0.1)),
    ):
        X, y = scaled(name, rows)
        access, n = open_access(kernel, X), len(y)
        for C in (1.0, 100.0, 1e4):
            problem = SVR((y - y.mean()) / y.std(), np.full(n, C), 0.1).build(access)
            probed(f"{name} {n} × {X.shape[1]}, {kernel!r}, C={C:g}", problem, limit)
    return 0


def plane(limit):
    print(HEAD)
    rng, n = np.random.default_rng(0), 4000
    X = rng.uniform(-1, 1, (n, 2))
    f = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - 0.3
    sign, target = np.sign(f + 0.5 * rng.normal(size=n)), f + 0.1 * rng.normal(size=n)
    access = open_access(RBF(1.0), X)
    for C in (1e3, 1e4, 1e5):
        probed(f"plane, values, RBF(1), C={C:g}", SVR(target, np.full(n, C), 0.1).build(access), limit)
        probed(f"plane, signs, RBF(1), C={C:g}", CSVC(sign, np.full(n, C)).build(access), limit)
    return 0


def probed(label, problem, limit):
    began = time.process_time()
    rank = estimated_rank(problem)
    line = f"{label[:45]:46}{1e3 * (time.process_time() - began):9.0f}{rank or '–':>6}"
    for solver in (WorkingSet(tol=1e-3, max_time=limit), Auto(tol=1e-3, max_time=2 * limit)):
        began = time.process_time()
        found = solver.solve(problem)
        seconds = time.process_time() - began
        gap = certify(problem, *found.point).relative_gap
        line += f"{seconds:9.2f}{'' if found.status is Status.SOLVED else '*':1}{gap:10.0e}"
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
