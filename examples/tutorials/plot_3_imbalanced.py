"""
Imbalanced classes
==================

If one class is rare, a classifier that never predicts it has a high accuracy and is useless. This tutorial shows what
class weights change, how the weight is chosen, and which scores to look at.
"""

# %%
# A rare class
# ------------
#
# One sample in twenty belongs to the rare class, and the classes overlap.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score
from sklearn.model_selection import train_test_split

import hinge
from hinge.plotting import DecisionBoundary

X, y = make_classification(
    2000, 2, n_informative=2, n_redundant=0, n_clusters_per_class=1, weights=[0.95], class_sep=0.8, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=800, stratify=y, random_state=0)


def report(name, model):
    predicted = model.predict(X_test)
    print(
        f"{name:<22} accuracy {np.mean(predicted == y_test):.3f}, balanced accuracy "
        f"{balanced_accuracy_score(y_test, predicted):.3f}, recall {recall_score(y_test, predicted):.3f}, "
        f"precision {precision_score(y_test, predicted, zero_division=0):.3f}"
    )


plain = hinge.SVC(gamma=0.5).fit(X_train, y_train)
balanced = hinge.SVC(gamma=0.5, class_weight="balanced").fit(X_train, y_train)
print(f"always the frequent class: accuracy {np.mean(y_test == 0):.3f}, balanced accuracy 0.500")
report("equal costs", plain)
report("class_weight balanced", balanced)

# %%
# ``class_weight="balanced"`` multiplies the cost C of a sample by a number that is inversely proportional to the size
# of its class. The boundary moves towards the frequent class: more samples of the rare class are found (recall), and
# more of the reported samples are false (precision).

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model, title in zip(axes, (plain, balanced), ("equal costs", 'class_weight="balanced"'), strict=True):
    DecisionBoundary.from_estimator(model, X_train, y_train, ax=ax, class_names=("frequent", "rare"))
    ax.set_title(title, pad=34)

# %%
# All weights at once
# -------------------
#
# "balanced" is only one choice. The solution is a piecewise linear function of the costs, so that
# :func:`hinge.weight_path` computes the models for all weights of the rare class between 1 and 40. Here θ is 0 for
# equal costs and 1 for the weight 40.

rare = y_train == 1
path = hinge.weight_path(X_train, y_train, np.ones(len(rare)), np.where(rare, 40.0, 1.0), C=1.0, gamma=0.5)
weight = np.linspace(1, 40, 79)
recall, precision = [], []
for theta in (weight - 1) / 39:
    predicted = path.model(theta).predict(X_test)
    recall.append(recall_score(y_test, predicted))
    precision.append(precision_score(y_test, predicted, zero_division=0))
figure, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
ax.plot(weight, recall, label="recall: share of the rare samples that are found")
ax.plot(weight, precision, "--", label="precision: share of the reported samples that are rare")
ax.set_xlabel("weight of the rare class")
ax.set_ylim(0, 1.35)
ax.legend(loc="upper right", frameon=False)
print(path)
