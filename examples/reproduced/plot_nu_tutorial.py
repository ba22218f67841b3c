"""
ν-support vector machines
=========================

Chen, Lin and Schölkopf, *A tutorial on ν-support vector machines*, Figs. 1 to 5 and Table 1. The toy data of the
figures are not published; generated data take their place. Fig. 5 uses the data set *australian* if it is available,
and otherwise scikit-learn's breast cancer data.
"""

# %%
# Fig. 1: the class whose mean is closer
# --------------------------------------
#
# The boundary is orthogonal to the line between the means. ``ParzenClassifier`` is this classifier for all kernels.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

import hinge

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal((-1, 0.5), 0.5, (10, 2)), rng.normal((1, -0.5), 0.5, (10, 2))])
y = np.repeat([-1, 1], 10)
means = np.array([X[y == -1].mean(axis=0), X[y == 1].mean(axis=0)])
plane = np.meshgrid(np.linspace(-2.5, 2.5, 150), np.linspace(-2, 2, 150))
points = np.column_stack([axis.ravel() for axis in plane])


def draw(ax, model, X, y, levels=(0.0,)):
    values = model.decision_function(points).reshape(plane[0].shape)
    ax.contour(*plane, values, levels=levels, colors="black", linewidths=1)
    ax.plot(*X[y == -1].T, "o", *X[y == 1].T, "^", markersize=5)


figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
parzen = hinge.ParzenClassifier(kernel="linear").fit(X, y)
draw(left, parzen, X, y)
left.plot(*means.T, "ks-")
left.set_title("Fig. 1: class means")
closer = np.where(np.linalg.norm(points - means[1], axis=1) < np.linalg.norm(points - means[0], axis=1), 1, -1)
print(f"points of the plane with the class of the closer mean: {np.mean(parzen.predict(points) == closer):.4f}")

# %%
# Fig. 2: the optimal hyperplane and the convex hulls
# ---------------------------------------------------
#
# The coefficients α of each class, divided by their sum, are the weights of the closest points of the convex hulls. The
# hyperplane is orthogonal to the segment between these points and intersects it half-way, and the margin is its length.

optimal = hinge.SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
beta = np.zeros(len(y))
beta[optimal.support_] = optimal.dual_coef_[0]
closest = np.array([np.abs(beta[y == k]) @ X[y == k] / np.abs(beta[y == k]).sum() for k in (-1, 1)])
draw(right, optimal, X, y, levels=(-1.0, 0.0, 1.0))
right.plot(*closest.T, "ks-")
right.set_title("Fig. 2: optimal hyperplane")
for ax in (left, right):
    ax.set_aspect("equal")
segment, w = closest[1] - closest[0], optimal.coef_[0]
print(f"length of the segment {np.linalg.norm(segment):.6f}, margin 2/‖w‖ {2 / np.linalg.norm(w):.6f}")
print(f"cosine of the angle to w {segment @ w / np.linalg.norm(segment) / np.linalg.norm(w):.9f}")
print(f"decision value half-way {optimal.decision_function([closest.mean(axis=0)])[0]:.1e}")

# %%
# Agreement: the three statements of the captions hold up to rounding.
#
# Fig. 3, Fig. 4 and Table 1: ν from 0.1 to 0.8
# ---------------------------------------------
#
# Two classes in [−1, 1]², kernel exp(−‖x − x'‖²), 28 samples as in Table 1 (its fractions are multiples of 1/28).
# "Errors" are margin errors. The printed numbers belong to other samples, so that only their bounds and trends can
# agree.

X = rng.uniform(-1, 1, size=(28, 2))
height = X[:, 1] - 0.8 * np.sin(3 * X[:, 0]) + 0.4 * rng.normal(size=28)
y = np.where(height > np.median(height), 1, -1)  # 14 samples of each class, so that every ν up to 1 is admissible
plane = np.meshgrid(np.linspace(-1.1, 1.1, 120), np.linspace(-1.1, 1.1, 120))
points = np.column_stack([axis.ravel() for axis in plane])
printed = {
    "errors": (0.00, 0.07, 0.25, 0.32, 0.39, 0.50, 0.61, 0.71),
    "SVs": (0.29, 0.36, 0.43, 0.46, 0.57, 0.68, 0.79, 0.86),
    "margin": (0.005, 0.018, 0.115, 0.156, 0.364, 0.419, 0.461, 0.546),
}
figure, axes = plt.subplots(2, 4, figsize=(11, 5.8), sharex=True, sharey=True, layout="constrained")
low, high = (getattr(hinge.selection.nu_range(X, y, gamma=1.0), end) for end in ("low", "high"))
print(f"admissible ν: ({low:.3f}, {high:.3f}]")
print(f"{'ν':>4} {'errors':>8} {'printed':>8} {'SVs':>8} {'printed':>8} {'margin':>8} {'printed':>8}")
table = []
for k, ax in enumerate(axes.ravel()):
    nu = (k + 1) / 10
    model = hinge.NuSVC(nu=nu, gamma=1.0, tol=1e-9).fit(X, y)
    f = y * model.decision_function(X)
    C = float(np.ravel(model.equivalent_C_)[0])
    beta = model.dual_coef_[0]
    K = np.exp(-np.sum((X[model.support_][:, None] - X[model.support_][None]) ** 2, axis=2))
    row = (np.mean(f < 1 - 1e-6), len(model.support_) / 28, 1 / np.sqrt(beta @ K @ beta))
    table.append(row)
    cells = zip(row, (printed[name][k] for name in printed), strict=True)
    print(f"{nu:>4} " + " ".join(f"{value:>8.3f} {other:>8.3f}" for value, other in cells))
    draw(ax, model, X, y, levels=(-1.0, 0.0, 1.0))
    ax.plot(*X[model.support_].T, "o", markersize=11, mfc="none", mec="black", linewidth=0.5)
    ax.set_title(f"ν = {nu}")

# %%
# The bounds hold for every ν, and the margin increases with it:

errors, vectors, margins = np.array(table).T
nus = np.arange(1, 9) / 10
print(f"errors ≤ ν: {bool(np.all(errors <= nus + 1e-9))}, SVs ≥ ν: {bool(np.all(vectors >= nus - 1e-9))}")
print(f"the margin increases: {bool(np.all(np.diff(margins) > 0))}")

# %%
# Agreement: bounds and trends of Table 1 are reproduced; its values depend on samples that are not published.
#
# Fig. 5: the relation between ν and C
# ------------------------------------
#
# By Proposition 3, Σ αᵢ/(Cm) of the C-SVM is a decreasing function of C whose limits are ν_max and ν_min. The
# regularization path gives this function for all C.


def load_shared(name):
    """Return X and y of a data set in ``shared/data``, or None if it is not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"]
    return None


X, y = load_shared("australian") or load_breast_cancer(return_X_y=True)
X = minmax_scale(X, (-1, 1))
m, counts = len(y), np.unique(y, return_counts=True)[1]
path = hinge.regularization_path(X, y, C_min=1e-3, C_max=1e3, gamma=1.0 / X.shape[1])
C = np.geomspace(1e-3, 1e3, 200)
nu = np.array([path.alpha(value).sum() / (value * m) for value in C])
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.semilogx(C, nu)
ax.axhline(2 * counts.min() / m, color="gray", linestyle=":")
ax.set_xlabel("C")
ax.set_ylabel("ν")
print(f"{m} samples; ν at C = 0.001: {nu[0]:.4f}; ν_max = 2 min(m₊, m₋)/m = {2 * counts.min() / m:.4f}")
k = 120
nu_model = hinge.NuSVC(nu=nu[k], gamma=1.0 / X.shape[1], tol=1e-8).fit(X, y)
difference = np.abs(nu_model.decision_function(X) - path.decision_function(X, C[k])).max()
print(f"C = {C[k]:.4g}, ν = {nu[k]:.4f}: C of NuSVC {float(np.ravel(nu_model.equivalent_C_)[0]):.4g}, "
      f"largest difference of the decision values {difference:.1e}")  # fmt: skip
print(f"ν decreases: {bool(np.all(np.diff(nu) <= 1e-9))}")

# %%
# Agreement: ν decreases from ν_max as Proposition 3 and Fig. 5 state, and both machines have the same decision
# function.
