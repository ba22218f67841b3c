"""
A stream, one sample at a time
==============================

The online machines take one gradient step per sample, in a fixed amount of memory. Four streams of real data: prices of
electricity, digits from one writer after the other, tumours, and patients.
"""

# %%
# Prices that go up and down
# --------------------------
#
# New South Wales 1996 to 1998, a sample every half hour: does the price of electricity rise? (45,312 samples of 8
# features, from a folder ``shared/data`` beside the repository; where there is none, 1,797 handwritten digits in the
# order in which they were collected: is it odd?) Every sample is predicted first and learned afterwards.
#
# A constant step follows what changes, a step that falls like 1/√t believes in a truth that stays. Prices keep their
# direction for hours: to say the last label again is hard to beat.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.online import prequential


def shared(name):
    """X and y of a benchmark set, or None."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"]
    return None


pixels, digit = load_digits(return_X_y=True)
pixels = pixels / 16
found = shared("elec2")
X, y = (pixels, digit % 2) if found is None else found
gamma = 0.2 if found is None else 20.0
recent = len(y) // 20
print(f"{'odd digits' if found is None else 'electricity'}: {len(y):,} samples")
print(f"the label before, again: {100 * np.mean(y[1:] != y[:-1]):.1f} % errors")

rates = {"constant step": {"eta0": 2.0}, "falling step": {"learning_rate": "invscaling", "eta0": 20.0}}
for name, options in rates.items():
    model = hinge.OnlineSVC(gamma=gamma, budget=200, **options)
    result = prequential(model, X, y)
    print(f"{name}: {100 * result.mean:.1f} % errors, {len(y) / result.seconds:,.0f} samples a second")
    print(f"  cut off at most {model.truncation_error_:.1e}, known in advance {model.truncation_bound_:.1e}")
    plt.plot(result.curve(recent), label=name)
plt.ylim(0, 0.6)
plt.xlabel("sample")
plt.ylabel(f"errors among the last {recent:,}")
plt.legend()

# %%
# Ten classes
# -----------
#
# One machine per class against the rest; they share their terms. The digits come from one group of writers after the
# other, and each newcomer is harder to read. Half way the model is stored, and another one goes on from the file: with
# the same bits.

model = hinge.OnlineSVC(gamma=0.2, eta0=1.0, regularization=1e-4, budget=1000)
half = len(digit) // 2
before = prequential(model, pixels[:half], digit[:half], classes=range(10))
with tempfile.TemporaryDirectory() as folder:
    hinge.save(model, Path(folder) / "model")
    loaded = hinge.load(Path(folder) / "model")
after, beside = (prequential(m, pixels[half:], digit[half:]) for m in (loaded, model))
print(f"errors: {100 * before.mean:.1f} % in the first half, {100 * after.mean:.1f} % in the second")
print(f"loaded and going on, or never stored: same function {np.array_equal(loaded.dual_coef_, model.dual_coef_)}")

# %%
# How many are short of the margin
# --------------------------------
#
# In the ν-machines the margin adapts until a share ν of the samples falls short of it, whatever the stream.

for nu in (0.1, 0.3, 0.6):
    machine = hinge.OnlineNuSVC(nu=nu, gamma=gamma, budget=200, n_passes=max(1, 40_000 // len(y))).fit(X, y)
    print(f"nu = {nu}: share of margin errors {machine.n_beyond_[0] / machine.t_:.3f}")

# %%
# Warning of what is new
# ----------------------
#
# Tissue samples: 257 benign ones are learned, with one in ten called unusual. 100 more benign ones show how many false
# alerts to expect. Then malignant ones come, of which the detector has never heard.

tissue, benign = load_breast_cancer(return_X_y=True)
tissue = StandardScaler().fit(tissue[benign == 1]).transform(tissue)
usual, other = tissue[benign == 1], tissue[benign == 0]
detector = hinge.OnlineNoveltyDetector(nu=0.1, gamma=0.003, eta0=0.001, n_passes=100).fit(usual[:257])
scores = np.array([detector.score_one(x) for x in (*usual[257:], *other)])
alerts = 100 * np.mean(scores[:100] < 0), 100 * np.mean(scores[100:] < 0)
print(f"alerts: {alerts[0]:.0f} % of the benign ones, {alerts[1]:.0f} % of the malignant ones")
plt.figure()
plt.axhline(0, color="0.6")
plt.plot(scores[:100], ".", label="benign, not seen before")
plt.plot(np.arange(100, len(scores)), scores[100:], ".", label="malignant")
plt.xlabel("sample")
plt.ylabel("score (an alert below zero)")
plt.legend()

# %%
# Numbers, and how far off they may be
# ------------------------------------
#
# Patients with diabetes, one after the other: how far will the disease have gone in a year? With ``nu`` the width of
# the tube is found, here such that two in ten end outside.

patients, progress = load_diabetes(return_X_y=True)
patients = StandardScaler().fit_transform(patients)
target = (progress - progress.mean()) / progress.std()
regressor = hinge.OnlineSVR(nu=0.2, gamma=0.02, eta0=0.1, regularization=1e-3)
result = prequential(regressor, patients, target)
outside = np.mean(np.abs(target - regressor.predict(patients)) > regressor.epsilon_)
print(f"one pass: mean absolute error {result.mean:.2f} (always the mean: {np.mean(np.abs(target)):.2f})")
print(f"tube ±{regressor.epsilon_ * progress.std():.0f} of a score between {progress.min():.0f} and "
      f"{progress.max():.0f}: {100 * outside:.0f} % outside")  # fmt: skip
