"""Is every path exact?  Small sets, raw and standardised, gamma from 1e-3 to 1e2, C from 1e-4 to 1e6, points twice.

    python benchmarks/paths/exactness.py [--only NAME ...] [--kernel rbf|linear] [--random 20] [--inside 3]

For every path: the largest KKT violation at a breakpoint (relative to max |c| + max K · max C); the same at random C,
computed from the data by `certify`; the largest distance, in the decision function, to a machine trained afresh at each
of these C (SMO, then the exact optimum by docs/math (214); nothing shared with the path).  Where that is above 1e-7
("refined"): the distance when both put their last digits right, docs/math (253), and sums are exact.  Where this is
above 1e-7 too, the optimum that belongs to the path's index sets is computed in sixty digits: how much it violates the
optimality conditions, relative as above (proved: below 1e-30 these sets are the right ones, whatever doubles say), how
far from it are path and fresh fit, and how far it is from itself with β and b rounded to doubles ("rounded"): much
nearer a fit whose coefficients are doubles will hardly be.  Last, the largest distance to the interior point method
with polishing, for a few of the C and small problems, beyond what its own duality gap allows, docs/math (245).

Bad is a violation above 1e-9, or a refined distance above 1e-7 unless the path is within 1e-7 of that optimum, or twice
as far as the rounded one, and its sets violate the conditions by less than 1e-15.  "grid" and
"line" are made up: points on an integer grid with ties and contradictions, and a rank-deficient kernel with ties.
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
from reference.digits import optimum

from reference.benchmark_data import BINARY, MULTICLASS, REGRESSION, load

KERNELS = (("rbf", 1e-3), ("rbf", 1e-1), ("rbf", 1.0), ("rbf", 1e2), ("linear", 1.0))
MADE = ("grid", "line")
INSIDE_SIZE = 400  # variables up to which the interior point method is asked too


def made(name):
    rng = np.random.default_rng(0)
    if name == "grid":
        X = np.array([(i, j) for i in range(15) for j in range(15)] * 2, dtype=float)
        return X, np.where((X[:, 0] + X[:, 1]) % 5 + rng.integers(0, 2, len(X)) > 2, 1.0, -1.0)
    X = np.round(rng.normal(size=(1000, 2)), 1)
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=1000) > 0, 1.0, -1.0)


def problems(name):
    X, y = made(name) if name in MADE else load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    task = "regression" if name in REGRESSION else "classification"
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        y = np.where(y == (labels[np.argmax(counts)] if len(labels) > 2 else labels[0]), -1.0, 1.0)
    for scaling in ("raw", "std"):
        Z = X if scaling == "raw" else StandardScaler().fit_transform(X)
        t = y if task == "classification" else (y - y.mean()) / y.std()
        yield f"{scaling}", Z, t, task
        if len(y) <= 600:
            yield f"{scaling} twice", np.concatenate([Z, Z]), np.concatenate([t, t]), task


def from_inside(path, K, access, C):
    """Distance of Kβ to the interior point method's beyond what its gap allows; None where it did not polish."""
    problem = path.motion.problem(access, C)
    found = InteriorPoint(tol=1e-10, max_time=2.0).solve(problem)
    if not found.polished:
        return None
    beta = (path.motion.sign * found.alpha).reshape(-1, path.n_samples).sum(axis=0)
    gap = max(0.0, certify(problem, found.alpha, found.mu).gap)
    apart = np.abs(K @ (beta - path.coefficients(C)))
    return max(0.0, float(np.max(apart - np.sqrt(2 * gap * np.diagonal(K)))))


def values_of(K, beta, b):
    """Kβ + b with an exact sum."""
    high, low = exact_product(K, beta)
    return (high + b) + low


def fresh_fit(engine, motion, K, access, C):
    """A machine trained afresh: its values, and those with its last digits put right."""
    engine.start(motion, C)
    beta, mu = engine.set.beta, engine.set.mu
    plain = K @ beta.reshape(-1, len(K)).sum(axis=0) + mu[0]

    def refined():
        better, offset = refine(motion, access, C, engine.set.places == MARGIN, beta, mu)
        return values_of(K, better.reshape(-1, len(K)).sum(axis=0), offset[0])

    return plain, refined


def proof(path, K, C, ours, theirs):
    """(violation, distance of path, of fresh fit, of the rounded optimum) from the optimum in sixty digits."""
    found = optimum(path.motion, K, C, path.pieces.places(path.pieces.segment(C)), path.intercept(C))
    scale = np.max(np.diagonal(K))
    unit = np.max(np.abs(path.motion.linear)) + scale * C
    rounded = values_of(K, found.beta, found.mu)
    distances = (np.max(np.abs(f - found.values)) for f in (ours, theirs, rounded))
    return max(found.violation, scale * found.outside) / unit, *distances


def show(name, label, X, y, task, kernel, gamma, count, inside):
    K = make_kernel(kernel, gamma=gamma)(X)
    began = time.perf_counter()
    path = hinge.regularization_path(K, y, kernel="precomputed", C_min=1e-4, C_max=1e6, task=task, epsilon=0.1)
    seconds = time.perf_counter() - began
    access, scale = open_access(Precomputed(), K), np.max(np.diagonal(K))
    engine = Engine(access, path.motion.group, path.motion.size // len(y))
    worst, apart, refined, beyond, compared, proofs = 0.0, 0.0, 0.0, 0.0, 0, []
    for k, C in enumerate(10 ** np.random.default_rng(0).uniform(-4, 6, count)):
        found = path.certificate(C)
        unit = np.max(np.abs(path.motion.linear)) + scale * C
        worst = max(worst, found.kkt_violation / unit, found.infeasibility / C)
        plain, better = fresh_fit(engine, path.motion, K, access, C)
        here = np.max(np.abs(plain - path.decision_function(K, C)))
        apart = max(apart, here)
        if here > 1e-7:
            ours, theirs = values_of(K, *path.refined(C)), better()
            here = np.max(np.abs(ours - theirs))
            if here > 1e-7:
                proofs.append((here, *proof(path, K, C, ours, theirs)))
        refined = max(refined, here)
        other = from_inside(path, K, access, C) if k < inside and path.motion.size <= INSIDE_SIZE else None
        if other is not None:
            beyond, compared = max(beyond, other), compared + 1
    excess = any(v > 1e-15 or ours > max(1e-7, 2 * rounded) for _, v, ours, _, rounded in proofs)
    good = max(path.kkt_violation, worst) <= 1e-9 and not excess and beyond <= 1e-7
    counts = path.counts
    line = f"{name:20} {label:10} {kernel:6} {gamma:7g} {len(y):5d} {counts.events:7d} {counts.mean_margin:7.1f}"
    line += f" {counts.exchanges:6d} {counts.repairs:4d} {path.kkt_violation:9.1e} {worst:9.1e} {apart:9.1e}"
    line += f" {refined:9.1e} {beyond:9.1e} {compared:3d} {seconds:7.2f}"
    print(line + ("" if good else "  BAD"), flush=True)
    if proofs:
        here, violation, ours, theirs, rounded = max(proofs)
        proved = sum(v <= 1e-30 for _, v, *_ in proofs)
        line = f"{'':31} {len(proofs)} C above 1e-7, {proved} of them proved; where it is {here:.1e}: violation"
        print(f"{line} {violation:.0e}, path {ours:.1e}, fresh {theirs:.1e}, rounded {rounded:.1e} off", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--kernel", choices=("rbf", "linear"), help="this one alone")
    parser.add_argument("--random", type=int, default=20, help="random values of C per path, each with a fresh fit")
    parser.add_argument("--inside", type=int, default=3, help="of these, also by the interior point method")
    arguments = parser.parse_args()
    head = f"{'set':20} {'':10} {'kernel':6} {'gamma':>7} {'n':>5} {'events':>7} {'mean|M|':>7} {'exch.':>6}"
    head += f" {'rep.':>4} {'KKT':>9} {'KKT any C':>9} {'to fresh':>9} {'refined':>9} {'to inner':>9} {'of':>3}"
    print(f"{head} {'seconds':>7}", flush=True)
    good = total = 0
    for name in MADE + BINARY + MULTICLASS + REGRESSION:
        if arguments.only and name not in arguments.only:
            continue
        for label, X, y, task in problems(name):
            for kernel, gamma in KERNELS:
                if arguments.kernel not in (None, kernel):
                    continue
                total += 1
                try:
                    good += show(name, label, X, y, task, kernel, gamma, arguments.random, arguments.inside)
                except Exception as error:
                    print(f"{name:20} {label:10} {kernel:6} {gamma:7g} {error!r}  BAD", flush=True)
    print(f"\n{total} paths, {arguments.random} values of C on each; {total - good} bad")
    return int(good < total)


if __name__ == "__main__":
    sys.exit(main())
