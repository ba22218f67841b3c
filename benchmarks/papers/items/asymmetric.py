"""Costs and tubes that differ above and below the function."""

import independent
import numpy as np
from independent import EPSILON, GAMMA, TOL, C, kernel, midpoint, relative
from sklearn.model_selection import KFold

import hinge
from hinge.selection import grid

PAIR, TUBES = (1.0, 3.0), (0.1, 0.2)


def regression(X, y):
    K, n = kernel(X), len(y)
    rng = np.random.default_rng(0)
    costs, tubes = rng.uniform(0.5, 3, size=(n, 2)), rng.uniform(0, 0.3, size=(n, 2))
    costs[::4, 0], costs[1::4, 1] = 0.0, 0.0
    of_arrays, of_pairs = (independent.regression(K, y, *each)[0] for each in ((costs, tubes), (PAIR, TUBES)))
    model = hinge.SVR(C=PAIR, epsilon=TUBES, gamma=GAMMA, tol=TOL).fit(X, y)
    yield "SVR, pairs", relative(midpoint(model), of_pairs)
    model = hinge.SVR(C=costs, epsilon=tubes, gamma=GAMMA, tol=TOL).fit(X, y)
    yield "SVR, (n, 2)", relative(midpoint(model), of_arrays)
    linear = hinge.LinearSVR(C=PAIR, epsilon=TUBES, tol=TOL, max_iter=100_000).fit(X, y)
    yield "LinearSVR, pairs", relative(midpoint(linear), independent.regression(X @ X.T, y, PAIR, TUBES)[0])
    linear = hinge.LinearSVR(C=costs, epsilon=EPSILON, tol=TOL, max_iter=100_000).fit(X, y)
    yield "LinearSVR, costs (n, 2)", relative(midpoint(linear), independent.regression(X @ X.T, y, costs, EPSILON)[0])

    half = n // 2
    model = hinge.IncrementalSVR(C=PAIR, epsilon=TUBES, gamma=GAMMA).fit(X[:half], y[:half])
    yield "IncrementalSVR, pairs", relative(midpoint(model.partial_fit(X[half:], y[half:])), of_pairs)
    model = hinge.IncrementalSVR(gamma=GAMMA).fit(X[:half], y[:half], side_weight=costs[:half], epsilon=tubes[:half])
    model.partial_fit(X[half:], y[half:], side_weight=costs[half:], epsilon=tubes[half:])
    yield "IncrementalSVR, (n, 2)", relative(midpoint(model), of_arrays)
    kept = np.arange(5, n)
    model.forget(range(5)).reweight(side_weight=costs[kept][::-1], epsilon=TUBES)
    changed = independent.regression(K[np.ix_(kept, kept)], y[kept], costs[kept][::-1], TUBES)[0]
    yield "IncrementalSVR, forget and reweight", relative(midpoint(model), changed)

    path = hinge.regularization_path(X, y, task="regression", C_min=0.1, C_max=10.0, gamma=GAMMA,
                                     sample_weight=costs, epsilon=tubes)  # fmt: skip
    expected = independent.regression(K, y, C * costs, tubes)[0]
    yield "regularization_path", relative(midpoint_at(path, C), expected)
    path = hinge.weight_path(X, y, costs, PAIR, C=C, epsilon=tubes, epsilon_end=TUBES, task="regression", gamma=GAMMA)
    expected = independent.regression(K, y, C * 0.5 * (costs + PAIR), 0.5 * (tubes + TUBES))[0]
    yield "weight_path", relative(midpoint_at(path, 0.5), expected)
    path = hinge.epsilon_path(X, y, epsilon_max=0.5, C=C, sample_weight=PAIR, gamma=GAMMA)
    expected = independent.regression(K, y, np.multiply(C, PAIR), 0.2)[0]
    yield "epsilon_path", relative(midpoint_at(path, 0.2), expected)

    search = grid(X, y, C=[PAIR, (2.0, 1.0)], epsilon=[TUBES], gamma=GAMMA, cv=3, estimator=hinge.SVR(), tol=TOL)
    scores = []
    for train, test in KFold(3).split(X):
        f = independent.regression_function(K[np.ix_(train, train)], y[train], PAIR, TUBES, K[np.ix_(test, train)])
        scores.append(1 - np.sum((y[test] - f) ** 2) / np.sum((y[test] - np.mean(y[test])) ** 2))
    row = search.cv_results_["params"].index({"C": PAIR, "epsilon": TUBES, "gamma": GAMMA})
    yield "grid, mean R²", relative(search.cv_results_["mean_test_score"][row], np.mean(scores))


def midpoint_at(path, theta):
    """The mean of the certified bounds of a path."""
    certificate = path.certificate(theta)
    return 0.5 * (certificate.primal + certificate.dual)
