"""
A stream, one sample at a time
==============================

The online machines take one gradient step per sample, in a fixed amount of memory. Here is a stream whose two classes
turn around each other, and a detector of news.
"""

# %%
# Classes that turn
# -----------------
#
# Every sample is predicted first and learned afterwards. A constant step follows the change; a step that falls like
# 1/√t believes in a truth that stays.

import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge.online import prequential

rng = np.random.default_rng(0)
n = 20_000
angle = np.linspace(0, 2 * np.pi, n)
X = rng.normal(size=(n, 2))
y = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.2 * rng.normal(size=n) > 0).astype(int)

rates = {"constant step": {"eta0": 0.2}, "falling step": {"learning_rate": "invscaling", "eta0": 1.0}}
for name, options in rates.items():
    model = hinge.OnlineSVC(gamma=0.5, budget=200, regularization=0.02, **options)
    result = prequential(model, X, y)
    print(f"{name}: {100 * result.mean:.1f} % errors, {n / result.seconds:,.0f} samples a second")
    print(f"  cut off at most {model.truncation_error_:.1e}, known in advance {model.truncation_bound_:.1e}")
    plt.plot(result.curve(1000), label=name)
plt.ylim(0, 0.5)
plt.xlabel("sample")
plt.ylabel("errors among the last 1,000")
plt.legend(loc="upper left")

# %%
# How many are short of the margin
# --------------------------------
#
# In the ν-machines the margin adapts until a share ν of the samples falls short of it.

for nu in (0.1, 0.3, 0.6):
    machine = hinge.OnlineNuSVC(nu=nu, gamma=0.5, budget=200).fit(X, y)
    print(f"nu = {nu}: share of margin errors {machine.n_beyond_[0] / machine.t_:.3f}")

# %%
# Warning of what is new
# ----------------------
#
# A detector for 20 % of alerts. After sample 15,000 the stream moves away: a burst of alerts, until that is the usual.

moved = X + np.where(np.arange(n) < 15_000, 0.0, 4.0)[:, None]
detector = hinge.OnlineNoveltyDetector(nu=0.2, gamma=0.2, budget=2000, eta0=0.0005)
detector.partial_fit(moved[:5_000])
alerts = []
for x in moved[5_000:]:
    alerts.append(detector.score_one(x) < 0)
    detector.learn_one(x)
before, after = np.mean(alerts[:10_000]), np.mean(alerts[10_000:10_100])
print(f"alerts before: {100 * before:.0f} %, among the next 100: {100 * after:.0f} %")
rate = np.convolve(alerts, np.full(100, 0.01), mode="valid")
plt.figure()
plt.plot(np.arange(len(rate)) + 5_100, rate)
plt.xlabel("sample")
plt.ylabel("share of alerts among the last 100")
