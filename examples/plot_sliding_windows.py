"""
Windows that slide
==================

Two series of chapter 3 of Karasuyama's dissertation, at C = 1000: a window of the latest samples moves on, and the
machine follows exactly, in one path per step. The data come from a folder ``shared/data`` beside the repository; where
there is none, series of the same shape are drawn.
"""

# %%
# The series
# ----------
#
# Australian beer: the production of the last 12 months, and whether the next month brings more. Fisher River:
# temperature, precipitation and flow of the last 7 days, and whether the flow increases.

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from hinge.recipes import SlidingSVC


def shared(name):
    """X and y of a benchmark set, or None."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"].astype(float)
    return None


def lagged(columns, target, lags):
    """The columns of the last days or months, and whether the target increases."""
    now = np.arange(lags, len(target))
    X = np.column_stack([column[now - k] for k in range(lags, 0, -1) for column in columns])
    return MinMaxScaler().fit_transform(X), np.where(target[now] > target[now - 1], 1, -1)


rng = np.random.default_rng(0)
found = shared("beer")
if found is None:
    months = np.arange(476)
    found = None, 150 + 0.1 * months + 30 * np.sin(2 * np.pi * months / 12) + 8 * rng.normal(size=476)
made = found[1]
beer = lagged([made], made, 12)

found = shared("fisher_river")
if found is None:
    days = np.arange(1461)
    warmth = -15 * np.cos(2 * np.pi * days / 365.25) + 4 * rng.normal(size=1461)
    rain = rng.exponential(2.0, size=1461) * (rng.uniform(size=1461) < 0.3)
    flow = np.convolve(rain + np.maximum(warmth, 0) / 10, np.exp(-np.arange(60) / 12))[:1461]
    weather = [warmth, rain]
else:
    flow, weather = found[1], list(found[0].T[1:])
river = lagged([*weather, flow], flow, 7)

# %%
# Steps of a window
# -----------------
#
# Before each step the new samples are foretold. After it the model is what training from scratch on the window gives:
# the relative duality gap is computed from the data, and the decision values are compared with those of a fresh fit.


def follow(name, X, y, window, step, steps, gamma):
    """Slide, and refit with scikit-learn beside it."""
    options = dict(C=1000.0, gamma=gamma)
    start = len(y) - window - step * steps
    model = SlidingSVC(window=window, recency=0.0, **options).fit(X[start:][:window], y[start:][:window])
    right, ours, theirs = [], [], []
    for first in range(start + window, start + window + step * steps, step):
        new = slice(first, first + step)
        right.extend(model.predict(X[new]) == y[new])
        began = time.process_time()
        model.slide(X[new], y[new])
        ours.append(time.process_time() - began)
        rows, labels, _ = model.training_data_
        began = time.process_time()
        SVC(cache_size=500, **options).fit(rows, labels)
        theirs.append(time.process_time() - began)
    fresh = SlidingSVC(window=window, recency=0.0, **options).fit(rows, labels)
    apart = np.max(np.abs(fresh.decision_function(rows) - model.decision_function(rows)))
    print(f"{name}: {len(right)} samples foretold, {100 * np.mean(right):.0f} % right; a refit takes "
          f"{np.median(theirs) / np.median(ours):.0f} times as long as a step")  # fmt: skip
    print(f"  relative gap {model.certificate_.relative_gap:.0e}, difference from a fresh fit {apart:.0e}")
    return 1e3 * np.array(ours), 1e3 * np.array(theirs)


times = {
    "beer": follow("beer", *beer, window=320, step=12, steps=12, gamma=0.1),
    "Fisher River": follow("Fisher River", *river, window=1000, step=30, steps=14, gamma=0.1),
}

# %%
# How long a step takes
# ---------------------

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for axis, (name, (ours, theirs)) in zip(axes, times.items(), strict=True):
    axis.semilogy(theirs, "s-", label="refit with scikit-learn, tol = 1e-3")
    axis.semilogy(ours, "o-", label="exact step")
    axis.set(title=name, xlabel="step", ylabel="milliseconds")
    axis.set_ylim(bottom=0.5 * ours.min(), top=4 * theirs.max())
    axis.legend(loc="upper right", fontsize=8)
