"""Compare methods for the selection of basis functions by the residual trace (LwK Figs. 10.2 and 10.3).

    python benchmarks/convex/sgma.py [--rows 3000] [--rank 200] [--plot FILE]

Data: 3000 rows of abalone, standardized, Gaussian kernel with 2σ² = number of features. The table shows log10 tr(K − K̃)
for random selection, the best of N candidates, the exact search, the largest residual, and the principal components,
which are a lower bound for any n basis functions.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from hinge.kernels import RBF
from hinge.lowrank import SGMA, Nystrom, PivotedCholesky

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder, load

METHODS = {
    "random": lambda rank: Nystrom(rank=rank, tol=1e-15),
    "1 candidate": lambda rank: SGMA(rank=rank, tol=0, candidates=1),
    "5 candidates": lambda rank: SGMA(rank=rank, tol=0, candidates=5),
    "20 candidates": lambda rank: SGMA(rank=rank, tol=0, candidates=20),
    "59 candidates": lambda rank: SGMA(rank=rank, tol=0, candidates=59),
    "200 candidates": lambda rank: SGMA(rank=rank, tol=0, candidates=200),
    "exact search": lambda rank: SGMA(rank=rank, tol=0, candidates="all"),
    "largest residual": lambda rank: PivotedCholesky(rank=rank, tol=0, block=1),
    "largest residual, blocks of 16": lambda rank: PivotedCholesky(rank=rank, tol=0, block=16),
}


def abalone(rows):
    """Return standardized rows of abalone, or random rows if the data are not available."""
    if data_folder() is None:
        print("no folder shared/data next to the repository: random rows instead of abalone")
        return np.random.default_rng(0).normal(size=(rows, 8))
    X, _ = load("abalone")
    X = X[np.random.default_rng(0).permutation(len(X))[:rows]]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--plot", help="write a plot of the curves to this file")
    arguments = parser.parse_args()
    X = abalone(arguments.rows)
    kernel = RBF(1.0 / X.shape[1])
    sizes = [n for n in (10, 20, 50, 100, 150, 200, 300, 500) if n <= arguments.rank]
    print(f"log10 of the residual trace tr(K − K̃) with n basis functions; {len(X)} samples, {X.shape[1]} features\n")
    print(f"{'selection':30}" + "".join(f"{f'n = {n}':>10}" for n in sizes) + f"{'seconds':>10}")
    curves = {}
    for name, make in METHODS.items():
        start = time.perf_counter()
        factor = make(arguments.rank).fit(kernel, X)
        seconds = time.perf_counter() - start
        curves[name] = np.log10(factor.traces * factor.trace)
        print_row(name, curves[name], sizes, seconds)
    start = time.perf_counter()
    eigenvalues = np.linalg.eigvalsh(kernel(X))[::-1]
    curves["principal components"] = np.log10(eigenvalues.sum() - np.cumsum(eigenvalues)[: arguments.rank])
    print_row("principal components", curves["principal components"], sizes, time.perf_counter() - start)
    difference = curves["59 candidates"] - curves["exact search"]
    decrease = curves["exact search"][0] - curves["exact search"][-1]
    relative = difference / np.abs(decrease)
    print(
        f"\n59 candidates compared with the exact search: log10 is larger by at most {difference.max():.3f}, "
        f"on average {difference.mean():.3f}.\nThe exact search decreases log10 by {decrease:.2f}; the differences "
        f"are at most {100 * relative.max():.1f} % of that, on average {100 * relative.mean():.1f} %."
    )
    if arguments.plot:
        plot(curves, arguments.plot)


def print_row(name, curve, sizes, seconds):
    values = "".join(f"{curve[n - 1]:10.3f}" if n <= len(curve) else f"{'':>10}" for n in sizes)
    print(f"{name:30}{values}{seconds:10.2f}", flush=True)


def plot(curves, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5))
    greedy = [name for name in curves if "candidate" in name or "exact" in name]
    colors = dict(zip(greedy, plt.get_cmap("viridis")(np.linspace(0.9, 0.0, len(greedy))), strict=True))
    line_styles = {"random": ":", "largest residual": "-", "largest residual, blocks of 16": "--"}
    for name, curve in curves.items():
        style = {"color": colors[name]} if name in colors else {"color": "0.6", "linestyle": line_styles.get(name, "-")}
        if name.startswith("principal"):
            style = {"color": "black", "linestyle": "--"}
        axes.plot(np.arange(1, len(curve) + 1), curve, label=name, **style)
    axes.set(
        xlabel="number of basis functions",
        ylabel="log10 tr(K − K̃)",
        xlim=(0, None),
        title="Abalone, 3000 rows, 2σ² = 8",
    )
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(file, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main()
