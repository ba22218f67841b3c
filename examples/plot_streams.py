"""
Online learning from data streams
=================================

The online estimators take one gradient step for each sample and use a fixed amount of memory. This example applies them
to four streams: electricity prices, handwritten digits, tumors, and patients with diabetes.
"""

# %%
# Binary classification
# ---------------------
#
# The stream contains electricity prices in New South Wales from 1996 to 1998: 45,312 samples with 8 features, one every
# half hour. The task is to predict whether the price rises. The data are read from a folder ``shared/data`` next to the
# repository. If it does not exist, 1,797 handwritten digits in the order of their collection are used, and the task is
# to predict whether a digit is odd. Each sample is predicted before it is learned.
#
# A constant step size adapts to changes in the stream. A step size that decreases like 1/√t is suitable for a stream
# that does not change. Price movements often continue for hours, so repeating the previous label is a strong baseline.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.online import prequential


def load_shared(name):
    """Return X and y of a data set in ``shared/data``, or None if it is not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"]
    return None


pixels, digit = load_digits(return_X_y=True)
pixels = pixels / 16
electricity = load_shared("elec2")
if electricity is None:
    X, y, source, gamma = pixels, digit % 2, "odd digits", 0.2
else:
    X, y = electricity
    source, gamma = "electricity prices", 20.0
window = len(y) // 20
print(f"{source}: {len(y):,} samples")
print(f"repeating the previous label: {100 * np.mean(y[1:] != y[:-1]):.1f} % errors")

step_sizes = {
    "constant step size": {"eta0": 2.0},
    "decreasing step size": {"learning_rate": "invscaling", "eta0": 20.0},
}
for name, options in step_sizes.items():
    model = hinge.OnlineSVC(gamma=gamma, budget=200, **options)
    result = prequential(model, X, y)
    print(f"{name}: {100 * result.mean:.1f} % errors, {len(y) / result.seconds:,.0f} samples per second")
    print(f"  truncation error at most {model.truncation_error_:.1e}, a-priori bound {model.truncation_bound_:.1e}")
    plt.plot(result.curve(window), label=name)
plt.ylim(0, 0.6)
plt.xlabel("sample")
plt.ylabel(f"error rate on the last {window:,} samples")
plt.legend()

# %%
# Multi-class classification
# --------------------------
#
# Several classes are handled by one-vs-rest; all classes share their kernel expansion terms. The digits were written by
# one group of writers after the other. In the middle of the stream the model is saved and loaded. The loaded model
# continues with bit-identical results.

model = hinge.OnlineSVC(gamma=0.2, eta0=1.0, regularization=1e-4, budget=1000)
half = len(digit) // 2
first_half = prequential(model, pixels[:half], digit[:half], classes=range(10))
with tempfile.TemporaryDirectory() as folder:
    hinge.save(model, Path(folder) / "model")
    loaded = hinge.load(Path(folder) / "model")
second_half = prequential(loaded, pixels[half:], digit[half:])
prequential(model, pixels[half:], digit[half:])
print(f"errors: {100 * first_half.mean:.1f} % in the first half, {100 * second_half.mean:.1f} % in the second half")
identical = np.array_equal(loaded.dual_coef_, model.dual_coef_)
print(f"the loaded and the original model have identical coefficients: {identical}")

# %%
# Fraction of margin errors
# -------------------------
#
# In the ν-variants the margin adapts until the fraction of margin errors is ν.

for nu in (0.1, 0.3, 0.6):
    model = hinge.OnlineNuSVC(nu=nu, gamma=gamma, budget=200, n_passes=max(1, 40_000 // len(y))).fit(X, y)
    print(f"nu = {nu}: fraction of margin errors {model.n_beyond_[0] / model.t_:.3f}")

# %%
# Novelty detection
# -----------------
#
# The detector learns 257 benign tissue samples with ν = 0.1. Further 100 benign samples show the rate of false alarms.
# Malignant samples, which do not occur in the training data, should be reported as novel.

tissue, benign = load_breast_cancer(return_X_y=True)
tissue = StandardScaler().fit(tissue[benign == 1]).transform(tissue)
benign_samples, malignant_samples = tissue[benign == 1], tissue[benign == 0]
detector = hinge.OnlineNoveltyDetector(nu=0.1, gamma=0.003, eta0=0.001, n_passes=100).fit(benign_samples[:257])
scores = np.array([detector.score_one(x) for x in (*benign_samples[257:], *malignant_samples)])
false_alarms, detected = 100 * np.mean(scores[:100] < 0), 100 * np.mean(scores[100:] < 0)
print(f"reported as novel: {false_alarms:.0f} % of the benign samples, {detected:.0f} % of the malignant samples")
plt.figure()
plt.axhline(0, color="0.6")
plt.plot(scores[:100], ".", label="benign, not used for training")
plt.plot(np.arange(100, len(scores)), scores[100:], ".", label="malignant")
plt.xlabel("sample")
plt.ylabel("score (negative: novel)")
plt.legend()

# %%
# Regression
# ----------
#
# The task is to predict the progression of diabetes after one year. With ``nu=0.2`` the width of the tube adapts such
# that about 20 % of the samples lie outside when they are learned. The last line shows the fraction for the final
# model.

patients, progression = load_diabetes(return_X_y=True)
patients = StandardScaler().fit_transform(patients)
target = (progression - progression.mean()) / progression.std()
regressor = hinge.OnlineSVR(nu=0.2, gamma=0.02, eta0=0.1, regularization=1e-3)
result = prequential(regressor, patients, target)
outside = np.mean(np.abs(target - regressor.predict(patients)) > regressor.epsilon_)
print(f"mean absolute error {result.mean:.2f} (predicting the mean: {np.mean(np.abs(target)):.2f})")
print(
    f"half-width of the tube {regressor.epsilon_ * progression.std():.0f}, targets between {progression.min():.0f} and "
    f"{progression.max():.0f}; {100 * outside:.0f} % of the samples are outside"
)
