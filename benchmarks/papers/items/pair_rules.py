"""Selection rules of SMO for every kernel estimator."""

import independent
from independent import EPSILON, GAMMA, TOL, C, kernel, midpoint, relative

import hinge
from hinge.solvers import SMO

RULES = ("first_order", "second_order", "platt", "keerthi_1", "keerthi_2")
NU = 0.3


def classification(X, y):
    K, n = kernel(X), len(y)
    expected = {
        "SVC": independent.classification(K, y, C)[0],
        "SVC without offset": independent.quadratic(K, y, [-1.0] * n, C)[0],
        "NuSVC": independent.nu_classification(K, y, NU)[0],
        "OneClassSVM": independent.one_class(K, [1.0] * n, NU)[0],
    }
    models = {
        "SVC": hinge.SVC(C=C, gamma=GAMMA),
        "SVC without offset": hinge.SVC(C=C, gamma=GAMMA, fit_intercept=False),
        "NuSVC": hinge.NuSVC(nu=NU, gamma=GAMMA),
        "OneClassSVM": hinge.OneClassSVM(nu=NU, gamma=GAMMA),
    }
    for name, model in models.items():
        for rule in RULES:
            yield f"{name}, {rule}", relative(midpoint(model.set_params(solver=SMO(rule=rule, tol=TOL)).fit(X, y)),
                                              expected[name])  # fmt: skip


def regression(X, y):
    K = kernel(X)
    expected = {
        "SVR": independent.regression(K, y, C, EPSILON)[0],
        "NuSVR": independent.nu_regression(K, y, NU, C)[0],
    }
    models = {"SVR": hinge.SVR(C=C, epsilon=EPSILON, gamma=GAMMA), "NuSVR": hinge.NuSVR(C=C, nu=NU, gamma=GAMMA)}
    for name, model in models.items():
        for rule in RULES:
            yield f"{name}, {rule}", relative(midpoint(model.set_params(solver=SMO(rule=rule, tol=TOL)).fit(X, y)),
                                              expected[name])  # fmt: skip
