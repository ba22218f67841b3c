"""
Changing sample weights
=======================

This example shows three applications of exact weight paths: heteroscedastic noise, a time series that drifts, and
covariate shift. The first two use the data sets of Karasuyama's dissertation if a folder ``shared/data`` exists next to
the repository. Otherwise they use substitutes.
"""

# %%
# Heteroscedastic noise
# ---------------------
#
# Samples with large residuals get smaller weights. The solution follows each change of the weights exactly, until the
# residuals no longer change.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import hinge
from hinge.recipes import HeteroscedasticSVR, SlidingSVC, covariate_shift_path


def load_shared(name):
    """Return X and y of a data set in ``shared/data``, or None if it is not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"].astype(float)
    return None


housing = load_shared("housing")
if housing is None:
    X, y = load_diabetes(return_X_y=True)
    X, y, source = MinMaxScaler((-1, 1)).fit_transform(X), y / 10, "diabetes"
else:
    (X, y), source = housing, "housing"
model = HeteroscedasticSVR(C=10.0, epsilon=0.05, gamma=1 / X.shape[1], weight_tol=5e-3).fit(X, y)
print(
    f"{source}: {len(y)} sample weights, updated {model.n_updates_} times, "
    f"relative gap {model.certificate_.relative_gap:.0e}"
)
refit = hinge.SVR(C=10.0, epsilon=0.05, gamma=1 / X.shape[1], tol=1e-8).fit(X, y, model.sample_weight_)
difference = np.max(np.abs(refit.predict(X) - model.predict(X)))
print(f"largest difference from a new fit with the final weights: {difference:.0e}")
plt.scatter(np.abs(y - model.predict(X)), model.sample_weight_, s=8)
plt.xscale("log")
plt.yscale("log")
plt.xlabel("absolute residual")
plt.ylabel("sample weight")

# %%
# A drifting time series
# ----------------------
#
# The data are closing prices of the NASDAQ index (or a random walk) with the features of Table 4.2 of the dissertation:
# the distance of the price from its 15-day moving average, and its relative changes over 5, 10, 15 and 20 days. The
# task is to predict whether the smoothed price will be higher in five days. In each step five days are added and five
# are removed, and the newest days have the largest weights. Each step follows one path. The result equals training from
# scratch.

nasdaq = load_shared("nasdaq")
price = nasdaq[1] if nasdaq else 2000 * np.exp(np.cumsum(0.01 * np.random.default_rng(0).normal(size=2263)))


def moving_average(price, k):
    """Return the k-day exponential moving average."""
    average, share = price.copy(), 2 / (k + 1)
    for i in range(1, len(price)):
        average[i] = average[i - 1] + share * (price[i] - average[i - 1])
    return average


def clip_outliers(values):
    """Clip values to two standard deviations from the mean."""
    return np.clip(values, values.mean() - 2 * values.std(), values.mean() + 2 * values.std())


days = np.arange(20, len(price) - 5)
changes = [clip_outliers(100 * (price[days] / price[days - k] - 1)) for k in (5, 10, 15, 20)]
X = MinMaxScaler().fit_transform(np.column_stack([price[days] - moving_average(price, 15)[days], *changes]))
smooth = moving_average(price, 3)
y = np.where(smooth[days + 5] > smooth[days], 1, -1)
window = 600
model = SlidingSVC(C=10.0, gamma=1.0, window=window, recency=3.0).fit(X[:window], y[:window])
correct = []
for first in range(window, window + 300, 5):
    correct.extend(model.predict(X[first : first + 5]) == y[first : first + 5])
    model.slide(X[first : first + 5], y[first : first + 5])
print(f"{len(correct)} days predicted, accuracy {100 * np.mean(correct):.0f} % (price movements are hard to predict)")
X_window, y_window, _ = model.training_data_
refit = SlidingSVC(C=10.0, gamma=1.0, window=window, recency=3.0).fit(X_window, y_window)
difference = np.max(np.abs(refit.decision_function(X_window) - model.decision_function(X_window)))
print(
    f"after 60 steps: relative gap {model.certificate_.relative_gap:.0e}, "
    f"largest difference from a new fit {difference:.0e}"
)

# %%
# Covariate shift
# ---------------
#
# The task is to classify breast tumors by texture and smoothness. The training samples mostly have low texture values,
# the target samples high ones. The error on the target samples is an exact function of θ, from equal weights (θ = 0) to
# importance weights (θ = 1). The best θ is chosen without labels of target samples, on validation samples of the
# training distribution that are weighted by the density ratio.

rng = np.random.default_rng(0)
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, [1, 4]]
is_source = rng.uniform(size=len(y)) < 1 / (1 + np.exp(2.5 * X[:, 0]))
X_target, y_target = X[~is_source], y[~is_source]
order = rng.permutation(np.flatnonzero(is_source))
train, validation = order[: len(order) * 2 // 3], order[len(order) * 2 // 3 :]
X_val, y_val = X[validation], y[validation]
shift = covariate_shift_path(X[train], y[train], X_target, C=0.3, gamma=0.05)
best = shift.best(X_val, y_val)
target_error = shift.validation_error(X_target, y_target, weighted=False)
best_error = np.mean(shift.model(best.theta).predict(X_target) != y_target)
print(f"best θ, chosen without target labels: {best.theta:.3f}, interval [{best.low:.3f}, {best.high:.3f}]")
print(
    f"error on the target samples: {target_error(0.0):.3f} with equal weights, "
    f"{target_error(1.0):.3f} with importance weights, {best_error:.3f} at the best θ"
)
plt.figure()
plt.stairs(target_error.values, target_error.knots, baseline=None, label="target samples")
weighted_error = shift.validation_error(X_val, y_val)
plt.stairs(weighted_error.values, weighted_error.knots, baseline=None, label="weighted validation samples")
plt.axvspan(best.low, best.high, alpha=0.2)
plt.xlabel("θ")
plt.ylabel("error")
plt.legend()
