"""Reproduce tables of Karasuyama's dissertation and compare them with the published values.

    python benchmarks/paths/tables.py [--runs 10] [--only 4.1 5.3 5.5 5.8 5.10 3.6] [--sets NAME ...]

Karasuyama, Parametric Optimization in Machine Learning (2011): Table 4.1 (instance weights), Tables 5.3, 5.5, 5.8 and
5.10 (quadratic losses), Fig. 3.6 (adding m samples together or one by one: √m and m breakpoints).
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

COLUMNS = f"{'hinge':>10} {'published':>9} {'hinge':>12} {'published':>9} {'seconds':>8} {'violation':>10}"

NOTES = """\
Notes
- Means over random data sets. KKT violation: largest violation of all paths.
- published: values of the dissertation. samples on the margin: mean over the path. iterations: mean number of
  iterations to locate a breakpoint.
- expected breakpoints: proportional to the square root of m (together) and to m (one by one)."""

PUBLISHED_41 = {400: (326.7, 3.07), 800: (635.3, 3.27), 1200: (997.6, 3.38), 1600: (1424.0, 3.50)}
PUBLISHED_53 = {100: (150.0, 1.20), 200: (286.8, 1.12), 400: (532.8, 1.07)}
PUBLISHED_55 = {100: (42.1, 1.82), 200: (83.4, 1.40), 400: (145.1, 1.37)}
PUBLISHED_58 = {
    "sonar": (279.4, 1.14), "heart": (424.2, 1.09), "australian": (1274.9, 1.05), "diabetes": (1298.8, 1.08),
    "fourclass": (1634.0, 1.04), "german_numer": (1821.8, 1.04),
}  # fmt: skip
PUBLISHED_510 = {
    "sonar": (93.3, 1.52), "heart": (146.6, 1.41), "australian": (468.7, 1.18), "diabetes": (353.7, 1.22),
    "fourclass": (690.0, 1.07), "german_numer": (504.4, 1.23),
}  # fmt: skip


def weighted_data(n, seed):
    """Return the data of (4.27): four groups; the second group of each class has twice the weight."""
    rng, k = np.random.default_rng(seed), n // 4
    wide, round_ = np.sqrt([1.0, 0.5]), np.sqrt([0.5, 0.5])
    blocks = [((1, 0), wide), ((0, 0), round_), ((0, 1), wide), ((1, 1), round_)]
    X = np.concatenate([np.array(mean) + rng.normal(size=(k, 2)) * scale for mean, scale in blocks])
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    return X, np.repeat([1, 1, -1, -1], k), np.repeat([1, 2, 1, 2], k)


def table_41(runs):
    print("Table 4.1: weights of the first group of samples from 0 to 10, other weights 10; gamma = 1/2\n")
    print(f"{'':>8} {'breakpoints':>20} {'samples on the margin':>22} {'':>8} {'KKT':>10}")
    print(f"{'samples':>8} {COLUMNS}")
    for n, (events, margin) in PUBLISHED_41.items():
        rows = []
        for seed in range(runs):
            X, y, cost = weighted_data(n, seed)
            start = time.perf_counter()
            path = hinge.weight_path(X, y, np.where(cost == 1, 0.0, 10.0), np.full(n, 10.0), kernel="rbf", gamma=0.5)
            seconds = time.perf_counter() - start
            rows.append((path.counts.events, path.counts.mean_margin, seconds, path.kkt_violation))
        results = np.array(rows)
        mean = results.mean(0)
        line = f"{n:8d} {mean[0]:10.1f} {events:9.1f} {mean[1]:12.2f} {margin:9.2f} {mean[2]:8.3f}"
        print(f"{line} {results[:, 3].max():10.1e}", flush=True)


def artificial(n, seed):
    """Return the data of §5.4.1 and §3.4.1: a mixture of two Gaussians against one Gaussian."""
    rng, k = np.random.default_rng(seed), n // 2
    tilted, other = np.array([[0.5, -0.1], [-0.1, 0.5]]), np.array([[0.5, 0.1], [0.1, 0.5]])
    first = rng.multivariate_normal([0, 0], tilted, k)
    second = rng.multivariate_normal([0, 2], other, k)
    positive = np.where(rng.random(k)[:, None] < 0.5, first, second)
    return np.concatenate([positive, rng.multivariate_normal([1, 1], tilted, k)]), np.repeat([1, -1], k)


def quadratic_row(label, cases, loss, published):
    rows = []
    for X, y in cases:
        start = time.perf_counter()
        path = hinge.quadratic_loss_path(X, y, loss=loss, kernel="rbf", gamma=1 / X.shape[1], lambda_min=1e-5)
        rows.append((path.n_events, path.mean_evaluations, time.perf_counter() - start, path.kkt_violation))
    results = np.array(rows)
    mean = results.mean(0)
    line = f"{label:>14} {mean[0]:10.1f} {published[0]:9.1f} {mean[1]:12.2f} {published[1]:9.2f} {mean[2]:8.2f}"
    print(line + f" {results[:, 3].max():10.1e}", flush=True)


def print_quadratic_header(title):
    print(f"{title}\n")
    print(f"{'':>14} {'breakpoints':>20} {'iterations':>22} {'':>8} {'KKT':>10}")
    print(f"{'data':>14} {COLUMNS}")


def scaled(X, low, high):
    width = X.max(0) - X.min(0)
    return low + (high - low) * (X - X.min(0)) / np.where(width > 0, width, 1.0)


def table_artificial(title, loss, published, runs):
    print_quadratic_header(title)
    for n, figures in published.items():
        cases = [(scaled(X, 0, 1), y) for X, y in (artificial(n, seed) for seed in range(runs))]
        quadratic_row(f"n = {n}", cases, loss, figures)


def table_real(title, loss, published, runs, sets=None):
    if data_folder() is None:
        print(f"{title}: skipped, no folder shared/data next to the repository")
        return
    print_quadratic_header(title)
    sizes = {"sonar": 166, "heart": 216, "australian": 552, "diabetes": 614, "fourclass": 689, "german_numer": 800}
    for name, figures in published.items():
        if sets and name not in sets:
            continue
        X, y = load(name)
        X, cases = scaled(X, -1, 1), []
        for seed in range(runs):
            rows = np.random.default_rng(seed).permutation(len(y))[: sizes[name]]
            cases.append((X[rows], y[rows]))
        quadratic_row(name, cases, loss, figures)


def figure_36(runs):
    print("Fig. 3.6: adding m samples inside the margin, together or one by one; C = 10, gamma = 1\n")
    print(f"{'':>7} {'breakpoints':>23} {'ratio':>18} {'expected breakpoints':>23}")
    both = f"{'together':>11} {'one by one':>11}"
    print(f"{'m':>7} {both} {'measured':>9} {'m^-0.5':>8} {both}")
    sizes, counts = (1, 2, 5, 10, 25, 50, 100), []
    for m in sizes:
        together, single = [], []
        for seed in range(runs):
            X, y = artificial(1400, seed)
            order = np.random.default_rng(seed).permutation(len(y))
            X, y = X[order], y[order].astype(float)
            window_all = Window(RBF(1.0), X[:700], y[:700], np.full(700, 10.0))
            inside = np.flatnonzero(np.abs(window_all.beta) > 10 * (1 - 1e-9))[:m]
            rest = np.setdiff1d(np.arange(700), inside)[:500]
            initial = (RBF(1.0), X[rest], y[rest], np.full(len(rest), 10.0))
            together.append(Window(*initial).update(X[inside], y[inside], np.full(len(inside), 10.0)).events)
            window = Window(*initial)
            single.append(sum(window.update(X[[i]], y[[i]], np.array([10.0])).events for i in inside))
        counts.append((np.mean(together), np.mean(single)))
        expected = counts[0][0] * np.sqrt(m), counts[0][1] * m
        line = f"{m:7d} {counts[-1][0]:11.1f} {counts[-1][1]:11.1f} {counts[-1][0] / counts[-1][1]:9.3f}"
        print(f"{line} {1 / np.sqrt(m):8.3f} {expected[0]:11.1f} {expected[1]:11.1f}", flush=True)
    for label, column in (("together", 0), ("one by one", 1)):
        slope_all = np.polyfit(np.log(sizes), np.log([c[column] for c in counts]), 1)
        slope_large = np.polyfit(np.log(sizes[3:]), np.log([c[column] for c in counts[3:]]), 1)
        print(f"exponent of m, {label}: {slope_all[0]:.2f} over all m, {slope_large[0]:.2f} for m >= {sizes[3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=["4.1", "3.6", "5.3", "5.5", "5.8", "5.10"])
    parser.add_argument("--sets", nargs="*", help="data sets of Tables 5.8 and 5.10")
    arguments = parser.parse_args()
    runs, sets = arguments.runs, arguments.sets
    tables = {
        "4.1": lambda: table_41(runs),
        "3.6": lambda: figure_36(runs),
        "5.3": lambda: table_artificial("Table 5.3: rho = 1.1, h = 0.2", HUBER, PUBLISHED_53, runs),
        "5.5": lambda: table_artificial("Table 5.5: squared hinge", SQUARED, PUBLISHED_55, runs),
        "5.8": lambda: table_real("Table 5.8: rho = 1.1, h = 0.2", HUBER, PUBLISHED_58, min(runs, 3), sets),
        "5.10": lambda: table_real("Table 5.10: squared hinge", SQUARED, PUBLISHED_510, min(runs, 3), sets),
    }
    for name in arguments.only:
        tables[name]()
        print()
    print(NOTES)


if __name__ == "__main__":
    main()
