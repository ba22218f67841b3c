"""Compare the solvers of hinge on the same problems.

    python benchmarks/convex/solvers.py [--sizes 250 500 1000 2000] [--iterative]

Each solver runs on one thread. The tolerance of the working-set and SMO solvers is a KKT violation of 1e-3 or 1e-8.
That of the interior-point solver is a relative gap of 1e-10. The gaps are computed by code that no solver uses.

--iterative: Newton's method (relative gap 1e-8), Lagrangian method (1e-4), gradient descent and AdaTron (1e-3) with a
time limit of three seconds, and `Auto` (tol=1e-3).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from hinge import losses
from hinge.formulations import ConvexLoss
from hinge.kernels import RBF, open_access
from hinge.problems import certify
from hinge.solvers import SMO, AdaTron, Auto, GradientDescent, InteriorPoint, Lagrangian, Newton, WorkingSet

SOLVERS = {
    "working set, tol 1e-3": WorkingSet(tol=1e-3),
    "working set, tol 1e-8": WorkingSet(tol=1e-8, max_time=60.0),
    "SMO, tol 1e-3": SMO(tol=1e-3, max_time=60.0),
    "interior point": InteriorPoint(max_time=60.0),
}

ITERATIVE = {
    "auto, tol 1e-3": Auto(tol=1e-3, max_time=60.0),
    "Newton": Newton(max_time=3.0),
    "Lagrangian": Lagrangian(max_time=3.0),
    "gradient descent": GradientDescent(max_time=3.0),
    "AdaTron": AdaTron(max_time=3.0),
}


LOSS_NAMES = {
    "Hinge": "hinge",
    "SquaredHinge": "squared hinge",
    "Logistic": "logistic",
    "EpsilonInsensitive": "epsilon-insensitive",
    "Huber": "Huber",
}

NOTES = """
Notes
- Each cell contains the processor seconds and, in parentheses, the relative duality gap of the solution.
- *: the solver stopped before its tolerance was reached.
- not supported: the solver does not support the loss.
- Data: 10 random features, RBF kernel with gamma 0.1, noisy targets or labels. One thread."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[250, 500, 1000, 2000])
    parser.add_argument("--iterative", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    solvers = ITERATIVE if arguments.iterative else SOLVERS
    print("Processor seconds (relative duality gap) of the solvers of hinge\n")
    print(f"{'problem':34} {'n':>5}  " + "".join(f"{name:>24}" for name in solvers))
    with threadpool_limits(1):
        for n in arguments.sizes:
            for label, formulation, access in problems(n):
                line = f"{label:34} {n:5}  "
                for solver in solvers.values():
                    line += f"{cell(solver, formulation.build(access)):>24}"
                print(line, flush=True)
    print(NOTES)


def problems(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    y = signal + 0.3 * rng.normal(size=n)
    access, one = open_access(RBF(0.1), X), np.ones(n)
    sign = np.where(y > 0, 1.0, -1.0)
    for C in (1.0, 1e3):
        for loss in (losses.Hinge(), losses.SquaredHinge(), losses.Logistic()):
            yield f"{LOSS_NAMES[type(loss).__name__]}, C = {C:g}", ConvexLoss(sign, C * one, loss), access
        for loss in (losses.EpsilonInsensitive(0.1), losses.Huber(0.3)):
            yield f"{LOSS_NAMES[type(loss).__name__]}, C = {C:g}", ConvexLoss(y, C * one, loss), access


def cell(solver, problem):
    start = time.process_time()
    try:
        solution = solver.solve(problem)
    except ValueError:
        return "not supported"
    seconds = time.process_time() - start
    gap = certify(problem, *solution.point).relative_gap
    mark = "" if solution.status == 0 else "*"
    return f"{seconds:.2f}{mark} ({gap:.0e})"


if __name__ == "__main__":
    main()
