"""Interior point: its precision on every small set of ../shared/data, and its time beside clarabel and piqp.

    python benchmarks/convex/interior.py [--sets] [--times] [--sizes 1000 2000 3000] [--only NAME ...]

--sets: for every set, all machines and losses with C from 1e-2 to 1e4: the most iterations, the largest relative gap,
for how many problems it is that of pairs of doubles (docs/math (379): there the certificate is that of the program
with the matrix it was given; all others are certified from the data by other code), the largest gap of the doubles
alone; for how many problems SMO (tol 1e-9, three seconds) gets there as well, and how far its
decision values are from those of interior point then, relative to the largest (or to the margin, or the targets, which
are one, if that is more; ν-classification and one-class: with the scale of the dual, α of the order of one).
--times: processor seconds for the same quadratic programs, one thread each, the best of two runs up to n = 1000. piqp
solves the dense problem, clarabel one with a single dense block (regressions folded); both with their default
tolerances. All are given the kernel matrix. Both are in the extra `benchmark`.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import clarabel
import numpy as np
import piqp
from scipy import sparse
from threadpoolctl import threadpool_limits

from hinge import formulations as f
from hinge import losses
from hinge.kernels import RBF, DirectAccess, Precomputed, open_access
from hinge.problems import Diagonal, Status, certify
from hinge.solvers import SMO, InteriorPoint

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import BINARY, MULTICLASS, REGRESSION, data_folder, load

COSTS = (1e-2, 1.0, 1e2, 1e4)
MARGIN = (losses.Hinge(), losses.SquaredHinge(), losses.ModifiedHuber(), losses.HuberizedHinge(), losses.Logistic(),
          losses.Exponential())  # fmt: skip
RESIDUAL = (
    losses.EpsilonInsensitive(0.1), losses.SquaredEpsilonInsensitive(0.1), losses.Laplace(), losses.Gaussian(),
    losses.Huber(0.5), losses.PolynomialLoss(1.5), losses.PolynomialLoss(3.0), losses.PiecewisePolynomial(1.5, 0.5),
    losses.PiecewisePolynomial(3.0, 0.5),
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 2000, 3000])
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    if data_folder() is None:
        print("no ../shared/data beside the repository")
        return 1
    warnings.simplefilter("ignore")
    if arguments.sets or not arguments.times:
        precision([name for name in BINARY + MULTICLASS + REGRESSION if not arguments.only or name in arguments.only])
    if arguments.times or not arguments.sets:
        with threadpool_limits(1):
            times(arguments.sizes, arguments.only)
    return 0


# ---- precision ------------------------------------------------------------------------------------------------


def precision(names):
    print(f"{'set':22} {'n':>5} {'problems':>8} {'iterations':>10} {'unsolved':>8} {'gap':>8} {'pairs':>5} "
          f"{'doubles':>8} {'SMO there':>9} {'to SMO':>8} {'s':>6}")  # fmt: skip
    total, worst = 0, []
    for name in names:
        began = time.process_time()
        found = [solve(*problem) for problem in problems_of(name)]
        labels, n, iterations, gaps, unsolved, far, rounding, pairs, doubles = zip(*found, strict=True)
        met = [x for x in far if x is not None]
        to_smo = max(met, default=np.nan)
        seconds = time.process_time() - began
        print(f"{name:22} {n[0]:5} {len(found):8} {max(iterations):10} {sum(unsolved):8} {max(gaps):8.1e} "
              f"{sum(pairs):5} {max(doubles):8.1e} {len(met):9} {to_smo:8.1e} {seconds:6.1f}", flush=True)  # fmt: skip
        total += len(found)
        worst += [
            row for row in zip(gaps, [name] * len(found), labels, iterations, rounding, strict=True)
            if row[0] > 1e-10 or row[3] > 30
        ]  # fmt: skip
    print(f"{total} problems, {total - len(worst)} with a gap of at most 1e-10 in at most 30 iterations. The others, "
          "and the gap that rounding α to double precision makes, docs/math (377):")  # fmt: skip
    for gap, name, label, iterations, rounding in sorted(worst, reverse=True):
        line = f"  {name:22} {label:45} gap {gap:8.1e}  iterations {iterations:3}  rounding {rounding:8.1e}"
        print(f"{line}  ratio {gap / rounding:6.1f}")


def problems_of(name):
    """(label, formulation, access, direct access) for every machine that suits the set."""
    X, y = load(name)
    variance = X.var() if not sparse.issparse(X) else X.multiply(X).mean() - X.mean() ** 2
    kernel = RBF(float(1.0 / (X.shape[1] * variance)))
    accesses = open_access(kernel, X), DirectAccess(kernel, X)
    one, sign = np.ones(len(y)), None
    if name not in REGRESSION:
        classes, counts = np.unique(y, return_counts=True)
        sign = np.where(y == classes[np.argmax(counts)], 1.0, -1.0)
    target = (y - y.mean()) / y.std() if sign is None else sign
    for C in COSTS:
        for loss in MARGIN if sign is not None else ():
            yield f"C={C:g} {loss!r}", f.ConvexLoss(sign, C * one, loss), *accesses
        for loss in RESIDUAL:
            yield f"C={C:g} {loss!r}", f.ConvexLoss(target, C * one, loss), *accesses
        yield f"C={C:g} nu-regression", f.NuSVR(target, C * one, 0.3), *accesses
    for nu in (0.1, 0.4):
        if sign is not None:
            nu_max = 2 * min(np.mean(sign > 0), np.mean(sign < 0))
            yield f"nu={nu * nu_max:.2g} nu-classification", f.NuSVC(sign, one, nu * nu_max), *accesses
        yield f"nu={nu:g} one-class", f.OneClass(one, nu), *accesses


def solve(label, machine, access, direct):
    """(label, n, iterations, relative gap, whether unsolved, distance to SMO's function, the gap of rounding, whether
    pairs were needed, relative gap of the doubles)."""
    problem = machine.build(access)
    found = InteriorPoint().solve(problem)
    expansion = machine.recover(*found.point)
    certificate = certify(machine.certified_problem(direct), *machine.dual_point(expansion))
    width, inside = problem.upper - problem.lower, (found.alpha > problem.lower) & (found.alpha < problem.upper)
    room = float(np.sum(np.where(np.isfinite(width), width, np.abs(found.alpha))[inside]))
    shaky = 2.2e-16 * float(np.max(access.diagonal())) * float(np.linalg.norm(found.alpha))
    rounding = shaky * room / max(abs(certificate.primal), 1e-300)
    far = from_smo(problem, found)
    unsolved = found.status is not Status.SOLVED
    doubles = gap = certificate.relative_gap
    if found.remainder is not None:
        gap = certify(problem, *found.point, remainder=found.remainder).relative_gap
    pairs = found.remainder is not None
    return label, access.n, found.iterations, gap, unsolved, far, rounding, pairs, doubles


def from_smo(problem, found):
    """How far the values r + p of the dual, those of f up to signs, are from SMO's; None where SMO is not there."""
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return None
    other = SMO(tol=1e-9, max_time=3.0).solve(problem)
    if other.status is not Status.SOLVED:
        return None
    ours, theirs = (problem.gradient(s.alpha) - problem.p + s.mu @ problem.A for s in (found, other))
    return float(np.max(np.abs(ours - theirs)) / max(1.0, np.max(np.abs(theirs))))


# ---- time -----------------------------------------------------------------------------------------------------


def times(sizes, only=None):
    print(f"{'problem':32} {'n':>5} {'hinge s':>8} {'it':>3} {'steps':>5} {'gap':>8} {'piqp s':>8} {'gap':>8} "
          f"{'ratio':>6} {'clarabel s':>10} {'gap':>8} {'ratio':>6}")  # fmt: skip
    ratios = {"piqp": [], "clarabel": []}
    for n in sizes:
        for label, machine, access in timed_problems(n):
            if only and not any(name in label for name in only):
                continue
            problem = machine.build(access)
            runs = 2 if n <= 1000 else 1
            seconds, own = measured(lambda problem=problem: InteriorPoint().solve(problem), runs)
            line = f"{label:32} {n:5} {seconds:8.3f} {own.iterations:3} {own.counters['crossover_steps']:5}"
            line += f" {gap(problem, own.alpha):8.1e}"
            for name, rival, width in (("piqp", by_piqp, 8), ("clarabel", by_clarabel, 10)):
                theirs, alpha = rival(problem, runs)
                ratios[name].append(theirs / seconds)
                line += f" {theirs:{width}.2f} {gap(problem, alpha):8.1e} {theirs / seconds:6.1f}"
            print(line, flush=True)
    for name, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"{name}: {mean:.1f} times the time of hinge (geometric mean), {min(values):.1f} at least")


def measured(run, runs=1):
    best = np.inf
    for _ in range(runs):
        began = time.process_time()
        found = run()
        best = min(best, time.process_time() - began)
    return best, found


def timed_problems(n):
    """The kernel matrix is computed here, for everybody."""
    rng = np.random.default_rng(0)
    for name, kind in (("spambase", "c"), ("a9a", "c"), ("ijcnn1", "c"), ("abalone", "r"), ("cpusmall", "r")):
        X, y = load(name)
        rows = rng.permutation(X.shape[0])[:n]
        X, y = X[rows], y[rows]
        X = X.toarray() if sparse.issparse(X) else X
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        K = open_access(RBF(1.0 / X.shape[1]), X).block(np.arange(len(y)), np.arange(len(y)))
        access, one = open_access(Precomputed(), K), np.ones(len(y))
        if kind == "c":
            sign = np.where(y == np.max(y), 1.0, -1.0)
            for C in (1.0, 100.0):
                yield f"{name}: classification, C={C:g}", f.CSVC(sign, C * one), access
        else:
            yield f"{name}: regression, C=10", f.SVR((y - y.mean()) / y.std(), 10.0 * one, 0.1), access


def gap(problem, alpha):
    return certify(problem, np.clip(alpha, problem.lower, problem.upper)).relative_gap


def by_piqp(problem, runs=1):
    Q, A = np.asfortranarray(problem.Q.to_dense()), np.asfortranarray(problem.A)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False

    def run():
        solver.setup(Q, problem.p, A, problem.d, None, None, None, problem.lower, problem.upper)
        solver.solve()

    return measured(run, runs)[0], np.asarray(solver.result.x)


def by_clarabel(problem, runs=1):
    """min ½vᵀKv + pᵀα,  v = Eα,  Aα = d,  l ≤ α ≤ u for regressions; without v where a sample has one variable."""
    Q, size, n = problem.Q, problem.size, problem.Q.n
    if Q.slots == 1:
        P, q, rows = sparse.csc_matrix(Q.to_dense()), problem.p, sparse.csc_matrix(problem.A)
    else:
        K = Q.access.block(np.arange(n), np.arange(n))
        P = sparse.block_diag([sparse.csc_matrix((size, size)), K]).tocsc()
        q = np.concatenate([problem.p, np.zeros(n)])
        fold = sparse.hstack([sparse.eye(n), -sparse.eye(n), -sparse.eye(n)])
        rows = sparse.vstack([fold, sparse.csc_matrix(np.hstack([problem.A, np.zeros((len(problem.d), n))]))])
    eye = sparse.eye(size, len(q))
    A, equal = sparse.vstack([rows, -eye, eye]).tocsc(), rows.shape[0]
    b = np.concatenate([np.zeros(equal - len(problem.d)), problem.d, -problem.lower, problem.upper])
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(2 * size)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    P = sparse.triu(P).tocsc()
    seconds, answer = measured(lambda: clarabel.DefaultSolver(P, q, A, b, cones, settings).solve(), runs)
    return seconds, np.asarray(answer.x)[:size]


if __name__ == "__main__":
    sys.exit(main())
