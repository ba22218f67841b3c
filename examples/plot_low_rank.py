"""
A few basis functions for all
=============================

A kernel matrix of many samples is nearly one of low rank. Which samples stand best for all of them, how many are
needed, and what does a machine lose that is made of these alone?
"""

# %%
# What is left of the kernel matrix
# ---------------------------------
# The residual trace after each basis function: any sample, the best of 59 drawn at random (sparse greedy matrix
# approximation), the best of all, and the bound of principal components, which no choice can pass.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import hinge
from hinge.kernels import RBF
from hinge.lowrank import SGMA
from hinge.solvers import LowRankInteriorPoint

X, y = load_digits(return_X_y=True)
X = X / 16
kernel = RBF(0.05)
eigenvalues = np.linalg.eigvalsh(kernel(X))[::-1]

figure, axes = plt.subplots()
for candidates, label in ((1, "any sample"), (59, "best of 59"), ("all", "best of all")):
    factor = SGMA(rank=150, tol=0, candidates=candidates).fit(kernel, X)
    axes.semilogy(np.arange(1, 151), factor.traces * factor.trace, label=label)
axes.semilogy(np.arange(1, 151), eigenvalues.sum() - np.cumsum(eigenvalues)[:150], "k--", label="principal components")
axes.set(xlabel="basis functions", ylabel="tr(K − K̃)")
axes.legend()

# %%
# What a machine loses
# --------------------
# The primal value is an upper bound on the true optimum, the dual value with the true kernel a lower one: the
# certificate says what the samples that were left out can be worth at most.

train, test = slice(0, 1200), slice(1200, None)
exact = hinge.SVC(C=10, kernel=kernel).fit(X[train], y[train])
print(f"exact: {len(exact.support_)} support vectors, accuracy {exact.score(X[test], y[test]):.3f}")
for rank in (25, 50, 100, 200):
    solver = LowRankInteriorPoint(approximation=SGMA(rank=rank, tol=0), exact_bound=True)
    model = hinge.SVC(C=10, kernel=kernel, solver=solver).fit(X[train], y[train])
    share = model.approximation_.residual_trace / model.approximation_.trace
    print(
        f"{rank} basis functions leave {100 * share:.1f} % of the trace: accuracy {model.score(X[test], y[test]):.3f}, "
        f"optimum between {model.certificate_.dual:.4g} and {model.certificate_.primal:.4g} "
        f"(exact {exact.certificate_.primal:.4g})"
    )
