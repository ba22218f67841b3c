"""
Boundary, margins, support vectors, and a proof
===============================================

Two half moons and a machine that tells them apart.  The rings are the support vectors: the only samples
the model keeps.  Solid is the boundary, where the decision function f is zero; dashed are the margins,
where f is ±1.
"""

# %%
# The machine
# -----------
#
# A support vector machine with the RBF kernel k(x, z) = exp(−γ‖x − z‖²).

from sklearn.datasets import make_moons

import hinge
from hinge.plotting import Convergence, DecisionBoundary

X, y = make_moons(300, noise=0.25, random_state=0)
model = hinge.SVC(C=10.0, gamma=1.0, tol=1e-6).fit(X, y)
DecisionBoundary.from_estimator(
    model, X, y, feature_names=("first feature", "second feature"), class_names=("upper moon", "lower moon")
)

# %%
# Its certificate
# ---------------
#
# The optimum of the training problem lies between the dual and the primal value.

print(model.certificate_)

# %%
# The same figures again, from the data alone, by code that the solver does not use.

print(model.certify(X, y))

# %%
# How it got there
# ----------------
#
# Above: the bracket around the optimum closes from both sides.  Below: its width, on a logarithmic scale,
# beside the largest violation of the optimality conditions, which is what ``tol`` bounds.

Convergence.from_estimator(model)
