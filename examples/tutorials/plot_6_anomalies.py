"""
Anomaly detection
=================

A one-class estimator learns a region that contains most of the normal samples. Samples outside are reported as
anomalies. This tutorial chooses the share of false alarms and checks it.
"""

# %%
# The region of normal samples
# ----------------------------
#
# The parameter ν is an upper bound on the share of training samples outside the region.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.conformal import ConformalDetector
from hinge.plotting import DecisionBoundary

X, _ = make_moons(400, noise=0.08, random_state=0)
detector = hinge.OneClassSVM(nu=0.05, gamma=4.0).fit(X)
DecisionBoundary.from_estimator(detector, X, margin=0.2)
outside = np.mean(detector.predict(X) == -1)
print(f"ν = 0.05; {100 * outside:.1f} % of the training samples are outside of the region")

# %%
# False alarms with a guarantee
# -----------------------------
#
# ν refers to the training samples. For new samples, ``ConformalDetector`` returns p-values: if a new sample has the
# same distribution as the training samples, its p-value is at most α with a probability of at most α. The normal
# samples are benign tumors; malignant tumors, which do not occur in the training data, should be detected.

X, y = load_breast_cancer(return_X_y=True)
benign, malignant = X[y == 1], X[y == 0]
scaler = StandardScaler().fit(benign[:250])
train, normal, anomalous = scaler.transform(benign[:250]), scaler.transform(benign[250:]), scaler.transform(malignant)
detector = ConformalDetector(hinge.OneClassSVM(nu=0.1, gamma=0.01), method="cross", random_state=0).fit(train)
p_normal, p_anomalous = detector.p_values(normal), detector.p_values(anomalous)
for alpha in (0.02, 0.05, 0.1):
    print(
        f"α = {alpha}: {np.mean(p_normal <= alpha):.1%} false alarms on {len(normal)} benign samples, "
        f"{np.mean(p_anomalous <= alpha):.1%} of {len(anomalous)} malignant samples detected"
    )

# %%
# The share of alarms over all levels
# -----------------------------------

alphas = np.linspace(0, 0.3, 151)
figure, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
ax.plot(alphas, [np.mean(p_anomalous <= a) for a in alphas], label="malignant: detected")
ax.plot(alphas, [np.mean(p_normal <= a) for a in alphas], "--", label="benign: false alarms")
ax.plot(alphas, alphas, ":", color="gray", label="share = α")
ax.set_xlabel("α")
ax.set_ylabel("share of samples with p ≤ α")
ax.set_ylim(0, 1.02)
ax.legend(loc="center right")
