"""
Explanation of one prediction
=============================

Exact Shapley values attribute a decision value to features. Paths of the training weights attribute it to training
samples, and find mislabelled samples.
"""

# %%
# Features
# --------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.inspection import influence, shapley_values
from hinge.plotting import ShapleyDisplay

data = load_breast_cancer(as_frame=True)
X = data.data.copy()
X[:] = StandardScaler().fit_transform(X)
y = data.target.to_numpy()
model = hinge.SVC(C=5.0, gamma=0.02).fit(X[:400], y[:400])

explanation = shapley_values(model, X[400:480], X[:100], n_jobs=2)
print("largest error of the sum:", np.abs(
    explanation.values.sum(axis=1) + explanation.base_values - model.decision_function(X[400:480])
).max())  # fmt: skip
ShapleyDisplay.waterfall(explanation, 0)

# %%

ShapleyDisplay.beeswarm(explanation)

# %%
# A mislabelled sample
# --------------------
#
# One training label is wrong, and a prediction next to it is wrong too. `flip` changes the weight and the label of each
# training sample. The mislabelled sample is the only one whose weight or label can change the prediction.

rng = np.random.default_rng(0)
points = rng.normal(size=(80, 2))
labels = points[:, 0] > 0
wrong = int(np.argmin(np.abs(points - [1.2, 0.0]).sum(axis=1)))
labels[wrong] = False
classifier = hinge.IncrementalSVC(C=100.0, gamma=2.0).fit(points, labels)
x = points[wrong] + 0.05
result = classifier.flip(x)
print(result)
for i in result.ranking[:3]:
    print(f"sample {i}: the prediction changes at weight {result.weight[i]:.3f}; label {labels[i]}")
print("mislabelled sample:", wrong)

# %%
# The influence of all samples on this decision value: what it would be without each of them.

effect = influence(classifier, x[None])[0]
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
limit = np.abs(effect).max()
for label, marker in ((False, "o"), (True, "s")):
    rows = labels == label
    style = dict(c=effect[rows], cmap="coolwarm", vmin=-limit, vmax=limit, edgecolors="0.4", marker=marker)
    colors = ax.scatter(*points[rows].T, label=f"label {label}", **style)
ax.plot(*x, marker="x", color="black", markersize=7, linestyle="", label="prediction")
ax.legend(loc="lower left", fontsize="small")
figure.colorbar(colors, label="change of the decision value without the sample")

# %%
# Mislabelled samples in real data
# --------------------------------
#
# 15 of 300 training labels of the tumors are exchanged. For each wrong prediction on the other samples, `flip` ranks
# the training samples whose weight alone changes the prediction. Samples that are ranked first should be checked.

order = rng.permutation(len(y))
train, validation = order[:300], order[300:]
values, labels = X.to_numpy(), y[train] == 1
mislabelled = rng.choice(300, 15, replace=False)
labels[mislabelled] = ~labels[mislabelled]
tumors = hinge.IncrementalSVC(C=100.0, gamma=0.02).fit(values[train], labels)
errors = validation[tumors.predict(values[validation]) != (y[validation] == 1)]
rankings = [tumors.flip(values[i]).ranking for i in errors]
first = np.array([ranking[0] for ranking in rankings if len(ranking)])
print(f"{len(errors)} wrong predictions; a single training sample changes {len(first)} of them")
print(f"first in the ranking is a mislabelled sample: {np.isin(first, mislabelled).sum()} of {len(first)}")
found = np.unique(first)
print(f"samples to check: {len(found)}, of which {np.isin(found, mislabelled).sum()} are mislabelled (5 % by chance)")
plt.show()
