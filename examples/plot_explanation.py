"""
Explanation of one prediction
=============================

Exact Shapley values attribute a decision value to features. Paths of the training weights attribute it to training
samples, and find a sample that is mislabelled.
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
# One training label is wrong, and a prediction next to it is wrong too. `flip` follows the weight of every training
# sample: the prediction changes if the weight of the mislabelled sample is reduced a little.

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
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
limit = np.abs(effect).max()
colors = ax.scatter(*points.T, c=effect, cmap="coolwarm", vmin=-limit, vmax=limit, edgecolors="0.4")
ax.plot(*x, marker="*", color="black", markersize=12)
figure.colorbar(colors, label="change of the decision value without the sample")
plt.show()
