"""
Transductive classification
===========================

This example classifies handwritten digits (3 against 5, and 8 against 9) with labels for 5 % of the samples.
`TransductiveSVC` determines the labels of the other samples such that the margin is wide on all samples.
"""

# %%
# Comparison with SVC
# -------------------
#
# `SVC` and `TransductiveSVC` are trained on the same labeled samples. The example repeats this for eight random splits
# and prints the mean difference of the accuracies with its standard error.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import hinge

pixels, digit = load_digits(return_X_y=True)
pixels = pixels / 16
options = dict(C=10.0, gamma=0.05)


def random_split(pair, seed):
    """Return labeled and unlabeled samples of two digits, both with their labels."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, pair)))
    labeled, unlabeled = order[: len(order) // 20], order[len(order) // 20 :]
    return pixels[labeled], digit[labeled], pixels[unlabeled], digit[unlabeled]


for pair in ((3, 5), (8, 9)):
    differences = []
    for seed in range(8):
        X, y, X_unlabeled, y_unlabeled = random_split(pair, seed)
        svc_accuracy = hinge.SVC(**options).fit(X, y).score(X_unlabeled, y_unlabeled)
        model = hinge.TransductiveSVC(C_unlabeled=10.0, **options).fit(X, y, X_unlabeled)
        differences.append(np.mean(model.transduction_ == y_unlabeled) - svc_accuracy)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    print(
        f"{pair[0]} against {pair[1]}: accuracy of TransductiveSVC minus accuracy of SVC: "
        f"{100 * np.mean(differences):+.1f} ± {100 * error:.1f} percentage points"
    )

# %%
# Progress of the algorithm
# -------------------------
#
# The cost C* of errors on unlabeled samples starts close to zero and is doubled in each stage. For each value of C*,
# pairs of labels are switched as long as this decreases the objective. Each change follows an exact path. The
# certificate refers to the problem with the final labels.

stages = model.stages_
print(f"{model.n_switches_} switches, {model.n_iter_[0]} breakpoints")
print(model.certificate_)

figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
upper.loglog(stages["cost_negative"], stages["objective"], "o-", color="black")
upper.set_ylabel("objective")
lower.bar(stages["cost_negative"], stages["switches"], width=0.5 * stages["cost_negative"], color="C0")
lower.set(xlabel="C*", ylabel="pairs switched")
plt.show()
