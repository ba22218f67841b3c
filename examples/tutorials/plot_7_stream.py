"""
Learning from a stream
======================

Samples of a stream arrive one after the other, and the relation between features and labels changes. This tutorial
compares a model that is trained once, a sliding window with exact updates, and an online estimator with fixed memory.
"""

# %%
# A stream that changes
# ---------------------
#
# The label depends on a direction that rotates by 180 degrees over 1,000 samples. Every sample is predicted before its
# label is used (prequential evaluation).

import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge.online import prequential
from hinge.recipes import SlidingSVC

rng = np.random.default_rng(0)
n, start = 1000, 100
X = rng.normal(size=(n, 2))
angle = np.linspace(0, np.pi, n)
y = np.where(X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0, "up", "down")

errors = {}
fixed = hinge.SVC(C=10, gamma=0.5).fit(X[:start], y[:start])
errors["trained once"] = fixed.predict(X[start:]) != y[start:]

# %%
# Exact updates of a window
# -------------------------
#
# ``SlidingSVC`` keeps the latest 100 samples. Each update is the exact solution for the new window; it is much faster
# than a new fit, because few coefficients change.

window = SlidingSVC(C=10.0, gamma=0.5, window=start).fit(X[:start], y[:start])
wrong = []
for k in range(start, n, 20):
    batch = slice(k, k + 20)
    wrong.extend(window.predict(X[batch]) != y[batch])
    window.partial_fit(X[batch], y[batch])
errors["window of 100, exact"] = np.array(wrong)
print(window.certificate_)

# %%
# Fixed memory
# ------------
#
# ``OnlineSVC`` takes one gradient step per sample and forgets old samples. It is approximate and processes hundreds of
# thousands of samples per second.

online = hinge.OnlineSVC(gamma=0.5, eta0=0.5, regularization=0.05, budget=100)
online.partial_fit(X[:start], y[:start], classes=["down", "up"])
result = prequential(online, X[start:], y[start:])
errors["online, 100 terms"] = result.losses

# %%
# Error rate over time
# --------------------

figure, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
for (name, values), style in zip(errors.items(), ("-", "--", "-."), strict=True):
    rate = np.convolve(values, np.ones(100) / 100, mode="valid")
    ax.plot(np.arange(start + 99, n), 100 * rate, style, label=name)
    print(f"{name}: {100 * np.mean(values):.1f} % errors")
ax.set_xlabel("sample")
ax.set_ylabel("errors on the last 100 samples in %")
ax.legend(loc="upper left")
