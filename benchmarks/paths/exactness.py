"""Verify the exactness of regularization paths on small data sets.

    python benchmarks/paths/exactness.py [--only NAME ...] [--kernel rbf|linear] [--random 20] [--inside 3]

The data are unscaled and standardized, with each sample once and twice, gamma from 1e-3 to 1e2 and C from 1e-4 to 1e6.
Each path is compared with

- the optimality conditions, at all breakpoints and at random values of C;
- a new fit at each of these values of C (SMO and polishing to the exact optimum, docs/math (214));
- the interior-point method with polishing, for a few values of C and small problems, beyond the difference that its
  duality gap allows, docs/math (245).

If the difference from the new fit exceeds 1e-7, both solutions are refined (docs/math (253)) and summed exactly. If the
difference still exceeds 1e-7, the optimum for the index sets of the path is computed with sixty digits. The index sets
are verified if this optimum violates the optimality conditions by less than 1e-30.

A path fails if a violation exceeds 1e-9, or if a refined difference exceeds 1e-7, unless the path is within 1e-7 of the
optimum in sixty digits, or within twice the distance of the optimum rounded to double precision, and its index sets
violate the conditions by less than 1e-15. The data sets "grid" and "line" are synthetic: points on an integer grid with
ties and contradicting labels, and a rank-deficient kernel with ties.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.kernels import Precomputed, make_kernel, open_access
from hinge.paths.breakpoints import MARGIN
from hinge.paths.engine import Engine
from hinge.paths.refinement import exact_product, refine
from hinge.problems import certify
from hinge.solvers import InteriorPoint

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import BINARY, MULTICLASS, REGRESSION, load
from reference.high_precision import optimum

KERNELS = (("rbf", 1e-3), ("rbf", 1e-1), ("rbf", 1.0), ("rbf", 1e2), ("linear", 1.0))
SYNTHETIC = ("grid", "line")
MAX_INTERIOR_POINT_SIZE = 400  # larger problems are not compared with the interior-point method

HEADER = f"""\
{"":20} {"":15} {"":6} {"":>7} {"":>7} {"break-":>7} {"mean":>7} {"":>9} {"":>7} {"KKT violation at":>21} \
{"difference from new fit":>23} {"interior point":>16} {"":>7}
{"data set":20} {"features":15} {"kernel":6} {"gamma":>7} {"samples":>7} {"points":>7} {"margin":>7} {"exchanges":>9} \
{"repairs":>7} {"breakpoints":>11} {"any C":>9} {"as is":>11} {"refined":>11} {"difference":>10} {"count":>5} \
{"seconds":>7}"""

INDENT = 36 * " "

NOTES = """
Notes
- features: unscaled or scaled (standardized); twice: the data contain each sample twice.
- mean margin: mean number of samples on the margin. exchanges, repairs: degenerate events of the path algorithm.
- KKT violation: largest violation at the breakpoints (computed by the path algorithm) and at random values of C
  (computed from the data), relative to max |c| + max K · max C.
- difference from new fit: largest difference of the decision values at random values of C; refined: after iterative
  refinement of both if the difference exceeds 1e-7.
- interior point: largest difference from the interior-point method beyond its duality gap, and number of comparisons.
- FAILED: the path does not meet the criteria in the documentation of the script."""


def synthetic_data(name):
    rng = np.random.default_rng(0)
    if name == "grid":
        X = np.array([(i, j) for i in range(15) for j in range(15)] * 2, dtype=float)
        return X, np.where((X[:, 0] + X[:, 1]) % 5 + rng.integers(0, 2, len(X)) > 2, 1.0, -1.0)
    X = np.round(rng.normal(size=(1000, 2)), 1)
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=1000) > 0, 1.0, -1.0)


def problems(name):
    X, y = synthetic_data(name) if name in SYNTHETIC else load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    task = "regression" if name in REGRESSION else "classification"
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        y = np.where(y == (labels[np.argmax(counts)] if len(labels) > 2 else labels[0]), -1.0, 1.0)
    for scaling in ("unscaled", "scaled"):
        Z = X if scaling == "unscaled" else StandardScaler().fit_transform(X)
        t = y if task == "classification" else (y - y.mean()) / y.std()
        yield scaling, Z, t, task
        if len(y) <= 600:
            yield f"{scaling}, twice", np.concatenate([Z, Z]), np.concatenate([t, t]), task


def interior_point_difference(path, K, access, C):
    """Return the difference of Kβ from the interior-point solution beyond its gap; None if it was not polished."""
    problem = path.parametric.problem(access, C)
    solution = InteriorPoint(tol=1e-10, max_time=2.0).solve(problem)
    if not solution.polished:
        return None
    beta = (path.parametric.sign * solution.alpha).reshape(-1, path.n_samples).sum(axis=0)
    gap = max(0.0, certify(problem, solution.alpha, solution.mu).gap)
    difference = np.abs(K @ (beta - path.coefficients(C)))
    return max(0.0, float(np.max(difference - np.sqrt(2 * gap * np.diagonal(K)))))


def decision_values(K, beta, b):
    """Return Kβ + b with exact summation."""
    high, low = exact_product(K, beta)
    return (high + b) + low


def new_fit(engine, parametric, K, access, C):
    """Return the decision values of a new fit, and a function that returns them after iterative refinement."""
    engine.start(parametric, C)
    beta, mu = engine.active_set.beta, engine.active_set.mu
    plain = K @ beta.reshape(-1, len(K)).sum(axis=0) + mu[0]

    def refined():
        better, offset = refine(parametric, access, C, engine.active_set.places == MARGIN, beta, mu)
        return decision_values(K, better.reshape(-1, len(K)).sum(axis=0), offset[0])

    return plain, refined


def compare_with_exact_optimum(path, K, C, ours, theirs):
    """Return the KKT violation of the optimum in sixty digits, and the distances of the path, of the new fit and of the
    rounded optimum from it."""
    exact = optimum(path.parametric, K, C, path.pieces.places(path.pieces.segment(C)), path.intercept(C))
    scale = np.max(np.diagonal(K))
    unit = np.max(np.abs(path.parametric.linear)) + scale * C
    rounded = decision_values(K, exact.beta, exact.mu)
    distances = (np.max(np.abs(f - exact.values)) for f in (ours, theirs, rounded))
    return max(exact.violation, scale * exact.outside) / unit, *distances


def check_path(name, label, X, y, task, kernel, gamma, count, inside):
    """Print the row of a path and return whether it meets the criteria."""
    K = make_kernel(kernel, gamma=gamma)(X)
    start = time.perf_counter()
    path = hinge.regularization_path(K, y, kernel="precomputed", C_min=1e-4, C_max=1e6, task=task, epsilon=0.1)
    seconds = time.perf_counter() - start
    access, scale = open_access(Precomputed(), K), np.max(np.diagonal(K))
    engine = Engine(access, path.parametric.group, path.parametric.size // len(y))
    violation, difference, refined, beyond, compared, exact = 0.0, 0.0, 0.0, 0.0, 0, []
    for k, C in enumerate(10 ** np.random.default_rng(0).uniform(-4, 6, count)):
        certificate = path.certificate(C)
        unit = np.max(np.abs(path.parametric.linear)) + scale * C
        violation = max(violation, certificate.kkt_violation / unit, certificate.infeasibility / C)
        plain, refined_values = new_fit(engine, path.parametric, K, access, C)
        at_C = np.max(np.abs(plain - path.decision_function(K, C)))
        difference = max(difference, at_C)
        if at_C > 1e-7:
            ours, theirs = decision_values(K, *path.refined(C)), refined_values()
            at_C = np.max(np.abs(ours - theirs))
            if at_C > 1e-7:
                exact.append((at_C, *compare_with_exact_optimum(path, K, C, ours, theirs)))
        refined = max(refined, at_C)
        other = None
        if k < inside and path.parametric.size <= MAX_INTERIOR_POINT_SIZE:
            other = interior_point_difference(path, K, access, C)
        if other is not None:
            beyond, compared = max(beyond, other), compared + 1
    inexact = any(v > 1e-15 or ours > max(1e-7, 2 * rounded) for _, v, ours, _, rounded in exact)
    passed = max(path.kkt_violation, violation) <= 1e-9 and not inexact and beyond <= 1e-7
    counts = path.counts
    row = f"{name:20} {label:15} {kernel:6} {gamma:7g} {len(y):7d} {counts.events:7d} {counts.mean_margin:7.1f}"
    row += f" {counts.exchanges:9d} {counts.repairs:7d} {path.kkt_violation:11.1e} {violation:9.1e} {difference:11.1e}"
    row += f" {refined:11.1e} {beyond:10.1e} {compared:5d} {seconds:7.2f}"
    print(row + ("" if passed else "  FAILED"), flush=True)
    if exact:
        largest, violation, ours, theirs, rounded = max(exact)
        verified = sum(v <= 1e-30 for _, v, *_ in exact)
        print(
            f"{INDENT} {len(exact)} values of C with a refined difference above 1e-7; "
            f"index sets verified for {verified};\n"
            f"{INDENT} at the largest difference, {largest:.1e}: "
            f"KKT violation of the optimum in sixty digits {violation:.0e};\n"
            f"{INDENT} distance from that optimum: path {ours:.1e}, new fit {theirs:.1e}, "
            f"rounded optimum {rounded:.1e}",
            flush=True,
        )
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--kernel", choices=("rbf", "linear"), help="only this kernel")
    parser.add_argument("--random", type=int, default=20, help="random values of C per path, each with a new fit")
    parser.add_argument("--inside", type=int, default=3, help="number of these with the interior-point method")
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    passed = total = 0
    for name in SYNTHETIC + BINARY + MULTICLASS + REGRESSION:
        if arguments.only and name not in arguments.only:
            continue
        for label, X, y, task in problems(name):
            for kernel, gamma in KERNELS:
                if arguments.kernel not in (None, kernel):
                    continue
                total += 1
                try:
                    passed += check_path(name, label, X, y, task, kernel, gamma, arguments.random, arguments.inside)
                except Exception as error:
                    print(f"{name:20} {label:15} {kernel:6} {gamma:7g} {error!r}  FAILED", flush=True)
    print(f"\n{total} paths, {arguments.random} values of C on each; {total - passed} failed")
    print(NOTES)
    return int(passed < total)


if __name__ == "__main__":
    sys.exit(main())
