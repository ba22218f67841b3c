"""
Prediction sets for digits
==========================

A prediction set contains all classes to which an image conforms. Images that cannot be classified at the chosen level
have sets with several classes, images that conform to no class have empty sets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import hinge
from hinge.conformal import ConformalClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=300, random_state=0)
X_test, y_test = X_test[:200], y_test[:200]

# %%
# The cross-conformal classifier uses every training sample for training and for calibration; the full classifier adds
# every new sample with each label to the exact solution. Its sets are conservative here, because most training samples
# are free support vectors, whose margins are equal.

estimator = hinge.SVC(C=5.0, gamma=0.1)
print(f"{'method':<12}{'alpha':>8}{'coverage':>12}{'mean size':>12}{'empty':>8}")
for method in ("inductive", "cross", "full"):
    model = ConformalClassifier(estimator, method=method, random_state=0).fit(X_train, y_train)
    rows = slice(0, 60) if method == "full" else slice(None)
    levels = (0.02, 0.1)
    every = model.predict_set(X_test[rows], levels)
    for k, alpha in enumerate(levels):
        sets = every[:, :, k]
        covered = sets[np.arange(len(sets)), y_test[rows]].mean()
        print(f"{method:<12}{alpha:>8}{covered:>12.3f}{sets.sum(axis=1).mean():>12.2f}{(~sets.any(axis=1)).sum():>8}")

# %%
# The images with the largest sets at the level 98 %:

model = ConformalClassifier(estimator, method="cross", random_state=0).fit(X_train, y_train)
sets = model.predict_set(X_test, 0.02)
largest = np.argsort(-sets.sum(axis=1), kind="stable")[:4]
figure, panels = plt.subplots(1, 4, figsize=(8, 2.6), layout="constrained")
for panel, i in zip(panels, largest, strict=True):
    panel.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    panel.set_title(f"{', '.join(map(str, model.classes_[sets[i]]))}\n(true: {y_test[i]})", fontsize="small")
    panel.set_axis_off()
plt.show()
