"""
Regression with prediction intervals
====================================

This tutorial predicts the progression of diabetes and returns, instead of one number, an interval that contains the
target with a given probability.
"""

# %%
# A regression model
# ------------------
#
# ``SVR`` ignores errors below ε and counts larger ones linearly. Its parameters C and ε have the unit of the target, so
# that the target is scaled as well.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.conformal import JackknifePlus, coverage
from hinge.plotting import IntervalDisplay

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=250, random_state=0)
center, unit = y_train.mean(), y_train.std()
z_train, z_test = (y_train - center) / unit, (y_test - center) / unit

search = hinge.SVRCV(Cs=6, gammas=6, cv=5).fit(X_train, z_train)
chosen = {name: search.best_params_[name] for name in ("C", "gamma", "epsilon")}
print(", ".join(f"{name} = {value:.3g}" for name, value in chosen.items()))
print(f"R² on the test data: {search.score(X_test, z_test):.3f}")

# %%
# Intervals
# ---------
#
# Jackknife+ compares the prediction for each training sample with that of the model without this sample. hinge computes
# these leave-one-out models exactly, without 250 fits. The guarantee is a coverage of at least 1 − 2α; typical is 1 −
# α.

model = JackknifePlus(hinge.SVR(**chosen)).fit(X_train, z_train)
for alpha in (0.05, 0.1, 0.2):
    intervals = model.predict_interval(X_test, alpha=alpha)
    width = unit * np.mean(intervals[:, 1] - intervals[:, 0])
    print(
        f"level {1 - alpha:.0%}: {coverage(z_test, intervals):.1%} of the targets are covered, mean width {width:.0f}"
    )

display = IntervalDisplay.from_intervals(
    np.argsort(np.argsort(model.predict(X_test))), center + unit * model.predict_interval(X_test, alpha=0.1),
    center + unit * model.predict(X_test), y_test, xlabel="rank of the prediction", ylabel="progression",
)  # fmt: skip

# %%
# How wide the intervals are
# --------------------------
#
# The targets lie between 25 and 346. The intervals show that the ten features determine the progression only roughly, a
# fact that a table of predictions would hide.

figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
levels = np.linspace(0.02, 0.5, 25)
several = model.predict_interval(X_test, alpha=levels)
ax.plot(1 - levels, coverage(z_test, several), "o-", markersize=3, label="test data")
ax.plot([0.5, 1], [0.5, 1], color="gray", linestyle=":", label="coverage = level")
ax.set_xlabel("level 1 − α")
ax.set_ylabel("coverage")
ax.legend()
