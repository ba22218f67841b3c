"""
Low-rank approximation of the kernel matrix
===========================================

The kernel matrix of many samples is often close to a matrix of low rank. This example compares rules for the selection
of basis functions and shows how the number of basis functions affects the accuracy and the certificate.
"""

# %%
# Residual of the kernel matrix
# -----------------------------
# The plot shows the residual trace as a function of the number of basis functions for three selection rules: a random
# sample, the best of 59 random samples (sparse greedy matrix approximation), and the best of all samples. The dashed
# curve shows the principal components, a lower bound for every selection rule.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.kernels import RBF
from hinge.lowrank import SGMA
from hinge.solvers import LowRankInteriorPoint

X, y = load_digits(return_X_y=True)
X = X / 16
kernel = RBF(0.05)
eigenvalues = np.linalg.eigvalsh(kernel(X))[::-1]

figure, axes = plt.subplots()
for candidates, label in ((1, "random sample"), (59, "best of 59 random samples"), ("all", "best of all samples")):
    factor = SGMA(rank=150, tol=0, candidates=candidates).fit(kernel, X)
    axes.semilogy(np.arange(1, 151), factor.traces * factor.trace, label=label)
axes.semilogy(np.arange(1, 151), eigenvalues.sum() - np.cumsum(eigenvalues)[:150], "k--", label="principal components")
axes.set(xlabel="number of basis functions", ylabel="tr(K − K̃)")
axes.legend()

# %%
# Accuracy and certificate of low-rank models ------------------------------------------- The primal value is an upper
# bound on the optimal value of the original problem. The dual value, computed with the original kernel, is a lower
# bound. The certificate therefore bounds the loss in the objective that is caused by the approximation. With few basis
# functions the bracket is wide, and every fit warns about it; the warnings are expected here.

train, test = slice(0, 1200), slice(1200, None)
exact = hinge.SVC(C=10, kernel=kernel).fit(X[train], y[train])
print(
    f"exact model: {len(exact.support_)} support vectors, accuracy {exact.score(X[test], y[test]):.3f}, "
    f"optimal value {exact.certificate_.primal:.4g}"
)
for rank in (25, 50, 100, 200):
    solver = LowRankInteriorPoint(approximation=SGMA(rank=rank, tol=0), exact_bound=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = hinge.SVC(C=10, kernel=kernel, solver=solver).fit(X[train], y[train])
    residual = model.approximation_.residual_trace / model.approximation_.trace
    print(
        f"{rank} basis functions: residual {100 * residual:.1f} % of the trace, "
        f"accuracy {model.score(X[test], y[test]):.3f}, "
        f"optimal value between {model.certificate_.dual:.4g} and {model.certificate_.primal:.4g}"
    )
