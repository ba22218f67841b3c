"""
Sliding windows
===============

This example uses two time series of chapter 3 of Karasuyama's dissertation with C = 1000. The training set is a window
of the most recent samples. When the window moves, ``SlidingSVC`` updates the solution exactly along one path. The data
are read from a folder ``shared/data`` next to the repository. If it does not exist, synthetic series of the same shape
are used.
"""

# %%
# Data
# ----
#
# Australian beer production: the features are the production of the last 12 months, the task is to predict whether the
# production increases in the next month. Fisher River: the features are temperature, precipitation and flow of the last
# 7 days, the task is to predict whether the flow increases.

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from hinge.recipes import SlidingSVC


def load_shared(name):
    """Return X and y of a data set in ``shared/data``, or None if it is not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"].astype(float)
    return None


def lagged_features(columns, target, lags):
    """Return the last `lags` values of all columns, and whether the target increases."""
    now = np.arange(lags, len(target))
    X = np.column_stack([column[now - k] for k in range(lags, 0, -1) for column in columns])
    return MinMaxScaler().fit_transform(X), np.where(target[now] > target[now - 1], 1, -1)


rng = np.random.default_rng(0)
data = load_shared("beer")
if data is None:
    months = np.arange(476)
    production = 150 + 0.1 * months + 30 * np.sin(2 * np.pi * months / 12) + 8 * rng.normal(size=476)
else:
    production = data[1]
beer = lagged_features([production], production, 12)

data = load_shared("fisher_river")
if data is None:
    days = np.arange(1461)
    temperature = -15 * np.cos(2 * np.pi * days / 365.25) + 4 * rng.normal(size=1461)
    rain = rng.exponential(2.0, size=1461) * (rng.uniform(size=1461) < 0.3)
    flow = np.convolve(rain + np.maximum(temperature, 0) / 10, np.exp(-np.arange(60) / 12))[:1461]
    weather = [temperature, rain]
else:
    flow, weather = data[1], list(data[0].T[1:])
river = lagged_features([*weather, flow], flow, 7)

# %%
# Moving the window
# -----------------
#
# Before each step the model predicts the new samples. After the step it equals a model trained from scratch on the
# window. This is verified in two ways: by the relative duality gap, and by the difference of the decision values from
# those of a new fit.


def slide_window(name, X, y, window, step, steps, gamma):
    """Return the times of the updates and of refits with scikit-learn, in milliseconds."""
    options = dict(C=1000.0, gamma=gamma)
    start = len(y) - window - step * steps
    model = SlidingSVC(window=window, recency=0.0, **options).fit(X[start:][:window], y[start:][:window])
    correct, update_times, refit_times = [], [], []
    for first in range(start + window, start + window + step * steps, step):
        new = slice(first, first + step)
        correct.extend(model.predict(X[new]) == y[new])
        start_time = time.process_time()
        model.slide(X[new], y[new])
        update_times.append(time.process_time() - start_time)
        X_window, y_window, _ = model.training_data_
        start_time = time.process_time()
        SVC(cache_size=500, **options).fit(X_window, y_window)
        refit_times.append(time.process_time() - start_time)
    refit = SlidingSVC(window=window, recency=0.0, **options).fit(X_window, y_window)
    difference = np.max(np.abs(refit.decision_function(X_window) - model.decision_function(X_window)))
    print(
        f"{name}: {len(correct)} samples predicted, accuracy {100 * np.mean(correct):.0f} %; "
        f"a refit takes {np.median(refit_times) / np.median(update_times):.0f} times as long as an update"
    )
    print(f"  relative gap {model.certificate_.relative_gap:.0e}, largest difference from a new fit {difference:.0e}")
    return 1e3 * np.array(update_times), 1e3 * np.array(refit_times)


times = {
    "beer": slide_window("beer", *beer, window=320, step=12, steps=12, gamma=0.1),
    "Fisher River": slide_window("Fisher River", *river, window=1000, step=30, steps=14, gamma=0.1),
}

# %%
# Time per step
# -------------

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for axis, (name, (update_times, refit_times)) in zip(axes, times.items(), strict=True):
    axis.semilogy(refit_times, "s-", label="refit with scikit-learn, tol = 1e-3")
    axis.semilogy(update_times, "o-", label="exact update")
    axis.set(title=name, xlabel="step", ylabel="time in milliseconds")
    axis.set_ylim(bottom=0.5 * update_times.min(), top=4 * refit_times.max())
    axis.legend(loc="upper right", fontsize=8)
