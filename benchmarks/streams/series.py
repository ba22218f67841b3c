"""The series of Karasuyama's dissertation as classification problems, and the housing data, from the shared folder."""

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
    """What ran: hinge, scikit-learn, Python, and the commit, with a word where files differ from it."""
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain", "-uno", "--", "../../src", "../../cpp"],
                             capture_output=True, text=True, check=False)  # fmt: skip
    where = f"commit {commit.stdout.strip()}{' and changes' if changed.stdout.strip() else ''}"
    return (f"hinge {hinge.__version__}, scikit-learn {sklearn.__version__}, Python {sys.version.split()[0]}; "
            f"{where if commit.returncode == 0 else 'no repository'}")  # fmt: skip


def unit(X):
    """Every column to [0, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.ascontiguousarray((X - low) / np.where(high > low, high - low, 1.0))


def ema(price, k):
    """The k-day exponential moving average."""
    out, share = np.empty_like(price), 2.0 / (k + 1)
    out[0] = price[0]
    for i in range(1, len(price)):
        out[i] = out[i - 1] + share * (price[i] - out[i - 1])
    return out


def clipped(values):
    """Values beyond two standard deviations from the mean are moved to that margin."""
    centre, spread = values.mean(), 2 * values.std()
    return np.clip(values, centre - spread, centre + spread)


def nasdaq():
    """Table 4.2: EMA15 and four lagged relative differences; the sign of RDP+5."""
    _, price = load("nasdaq")
    price = price.astype(float)
    days = np.arange(20, len(price) - 5)
    smooth = ema(price, 3)
    lagged = [clipped((price[days] - price[days - k]) / price[days - k] * 100) for k in (5, 10, 15, 20)]
    X = np.column_stack([price[days] - ema(price, 15)[days], *lagged])
    return unit(X), np.where(smooth[days + 5] > smooth[days], 1, -1)


def beer():
    """The production of the last 12 months; whether the next month brings more."""
    _, made = load("beer")
    made = made.astype(float)
    months = np.arange(12, len(made))
    X = np.column_stack([made[months - k] for k in range(12, 0, -1)])
    return unit(X), np.where(made[months] > made[months - 1], 1, -1)


def fisher_river():
    """Temperature, precipitation and flow of the last 7 days; whether the flow increases."""
    weather, flow = load("fisher_river")
    flow = flow.astype(float)
    days = np.arange(7, len(flow))
    columns = [np.asarray(series, dtype=float)[days - k] for k in range(7, 0, -1) for series in (*weather.T[1:], flow)]
    return unit(np.column_stack(columns)), np.where(flow[days] > flow[days - 1], 1, -1)


def housing(seed=0, n=404):
    X, y = load("housing")
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows].astype(float), y[rows].astype(float)


__all__ = ["beer", "data_folder", "ema", "fisher_river", "housing", "load", "nasdaq", "unit", "versions"]
