"""
The solution path
=================

The solution of a support vector machine is a piecewise linear function of C. Between two breakpoints every sample keeps
its place: outside of the margin, on it, or within it. At a breakpoint one sample changes its place.
"""

# %%
# Three places
# ------------
#
# The optimality conditions sort the samples into three sets: outside of the margin (y f > 1, α = 0), on the margin (y f
# = 1, 0 < α < C), and within the margin or misclassified (y f < 1, α = C). The figure shows them for three values of C.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import hinge

X, y = make_blobs([12, 12], centers=[(-1, 0), (1, 0)], cluster_std=0.9, random_state=3)
path = hinge.regularization_path(X, y, C_min=1e-2, C_max=10.0, kernel="linear")
print(path)
plane = np.meshgrid(np.linspace(-3.6, 3.6, 200), np.linspace(-3, 3, 200))
points = np.column_stack([axis.ravel() for axis in plane])
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for ax, C in zip(axes, (0.03, 0.3, 3.0), strict=True):
    values = path.decision_function(points, C).reshape(plane[0].shape)
    ax.contour(*plane, values, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=1)
    for name, members, colour in zip(
        ("outside", "on the margin", "inside"), path.index_sets(C), ("#8a8a8a", "#D55E00", "#0072B2"), strict=True
    ):
        for label, marker in ((0, "o"), (1, "^")):
            chosen = members[y[members] == label]
            ax.scatter(*X[chosen].T, color=colour, marker=marker, label=name if label == 0 else None, s=35, zorder=3)
    ax.set_title(f"C = {C:g}")
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)

# %%
# Coefficients as functions of C
# ------------------------------
#
# All α start at C, on the dotted line. When C grows, the margin becomes narrower. A sample that reaches its edge leaves
# the dotted line: its α changes linearly between the breakpoints until it is zero (the sample is then outside) or C
# again. The ticks at the bottom are the breakpoints.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
shown = path.breakpoints[path.breakpoints <= 1.0]
alpha = np.array([path.alpha(C) for C in shown])
ax.plot(shown, alpha, color="#0072B2", alpha=0.6, linewidth=1)
ax.plot(shown, shown, "k:", label="α = C")
ax.plot(shown, np.zeros(len(shown)), "|", color="#D55E00", markersize=12, label="breakpoints")
ax.set_xlabel("C")
ax.set_ylabel("α")
ax.legend(loc="upper left")

# %%
# Exact between the breakpoints
# -----------------------------
#
# A path stores the solution at the breakpoints and its rate in between. Any C is therefore available without training.
# The difference to a fit at a random C is only rounding, and the certificate proves it.

C = 0.123456
model = hinge.SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
difference = np.max(np.abs(model.decision_function(X) - path.decision_function(X, C)))
print(f"largest difference to a fit: {difference:.1e}")
print(path.certificate(C))
