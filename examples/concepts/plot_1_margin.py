"""
Margin and slack
================

A support vector machine separates two classes by the line (in general: the hyperplane) with the widest margin. If the
classes overlap, some samples may lie within the margin or on the wrong side; each of them costs its slack ξ.
"""

# %%
# The maximum margin
# ------------------
#
# The decision function is f(x) = ⟨w, x⟩ + b. The distance between the lines f = −1 and f = 1 is 2/‖w‖, so that a wide
# margin means a small ‖w‖. With a very large C no slack is accepted. Only the samples on the margin, the support
# vectors, determine the solution: all others could be removed.

import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge.plotting import DecisionBoundary

rng = np.random.default_rng(4)
X = np.concatenate([rng.normal((-1.6, 0), 0.7, size=(20, 2)), rng.normal((1.6, 0), 0.7, size=(20, 2))])
y = np.repeat([-1, 1], 20)
hard = hinge.SVC(kernel="linear", C=1e6).fit(X, y)
w = hard.coef_[0]
on_margin = hard.support_
reduced = hinge.SVC(kernel="linear", C=1e6).fit(X[on_margin], y[on_margin])
print(f"width of the margin 2/‖w‖ = {2 / np.linalg.norm(w):.3f}")
print(
    f"{len(on_margin)} support vectors; without the other samples the width is {2 / np.linalg.norm(reduced.coef_):.3f}"
)
DecisionBoundary.from_estimator(hard, X, y, class_names=("−1", "+1"))

# %%
# Slack
# -----
#
# In the second data set the classes overlap. The slack of a sample is ξ = max(0, 1 − y f(x)): it is 0 outside of the
# margin, between 0 and 1 within the margin on the right side, and larger than 1 if the sample is misclassified. The
# objective is ½‖w‖² + C Σ ξᵢ. The segments in the figure are the distances of the samples from their margin, which are
# ξ/‖w‖.

X = np.concatenate([rng.normal((-1, 0), 0.9, size=(25, 2)), rng.normal((1, 0), 0.9, size=(25, 2))])
y = np.repeat([-1, 1], 25)
soft = hinge.SVC(kernel="linear", C=1.0).fit(X, y)
w, f = soft.coef_[0], soft.decision_function(X)
slack = np.maximum(0, 1 - y * f)
display = DecisionBoundary.from_estimator(soft, X, y, class_names=("−1", "+1"))
for x, label, xi in zip(X, y, slack, strict=True):
    if xi > 1e-6:
        end = x + label * xi * w / (w @ w)
        display.ax_.plot(*np.stack([x, end]).T, color="#009E73" if xi < 1 else "#D55E00", linewidth=1.2, zorder=2.5)
objective = 0.5 * w @ w + slack.sum()
print(f"½‖w‖² + C Σ ξ = {0.5 * w @ w:.4f} + {slack.sum():.4f} = {objective:.4f}")
print(soft.certificate_)

# %%
# The loss function
# -----------------
#
# Slack as a function of y f(x) is the hinge loss, a convex upper bound on the number of errors. This makes training a
# convex problem with one optimal value.

figure, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
margin = np.linspace(-2, 3, 251)
ax.plot(margin, np.maximum(0, 1 - margin), label="hinge loss, ξ")
ax.plot(margin, (margin < 0).astype(float), "--", label="error (0 or 1)")
ax.plot(y * f, slack, "o", markersize=4, color="#222222", label="samples of the second figure", alpha=0.6)
ax.set_xlabel("y f(x)")
ax.set_ylabel("loss")
ax.legend()
