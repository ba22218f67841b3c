"""
A complete model of mixed data
==============================

Numbers and words with missing values, calibrated probabilities, a tuned threshold, a report, and a saved pipeline.
"""

# %%
# Data
# ----
# The risk depends on age, on income and on the city. Some values are missing, and few samples are positive.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics import PrecisionRecallDisplay, balanced_accuracy_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hinge

rng = np.random.default_rng(0)
n = 1200
table = pd.DataFrame(
    {
        "age": rng.uniform(18, 80, n),
        "income": np.exp(rng.normal(10, 0.5, n)),
        "city": rng.choice(["Bern", "Lyon", "Turin"], n),
    }
)
risk = 0.08 * np.abs(table["age"] - 50) - np.log(table["income"]) + 1.5 * (table["city"] == "Turin")
y = np.where(risk + rng.logistic(size=n) > -7.0, "high", "low")
table.loc[rng.choice(n, 100, replace=False), "age"] = np.nan
table.loc[rng.choice(n, 60, replace=False), "city"] = None
X_train, X_test, y_train, y_test = train_test_split(table, y, stratify=y, random_state=0)

# %%
# Pipeline
# --------

numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
words = make_pipeline(SimpleImputer(strategy="constant", fill_value="unknown"), OneHotEncoder(handle_unknown="ignore"))
columns = ColumnTransformer([("numbers", numbers, ["age", "income"]), ("words", words, ["city"])])
model = make_pipeline(columns, hinge.SVC(C=5.0, gamma=0.2, probability=True)).fit(X_train, y_train)

transformed = model[:-1].transform(X_test)
print(model[-1].summary(transformed, y_test))

# %%
# Threshold
# ---------
# The threshold maximizes the balanced accuracy in cross-validation.

tuned = TunedThresholdClassifierCV(model, scoring="balanced_accuracy", cv=3).fit(X_train, y_train)
final = FixedThresholdClassifier(FrozenEstimator(model), threshold=tuned.best_threshold_, pos_label=model.classes_[1])
final.fit(X_train, y_train)
for name, each in (("threshold 0.5", model), (f"threshold {tuned.best_threshold_:.2f}", final)):
    print(f"{name}: balanced accuracy {balanced_accuracy_score(y_test, each.predict(X_test)):.3f}")

# %%
# Saved pipeline
# --------------
# The file contains no pickled objects.

path = Path(tempfile.mkdtemp()) / "risk.hinge"
hinge.save(final, path)
loaded = hinge.load(path)
print("same predictions:", np.array_equal(loaded.predict(X_test), final.predict(X_test)))

# %%
# Plots
# -----

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
PrecisionRecallDisplay.from_estimator(loaded, X_test, y_test, pos_label="low", response_method="predict_proba", ax=left)
for label in loaded.classes_:
    right.hist(loaded.predict_proba(X_test)[y_test == label, 1], bins=20, alpha=0.6, label=label)
right.axvline(tuned.best_threshold_, color="black", linestyle="--", label="threshold")
right.set(xlabel=f"probability of {loaded.classes_[1]!r}", ylabel="test samples")
right.legend()
plt.show()
