"""
A first model
=============

This tutorial trains a classifier for tumors, measures its accuracy on data that it has not seen, and stores it in a
file. The data are 569 tissue samples with 30 features. They are part of scikit-learn.
"""

# %%
# Training and test data
# ----------------------
#
# A quarter of the samples is set aside. The accuracy on the other three quarters would be too optimistic, because the
# model has been fitted to them.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)
print(f"{len(y_train)} samples for training, {len(y_test)} for the test, {X_train.shape[1]} features")

# %%
# Scaling
# -------
#
# An RBF kernel depends on distances. A feature with a large range dominates them, so that all features are scaled to
# variance 1. In a pipeline, the scaling is learned from the training data only and applied to new data automatically.

model = make_pipeline(StandardScaler(), hinge.SVC(C=10, gamma=0.02)).fit(X_train, y_train)
unscaled = hinge.SVC(C=10).fit(X_train, y_train)
accuracy, unscaled_accuracy = model.score(X_test, y_test), unscaled.score(X_test, y_test)
print(f"accuracy on the test data: {accuracy:.3f} (without scaling {unscaled_accuracy:.3f})")

# %%
# What the fit reports
# --------------------
#
# The last step of the pipeline is the estimator. Its status says whether the tolerance was reached, and its certificate
# bounds the distance to the optimum.

svc = model[-1]
print(f"{svc.status_.name}, {svc.n_support_.sum()} of {len(y_train)} samples are support vectors")
print(svc.certificate_)

# %%
# Predictions
# -----------
#
# ``predict`` returns the class, ``decision_function`` the value of the function whose sign decides. Samples close to
# zero are the uncertain ones. The figure shows all test samples.

values = model.decision_function(X_test)
figure, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
bins = np.linspace(values.min(), values.max(), 40)
for name in svc.classes_:
    ax.hist(values[y_test == name], bins, alpha=0.7, label=name)
ax.axvline(0, color="black", linewidth=1)
ax.set_xlabel("decision value")
ax.set_ylabel("test samples")
ax.legend()

# %%
# Saving
# ------
#
# Model files contain arrays and JSON. Loading a file does not execute code, so that files can be exchanged.

with tempfile.TemporaryDirectory() as folder:
    hinge.save(model, Path(folder) / "tumors.hinge")
    loaded = hinge.load(Path(folder) / "tumors.hinge")
print(f"identical decision values after loading: {np.array_equal(values, loaded.decision_function(X_test))}")
