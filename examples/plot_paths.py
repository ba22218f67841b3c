"""
All values of C at once
=======================

The solution of a support vector machine is a piecewise linear function of C. Here is the whole of it, and the error on
other data as an exact step function: no grid can find a better C.
"""

# %%
# A path
# ------

from sklearn.datasets import make_moons

import hinge
from hinge.plotting import PathDisplay

X, y = make_moons(400, noise=0.3, random_state=0)
path = hinge.regularization_path(X[:200], y[:200], C_min=1e-2, C_max=1e3, gamma=2.0)
print(path)
PathDisplay.from_coefficients(path)

# %%
# Who is where
# ------------

PathDisplay.from_index_sets(path)

# %%
# The best C
# ----------

PathDisplay.from_validation(path, X[200:], y[200:])

# %%
# Samples that come and go
# ------------------------

model = hinge.IncrementalSVC(C=10.0, gamma=2.0).fit(X[:200], y[:200])
model.update(X[200:250], y[200:250], forget=range(50))
print(model.n_samples_, "samples,", int(model.n_iter_[0]), "events")
print(model.certificate_)
