"""
The parameters C and γ
======================

C is the cost of slack: it weighs errors on the training samples against the width of the margin. γ sets how quickly the
RBF kernel exp(−γ‖x − z‖²) decreases with the distance of two samples: its range is about 1/√γ.
"""

# %%
# Nine models
# -----------
#
# From the top to the bottom γ increases: a large γ lets every sample influence only its closest neighbours, so that the
# boundary encloses single samples. From the left to the right C increases: fewer training errors, a narrower margin and
# fewer support vectors. Models at the upper left are too simple, models at the lower right follow the noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import hinge
from hinge.plotting import DecisionBoundary

X, y = make_moons(600, noise=0.3, random_state=2)
X, y, X_val, y_val = X[:200], y[:200], X[200:], y[200:]
figure, axes = plt.subplots(3, 3, figsize=(10, 10), layout="constrained")
for row, gamma in zip(axes, (0.1, 1.0, 30.0), strict=True):
    for ax, C in zip(row, (0.1, 10.0, 1000.0), strict=True):
        model = hinge.SVC(C=C, gamma=gamma).fit(X, y)
        DecisionBoundary.from_estimator(model, X, y, ax=ax, grid_resolution=120)
        ax.get_legend().remove()
        errors = 100 * (1 - model.score(X, y)), 100 * (1 - model.score(X_val, y_val))
        ax.set_title(
            f"C = {C:g}, γ = {gamma:g}: {model.n_support_.sum()} support vectors\n"
            f"errors {errors[0]:.1f} % (training), {errors[1]:.1f} % (new data)", fontsize="small"
        )  # fmt: skip

# %%
# Training error and error on new data
# ------------------------------------
#
# For a fixed γ, the path of C gives both errors as exact functions. The training error decreases, the error on new data
# has a minimum.

path = hinge.regularization_path(X, y, C_min=1e-2, C_max=1e4, gamma=1.0)
figure, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
for (name, data), style in zip({"training": (X, y), "new data": (X_val, y_val)}.items(), ("--", "-"), strict=True):
    error = path.validation_error(*data)
    ax.step(error.knots, 100 * np.append(error.values, error.values[-1]), style, where="post", label=name)
best = path.best(X_val, y_val)
ax.axvline(best.theta, color="gray", linestyle=":", label="smallest error on new data")
ax.set_xscale("log")
ax.set_xlabel("C")
ax.set_ylabel("error in %")
ax.legend()
print(f"smallest error on new data: {100 * best.error:.1f} % for C between {best.low:.3g} and {best.high:.3g}")
