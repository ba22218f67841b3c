"""The other libraries of the linear benchmark.

Each function maps (case, tolerance, threads) to a name and a list of fits, one for each solver of the library. A fit
returns weights of shape (d,) or (classes, d). The function returns None if the library does not support the problem.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp


def liblinear(case, tol, threads):
    from liblinear.liblinear import parameter, problem
    from liblinear.liblinearutil import train

    if not hasattr(case, "liblinear_problem"):
        start = time.perf_counter()
        case.liblinear_problem = problem(case.y, sp.csr_matrix(case.X))
        case.copying = time.perf_counter() - start
    solvers = {(False, False): (3,), (False, True): (1, 2), (True, False): (13,), (True, True): (11, 12)}
    features = case.X.shape[1]

    def fit(solver):
        model = train(case.liblinear_problem, parameter(f"-s {solver} -c {case.C} -e {tol} -p 0 -B -1 -q"))
        single = case.regression or case.signs.shape[1] == 1
        columns, labels = (1 if single else model.nr_class), (None if case.regression else model.get_labels())
        weights = np.zeros((features, columns))  # model.get_decfun would be a slow loop in Python
        weights[: model.nr_feature] = np.ctypeslib.as_array(model.w, (model.nr_feature, columns))
        if single:
            return weights[:, 0] * (1.0 if case.regression or labels[0] > 0 else -1.0)
        return weights.T[np.argsort(labels)]

    return "LIBLINEAR", [lambda s=s: fit(s) for s in solvers[case.regression, case.squared]]


def sklearn(case, tol, threads):
    from sklearn.svm import LinearSVC, LinearSVR

    common = dict(C=case.C, tol=tol, fit_intercept=False, max_iter=20_000, random_state=0)
    forms = (True, False) if case.squared else (True,)
    if case.regression:
        loss = "squared_epsilon_insensitive" if case.squared else "epsilon_insensitive"
        estimators = [LinearSVR(loss=loss, dual=dual, **common) for dual in forms]
    else:
        estimators = [LinearSVC(loss=case.loss, dual=dual, **common) for dual in forms]
    return "sklearn", [lambda e=estimator: e.fit(case.X, case.y).coef_ for estimator in estimators]


def snapml(case, tol, threads):
    if case.regression or case.squared or case.signs.shape[1] > 1:
        return None  # Snap ML supports only the hinge loss for two classes
    from snapml import SupportVectorMachine

    X = sp.csr_matrix(case.X, dtype=np.float32) if sp.issparse(case.X) else np.asarray(case.X, dtype=np.float32)

    def fit():
        model = SupportVectorMachine(loss="hinge", regularizer=1.0 / case.C, tol=tol, n_jobs=threads, max_iter=2000)
        return np.ravel(model.fit(X, case.y).coef_)

    return "snapml", [fit]


PEERS = {"liblinear": liblinear, "sklearn": sklearn, "snapml": snapml}
