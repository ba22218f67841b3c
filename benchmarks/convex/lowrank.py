"""Low rank beside the exact machine, and one million rows.

    python benchmarks/convex/lowrank.py
        [fifth] [regime] [covtype] [mnist] [growth] [reach] [parts] [--threads 2] [--rows 1000000]

fifth: `LowRankSVC` beside the exact machine (`SVC`), in one run, medians of three fits of each in turn: the accuracy of
the exact machine less half a per cent is wanted at a fifth of its time.  regime: the same over kernel widths and C, one
fit of each, on five sixths of the training rows; accuracy is that of the other sixth, and the test rows are not looked
at: settings of `fifth` are chosen here.

covtype and mnist: accuracy on other data and processor seconds (wall clocks lie on a busy machine) of the exact machine
(`SVC`), and of `LowRankInteriorPoint` with more and more basis functions, in one run.  growth: synthetic rows, d = 50,
n = 300 basis functions, seconds per iteration and peak memory while the number of rows grows.  reach: what n random
basis functions can do at all, whatever is trained on them: processor seconds of their kernel columns and of the n × n
matrix, with no solver yet, and the accuracy of least squares.  parts: the exact machine trained on a part of the rows,
drawn at random, for its whole time and less: what a cheaper method has to be better than.
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


def arrays(name, *keys):
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as file:
        return [file[key] for key in keys]


def covtype():
    """35,334 + 27,741 rows, columns scaled to [0, 1], a fifth of them for the test."""
    parts = [arrays(name, "X", "y") for name in ("covtype", "covtype_extra")]
    X, y = np.concatenate([p[0] for p in parts]).astype(np.float32), np.concatenate([p[1] for p in parts])
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-12)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return X[train], y[train], X[test], y[test], dict(C=10.0, gamma=1.0)


def mnist():
    X, y, X_test, y_test = arrays("mnist", "X", "y", "X_test", "y_test")
    return X / np.float32(255), y, X_test / np.float32(255), y_test, dict(C=10.0, gamma=0.02)


def compare(name, threads, ranks):
    X, y, X_test, y_test, options = DATA[name]()
    print(f"\n{name}: {X.shape[0]} × {X.shape[1]}, {len(np.unique(y))} classes, {options}, {threads} threads")
    print(f"{'':34}{'cpu s':>8}{'ratio':>8}{'predict s':>10}{'accuracy':>10}{'against':>9}{'vectors':>9}{'gap':>9}")
    exact = line("exact (auto)", SVC(n_jobs=threads, **options), X, y, X_test, y_test, None)
    for rank in ranks:
        for method in (Nystrom(rank=rank), SGMA(rank=rank, tol=0, sample=2000)):
            solver = LowRankInteriorPoint(approximation=method, tol=1e-2, threads=threads)
            label = f"{type(method).__name__}, n = {rank}"
            line(label, SVC(solver=solver, n_jobs=threads, **options), X, y, X_test, y_test, exact)


def line(label, model, X, y, X_test, y_test, exact):
    began = time.process_time()
    model.fit(X, y)
    fit = time.process_time() - began
    began = time.perf_counter()
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    predict = time.perf_counter() - began
    certificate = model.approximation_.certificate if hasattr(model, "approximation_") else model.certificate_
    base = (fit, accuracy) if exact is None else exact
    print(
        f"{label:34}{fit:8.1f}{base[0] / fit:8.2f}{predict:10.2f}{100 * accuracy:9.2f}%"
        f"{100 * (accuracy - base[1]):+8.2f}%{len(model.support_):9d}{certificate.relative_gap:9.1e}",
        flush=True,
    )
    return base


def standardised(name):
    """Columns of mean 0 and variance 1 over the training rows, and scikit-learn's defaults: C = 1, gamma 'scale'."""
    X, y, X_test, y_test, _ = DATA[name]()
    mean, width = X.mean(axis=0), X.std(axis=0)
    width[width == 0] = 1
    X, X_test = (((Z - mean) / width).astype(np.float32) for Z in (X, X_test))
    return X, y, X_test, y_test, dict(C=1.0, gamma="scale")


DATA = {"covtype": covtype, "mnist": mnist}

#: What `fifth` compares: the data, the options that differ from theirs, and (basis functions, Newton steps), chosen on
#: rows held out of the training rows, or older.
FIFTH = (
    ("covtype, standardised", lambda: standardised("covtype"), {}, ((800, 1), (1000, 1))),
    ("covtype, in [0, 1]", covtype, {}, ((2000, 2), (2000, 3))),
    ("mnist", mnist, {}, ((1400, 2), (2000, 2))),
    ("mnist", mnist, {"gamma": 0.03}, ((2000, 2), (2400, 2))),
)

#: Labels are what is wanted of the low rank machines: a gap beyond which kernel values are float16.
ROUGH = 0.1


def fifth(title, data, different, sizes, threads, fits=3):
    X, y, X_test, y_test, options = data()
    X, X_test, options = X.astype(np.float32), X_test.astype(np.float32), {**options, **different}
    machines = {"SVC": SVC(n_jobs=threads, **options)}
    for n, steps in sizes:
        label = f"LowRankSVC, {n}, {steps} step" + "s" * (steps > 1)
        machines[label] = LowRankSVC(n_basis=n, max_iter=steps, tol=ROUGH, n_jobs=threads, **options)
    seen = {label: [] for label in machines}
    for _ in range(fits):
        for label, machine in machines.items():
            model, wall, processor = timed(machine, X, y)
            began = time.perf_counter()
            right = 100 * float(np.mean(model.predict(X_test) == y_test))
            seen[label].append((wall, processor, time.perf_counter() - began, right, len(model.support_),
                                model.certificate_.relative_gap))  # fmt: skip
            del model
    print(f"\n{title}: {X.shape[0]} × {X.shape[1]}, {options}, {threads} threads, medians of {fits} fits")
    print(f"{'':27}{'wall s':>8}{'of it':>7}{'cpu s':>8}{'of it':>7}{'predict s':>11}{'accuracy':>10}{'against':>9}"
          f"{'vectors':>9}{'gap':>9}")  # fmt: skip
    base = np.median(seen["SVC"], axis=0)
    for label, rows in seen.items():
        wall, processor, predict, right, vectors, gap = np.median(rows, axis=0)
        print(f"{label:27}{wall:8.2f}{wall / base[0]:7.2f}{processor:8.2f}{processor / base[1]:7.2f}{predict:11.2f}"
              f"{right:9.2f}%{right - base[3]:+8.2f}%{vectors:9.0f}{gap:9.1e}", flush=True)  # fmt: skip


def timed(machine, X, y):
    began, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # steps and time are what is limited here
        model = clone(machine).fit(X, y)
    return model, time.perf_counter() - began, time.process_time() - processor


#: Kernel widths and C of `regime`, and (basis functions, Newton steps).
WIDTHS = {
    "covtype, standardised": (0.3 / 54, 1 / 54, 3 / 54),
    "covtype, in [0, 1]": (0.1, 0.3, 1.0, 3.0, 10.0),
    "mnist": (0.005, 0.01, 0.02, 0.03),
}
COSTS = {name: (1.0, 10.0, 100.0) if name == "mnist" else (1.0, 10.0, 100.0, 1000.0) for name in WIDTHS}
SIZES = ((500, 2), (1000, 2), (1500, 2), (2000, 2))


def regime(name, threads):
    X, y, *_ = standardised("covtype") if name == "covtype, standardised" else DATA[name.split(",")[0]]()
    X, order = X.astype(np.float32), np.random.default_rng(5).permutation(len(y))
    held, train = order[: len(y) // 6], np.sort(order[len(y) // 6 :])
    print(f"\n{name}: {len(train)} rows to train, {len(held)} of the training rows held out, {threads} threads; of the "
          f"exact machine: processor seconds\nand accuracy; of {SIZES} (basis functions, steps): share of its time, "
          "difference of accuracy; * for a fifth and half a per cent")  # fmt: skip
    for gamma in WIDTHS[name]:
        for C in COSTS[name]:
            exact, _, base = timed(SVC(C=C, gamma=gamma, n_jobs=threads), X[train], y[train])
            right = 100 * float(np.mean(exact.predict(X[held]) == y[held]))
            line = f"gamma {gamma:6.4f}  C {C:5.0f} {base:7.2f} {right:6.2f}% "
            for n, steps in SIZES:
                machine = LowRankSVC(C=C, gamma=gamma, n_basis=n, max_iter=steps, tol=ROUGH, n_jobs=threads)
                model, _, processor = timed(machine, X[train], y[train])
                apart = 100 * float(np.mean(model.predict(X[held]) == y[held])) - right
                mark = "*" if processor <= base / 5 and apart >= -0.5 else " "
                line += f" {processor / base:5.2f} {apart:+6.2f}{mark}"
            print(line, flush=True)


def beside_exact(name):
    """The data in single precision, the options of the exact machine, its processor seconds and accuracy; printed."""
    X, y, X_test, y_test, options = DATA[name]()
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    began = time.process_time()
    exact = SVC(n_jobs=2, **options).fit(X, y)
    seconds, right = time.process_time() - began, 100 * np.mean(exact.predict(X_test) == y_test)
    print(f"\n{name}, {options}: the exact machine took {seconds:.1f} processor seconds for {right:.2f} %")
    return X, y, X_test, y_test, options, seconds, right


def reach(name, ranks):
    X, y, X_test, y_test, options, seconds, _ = beside_exact(name)
    gamma = np.float32(options["gamma"])
    print(f"{'n':>6}{'columns s':>11}{'LᵀL s':>8}{'of the exact':>14}{'least squares':>15}")
    classes = np.unique(y)
    goal = np.where(y[:, None] == classes, 1.0, -1.0).astype(np.float32)
    for n in ranks:
        basis = X[np.random.default_rng(0).permutation(len(X))[:n]]

        def columns(Z, basis=basis):
            apart = np.sum(Z**2, axis=1)[:, None] + np.sum(basis**2, axis=1) - 2 * Z @ basis.T
            return np.exp(-gamma * np.maximum(apart, 0))

        began = time.process_time()
        K = columns(X)
        first = time.process_time() - began
        inner, pull = (K.T @ K).astype(np.float64), (K.T @ goal).astype(np.float64)
        second = time.process_time() - began - first
        inner[np.diag_indices(n)] += 1e-4 * np.trace(inner) / n
        weights = np.linalg.solve(inner, pull).astype(np.float32)
        accuracy = 100 * np.mean(classes[np.argmax(columns(X_test) @ weights, axis=1)] == y_test)
        share = 100 * (first + second) / seconds
        print(f"{n:6d}{first:11.1f}{second:8.1f}{share:12.0f} %{accuracy:13.2f} %", flush=True)


def parts(name, threads):
    X, y, X_test, y_test, options = DATA[name]()
    order = np.random.default_rng(1).permutation(len(y))
    print(f"\n{name}, {options}: the exact machine of some of the rows, {threads} threads")
    print(f"{'rows':>8}{'cpu s':>8}{'of all':>8}{'vectors':>9}{'accuracy':>10}{'against':>9}")
    base = None
    for share in (1.0, 0.5, 0.3, 0.2, 0.1, 0.05):
        rows = order[: int(share * len(y))]
        began = time.process_time()
        model = SVC(n_jobs=threads, **options).fit(X[rows], y[rows])
        seconds = time.process_time() - began
        right = 100 * float(np.mean(model.predict(X_test) == y_test))
        base = base or (seconds, right)
        print(
            f"{len(rows):8d}{seconds:8.2f}{seconds / base[0]:8.2f}{len(model.support_):9d}{right:9.2f}%"
            f"{right - base[1]:+8.2f}%",
            flush=True,
        )


def growth(rows, threads):
    rng = np.random.default_rng(0)
    print(f"\nd = 50, n = 300, {threads} threads, tol 1e-3: the growth with m")
    names = ("rows", "basis s", "solve s", "steps", "s/step", "µs/row/step", "cpu s", "gap", "peak GB")
    print("".join(f"{name:>{width}}" for name, width in zip(names, (10, 9, 9, 7, 9, 13, 9, 9, 9), strict=True)))
    for m in [k for k in (125_000, 250_000, 500_000, 1_000_000) if k <= rows]:
        X = rng.standard_normal((m, 50), dtype=np.float32)
        w = rng.normal(size=50) / 7
        y = np.where(np.sin(2 * X @ w.astype(np.float32)) + 0.3 * rng.normal(size=m) > 0, 1, -1)
        solver = LowRankInteriorPoint(
            approximation=SGMA(rank=300, tol=0, sample=5000), tol=1e-3, threads=threads, cache_size=1500
        )
        began, processor = time.perf_counter(), time.process_time()
        model = SVC(solver=solver, C=1.0, gamma=0.01, n_jobs=threads).fit(X, y)
        total, solve = time.perf_counter() - began, float(model.history_.seconds[-1])
        processor = time.process_time() - processor
        steps = int(model.n_iter_[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{m:10d}{total - solve:9.1f}{solve:9.1f}{steps:7d}{solve / steps:9.2f}{1e6 * solve / steps / m:13.2f}"
            f"{processor:9.1f}{model.approximation_.certificate.relative_gap:9.1e}{peak:9.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["fifth", "growth"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, nargs="*", default=[200, 500, 1000])
    parser.add_argument("--only", default="", help="comparisons of fifth and regime with this in their name")
    arguments = parser.parse_args()
    for what in arguments.what:
        if what == "growth":
            growth(arguments.rows, arguments.threads)
        elif what == "fifth" and data_folder() is not None:
            for comparison in FIFTH:
                if arguments.only in comparison[0]:
                    fifth(*comparison, arguments.threads)
        elif what == "regime" and data_folder() is not None:
            for name in WIDTHS:
                if arguments.only in name:
                    regime(name, arguments.threads)
        elif what in ("reach", "parts") and data_folder() is not None:
            for name in DATA:
                reach(name, arguments.ranks) if what == "reach" else parts(name, arguments.threads)
        elif data_folder() is None:
            print(f"no ../shared/data beside the repository: {what} is left out")
        else:
            compare(what, arguments.threads, arguments.ranks)


if __name__ == "__main__":
    main()
