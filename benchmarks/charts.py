"""Draw the charts of docs/benchmarks.md from the committed tables.

    python benchmarks/charts.py [FOLDER]        # default: docs/images/benchmarks

Every dot is a ratio of times, other library ÷ hinge, of one problem. The line marks the median and the bar the range of
the middle half. Nothing is measured here.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
DEFAULT_FOLDER = HERE.parent / "docs" / "images" / "benchmarks"
GROUP = "#0072B2"


def section(path, title):
    """Return the lines of a table from the line that starts with `title` to the next heading."""
    lines = (HERE / path).read_text("utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(title)) + 1
    heading = re.compile(r"[A-Z][a-z].*")
    table = []
    for line in lines[start:]:
        if table and heading.match(line):
            break
        table.append(line)
    return table


def kernel_ratios(title):
    """Return {library: ratios} of a section of kernel/compare.txt."""
    rows = [re.search(r"\)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", line)
            for line in section("kernel/compare.txt", title)]  # fmt: skip
    values = np.array([[float(row[4]), float(row[5])] for row in rows if row])
    return {"scikit-learn": values[:, 0], "scikit-learn-intelex": values[:, 1]}


def linear_ratios(gap):
    """Return {cost: ratios to the fastest other library} for the primal criterion of linear/speed.txt."""
    rows = []
    for line in section("linear/speed.txt", f"Time to reach a relative gap of {gap}"):
        match = re.search(r"hinge +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +[A-Zs]", line)
        if match:
            rows.append((float(match[1]), float(match[4])))
    costs = sorted({cost for cost, _ in rows})
    return {f"C = {cost:g}": np.array([ratio for c, ratio in rows if c == cost]) for cost in costs}


def grid_ratios():
    """Return the ratios of the grid searches."""
    pattern = re.compile(r"\S+ +\d+ +[\d.]+ +[\d.]+ +([\d.]+) ")
    rows = [pattern.match(line) for line in section("kernel/grid.txt", "Grid search")]
    return {"GridSearchCV(SVC())": np.array([float(row[1]) for row in rows if row])}


def draw(groups, title, file):
    """Draw the ratios of several groups on a logarithmic axis."""
    figure, ax = plt.subplots(figsize=(7.2, 0.8 + 0.55 * len(groups)), layout="constrained")
    for row, ratios in enumerate(reversed(groups.values())):
        low, median, high = np.percentile(ratios, [25, 50, 75])
        ax.plot([low, high], [row, row], color=GROUP, alpha=0.25, linewidth=11, solid_capstyle="butt")
        ax.plot([median, median], [row - 0.28, row + 0.28], color="#D55E00", linewidth=2.2)
        ax.plot(ratios, np.full(len(ratios), row), "o", color=GROUP, markersize=4, alpha=0.8)
        place = dict(xycoords=("axes fraction", "data"), va="center", fontsize="small")
        ax.annotate(f"median {median:.3g}", (1.01, row), **place)
    ax.axvline(1, color="#222222", linewidth=1)
    ax.set_yticks(range(len(groups)), [f"{name} ({len(r)})" for name, r in reversed(groups.items())])
    ax.set_ylim(-0.6, len(groups) - 0.4)
    ax.set_xscale("log")
    ax.set_xlabel("time of the other library ÷ time of hinge")
    ax.set_title(title, loc="left", fontsize="medium")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)


def charts():
    """Return (file name, title, groups) of all charts."""
    kernel = {f"fit, {name}": r for name, r in kernel_ratios("Time of fit").items()}
    kernel |= {f"predict, {name}": r for name, r in kernel_ratios("Time of predict").items()}
    linear = {
        f"gap {gap}, {name}": ratios
        for gap in ("1e-02", "1e-04", "1e-06") for name, ratios in linear_ratios(gap).items()
    }  # fmt: skip
    return [
        ("kernel.png", "Kernel estimators", kernel),
        ("grid.png", "Grid search over C and γ", grid_ratios()),
        ("linear.png", "Linear estimators, compared with the fastest other library", linear),
    ]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, groups in charts():
        draw(groups, title, folder / name)
        print(f"{name:<12}" + ", ".join(f"{key}: {np.median(r):.3g}" for key, r in groups.items()))


if __name__ == "__main__":
    main()
