"""
Prediction intervals
====================

Jackknife+ computes intervals from exact leave-one-out models, full conformal prediction from the path of the solution
in the label of the new sample. This example compares their coverage and widths, and adapts intervals to a drifting
stream.
"""

# %%
# Intervals and a coverage table
# ------------------------------

import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge.conformal import AdaptiveIntervals, CVPlus, FullConformal, JackknifePlus, coverage
from hinge.plotting import IntervalDisplay
from hinge.recipes import SlidingSVR

rng = np.random.default_rng(0)


def sample(n):
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.25 * rng.normal(size=n)


X, y = sample(120)
X_new, y_new = sample(300)
estimator = hinge.SVR(C=5.0, gamma=1.0)
levels = [0.05, 0.1, 0.2]
print(f"{'method':<16}" + "".join(f"{f'{1 - level:.0%}':>16}" for level in levels))
for method in (JackknifePlus(estimator), CVPlus(estimator, random_state=0), FullConformal(estimator)):
    intervals = method.fit(X, y).predict_interval(X_new, levels)
    widths = (intervals[:, 1] - intervals[:, 0]).mean(axis=0)
    cells = [f"{share:.3f} ({width:.2f})" for share, width in zip(coverage(y_new, intervals), widths, strict=True)]
    print(f"{type(method).__name__:<16}" + "".join(f"{cell:>16}" for cell in cells))

IntervalDisplay.from_estimator(JackknifePlus(estimator).fit(X, y), X_new, y_new, alpha=0.1)

# %%
# The numbers are the share of covered targets and, in parentheses, the mean width. Jackknife+ guarantees 1 − 2α and
# typically covers 1 − α, full conformal prediction guarantees 1 − α. Both are averages over all x: if the noise
# depends on x, the intervals are too wide at some places and too narrow at others.
#
# A stream that changes
# ---------------------
#
# In the middle the noise becomes three times as large. The level follows the errors, so that the long-run coverage is
# kept: after errors the intervals become wider. They are infinite while the level is below zero.

n = 600
time = np.linspace(0, 60, n)[:, None]
noise = np.where(np.arange(n) < 300, 0.1, 0.3)
series = np.sin(time[:, 0]) + noise * rng.normal(size=n)
stream = AdaptiveIntervals(SlidingSVR(C=10.0, gamma=1.0, window=50), alpha=0.1, rate=0.02).fit(time[:50], series[:50])
history = stream.partial_fit(time[50:], series[50:]).history_
figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7, 5.5), layout="constrained")
IntervalDisplay.from_history(history, ax=top)
bottom.plot(history.coverage(window=60))
bottom.axhline(0.9, color="0.5", linestyle=":")
bottom.set_ylabel("coverage of 60 steps")
bottom.set_xlabel("step")
plt.show()
