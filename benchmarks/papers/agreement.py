"""Agreement of hinge with independent computations on data sets: one line for every algorithm and data set.

    python benchmarks/papers/agreement.py [--data FOLDER] [--save]

Each algorithm is compared with Clarabel, SciPy or a direct implementation of the formula, on at most 60 samples of
every data set (FOLDER contains .npz files with X and y; by default the five data sets of the tests). The difference is
relative to the optimum, or to the largest value of the function.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from datetime import date
from pathlib import Path

import clarabel
import numpy as np
from scipy import optimize, sparse

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import hinge  # noqa: E402
from hinge.kernels import RBF  # noqa: E402
from hinge.solvers import SMO  # noqa: E402
from reference.data_sets import binary_data, regression_data, standardized  # noqa: E402

C, GAMMA, EPSILON, TOL, ROWS = 2.0, 0.2, 0.1, 1e-8, 60
RULES = ("first_order", "second_order", "platt", "keerthi_1", "keerthi_2")


def clarabel_dual(K, signs, linear, upper, rows=()):
    """Return max −½βᵀKβ − linear·α, 0 ≤ α ≤ upper, rows α = 0; β is the sum of signs ∘ α over each sample."""
    n, size = len(K), len(signs)
    fold = sparse.csc_matrix((signs, (np.arange(size) % n, np.arange(size))), shape=(n, size))
    P = sparse.triu(fold.T @ sparse.csc_matrix(K) @ fold).tocsc()
    m = len(rows)
    A = sparse.vstack([*(sparse.csc_matrix(row) for row in rows), -sparse.eye(size), sparse.eye(size)]).tocsc()
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(2 * size)] if m else [clarabel.NonnegativeConeT(2 * size)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    found = clarabel.DefaultSolver(P, linear, A, np.r_[np.zeros(m + size), upper], cones, options).solve()
    return -found.obj_val


def svr_optimum(K, y, above, below, tube_above, tube_below, functions):
    """The optimum of ε-regression with unpenalized functions."""
    n = len(y)
    signs = np.r_[np.ones(n), -np.ones(n)]
    linear = np.r_[tube_above - y, tube_below + y]
    return clarabel_dual(K, signs, linear, np.r_[above, below], [np.r_[f, -f] for f in functions.T])


def midpoint(model):
    """The mean of the certified bounds."""
    return 0.5 * (model.certificate_.primal + model.certificate_.dual)


def relative(value, expected):
    """Difference relative to the expected value, or absolute if that is small."""
    return float(np.max(np.abs(value - expected)) / max(1.0, np.max(np.abs(expected))))


def classification(X, y):
    K, n = RBF(GAMMA)(X), len(y)
    expected = clarabel_dual(K, y, -np.ones(n), np.full(n, C), [y])
    for rule in RULES:
        model = hinge.SVC(C=C, gamma=GAMMA, solver=SMO(rule=rule, tol=TOL)).fit(X, y)
        yield f"SMO rule {rule}", relative(midpoint(model), expected)
    for solver in ("working_set", "chunking", "interior_point"):
        model = hinge.SVC(C=C, gamma=GAMMA, solver=solver, tol=TOL).fit(X, y)
        yield f"solver {solver}", relative(midpoint(model), expected)
    free = hinge.SVC(C=C, gamma=GAMMA, fit_intercept=False, tol=TOL).fit(X, y)
    yield "Problem 10.14, no offset", relative(midpoint(free), clarabel_dual(K, y, -np.ones(n), np.full(n, C)))
    functions = np.column_stack([np.ones(n), X])
    semi = hinge.SemiparametricSVC(C=C, gamma=GAMMA).fit(X, y)
    rows = [y * f for f in functions.T]
    separate = clarabel_dual(K, y, -np.ones(n), np.full(n, C), rows)
    yield "semiparametric classification", relative(midpoint(semi), separate)
    path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=GAMMA)
    yield "path over C, at C = 2", relative(
        path.decision_function(X, C), hinge.SVC(C=C, gamma=GAMMA, tol=1e-11).fit(X, y).decision_function(X)
    )
    incremental = hinge.IncrementalSVC(C=C, gamma=GAMMA).fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    yield "incremental classification", relative(midpoint(incremental), expected)
    one = hinge.IncrementalOneClassSVM(nu=0.3, gamma=GAMMA).fit(X[::2]).partial_fit(X[1::2])
    batch = hinge.OneClassSVM(nu=0.3, gamma=GAMMA, tol=1e-11).fit(X)
    yield "incremental one-class", relative(one.decision_function(X), batch.decision_function(X))
    A, B = X[y > 0], X[y < 0]
    means = RBF(GAMMA)(X, A).mean(axis=1) - RBF(GAMMA)(X, B).mean(axis=1)
    offset = 0.5 * (RBF(GAMMA)(B).mean() - RBF(GAMMA)(A).mean())
    parzen = hinge.ParzenClassifier(gamma=GAMMA).fit(X, y).decision_function(X)
    yield "Parzen windows", relative(parzen, means + offset)


def regression(X, y):
    K, n = RBF(GAMMA)(X), len(y)
    one, full = np.ones((n, 1)), np.full(n, C)
    expected = svr_optimum(K, y, full, full, EPSILON, EPSILON, one)
    for rule in RULES:
        model = hinge.SVR(C=C, epsilon=EPSILON, gamma=GAMMA, solver=SMO(rule=rule, tol=TOL)).fit(X, y)
        yield f"SMO rule {rule}, regression", relative(midpoint(model), expected)
    rng = np.random.default_rng(0)
    costs, tubes = rng.uniform(0.5, 3, size=(n, 2)), rng.uniform(0, 0.3, size=(n, 2))
    model = hinge.SVR(C=costs, epsilon=tubes, gamma=GAMMA, tol=TOL).fit(X, y)
    asymmetric = svr_optimum(K, y, costs[:, 0], costs[:, 1], tubes[:, 0], tubes[:, 1], one)
    yield "asymmetric costs and tubes, (n, 2)", relative(midpoint(model), asymmetric)
    pair = hinge.IncrementalSVR(C=(1.0, 3.0), epsilon=(0.1, 0.2), gamma=GAMMA).fit(X[::2], y[::2])
    pair.partial_fit(X[1::2], y[1::2])
    asymmetric = svr_optimum(K, y, np.full(n, 1.0), np.full(n, 3.0), 0.1, 0.2, one)
    yield "asymmetric costs, incremental", relative(midpoint(pair), asymmetric)
    linear = np.column_stack([np.ones(n), X])
    semi = hinge.SemiparametricSVR(C=C, epsilon=EPSILON, gamma=GAMMA).fit(X, y)
    yield "semiparametric regression", relative(midpoint(semi), svr_optimum(K, y, full, full, EPSILON, EPSILON, linear))
    network = hinge.RegularizationNetwork(C=C, epsilon=EPSILON, gamma=GAMMA).fit(X, y)
    yield "regularization network, D = I", relative(
        midpoint(network), svr_optimum(K @ K.T, y, full, full, EPSILON, EPSILON, one)
    )
    lp = hinge.LPSVR(C=C, epsilon=EPSILON, gamma=GAMMA).fit(X, y)
    yield "ℓ1 regression", relative(midpoint(lp), linear_program(K, y))
    path = hinge.lp_path(X, y, C_min=0.5, C_max=10.0, gamma=GAMMA, epsilon=EPSILON, task="regression")
    yield "path of linear programs, at C = 2", relative(
        K @ np.ravel(path.coefficients(C)) + path.intercept(C), lp.predict(X)
    )


def linear_program(K, y):
    """min Σ|a| + C Σ max(0, |y − Ka − b| − ε), by SciPy."""
    n = len(y)
    cost = np.r_[np.ones(2 * n), 0.0, 0.0, np.full(n, C)]
    design = np.hstack([K, -K, np.ones((n, 1)), -np.ones((n, 1))])
    A = np.vstack([np.hstack([design, -np.eye(n)]), np.hstack([-design, -np.eye(n)])])
    return optimize.linprog(cost, A_ub=A, b_ub=np.r_[y + EPSILON, EPSILON - y], method="highs").fun


def data_sets(folder):
    """Return the classification and regression data."""
    if folder is None:
        return binary_data(), regression_data()
    classes, targets = {}, {}
    for name in ("heart", "diabetes", "ionosphere", "sonar", "australian", "liver_disorders"):
        with np.load(folder / f"{name}.npz") as arrays:
            X, y = standardized(np.asarray(arrays["X"], dtype=float)), arrays["y"]
        classes[name] = X, np.where(y == np.max(y), 1.0, -1.0)
    for name in ("housing", "abalone", "space_ga", "cpusmall", "cadata", "diabetes_progression"):
        with np.load(folder / f"{name}.npz") as arrays:
            X, y = arrays["X"][:2000], arrays["y"][:2000]
        targets[name] = standardized(np.asarray(X, dtype=float)), standardized(np.asarray(y, dtype=float))
    return classes, targets


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("error")
    lines = [f"Agreement with independent computations, {date.today()}"]
    kinds = ("Classification", classification), ("Regression", regression)
    for (title, compare), sets in zip(kinds, data_sets(options.data), strict=True):
        columns = {}
        for name, (X, y) in sets.items():
            rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
            columns[name] = dict(compare(np.ascontiguousarray(X[rows]), y[rows]))
        lines += ["", f"{title:36}" + "".join(f"{name[:14]:>15}" for name in columns) + f"{'largest':>12}"]
        for item in next(iter(columns.values())):
            values = [column[item] for column in columns.values()]
            lines.append(f"{item:36}" + "".join(f"{v:15.1e}" for v in values) + f"{max(values):12.1e}")
    lines += [
        "",
        "Notes",
        "- Differences of the optimal value (the middle of the certified bounds), or of the function where there is no",
        "  certificate, relative to the larger of 1 and the expected value.",
        f"- {ROWS} samples, C = {C:g}, gamma = {GAMMA:g}, epsilon = {EPSILON:g}; warnings are errors.",
        "- Independent computations: Clarabel for quadratic programs, SciPy (HiGHS) for linear programs, the formula",
        "  for Parzen windows. Paths and updates of one-class models are compared with fits.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
