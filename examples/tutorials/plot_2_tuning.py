"""
Choosing C and γ
================

The accuracy of a support vector machine with an RBF kernel depends on two parameters: the cost C of errors and the
width γ of the kernel. This tutorial chooses them by cross-validation for handwritten digits.
"""

# %%
# An estimator that chooses its parameters
# ----------------------------------------
#
# ``SVCCV`` cross-validates a grid of values and trains the best candidate on all training samples. Kernel matrices and
# solutions are shared between the candidates.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import hinge
from hinge.plotting import GridDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=600, random_state=0)
model = hinge.SVCCV(Cs=7, gammas=7, cv=5).fit(X_train, y_train)
default = hinge.SVC().fit(X_train, y_train)
print(f"C = {model.best_params_['C']:.3g}, γ = {model.best_params_['gamma']:.3g}")
print(f"cross-validation {model.best_score_:.3f}, test {model.score(X_test, y_test):.3f}")
print(f"default parameters: test {default.score(X_test, y_test):.3f}")

# %%
# The scores over the grid
# ------------------------
#
# The best candidate should not be on the edge of the grid; otherwise a larger grid may contain a better one. If the
# region of good scores is wide, as here, the exact values matter little.

GridDisplay.from_result(model.result_)

# %%
# All values of C at once
# -----------------------
#
# For two classes, the solution is a piecewise linear function of C. ``path_search`` follows it in every fold and
# returns the exact cross-validation error for all values of C. A grid, here with a step of a factor of ten, sees only
# some points of this function.

odd = y_train % 2
search = hinge.selection.path_search(X_train, odd, gamma=1.0, C_min=1e-2, C_max=1e3, cv=5)
curve = search.error
figure, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
ax.step(curve.knots[:-1], 100 * curve.values, where="post", label="all values of C")
grid = [0.01, 0.1, 1.0, 10.0, 100.0]
ax.plot(grid, [100 * curve(C) for C in grid], "o", label="a grid of five values")
ax.set_xscale("log")
ax.set_xlabel("C")
ax.set_ylabel("cross-validation error in %")
ax.legend()
print(f"smallest error {100 * search.best.error:.2f} % for C between {search.best.low:.3g} and {search.best.high:.3g}")
