"""Measure the precision of the interior-point solver, and compare its time with PIQP and Clarabel.

    python benchmarks/convex/interior.py [--sets] [--times] [--sizes 1000 2000 3000] [--only NAME ...]

--sets: precision on all small data sets, for all formulations and losses with C from 1e-2 to 1e4, and the difference
from SMO (tol=1e-9, three seconds).
--times: processor seconds for the same quadratic programs, one thread each, the best of two runs up to n = 1000. PIQP
solves the dense problem. Clarabel solves an equivalent problem with one dense block (in regression the kernel matrix
occurs once). Both use their default tolerances. All solvers get the kernel matrix. PIQP and Clarabel are in the extra
`benchmark`.
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
from hinge.problems import Diagonal, Status, optimality
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
        print("no folder shared/data next to the repository")
        return 1
    warnings.simplefilter("ignore")
    if arguments.sets or not arguments.times:
        precision([name for name in BINARY + MULTICLASS + REGRESSION if not arguments.only or name in arguments.only])
    if arguments.times or not arguments.sets:
        with threadpool_limits(1):
            times(arguments.sizes, arguments.only)
    return 0


# ---- precision ------------------------------------------------------------------------------------------------


HEADER_PRECISION = f"""\
Precision of the interior-point solver

{"":22} {"":>7} {"":>8} {"most":>10} {"":>8} {"largest":>8} {"double-":>7} {"gap in":>8} {"solved":>6} \
{"differ.":>8} {"":>6}
{"data set":22} {"samples":>7} {"problems":>8} {"iterations":>10} {"unsolved":>8} {"gap":>8} {"double":>7} \
{"double":>8} {"by SMO":>6} {"from SMO":>8} {"CPU s":>6}"""

NOTES_PRECISION = """
Notes
- largest gap: largest relative duality gap of all problems, recomputed from the data by independent code.
- double-double: number of problems for which the solution is stored in double-double arithmetic (docs/math (379)). The
  gap is then that of the program with the given kernel matrix.
- gap in double: largest relative gap after rounding all solutions to double precision.
- solved by SMO: number of problems that SMO solves with tol 1e-9 within three seconds.
- difference from SMO: largest difference of the decision values from those of SMO, relative to the largest decision
  value, or to 1 if that is larger."""


def precision(names):
    print(HEADER_PRECISION)
    total, failures = 0, []
    for name in names:
        start = time.process_time()
        results = [solve(*problem) for problem in problems_of(name)]
        labels, n, iterations, gaps, unsolved, differences, rounding, extended, double = zip(*results, strict=True)
        differences = [difference for difference in differences if difference is not None]
        seconds = time.process_time() - start
        print(
            f"{name:22} {n[0]:7} {len(results):8} {max(iterations):10} {sum(unsolved):8} {max(gaps):8.1e} "
            f"{sum(extended):7} {max(double):8.1e} {len(differences):6} {max(differences, default=np.nan):8.1e} "
            f"{seconds:6.1f}",
            flush=True,
        )
        total += len(results)
        rows = zip(gaps, [name] * len(results), labels, iterations, rounding, strict=True)
        failures += [row for row in rows if row[0] > 1e-10 or row[3] > 30]
    print(f"\n{total - len(failures)} of {total} problems have a gap of at most 1e-10 after at most 30 iterations.")
    print(NOTES_PRECISION)
    if failures:
        print("\nThe other problems, and the gap caused by rounding α to double precision (docs/math (377))\n")
        print(f"{'data set':22} {'problem':45} {'gap':>8} {'iterations':>10} {'rounding':>9} {'ratio':>6}")
    for gap, name, label, iterations, rounding in sorted(failures, reverse=True):
        print(f"{name:22} {label:45} {gap:8.1e} {iterations:10} {rounding:9.1e} {gap / rounding:6.1f}")


def problems_of(name):
    """Yield (label, formulation, access, direct access) for all formulations that apply to the data set."""
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


def solve(label, formulation, access, direct):
    """Return the label, n, iterations, relative gap, whether the problem is unsolved, the difference from SMO, the gap
    caused by rounding, whether double-double arithmetic was needed, and the relative gap in double precision."""
    problem = formulation.build(access)
    solution = InteriorPoint().solve(problem)
    expansion = formulation.recover(*solution.point)
    certificate = optimality(formulation.certified_problem(direct), *formulation.dual_point(expansion))
    alpha, width = solution.alpha, problem.upper - problem.lower
    free = (alpha > problem.lower) & (alpha < problem.upper)
    slack = float(np.sum(np.where(np.isfinite(width), width, np.abs(alpha))[free]))
    gradient_error = 2.2e-16 * float(np.max(access.diagonal())) * float(np.linalg.norm(alpha))
    rounding = gradient_error * slack / max(abs(certificate.primal), 1e-300)
    difference = difference_from_smo(problem, solution)
    unsolved = solution.status is not Status.SOLVED
    gap_in_double = gap = certificate.relative_gap
    if solution.remainder is not None:
        gap = optimality(problem, *solution.point, remainder=solution.remainder).relative_gap
    extended = solution.remainder is not None
    return label, access.n, solution.iterations, gap, unsolved, difference, rounding, extended, gap_in_double


def difference_from_smo(problem, solution):
    """Return the difference of the decision values (up to signs) from those of SMO; None if SMO does not converge."""
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return None
    other = SMO(tol=1e-9, max_time=3.0).solve(problem)
    if other.status is not Status.SOLVED:
        return None
    ours, theirs = (problem.gradient(s.alpha) - problem.p + s.mu @ problem.A for s in (solution, other))
    return float(np.max(np.abs(ours - theirs)) / max(1.0, np.max(np.abs(theirs))))


# ---- time -----------------------------------------------------------------------------------------------------


PEER_COLUMNS = (("CPU", "seconds", 8), ("rel.", "gap", 8), ("time", "ratio", 6))
COLUMNS = (
    ("CPU", "seconds", 8), ("itera-", "tions", 7), ("cross-", "over", 9), ("rel.", "gap", 8), *PEER_COLUMNS,
    *PEER_COLUMNS,
)  # fmt: skip
HEADER_TIMES = "\n".join(
    (
        "Time of the interior-point solver, PIQP and Clarabel on the same quadratic programs",
        "",
        f"{'':32} {'':>7} {'hinge':>35} {'PIQP':>24} {'Clarabel':>24}",
        f"{'':32} {'':>7} " + " ".join(f"{first:>{width}}" for first, _, width in COLUMNS),
        f"{'problem':32} {'samples':>7} " + " ".join(f"{second:>{width}}" for _, second, width in COLUMNS),
    )
)

NOTES_TIMES = """
Notes
- iterations: iterations of the interior-point method; 0 if the active set found by SMO steps is used directly.
- crossover: number of steps of the crossover to the exact active set.
- rel. gap: relative duality gap of the solution.
- time ratio: time of the other solver divided by the time of hinge."""


def times(sizes, only=None):
    print(HEADER_TIMES)
    ratios = {"PIQP": [], "Clarabel": []}
    for n in sizes:
        for label, formulation, access in timed_problems(n):
            if only and not any(name in label for name in only):
                continue
            problem = formulation.build(access)
            runs = 2 if n <= 1000 else 1
            seconds, solution = measure(lambda problem=problem: InteriorPoint().solve(problem), runs)
            line = f"{label:32} {n:7} {seconds:8.3f} {solution.iterations:7} {solution.counters['crossover_steps']:9}"
            line += f" {gap(problem, solution.alpha):8.1e}"
            for name, solve_by in (("PIQP", solve_by_piqp), ("Clarabel", solve_by_clarabel)):
                their_seconds, alpha = solve_by(problem, runs)
                ratios[name].append(their_seconds / seconds)
                line += f" {their_seconds:8.2f} {gap(problem, alpha):8.1e} {their_seconds / seconds:6.1f}"
            print(line, flush=True)
    for name, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"{name}: {mean:.1f} times the time of hinge (geometric mean); smallest ratio {min(values):.1f}")
    print(NOTES_TIMES)


def measure(run, runs=1):
    """Return the smallest processor time of the runs, and the last result."""
    best = np.inf
    for _ in range(runs):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return best, result


def timed_problems(n):
    """Yield (label, formulation, access); the access contains the precomputed kernel matrix."""
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
    return optimality(problem, np.clip(alpha, problem.lower, problem.upper)).relative_gap


def solve_by_piqp(problem, runs=1):
    rows = np.arange(problem.size)
    Q, A = np.asfortranarray(problem.Q.block(rows, rows)), np.asfortranarray(problem.A)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False

    def run():
        solver.setup(Q, problem.p, A, problem.d, None, None, None, problem.lower, problem.upper)
        solver.solve()

    return measure(run, runs)[0], np.asarray(solver.result.x)


def solve_by_clarabel(problem, runs=1):
    """Solve min ½vᵀKv + pᵀα,  v = Eα,  Aα = d,  l ≤ α ≤ u for regression; without v if a sample has one variable."""
    Q, size, n = problem.Q, problem.size, problem.Q.n
    if Q.slots == 1:
        dense = Q.block(np.arange(size), np.arange(size))
        P, q, rows = sparse.csc_matrix(dense), problem.p, sparse.csc_matrix(problem.A)
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
    seconds, answer = measure(lambda: clarabel.DefaultSolver(P, q, A, b, cones, settings).solve(), runs)
    return seconds, np.asarray(answer.x)[:size]


if __name__ == "__main__":
    sys.exit(main())
