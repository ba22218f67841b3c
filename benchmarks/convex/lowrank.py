"""Compare low-rank models with the exact solver, and measure one million rows.

    python benchmarks/convex/lowrank.py [exact] [settings] [covtype] [mnist] [growth] [least_squares] [subsets]
        [--threads 2] [--rows 1000000] [--ranks 200 500 1000] [--only NAME]

exact          `LowRankSVC` and `SVC`, medians of three alternating fits. The target is the accuracy of `SVC` minus 0.5
               percentage points in a fifth of its time.
settings       the same for several kernel widths and values of C, one fit each, on five sixths of the training rows.
               The accuracy is that on the remaining sixth. The settings of `exact` are chosen here, without the test
               rows.
covtype mnist  `LowRankInteriorPoint` with increasing numbers of basis functions, and `SVC`
growth         `LowRankInteriorPoint` on synthetic data with 50 features and 300 basis functions, with an increasing
               number of rows
least_squares  least squares on random basis functions: cost of the kernel values and of the inner matrix, and accuracy
subsets        `SVC` trained on random subsets of the rows, for comparison with approximate methods
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, LowRankSVC
from hinge.lowrank import SGMA, Nystrom
from hinge.solvers import LowRankInteriorPoint

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder


def load_arrays(name, *keys):
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as file:
        return [file[key] for key in keys]


def covtype():
    """Return 35,334 + 27,741 rows with columns scaled to [0, 1]; a fifth of the rows are test rows."""
    parts = [load_arrays(name, "X", "y") for name in ("covtype", "covtype_extra")]
    X, y = np.concatenate([p[0] for p in parts]).astype(np.float32), np.concatenate([p[1] for p in parts])
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-12)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return X[train], y[train], X[test], y[test], dict(C=10.0, gamma=1.0)


def mnist():
    X, y, X_test, y_test = load_arrays("mnist", "X", "y", "X_test", "y_test")
    return X / np.float32(255), y, X_test / np.float32(255), y_test, dict(C=10.0, gamma=0.02)


def standardized(name):
    """Return standardized data (mean 0 and variance 1 on the training rows) and the default parameters."""
    X, y, X_test, y_test, _ = DATA[name]()
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1
    X, X_test = (((Z - mean) / deviation).astype(np.float32) for Z in (X, X_test))
    return X, y, X_test, y_test, dict(C=1.0, gamma="scale")


DATA = {"covtype": covtype, "mnist": mnist}

#: Comparisons of `exact`: data, parameters that differ from the default of the data, and (basis functions, Newton
#: steps), chosen on rows held out of the training rows, or taken from earlier tables.
COMPARISONS = (
    ("covtype, standardized", lambda: standardized("covtype"), {}, ((800, 1), (1000, 1))),
    ("covtype, in [0, 1]", covtype, {}, ((2000, 2), (2000, 3))),
    ("mnist", mnist, {}, ((1400, 2), (2000, 2))),
    ("mnist", mnist, {"gamma": 0.03}, ((2000, 2), (2400, 2))),
)

#: Tolerance of `LowRankSVC`: only the labels matter, so kernel values are stored in float16.
FLOAT16_TOL = 0.1

HEADER_EXACT = f"""\
{"":27}{"wall":>8}{"time":>7}{"CPU":>8}{"time":>7}{"predict":>11}{"":>10}{"accuracy":>12}{"basis":>8}{"relative":>10}
{"estimator":27}{"seconds":>8}{"ratio":>7}{"seconds":>8}{"ratio":>7}{"seconds":>11}{"accuracy":>10}{"difference":>12}\
{"size":>8}{"gap":>10}"""

NOTES_EXACT = """
Notes
- LowRankSVC(n, s): n basis functions, s Newton steps on all samples.
- time ratio: time divided by the time of SVC. accuracy difference: accuracy minus that of SVC, in percentage points.
- basis size: number of basis functions, or of support vectors for SVC.
- relative gap: certified relative duality gap. For LowRankSVC it allows for the largest possible rounding error of
  float16 and is therefore close to 2; `certify` computes the actual gap."""


def compare_exact(title, data, parameters, sizes, threads, fits=3):
    X, y, X_test, y_test, options = data()
    X, X_test, options = X.astype(np.float32), X_test.astype(np.float32), {**options, **parameters}
    estimators = {"SVC": SVC(n_jobs=threads, **options)}
    for n, steps in sizes:
        estimators[f"LowRankSVC({n}, {steps})"] = LowRankSVC(
            n_basis=n, max_iter=steps, tol=FLOAT16_TOL, n_jobs=threads, **options
        )
    results = {label: [] for label in estimators}
    for _ in range(fits):
        for label, estimator in estimators.items():
            model, wall, processor = timed_fit(estimator, X, y)
            start = time.perf_counter()
            accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
            predict = time.perf_counter() - start
            gap = model.certificate_.relative_gap
            results[label].append((wall, processor, predict, accuracy, len(model.support_), gap))
            del model
    print(f"\n{describe(title, X, y, options)}, {threads} threads, medians of {fits} fits\n{HEADER_EXACT}")
    reference = np.median(results["SVC"], axis=0)
    for label, rows in results.items():
        wall, processor, predict, accuracy, vectors, gap = np.median(rows, axis=0)
        print(
            f"{label:27}{wall:8.2f}{wall / reference[0]:7.2f}{processor:8.2f}{processor / reference[1]:7.2f}"
            f"{predict:11.2f}{accuracy:9.2f}%{accuracy - reference[3]:+11.2f}%{vectors:8.0f}{gap:10.1e}",
            flush=True,
        )


def describe(title, X, y, options):
    C, gamma = options["C"], options["gamma"]
    return f"{title}: {X.shape[0]} × {X.shape[1]}, {len(np.unique(y))} classes, C = {C:g}, gamma = {gamma}"


def timed_fit(estimator, X, y):
    """Return the fitted model, wall-clock seconds and processor seconds."""
    start, processor_start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is limited on purpose
        model = clone(estimator).fit(X, y)
    return model, time.perf_counter() - start, time.process_time() - processor_start


HEADER_INTERIOR = f"""\
{"":34}{"CPU":>8}{"speed-":>8}{"predict":>10}{"":>10}{"accuracy":>12}{"basis":>8}{"relative":>10}
{"solver":34}{"seconds":>8}{"up":>8}{"seconds":>10}{"accuracy":>10}{"difference":>12}{"size":>8}{"gap":>10}"""


def compare_interior_point(name, threads, ranks):
    X, y, X_test, y_test, options = DATA[name]()
    print(f"\n{describe(name, X, y, options)}, {threads} threads\n{HEADER_INTERIOR}")
    reference = print_row("exact (auto)", SVC(n_jobs=threads, **options), X, y, X_test, y_test, None)
    for rank in ranks:
        for method in (Nystrom(rank=rank), SGMA(rank=rank, tol=0, sample=2000)):
            solver = LowRankInteriorPoint(approximation=method, tol=1e-2, threads=threads)
            label = f"{type(method).__name__}, {rank} basis functions"
            print_row(label, SVC(solver=solver, n_jobs=threads, **options), X, y, X_test, y_test, reference)


def print_row(label, model, X, y, X_test, y_test, reference):
    start = time.process_time()
    model.fit(X, y)
    fit = time.process_time() - start
    start = time.perf_counter()
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    predict = time.perf_counter() - start
    certificate = model.approximation_.certificate if hasattr(model, "approximation_") else model.certificate_
    reference = reference or (fit, accuracy)
    print(
        f"{label:34}{fit:8.1f}{reference[0] / fit:8.2f}{predict:10.2f}{100 * accuracy:9.2f}%"
        f"{100 * (accuracy - reference[1]):+11.2f}%{len(model.support_):8d}{certificate.relative_gap:10.1e}",
        flush=True,
    )
    return reference


#: Kernel widths and values of C of `settings`, and (basis functions, Newton steps).
GAMMAS = {
    "covtype, standardized": (0.3 / 54, 1 / 54, 3 / 54),
    "covtype, in [0, 1]": (0.1, 0.3, 1.0, 3.0, 10.0),
    "mnist": (0.005, 0.01, 0.02, 0.03),
}
COSTS = {name: (1.0, 10.0, 100.0) if name == "mnist" else (1.0, 10.0, 100.0, 1000.0) for name in GAMMAS}
SIZES = ((500, 2), (1000, 2), (1500, 2), (2000, 2))

HEADER_SETTINGS = "\n".join(
    (
        f"{'':7} {'':>6} {'SVC':>18}" + "".join(f"{f'LowRankSVC({n}, {steps})':>21}" for n, steps in SIZES),
        f"{'gamma':>7} {'C':>6} {'CPU s':>8} {'accuracy':>9}" + f"{'time':>12} {'accuracy':>8}" * len(SIZES),
    )
)

NOTES_SETTINGS = """
Notes
- LowRankSVC(n, s): n basis functions, s Newton steps on all samples.
- time: processor time divided by that of SVC. accuracy: difference from the accuracy of SVC, in percentage points.
- *: at most a fifth of the time of SVC, and at most 0.5 percentage points less accurate.
- The accuracy is that on rows held out of the training rows."""


def compare_settings(name, threads):
    X, y, *_ = standardized("covtype") if name == "covtype, standardized" else DATA[name.split(",")[0]]()
    X, order = X.astype(np.float32), np.random.default_rng(5).permutation(len(y))
    validation, train = order[: len(y) // 6], np.sort(order[len(y) // 6 :])
    print(f"\n{name}: {len(train)} rows for training, {len(validation)} for validation, {threads} threads")
    print(HEADER_SETTINGS)
    for gamma in GAMMAS[name]:
        for C in COSTS[name]:
            exact, _, reference = timed_fit(SVC(C=C, gamma=gamma, n_jobs=threads), X[train], y[train])
            accuracy = 100 * float(np.mean(exact.predict(X[validation]) == y[validation]))
            row = f"{gamma:7.4f} {C:6.0f} {reference:8.2f} {accuracy:8.2f}%"
            for n, steps in SIZES:
                estimator = LowRankSVC(C=C, gamma=gamma, n_basis=n, max_iter=steps, tol=FLOAT16_TOL, n_jobs=threads)
                model, _, processor = timed_fit(estimator, X[train], y[train])
                difference = 100 * float(np.mean(model.predict(X[validation]) == y[validation])) - accuracy
                mark = "*" if processor <= reference / 5 and difference >= -0.5 else " "
                row += f"{processor / reference:12.2f} {difference:+7.2f}{mark}"
            print(row.rstrip(), flush=True)


def fit_exact(name):
    """Return the data in single precision, the options, processor seconds and accuracy of SVC; print the last two."""
    X, y, X_test, y_test, options = DATA[name]()
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    start = time.process_time()
    exact = SVC(n_jobs=2, **options).fit(X, y)
    seconds, accuracy = time.process_time() - start, 100 * np.mean(exact.predict(X_test) == y_test)
    print(f"\n{name}, C = {options['C']:g}, gamma = {options['gamma']}: SVC takes {seconds:.1f} processor seconds, "
          f"accuracy {accuracy:.2f} %")  # fmt: skip
    return X, y, X_test, y_test, options, seconds, accuracy


HEADER_LEAST_SQUARES = f"""\
{"basis":>9}{"kernel values":>15}{"inner matrix":>15}{"time relative":>15}{"accuracy of":>15}
{"functions":>9}{"CPU seconds":>15}{"CPU seconds":>15}{"to SVC":>15}{"least squares":>15}"""


def least_squares(name, ranks):
    X, y, X_test, y_test, options, exact_seconds, _ = fit_exact(name)
    gamma = np.float32(options["gamma"])
    print(HEADER_LEAST_SQUARES)
    classes = np.unique(y)
    targets = np.where(y[:, None] == classes, 1.0, -1.0).astype(np.float32)
    for n in ranks:
        basis = X[np.random.default_rng(0).permutation(len(X))[:n]]

        def kernel_values(Z, basis=basis):
            distances = np.sum(Z**2, axis=1)[:, None] + np.sum(basis**2, axis=1) - 2 * Z @ basis.T
            return np.exp(-gamma * np.maximum(distances, 0))

        start = time.process_time()
        K = kernel_values(X)
        kernel_seconds = time.process_time() - start
        inner, rhs = (K.T @ K).astype(np.float64), (K.T @ targets).astype(np.float64)
        inner_seconds = time.process_time() - start - kernel_seconds
        inner[np.diag_indices(n)] += 1e-4 * np.trace(inner) / n
        weights = np.linalg.solve(inner, rhs).astype(np.float32)
        accuracy = 100 * np.mean(classes[np.argmax(kernel_values(X_test) @ weights, axis=1)] == y_test)
        share = 100 * (kernel_seconds + inner_seconds) / exact_seconds
        print(f"{n:9d}{kernel_seconds:15.1f}{inner_seconds:15.1f}{share:13.0f} %{accuracy:13.2f} %", flush=True)


HEADER_SUBSETS = f"""\
{"":>8}{"CPU":>9}{"relative":>10}{"support":>9}{"":>10}{"":>12}
{"rows":>8}{"seconds":>9}{"time":>10}{"vectors":>9}{"accuracy":>10}{"difference":>12}"""


def subsets(name, threads):
    X, y, X_test, y_test, options = DATA[name]()
    order = np.random.default_rng(1).permutation(len(y))
    print(f"\n{name}, C = {options['C']:g}, gamma = {options['gamma']}: SVC on random subsets, {threads} threads")
    print(HEADER_SUBSETS)
    reference = None
    for share in (1.0, 0.5, 0.3, 0.2, 0.1, 0.05):
        rows = order[: int(share * len(y))]
        start = time.process_time()
        model = SVC(n_jobs=threads, **options).fit(X[rows], y[rows])
        seconds = time.process_time() - start
        accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
        reference = reference or (seconds, accuracy)
        print(
            f"{len(rows):8d}{seconds:9.2f}{seconds / reference[0]:10.2f}{len(model.support_):9d}{accuracy:9.2f}%"
            f"{accuracy - reference[1]:+11.2f}%",
            flush=True,
        )


HEADER_GROWTH = f"""\
{"":>10}{"selection":>11}{"solver":>9}{"":>12}{"seconds per":>13}{"µs per row":>15}{"CPU":>9}{"relative":>10}{"peak":>7}
{"rows":>10}{"seconds":>11}{"seconds":>9}{"iterations":>12}{"iteration":>13}{"and iteration":>15}{"seconds":>9}\
{"gap":>10}{"GB":>7}"""


def growth(max_rows, threads):
    rng = np.random.default_rng(0)
    print(f"\nGrowth with the number of rows: 50 features, 300 basis functions, {threads} threads, tol 1e-3")
    print(HEADER_GROWTH)
    for m in [k for k in (125_000, 250_000, 500_000, 1_000_000) if k <= max_rows]:
        X = rng.standard_normal((m, 50), dtype=np.float32)
        w = rng.normal(size=50) / 7
        y = np.where(np.sin(2 * X @ w.astype(np.float32)) + 0.3 * rng.normal(size=m) > 0, 1, -1)
        solver = LowRankInteriorPoint(
            approximation=SGMA(rank=300, tol=0, sample=5000), tol=1e-3, threads=threads, cache_size=1500
        )
        model, total, processor = timed_fit(SVC(solver=solver, C=1.0, gamma=0.01, n_jobs=threads), X, y)
        solve, iterations = float(model.history_.seconds[-1]), int(model.n_iter_[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{m:10d}{total - solve:11.1f}{solve:9.1f}{iterations:12d}{solve / iterations:13.2f}"
            f"{1e6 * solve / iterations / m:15.2f}{processor:9.1f}"
            f"{model.approximation_.certificate.relative_gap:10.1e}{peak:7.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmarks", nargs="*", default=["exact", "growth"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, nargs="*", default=[200, 500, 1000])
    parser.add_argument("--only", default="", help="only comparisons of exact and settings whose name contains this")
    arguments = parser.parse_args()
    for name in arguments.benchmarks:
        if name == "growth":
            growth(arguments.rows, arguments.threads)
        elif data_folder() is None:
            print(f"no folder shared/data next to the repository: {name} is skipped")
        else:
            run(name, arguments)


def run(name, arguments):
    """Run a benchmark that needs data sets."""
    if name == "exact":
        for comparison in COMPARISONS:
            if arguments.only in comparison[0]:
                compare_exact(*comparison, arguments.threads)
        print(NOTES_EXACT)
    elif name == "settings":
        for data_set in GAMMAS:
            if arguments.only in data_set:
                compare_settings(data_set, arguments.threads)
        print(NOTES_SETTINGS)
    elif name in ("least_squares", "subsets"):
        for data_set in DATA:
            if name == "least_squares":
                least_squares(data_set, arguments.ranks)
            else:
                subsets(data_set, arguments.threads)
    else:
        compare_interior_point(name, arguments.threads, arguments.ranks)


if __name__ == "__main__":
    main()
