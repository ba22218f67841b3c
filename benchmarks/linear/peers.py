"""The peers of the linear benchmark: (case, tolerance, threads) to a name and its fits, one for each of its solvers.

Each fit returns weights, (d,) or (classes, d).  None: the peer has no such machine.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp


def liblinear(case, tol, threads):
    from liblinear.liblinear import parameter, problem
    from liblinear.liblinearutil import train

    if not hasattr(case, "liblinear_problem"):
        began = time.perf_counter()
        case.liblinear_problem = problem(case.y, sp.csr_matrix(case.X))
        case.copying = time.perf_counter() - began
    solvers = {(False, False): (3,), (False, True): (1, 2), (True, False): (13,), (True, True): (11, 12)}
    features = case.X.shape[1]

    def fit(solver):
        model = train(case.liblinear_problem, parameter(f"-s {solver} -c {case.C} -e {tol} -p 0 -B -1 -q"))
        one = case.regression or case.signs.shape[1] == 1
        machines, labels = (1 if one else model.nr_class), (None if case.regression else model.get_labels())
        weights = np.zeros((features, machines))  # get_decfun is a loop in Python
        weights[: model.nr_feature] = np.ctypeslib.as_array(model.w, (model.nr_feature, machines))
        if one:
            return weights[:, 0] * (1.0 if case.regression or labels[0] > 0 else -1.0)
        return weights.T[np.argsort(labels)]

    return "LIBLINEAR", [lambda s=s: fit(s) for s in solvers[case.regression, case.squared]]


def sklearn(case, tol, threads):
    from sklearn.svm import LinearSVC, LinearSVR

    common = dict(C=case.C, tol=tol, fit_intercept=False, max_iter=20_000, random_state=0)
    if case.regression:
        loss = "squared_epsilon_insensitive" if case.squared else "epsilon_insensitive"
        kinds = [LinearSVR(loss=loss, dual=dual, **common) for dual in ((True, False) if case.squared else (True,))]
    else:
        kinds = [
            LinearSVC(loss=case.loss, dual=dual, **common) for dual in ((True, False) if case.squared else (True,))
        ]
    return "sklearn", [lambda kind=kind: kind.fit(case.X, case.y).coef_ for kind in kinds]


def snapml(case, tol, threads):
    if case.regression or case.squared or case.signs.shape[1] > 1:
        return None  # it has the hinge for two classes
    from snapml import SupportVectorMachine

    X = sp.csr_matrix(case.X, dtype=np.float32) if sp.issparse(case.X) else np.asarray(case.X, dtype=np.float32)

    def fit():
        machine = SupportVectorMachine(loss="hinge", regularizer=1.0 / case.C, tol=tol, n_jobs=threads, max_iter=2000)
        return np.ravel(machine.fit(X, case.y).coef_)

    return "snapml", [fit]


PEERS = {"liblinear": liblinear, "sklearn": sklearn, "snapml": snapml}
