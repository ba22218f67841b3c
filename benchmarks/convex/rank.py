"""Compare the working-set solver with the low-rank interior-point solver on kernel matrices of low rank.

    python benchmarks/convex/rank.py [--limit 6] [--probe] [--plane]

Default: linear kernels with few features, standardized columns, C from 1 to 1e4, solved by `WorkingSet` (tol=1e-3, up
to --limit seconds) and by `LowRankInteriorPoint` (tol=1e-10). `solver="auto"` switches from the first to the second
after a number of steps that takes about as long as the second (docs/decisions/low-rank.md).

--probe: other kernels, whose rank is estimated from some of the samples: `WorkingSet` (tol=1e-3, up to --limit seconds)
and `Auto` (tol=1e-3, up to twice --limit seconds).
--plane: as --probe, for noisy values or signs of a smooth function at 4,000 random points in a square, with an RBF
kernel and large C. This needs no data files.
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

HEADER_LINEAR = f"""\
Linear kernels

{"":34}{"working set":>39}{"low-rank interior point":>30}
{"":34}{"CPU":>8}{"relative":>10}{"KKT":>10}{"steps per":>11}{"CPU":>10}{"relative":>10}{"KKT":>10}
{"data set":34}{"seconds":>8}{"gap":>10}{"violation":>10}{"sample":>11}{"seconds":>10}{"gap":>10}{"violation":>10}"""

HEADER_ESTIMATED = f"""\
{"":56}{"rank":>9}{"":>6}{"working set":>20}{"auto":>20}
{"":56}{"estimate":>9}{"":>6}{"CPU":>10}{"relative":>10}{"CPU":>10}{"relative":>10}
{"problem":56}{"ms":>9}{"rank":>6}{"seconds":>10}{"gap":>10}{"seconds":>10}{"gap":>10}"""

NOTES = """
Notes
- Times are processor seconds. relative gap: relative duality gap.
- *: the solver reached its time limit. A dash: the rank is not low."""


def load_standardized(name, n):
    X, y = load(name)
    rows = np.random.default_rng(0).permutation(X.shape[0])[:n]
    X, y = X[rows], y[rows]
    X = X.toarray() if sparse.issparse(X) else X
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=6.0, help="time limit of the working-set solver in seconds")
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--plane", action="store_true")
    arguments = parser.parse_args()
    if data_folder() is None and not arguments.plane:
        print("no folder shared/data next to the repository")
        return 1
    if arguments.plane:
        compare_plane(arguments.limit)
    elif arguments.probe:
        compare_estimated(arguments.limit)
    else:
        compare_linear(arguments.limit)
    print(NOTES)
    return 0


def compare_linear(limit):
    print(HEADER_LINEAR)
    for name, rows in (("spambase", 4601), ("ijcnn1", 10000), ("cpusmall", 8000)):
        X, y = load_standardized(name, rows)
        access, n = open_access(Linear(), X), len(y)
        for C in (1.0, 10.0, 100.0, 1e4):
            cost = np.full(n, C)
            if name == "cpusmall":
                problem = SVR((y - y.mean()) / y.std(), cost, 0.1).build(access)
            else:
                problem = CSVC(2.0 * (y == y.max()) - 1, cost).build(access)
            seconds, solution, certificate = solve(WorkingSet(tol=1e-3, max_time=limit), problem)
            row = f"{f'{name} {n} × {X.shape[1]}, C={C:g}':34}{seconds:8.2f}{certificate.relative_gap:10.0e}"
            row += f"{certificate.kkt_violation:10.0e}{solution.iterations / n:11.0f}"
            seconds, _, certificate = solve(LowRankInteriorPoint(tol=1e-10), problem)
            row += f"{seconds:10.2f}{certificate.relative_gap:10.0e}{certificate.kkt_violation:10.0e}"
            print(row, flush=True)


def solve(solver, problem):
    """Return processor seconds, the solution and its certificate."""
    start = time.process_time()
    solution = solver.solve(problem)
    return time.process_time() - start, solution, certify(problem, *solution.point)


def compare_estimated(limit):
    print(f"Other kernels\n\n{HEADER_ESTIMATED}")
    for name, rows, kernel in (
        ("abalone", 4177, Polynomial(degree=2, gamma=1.0, coef0=1.0)),
        ("cpusmall", 8000, Polynomial(degree=2, gamma=1.0, coef0=1.0)),
        ("abalone", 4177, RBF(1e-4)),
        ("cpusmall", 8000, RBF(0.1)),
    ):
        X, y = load_standardized(name, rows)
        access, n = open_access(kernel, X), len(y)
        description = f"RBF({kernel.gamma:g})" if isinstance(kernel, RBF) else f"polynomial of degree {kernel.degree}"
        for C in (1.0, 100.0, 1e4):
            problem = SVR((y - y.mean()) / y.std(), np.full(n, C), 0.1).build(access)
            compare_problem(f"{name} {n} × {X.shape[1]}, {description}, C={C:g}", problem, limit)


def compare_plane(limit):
    print(f"A smooth function in the plane\n\n{HEADER_ESTIMATED}")
    rng, n = np.random.default_rng(0), 4000
    X = rng.uniform(-1, 1, (n, 2))
    f = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - 0.3
    sign, target = np.sign(f + 0.5 * rng.normal(size=n)), f + 0.1 * rng.normal(size=n)
    access = open_access(RBF(1.0), X)
    for C in (1e3, 1e4, 1e5):
        compare_problem(f"regression, RBF(1), C={C:g}", SVR(target, np.full(n, C), 0.1).build(access), limit)
        compare_problem(f"classification, RBF(1), C={C:g}", CSVC(sign, np.full(n, C)).build(access), limit)


def compare_problem(label, problem, limit):
    start = time.process_time()
    rank = estimated_rank(problem)
    row = f"{label:56}{1e3 * (time.process_time() - start):9.0f}{rank or '-':>6}"
    for solver in (WorkingSet(tol=1e-3, max_time=limit), Auto(tol=1e-3, max_time=2 * limit)):
        seconds, solution, certificate = solve(solver, problem)
        mark = "" if solution.status is Status.SOLVED else "*"
        row += f"{f'{seconds:.2f}{mark}':>10}{certificate.relative_gap:10.0e}"
    print(row, flush=True)


if __name__ == "__main__":
    sys.exit(main())
