"""
Regularization path
===================

The solution of a support vector machine is a piecewise linear function of C. This example computes the whole path and
the validation error as an exact step function of C, so the best C is found without a grid.
"""

# %%
# Coefficients
# ------------

from sklearn.datasets import make_moons

import hinge
from hinge.plotting import PathDisplay

X, y = make_moons(400, noise=0.3, random_state=0)
path = hinge.regularization_path(X[:200], y[:200], C_min=1e-2, C_max=1e3, gamma=2.0)
print(path)
PathDisplay.from_coefficients(path)

# %%
# Number of samples at each bound and on the margin
# -------------------------------------------------

PathDisplay.from_index_sets(path)

# %%
# Validation error
# ----------------

PathDisplay.from_validation(path, X[200:], y[200:])

# %%
# Adding and removing samples
# ---------------------------

model = hinge.IncrementalSVC(C=10.0, gamma=2.0).fit(X[:200], y[:200])
model.update(X[200:250], y[200:250], forget=range(50))
print(f"{model.n_samples_} samples, {int(model.n_iter_[0])} breakpoints")
print(model.certificate_)
