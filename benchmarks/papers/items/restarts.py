"""Restarts, shrinking and caches do not change the optimum."""

import independent
from independent import EPSILON, GAMMA, TOL, C, kernel, midpoint, relative

import hinge
from hinge.solvers import SMO


def classification(X, y):
    expected = independent.classification(kernel(X), y, C)[0]
    for start in (True, "rescale"):
        model = hinge.SVC(C=0.05 * C, gamma=GAMMA, tol=TOL, solver="smo", warm_start=start).fit(X, y)
        yield f"SVC restarted from C/20, {start}", relative(midpoint(model.set_params(C=C).fit(X, y)), expected)
    for shrinking, megabytes in ((True, "auto"), (False, "auto"), (True, 0.004)):
        model = hinge.SVC(C=C, gamma=GAMMA, solver=SMO(tol=TOL, shrinking=shrinking, cache_size=megabytes)).fit(X, y)
        cache = "small cache" if megabytes != "auto" else "shrinking" if shrinking else "no shrinking"
        yield f"SMO, {cache}", relative(midpoint(model), expected)


def regression(X, y):
    expected = independent.regression(kernel(X), y, C, EPSILON)[0]
    for start in (True, "rescale"):
        model = hinge.SVR(C=0.05 * C, gamma=GAMMA, epsilon=EPSILON, tol=TOL, solver="smo", warm_start=start).fit(X, y)
        yield f"SVR restarted from C/20, {start}", relative(midpoint(model.set_params(C=C).fit(X, y)), expected)
