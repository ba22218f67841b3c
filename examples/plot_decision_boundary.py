"""
Decision boundary and certificate
=================================

This example classifies two half moons with an RBF kernel. The circles mark the support vectors. The solid line is the
decision boundary, where the decision function f is zero. The dashed lines are the margins, where f is ±1.
"""

# %%
# Fitting the model
# -----------------
#
# The RBF kernel is k(x, z) = exp(−γ‖x − z‖²).

from sklearn.datasets import make_moons

import hinge
from hinge.plotting import Convergence, DecisionBoundary

X, y = make_moons(300, noise=0.25, random_state=0)
model = hinge.SVC(C=10.0, gamma=1.0, tol=1e-6).fit(X, y)
DecisionBoundary.from_estimator(
    model, X, y, feature_names=("first feature", "second feature"), class_names=("upper moon", "lower moon")
)

# %%
# The certificate
# ---------------
#
# The optimal value of the training problem lies between the dual and the primal value.

print(model.certificate_)

# %%
# ``certify`` recomputes the same quantities from the data, with code that the solver does not use.

print(model.certify(X, y))

# %%
# Convergence
# -----------
#
# The upper plot shows the primal and dual values, which converge to the optimal value from both sides. The lower plot
# shows their difference on a logarithmic scale, and the largest violation of the optimality conditions, which is
# compared with ``tol``.

Convergence.from_estimator(model)
