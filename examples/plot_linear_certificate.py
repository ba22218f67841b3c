"""
Linear classification with a certified gap
==========================================

This example trains linear classifiers on fifty thousand samples with two values of C. Coordinate descent is fast for a
small C. For a large C it converges slowly, and the solver switches to Newton's method. In both cases training stops
when the relative duality gap is at most ``tol``.
"""

# %%
# Fitting the models
# ------------------

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import hinge

X, y = make_classification(50_000, 40, n_informative=20, flip_y=0.05, random_state=0)
models = {C: hinge.LinearSVC(loss="hinge", C=C, tol=1e-6).fit(X, y) for C in (0.001, 100.0)}
for C, model in models.items():
    print(f"C = {C:g}: {model.n_iter_} epochs and Newton steps; {model.certificate_}")

# %%
# The duality gap during training
# -------------------------------

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for C, model in models.items():
    history = model.history_
    axes.semilogy(history.seconds, history.gap / history.primal, marker="o", label=f"C = {C:g}")
axes.set(xlabel="time in seconds", ylabel="relative duality gap")
axes.legend()

# %%
# ``certify`` recomputes the bounds from the data, with code that the solver does not use.

print(models[100.0].certify(X, y))
