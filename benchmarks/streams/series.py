"""Time series of Karasuyama's dissertation as classification problems, and the housing data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import sklearn

import hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.benchmark_data import data_folder, load


def versions():
    """Return a line with the versions of hinge, scikit-learn and Python, and the commit."""
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain", "-uno", "--", "../../src", "../../cpp"],
                             capture_output=True, text=True, check=False)  # fmt: skip
    source = f"commit {commit.stdout.strip()}{' with uncommitted changes' if changed.stdout.strip() else ''}"
    return (
        f"hinge {hinge.__version__}, scikit-learn {sklearn.__version__}, Python {sys.version.split()[0]}; "
        f"{source if commit.returncode == 0 else 'no repository'}"
    )


def scale_columns(X):
    """Scale every column to [0, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.ascontiguousarray((X - low) / np.where(high > low, high - low, 1.0))


def moving_average(price, k):
    """Return the k-day exponential moving average."""
    average, share = np.empty_like(price), 2.0 / (k + 1)
    average[0] = price[0]
    for i in range(1, len(price)):
        average[i] = average[i - 1] + share * (price[i] - average[i - 1])
    return average


def clip_outliers(values):
    """Clip values to two standard deviations from the mean."""
    mean, width = values.mean(), 2 * values.std()
    return np.clip(values, mean - width, mean + width)


def nasdaq():
    """Return the data of Table 4.2: EMA15 and four lagged relative differences; the label is the sign of RDP+5."""
    _, price = load("nasdaq")
    price = price.astype(float)
    days = np.arange(20, len(price) - 5)
    smooth = moving_average(price, 3)
    lagged = [clip_outliers((price[days] - price[days - k]) / price[days - k] * 100) for k in (5, 10, 15, 20)]
    X = np.column_stack([price[days] - moving_average(price, 15)[days], *lagged])
    return scale_columns(X), np.where(smooth[days + 5] > smooth[days], 1, -1)


def beer():
    """Return the production of the last 12 months; the label is whether the production increases in the next month."""
    _, production = load("beer")
    production = production.astype(float)
    months = np.arange(12, len(production))
    X = np.column_stack([production[months - k] for k in range(12, 0, -1)])
    return scale_columns(X), np.where(production[months] > production[months - 1], 1, -1)


def fisher_river():
    """Return temperature, precipitation and flow of the last 7 days; the label is whether the flow increases."""
    weather, flow = load("fisher_river")
    flow = flow.astype(float)
    days = np.arange(7, len(flow))
    columns = [np.asarray(series, dtype=float)[days - k] for k in range(7, 0, -1) for series in (*weather.T[1:], flow)]
    return scale_columns(np.column_stack(columns)), np.where(flow[days] > flow[days - 1], 1, -1)


def housing(seed=0, n=404):
    X, y = load("housing")
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows].astype(float), y[rows].astype(float)


__all__ = ["beer", "data_folder", "fisher_river", "housing", "load", "nasdaq", "scale_columns", "versions"]
