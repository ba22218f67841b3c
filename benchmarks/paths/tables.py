"""The dissertation's tables again: numbers of events, mean sizes of the margin, iterations, beside the printed figures.

    python benchmarks/paths/tables.py [--runs 10] [--only 4.1 5.3 5.5 5.8 5.10 3.6] [--sets NAME ...]

Karasuyama, Parametric Optimization in Machine Learning (2011): Table 4.1 (instance weights), Tables 5.3, 5.5, 5.8 and
5.10 (quadratic losses), Fig. 3.6 (adding m samples at once or one by one: √m : m breakpoints).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import hinge
from hinge.kernels import RBF
from hinge.paths.window import Window

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder, load

HUBER, SQUARED = (1.1, 0.2), "squared_hinge"
PRINTED_41 = {400: (326.7, 3.07), 800: (635.3, 3.27), 1200: (997.6, 3.38), 1600: (1424.0, 3.50)}
PRINTED_53 = {100: (150.0, 1.20), 200: (286.8, 1.12), 400: (532.8, 1.07)}
PRINTED_55 = {100: (42.1, 1.82), 200: (83.4, 1.40), 400: (145.1, 1.37)}
PRINTED_58 = {
    "sonar": (279.4, 1.14), "heart": (424.2, 1.09), "australian": (1274.9, 1.05), "diabetes": (1298.8, 1.08),
    "fourclass": (1634.0, 1.04), "german_numer": (1821.8, 1.04),
}  # fmt: skip
PRINTED_510 = {
    "sonar": (93.3, 1.52), "heart": (146.6, 1.41), "australian": (468.7, 1.18), "diabetes": (353.7, 1.22),
    "fourclass": (690.0, 1.07), "german_numer": (504.4, 1.23),
}  # fmt: skip


def weighted_data(n, seed):
    """(4.27): four quarters; the second of each class counts twice."""
    rng, k = np.random.default_rng(seed), n // 4
    wide, round_ = np.sqrt([1.0, 0.5]), np.sqrt([0.5, 0.5])
    blocks = [((1, 0), wide), ((0, 0), round_), ((0, 1), wide), ((1, 1), round_)]
    X = np.concatenate([np.array(mean) + rng.normal(size=(k, 2)) * scale for mean, scale in blocks])
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    return X, np.repeat([1, 1, -1, -1], k), np.repeat([1, 2, 1, 2], k)


def table_41(runs):
    print("\nTable 4.1: weights of the first kind of samples from 0 to 10, the others at 10; gamma = 1/2")
    print(f"{'n':>6} {'events':>8} {'printed':>8} {'mean |M|':>9} {'printed':>8} {'seconds':>8} {'KKT':>9}")
    for n, (events, margin) in PRINTED_41.items():
        rows = []
        for seed in range(runs):
            X, y, cost = weighted_data(n, seed)
            began = time.perf_counter()
            path = hinge.weight_path(X, y, np.where(cost == 1, 0.0, 10.0), np.full(n, 10.0), kernel="rbf", gamma=0.5)
            seconds = time.perf_counter() - began
            rows.append((path.counts.events, path.counts.mean_margin, seconds, path.kkt_violation))
        found = np.array(rows)
        mean = found.mean(0)
        line = f"{n:6d} {mean[0]:8.1f} {events:8.1f} {mean[1]:9.2f} {margin:8.2f} {mean[2]:8.3f}"
        print(f"{line} {found[:, 3].max():9.1e}", flush=True)


def artificial(n, seed):
    """§5.4.1 and §3.4.1: a mixture of two Gaussians against one."""
    rng, k = np.random.default_rng(seed), n // 2
    tilted, other = np.array([[0.5, -0.1], [-0.1, 0.5]]), np.array([[0.5, 0.1], [0.1, 0.5]])
    first = rng.multivariate_normal([0, 0], tilted, k)
    second = rng.multivariate_normal([0, 2], other, k)
    positive = np.where(rng.random(k)[:, None] < 0.5, first, second)
    return np.concatenate([positive, rng.multivariate_normal([1, 1], tilted, k)]), np.repeat([1, -1], k)


def quadratic_row(label, cases, loss, printed):
    rows = []
    for X, y in cases:
        began = time.perf_counter()
        path = hinge.quadratic_loss_path(X, y, loss=loss, kernel="rbf", gamma=1 / X.shape[1], lambda_min=1e-5)
        rows.append((path.n_events, path.mean_evaluations, time.perf_counter() - began, path.kkt_violation))
    found = np.array(rows)
    mean = found.mean(0)
    line = f"{label:>14} {mean[0]:8.1f} {printed[0]:8.1f} {mean[1]:10.2f} {printed[1]:8.2f} {mean[2]:8.2f}"
    print(line + f" {found[:, 3].max():9.1e}", flush=True)


def quadratic_head(title):
    print(f"\n{title}")
    print(f"{'':>14} {'events':>8} {'printed':>8} {'iterations':>10} {'printed':>8} {'seconds':>8} {'KKT':>9}")


def scaled(X, low, high):
    span = X.max(0) - X.min(0)
    return low + (high - low) * (X - X.min(0)) / np.where(span > 0, span, 1.0)


def table_artificial(title, loss, printed, runs):
    quadratic_head(title)
    for n, figures in printed.items():
        cases = [(scaled(X, 0, 1), y) for X, y in (artificial(n, seed) for seed in range(runs))]
        quadratic_row(f"n = {n}", cases, loss, figures)


def table_real(title, loss, printed, runs, sets=None):
    if data_folder() is None:
        print(f"\n{title}: no ../shared/data beside the repository")
        return
    quadratic_head(title)
    sizes = {"sonar": 166, "heart": 216, "australian": 552, "diabetes": 614, "fourclass": 689, "german_numer": 800}
    for name, figures in printed.items():
        if sets and name not in sets:
            continue
        X, y = load(name)
        X, cases = scaled(X, -1, 1), []
        for seed in range(runs):
            rows = np.random.default_rng(seed).permutation(len(y))[: sizes[name]]
            cases.append((X[rows], y[rows]))
        quadratic_row(name, cases, loss, figures)


def figure_36(runs):
    print("\nFig. 3.6: breakpoints when m samples come together or one by one; they end inside; C = 10, gamma = 1")
    print(f"{'m':>4} {'together':>9} {'one by one':>11} {'ratio':>7} {'1/sqrt(m)':>10} {'m^.5 law':>9} {'m law':>9}")
    sizes, counts = (1, 2, 5, 10, 25, 50, 100), []
    for m in sizes:
        together, single = [], []
        for seed in range(runs):
            X, y = artificial(1400, seed)
            order = np.random.default_rng(seed).permutation(len(y))
            X, y = X[order], y[order].astype(float)
            whole = Window(RBF(1.0), X[:700], y[:700], np.full(700, 10.0))
            inside = np.flatnonzero(np.abs(whole.beta) > 10 * (1 - 1e-9))[:m]
            rest = np.setdiff1d(np.arange(700), inside)[:500]
            start = (RBF(1.0), X[rest], y[rest], np.full(len(rest), 10.0))
            together.append(Window(*start).update(X[inside], y[inside], np.full(len(inside), 10.0)).events)
            window = Window(*start)
            single.append(sum(window.update(X[[i]], y[[i]], np.array([10.0])).events for i in inside))
        counts.append((np.mean(together), np.mean(single)))
        laws = counts[0][0] * np.sqrt(m), counts[0][1] * m
        line = f"{m:4d} {counts[-1][0]:9.1f} {counts[-1][1]:11.1f} {counts[-1][0] / counts[-1][1]:7.3f}"
        print(f"{line} {1 / np.sqrt(m):10.3f} {laws[0]:9.1f} {laws[1]:9.1f}", flush=True)
    for label, column in (("together", 0), ("one by one", 1)):
        slopes = np.polyfit(np.log(sizes), np.log([c[column] for c in counts]), 1)
        late = np.polyfit(np.log(sizes[3:]), np.log([c[column] for c in counts[3:]]), 1)
        print(f"exponent of m, {label}: {slopes[0]:.2f} over all m, {late[0]:.2f} for m >= {sizes[3]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=["4.1", "3.6", "5.3", "5.5", "5.8", "5.10"])
    parser.add_argument("--sets", nargs="*", help="of Tables 5.8 and 5.10")
    arguments = parser.parse_args()
    runs, sets = arguments.runs, arguments.sets
    tables = {
        "4.1": lambda: table_41(runs),
        "3.6": lambda: figure_36(runs),
        "5.3": lambda: table_artificial("Table 5.3: rho = 1.1, h = 0.2", HUBER, PRINTED_53, runs),
        "5.5": lambda: table_artificial("Table 5.5: squared hinge", SQUARED, PRINTED_55, runs),
        "5.8": lambda: table_real("Table 5.8: rho = 1.1, h = 0.2", HUBER, PRINTED_58, min(runs, 3), sets),
        "5.10": lambda: table_real("Table 5.10: squared hinge", SQUARED, PRINTED_510, min(runs, 3), sets),
    }
    for name in arguments.only:
        tables[name]()


if __name__ == "__main__":
    main()
