"""
Online novelty detection on digits
==================================

*Learning with Kernels*, Fig. 10.7: Algorithm 10.6 on USPS (N = 256 pixels), with 2σ² = 0.5 N = 128 and a step size of
1/√t. If USPS is not available, the digits of scikit-learn (8 × 8 pixels) are used, with the same rule for the width.
"""

# %%
# One pass and ten passes
# -----------------------
#
# The book does not print ν and numbers; it shows the 50 patterns with the smallest f(x) − ρ on the training set and on
# the test set. Here ν = 0.1, and the figure shows the 15 worst training patterns after one and after ten passes.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import hinge


def load_shared(name):
    """Return X and y of a data set in ``shared/data``, or None if it is not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"]
    return None


usps = load_shared("usps")
X, digit = usps or load_digits(return_X_y=True)
X = X if usps else X / 8 - 1
digit = digit - digit.min()
order = np.random.default_rng(0).permutation(len(X))
train, test = order[: int(0.8 * len(X))], order[int(0.8 * len(X)) :]
side = round(X.shape[1] ** 0.5)
print(f"{'USPS' if usps else 'digits of scikit-learn (substitute)'}: {len(train)} training, {len(test)} test samples")
figure, axes = plt.subplots(2, 15, figsize=(11, 2.2), layout="constrained")
batch = hinge.OneClassSVM(nu=0.1, gamma=1 / (0.5 * X.shape[1])).fit(X[train])
for row, passes in zip(axes, (1, 10), strict=True):
    model = hinge.OnlineNoveltyDetector(
        nu=0.1, gamma=1 / (0.5 * X.shape[1]), learning_rate="invscaling", eta0=1.0, budget=len(train) * 10,
        n_passes=passes, shuffle=passes > 1, random_state=0,
    ).fit(X[train])  # fmt: skip
    scores = model.decision_function(X[train])
    worst = train[np.argsort(scores)[:15]]
    for ax, k in zip(row, worst, strict=True):
        ax.imshow(X[k].reshape(side, side), cmap="gray_r")
        ax.axis("off")
    row[0].set_title(f"{passes} pass{'es' if passes > 1 else ''}", fontsize="small", loc="left")
    below, below_test = np.mean(scores < 0), np.mean(model.decision_function(X[test]) < 0)
    batch_worst = train[np.argsort(batch.decision_function(X[train]))[:50]]
    common = len(set(batch_worst) & set(train[np.argsort(scores)[:50]]))
    print(
        f"{passes:>2} passes: {100 * below:.1f} % of the training and {100 * below_test:.1f} % of the test samples "
        f"have f < ρ (ν = 10 %); {common} of the 50 worst are also those of OneClassSVM"
    )

# %%
# Agreement: as in the figure, the worst patterns are badly written or unusual digits, on the training and the test set.
# On USPS the share of samples with f < ρ approaches ν with the number of passes, from 0 to 6 %. On both data sets more
# passes bring the worst samples closer to those of the batch method.
