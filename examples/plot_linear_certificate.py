"""
A linear machine and how it proves its answer
=============================================

Fifty thousand samples, and two machines that differ in C only.  Small C is quick for coordinate descent; for large C
it creeps, and the machine turns to Newton's method by itself.  In both cases the bracket around the optimum closes
until it is as narrow as asked for.
"""

# %%
# The machines
# ------------

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import hinge

X, y = make_classification(50_000, 40, n_informative=20, flip_y=0.05, random_state=0)
machines = {C: hinge.LinearSVC(loss="hinge", C=C, tol=1e-6).fit(X, y) for C in (0.001, 100.0)}
for C, model in machines.items():
    print(f"C={C:g}: {model.n_iter_} epochs and Newton steps;", model.certificate_)

# %%
# The gap at every look at all samples
# ------------------------------------

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for C, model in machines.items():
    history = model.history_
    axes.semilogy(history.seconds, history.gap / history.primal, marker="o", label=f"C = {C:g}")
axes.set(xlabel="seconds", ylabel="relative duality gap")
axes.legend()

# %%
# The same bounds from the data alone, by code that the solver does not use.

print(machines[100.0].certify(X, y))
