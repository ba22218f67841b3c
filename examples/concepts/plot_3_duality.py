"""
Duality and the certificate
===========================

Training minimizes a convex function, the primal objective. Every point of a second problem, the dual, gives a lower
bound on the smallest primal value. Both values together are a certificate: they enclose the optimum, whatever method
found them.
"""

# %%
# Two problems with the same value
# --------------------------------
#
# With the kernel matrix K and Qᵢⱼ = yᵢ yⱼ Kᵢⱼ, the two objectives are
#
# * primal: P(w, b) = ½‖w‖² + C Σ max(0, 1 − yᵢ f(xᵢ)), to be minimized over all w and b,
# * dual: D(α) = Σ αᵢ − ½ αᵀQα, to be maximized over 0 ≤ αᵢ ≤ C with Σ yᵢ αᵢ = 0.
#
# For every feasible α and every function f we have D(α) ≤ P(w, b). The following lines compute both for a fitted model,
# with NumPy only, and compare them with the certificate.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import hinge
from hinge.plotting import Convergence

X, y = make_moons(400, noise=0.3, random_state=0)
sign = 2 * y - 1
model = hinge.SVC(C=10.0, gamma=1.0, tol=1e-8).fit(X, y)
alpha = np.zeros(len(y))
alpha[model.support_] = np.abs(model.dual_coef_[0])
K = np.exp(-1.0 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
beta = alpha * sign
f = K @ beta + model.intercept_[0]
primal = 0.5 * beta @ K @ beta + 10.0 * np.maximum(0, 1 - sign * f).sum()
dual = alpha.sum() - 0.5 * beta @ K @ beta
print(f"primal value {primal:.10f}")
print(f"dual value   {dual:.10f}")
print(model.certificate_)

# %%
# The gap during training
# -----------------------
#
# Both bounds converge to the optimum. A fit that is stopped early has a wider bracket, which is still valid: the model
# can be improved by at most the gap. The violation of the optimality conditions is the quantity that solvers compare
# with ``tol``; it converges at its own rate and is not a bound on the objective.

early = hinge.SVC(C=1000.0, gamma=1.0, solver=hinge.solvers.SMO(tol=1e-6, shrinking=False)).fit(X, y)
Convergence.from_estimator(early)

# %%
# A certificate does not depend on the solver
# -------------------------------------------
#
# ``certify`` recomputes both values from the data. It also evaluates models that were changed: the more the
# coefficients are disturbed, the wider the bracket around the same optimum.

rng = np.random.default_rng(0)
noise = 10.0 ** np.arange(-4, 0.1, 0.5)
brackets = []
for size in noise:
    other = np.clip(alpha + size * rng.normal(size=len(alpha)) * (alpha > 0), 0, 10.0)
    other[sign > 0] *= other[sign < 0].sum() / other[sign > 0].sum()
    other *= min(1.0, 10.0 / other.max())
    beta = other * sign
    f = K @ beta + model.intercept_[0]
    brackets.append(
        (other.sum() - 0.5 * beta @ K @ beta, 0.5 * beta @ K @ beta + 10.0 * np.maximum(0, 1 - sign * f).sum())
    )
figure, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
low, high = np.array(brackets).T
ax.loglog(noise, (high - primal) / primal, "o-", label="upper bound − optimum")
ax.loglog(noise, (primal - low) / primal, "s--", label="optimum − lower bound")
ax.set_xlabel("standard deviation of the disturbance of α")
ax.set_ylabel("distance to the optimum, relative")
ax.legend(loc="upper left")
