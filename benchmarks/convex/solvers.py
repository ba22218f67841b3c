"""Which solver when: processor seconds and certified gaps of the solvers of hinge on the same problems.

    python benchmarks/convex/solvers.py [--sizes 250 500 1000 2000] [--iterative]

Every solver gets one thread and its own notion of tolerance: `tol` (a KKT violation) of 1e-3 and 1e-8 for working sets
and SMO, a relative gap of 1e-10 for interior point. The gap is recomputed by code that no solver uses.

--iterative: Newton's method (relative gap 1e-8), the Lagrangian method (1e-4), gradient descent and the AdaTron (1e-3),
three seconds each, beside `Auto` (tol 1e-3).
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
    "working set 1e-3": WorkingSet(tol=1e-3),
    "working set 1e-8": WorkingSet(tol=1e-8, max_time=60.0),
    "SMO 1e-3": SMO(tol=1e-3, max_time=60.0),
    "interior point": InteriorPoint(max_time=60.0),
}

ITERATIVE = {
    "auto 1e-3": Auto(tol=1e-3, max_time=60.0),
    "Newton": Newton(max_time=3.0),
    "Lagrangian": Lagrangian(max_time=3.0),
    "gradient descent": GradientDescent(max_time=3.0),
    "AdaTron": AdaTron(max_time=3.0),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[250, 500, 1000, 2000])
    parser.add_argument("--iterative", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    solvers = ITERATIVE if arguments.iterative else SOLVERS
    print(f"{'problem':34} {'n':>5}  " + "".join(f"{name:>24}" for name in solvers))
    with threadpool_limits(1):
        for n in arguments.sizes:
            for label, machine, access in problems(n):
                line = f"{label:34} {n:5}  "
                for solver in solvers.values():
                    line += f"{cell(solver, machine.build(access)):>24}"
                print(line, flush=True)


def problems(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    y = signal + 0.3 * rng.normal(size=n)
    access, one = open_access(RBF(0.1), X), np.ones(n)
    sign = np.where(y > 0, 1.0, -1.0)
    for C in (1.0, 1e3):
        for loss in (losses.Hinge(), losses.SquaredHinge(), losses.Logistic()):
            yield f"{type(loss).__name__}, C={C:g}", ConvexLoss(sign, C * one, loss), access
        for loss in (losses.EpsilonInsensitive(0.1), losses.Huber(0.3)):
            yield f"{type(loss).__name__}, C={C:g}", ConvexLoss(y, C * one, loss), access


def cell(solver, problem):
    began = time.process_time()
    try:
        found = solver.solve(problem)
    except ValueError:
        return "not for this loss"
    seconds = time.process_time() - began
    gap = certify(problem, *found.point).relative_gap
    mark = "" if found.status == 0 else "*"
    return f"{seconds:.2f}{mark} ({gap:.0e})"


if __name__ == "__main__":
    main()
