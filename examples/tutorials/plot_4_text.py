"""
Text classification
===================

Texts have very many features, of which few are different from zero. A linear estimator on a sparse matrix is fast and
accurate for them. This tutorial uses the documentation strings of scikit-learn: the task is to predict the package from
a paragraph.
"""

# %%
# The texts
# ---------
#
# The paragraphs of all public classes and functions of four packages, with at least eight words.

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline

import hinge

paragraphs, package, origin = [], [], []
for name in ("cluster", "ensemble", "linear_model", "preprocessing"):
    module = importlib.import_module(f"sklearn.{name}")
    for item in module.__all__:
        for paragraph in (inspect.getdoc(getattr(module, item)) or "").split("\n\n"):
            if len(paragraph.split()) >= 8:
                paragraphs.append(paragraph)
                package.append(name)
                origin.append(f"{name}.{item}")
texts, y, origin = np.array(paragraphs, dtype=object), np.array(package), np.array(origin)
print(f"{len(texts)} paragraphs of {len(set(origin))} classes and functions")

# %%
# Training
# --------
#
# ``TfidfVectorizer`` converts a text to weights of its words. Paragraphs of one class are similar to each other, so
# that all of them are either in the training data or in the test data.

train, test = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(texts, y, origin))
model = make_pipeline(TfidfVectorizer(token_pattern="[a-z]{3,}", min_df=5, sublinear_tf=True), hinge.LinearSVCCV(Cs=7))
model.fit(texts[train], y[train])
n_features = len(model[0].vocabulary_)
baseline = max(np.mean(y[test] == name) for name in np.unique(y))
print(f"{len(train)} paragraphs, {n_features} features, C = {model[-1].best_params_['C']:.3g}")
print(f"accuracy {model.score(texts[test], y[test]):.3f}, most frequent package {baseline:.3f}")

# %%
# What the model has learned
# --------------------------
#
# The weights of a linear model can be read: these words have the largest weight for each package.

words = model[0].get_feature_names_out()
for name, weights in zip(model[-1].classes_, model[-1].coef_, strict=True):
    print(f"{name:<14}", ", ".join(words[np.argsort(weights)[::-1][:7]]))

# %%
# Where it fails
# --------------

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ConfusionMatrixDisplay.from_estimator(model, texts[test], y[test], ax=ax, colorbar=False, cmap="Blues")
