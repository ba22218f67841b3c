"""Which basis functions?  The residual trace of a kernel matrix after n of them (LwK Figs. 10.2 and 10.3).

    python benchmarks/convex/sgma.py [--rows 3000] [--rank 200] [--picture FILE]

Abalone, 3000 rows, each input scaled to zero mean and unit variance, a Gaussian kernel with 2σ² = the number of inputs.
Prints log10 tr(K − K̃) for random choice, the best of N candidates, the exact search, the largest residual, and the
bound of principal components, which no n basis functions can pass.
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
    "largest, blocks of 16": lambda rank: PivotedCholesky(rank=rank, tol=0, block=16),
}


def abalone(rows):
    """The first rows, scaled as in the book; random ones where the shared data are missing."""
    if data_folder() is None:
        print("no ../shared/data beside the repository: random rows instead of abalone")
        return np.random.default_rng(0).normal(size=(rows, 8))
    X, _ = load("abalone")
    X = X[np.random.default_rng(0).permutation(len(X))[:rows]]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--picture", help="also draw the curves into this file")
    arguments = parser.parse_args()
    X = abalone(arguments.rows)
    kernel = RBF(1.0 / X.shape[1])
    at = [n for n in (10, 20, 50, 100, 150, 200, 300, 500) if n <= arguments.rank]
    print(f"{len(X)} × {X.shape[1]}, log10 tr(K − K̃) after n basis functions\n")
    print(f"{'':24}" + "".join(f"{'n = ' + str(n):>10}" for n in at) + f"{'seconds':>10}")
    curves = {}
    for name, make in METHODS.items():
        began = time.perf_counter()
        factor = make(arguments.rank).fit(kernel, X)
        seconds = time.perf_counter() - began
        curves[name] = np.log10(factor.traces * factor.trace)
        show(name, curves[name], at, seconds)
    began = time.perf_counter()
    eigenvalues = np.linalg.eigvalsh(kernel(X))[::-1]
    curves["principal components"] = np.log10(eigenvalues.sum() - np.cumsum(eigenvalues)[: arguments.rank])
    show("principal components", curves["principal components"], at, time.perf_counter() - began)
    apart = curves["59 candidates"] - curves["exact search"]
    relative = apart / np.abs(curves["exact search"][0] - curves["exact search"])[-1]
    print(
        f"\n59 candidates against the exact search: log10 apart by at most {apart.max():.3f}, {apart.mean():.3f} in "
        f"the mean\n(the curve falls by {curves['exact search'][0] - curves['exact search'][-1]:.2f}; at most "
        f"{100 * relative.max():.1f} % of that, {100 * relative.mean():.1f} % in the mean)"
    )
    if arguments.picture:
        draw(curves, arguments.picture)


def show(name, curve, at, seconds):
    values = "".join(f"{curve[n - 1]:10.3f}" if n <= len(curve) else f"{'':>10}" for n in at)
    print(f"{name:24}{values}{seconds:10.2f}", flush=True)


def draw(curves, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5))
    greedy = [name for name in curves if "candidate" in name or "exact" in name]
    shade = dict(zip(greedy, plt.get_cmap("viridis")(np.linspace(0.9, 0.0, len(greedy))), strict=True))
    plain = {"random": ":", "largest residual": "-", "largest, blocks of 16": "--"}
    for name, curve in curves.items():
        style = {"color": shade[name]} if name in shade else {"color": "0.6", "linestyle": plain.get(name, "-")}
        if name.startswith("principal"):
            style = {"color": "black", "linestyle": "--"}
        axes.plot(np.arange(1, len(curve) + 1), curve, label=name, **style)
    axes.set(xlabel="basis functions", ylabel="log10 tr(K − K̃)", xlim=(0, None), title="Abalone, 3000 rows, 2σ² = 8")
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(file, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main()
