"""
Weights that change
===================

Three uses of exact weight paths: noise that varies, a series that drifts, inputs that shift. The first two take the
data of Karasuyama's dissertation from a folder ``shared/data`` beside the repository where there is one.
"""

# %%
# Noise that varies
# -----------------
#
# Samples far from the fit get less weight, the fit follows exactly, and again until nothing changes.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import hinge
from hinge.recipes import HeteroscedasticSVR, SlidingSVC, covariate_shift_path


def shared(name):
    """X and y of a benchmark set, or None."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"].astype(float)
    return None


found = shared("housing")
if found is None:
    X, y = load_diabetes(return_X_y=True)
    X, y, source = MinMaxScaler((-1, 1)).fit_transform(X), y / 10, "diabetes"
else:
    (X, y), source = found, "housing"
model = HeteroscedasticSVR(C=10.0, epsilon=0.05, gamma=1 / X.shape[1], weight_tol=5e-3).fit(X, y)
print(f"{source}: {model.n_updates_} changes of {len(y)} weights, relative gap {model.certificate_.relative_gap:.0e}")
fresh = hinge.SVR(C=10.0, epsilon=0.05, gamma=1 / X.shape[1], tol=1e-8).fit(X, y, model.sample_weight_)
print(f"difference from a fresh fit with the last weights: {np.max(np.abs(fresh.predict(X) - model.predict(X))):.0e}")
plt.scatter(np.abs(y - model.predict(X)), model.sample_weight_, s=8)
plt.xscale("log")
plt.yscale("log")
plt.xlabel("residual")
plt.ylabel("weight")

# %%
# A series that drifts
# --------------------
#
# The closing prices of the NASDAQ index (or a random walk) with the features of the dissertation's Table 4.2: how far
# the price is from its 15-day moving average, and its relative changes over 5, 10, 15 and 20 days; will the smoothed
# price be higher in five days? Five days come, five go, the newest weigh most. One path per step, and the result is
# that of training from scratch.

found = shared("nasdaq")
price = found[1] if found else 2000 * np.exp(np.cumsum(0.01 * np.random.default_rng(0).normal(size=2263)))


def ema(price, k):
    """The k-day exponential moving average."""
    out, share = price.copy(), 2 / (k + 1)
    for i in range(1, len(price)):
        out[i] = out[i - 1] + share * (price[i] - out[i - 1])
    return out


def clipped(values):
    """Values beyond two standard deviations from the mean are moved there."""
    return np.clip(values, values.mean() - 2 * values.std(), values.mean() + 2 * values.std())


days = np.arange(20, len(price) - 5)
lags = [clipped(100 * (price[days] / price[days - k] - 1)) for k in (5, 10, 15, 20)]
X = MinMaxScaler().fit_transform(np.column_stack([price[days] - ema(price, 15)[days], *lags]))
smooth = ema(price, 3)
y = np.where(smooth[days + 5] > smooth[days], 1, -1)
window = 600
model = SlidingSVC(C=10.0, gamma=1.0, window=window, recency=3.0).fit(X[:window], y[:window])
right = []
for first in range(window, window + 300, 5):
    right.extend(model.predict(X[first : first + 5]) == y[first : first + 5])
    model.slide(X[first : first + 5], y[first : first + 5])
print(f"{len(right)} days, {100 * np.mean(right):.0f} % right (prices are hard to foretell)")
rows, labels, weight = model.training_data_
fresh = SlidingSVC(C=10.0, gamma=1.0, window=window, recency=3.0).fit(rows, labels)
apart = np.max(np.abs(fresh.decision_function(rows) - model.decision_function(rows)))
print(f"after 60 steps: relative gap {model.certificate_.relative_gap:.0e}, difference from a fresh fit {apart:.0e}")

# %%
# Inputs that shift
# -----------------
#
# Breast cancer by texture and smoothness, trained on tissue of low texture and used on the rest. The error on the
# targets is an exact function of θ, from equal weights to importance weights; and θ can be chosen without any label of
# the targets, by the training distribution weighted to look like theirs.

rng = np.random.default_rng(0)
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, [1, 4]]
seen = rng.uniform(size=len(y)) < 1 / (1 + np.exp(2.5 * X[:, 0]))
X_target, y_target = X[~seen], y[~seen]
order = rng.permutation(np.flatnonzero(seen))
train, held = order[: len(order) * 2 // 3], order[len(order) * 2 // 3 :]
X_val, y_val = X[held], y[held]
shift = covariate_shift_path(X[train], y[train], X_target, C=0.3, gamma=0.05)
best = shift.best(X_val, y_val)
on_target = shift.validation_error(X_target, y_target, weighted=False)
print(f"chosen without target labels: θ = {best.theta:.3f}, in [{best.low:.3f}, {best.high:.3f}]")
print(f"errors on the targets: {on_target(0.0):.3f} with equal weights, {on_target(1.0):.3f} with importance weights, "
      f"{np.mean(shift.model(best.theta).predict(X_target) != y_target):.3f} at the chosen θ")  # fmt: skip
plt.figure()
plt.stairs(on_target.values, on_target.knots, baseline=None, label="on the targets")
weighted = shift.validation_error(X_val, y_val)
plt.stairs(weighted.values, weighted.knots, baseline=None, label="weighted validation")
plt.axvspan(best.low, best.high, alpha=0.2)
plt.xlabel("θ")
plt.ylabel("error")
plt.legend()
