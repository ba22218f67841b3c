"""Admissible ν, searches over ν and separate parameters for each pair of classes."""

import independent
import numpy as np
from independent import GAMMA, TOL, C, kernel, midpoint, relative
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import laplace, logistic, norm, t, uniform
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, NuSVC

import hinge
from hinge.selection import epsilon_for_noise, nu_for_noise, nu_grid, nu_range, pairwise_grid

NU = 0.3


def classification(X, y):
    K, n = kernel(X), len(y)
    Z = X[:, :2]  # classes that a linear function does not separate
    program = linprog(-np.ones(n), A_eq=np.vstack([(Z * y[:, None]).T, y]), b_eq=np.zeros(3), bounds=(0, 1),
                      method="highs-ds")  # fmt: skip
    interval = nu_range(Z, y, kernel="linear")
    yield "nu_range, lower end", relative(interval.low, -program.fun / n)
    yield "nu_range, upper end", relative(interval.high, 2 * min(np.sum(y > 0), np.sum(y < 0)) / n)
    classes = np.where(y > 0, 2, np.arange(n) % 2)  # three classes
    low, high = common_interval(Z, classes)
    interval = nu_range(Z, classes, kernel="linear")
    yield "nu_range, all pairs", relative([interval.low, interval.high], [low, high])
    upper = np.where(y > 0, 1.0 / np.sum(y > 0), 1.0 / np.sum(y < 0))
    model = hinge.NuSVC(nu=NU, gamma=GAMMA, balance="class", tol=TOL).fit(X, y)
    balanced = independent.nu_classification(K, y, NU, 0.5 * n * upper)[0]
    yield "NuSVC, balanced costs", relative(midpoint(model), balanced)
    cv = StratifiedKFold(3)
    axes = {"nu": [0.2, NU], "gamma": [GAMMA, 1.0]}
    search = nu_grid(X, y, **axes, cv=cv, tol=TOL)
    plain = GridSearchCV(NuSVC(tol=1e-8), axes, cv=cv).fit(X, y)
    yield "nu_grid, accuracies", relative(*by_candidate(search.cv_results_, plain.cv_results_))
    axes = {"C": [0.5, C], "gamma": [GAMMA, 1.0]}
    search = pairwise_grid(X, classes, **axes, cv=cv, tol=TOL)
    for pair, found in search.searches_.items():
        rows = np.isin(classes, pair)
        plain = GridSearchCV(SVC(tol=1e-8), axes, cv=cv).fit(X[rows], classes[rows])
        yield f"pairwise_grid, {pair[0]} and {pair[1]}", relative(*by_candidate(found.cv_results_, plain.cv_results_))


def common_interval(Z, classes):
    """The intersection of the intervals of all pairs, (91)."""
    ends = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = np.isin(classes, (a, b))
        sign, n = np.where(classes[rows] == a, 1.0, -1.0), int(np.sum(rows))
        program = linprog(-np.ones(n), A_eq=np.vstack([(Z[rows] * sign[:, None]).T, sign]), b_eq=np.zeros(3),
                          bounds=(0, 1), method="highs-ds")  # fmt: skip
        ends.append((-program.fun / n, 2 * min(np.sum(sign > 0), np.sum(sign < 0)) / n))
    return max(low for low, _ in ends), min(high for _, high in ends)


def by_candidate(ours, theirs):
    """The mean scores of both searches in the same order."""
    score = dict(zip(map(str_sorted, theirs["params"]), theirs["mean_test_score"], strict=True))
    return ours["mean_test_score"], np.array([score[str_sorted(params)] for params in ours["params"]])


def str_sorted(params):
    return str(sorted(params.items()))


def regression(X, y):
    K, n = kernel(X), len(y)
    model = hinge.NuSVR(nu=NU, C=C, gamma=GAMMA, tol=TOL).fit(X, y)
    value, beta = independent.nu_regression(K, y, NU, C)
    yield "NuSVR", relative(midpoint(model), value)
    free = np.sort(np.abs(y - K @ beta - model.intercept_)[(np.abs(beta) > 1e-6) & (np.abs(beta) < C - 1e-6)])
    yield "NuSVR, width of the tube", relative(model.epsilon_, np.mean(free))
    shape = 0.5 + np.abs(X[:, 0])
    signs = np.repeat([1.0, -1.0], n)
    rows = [signs, np.r_[shape, shape]]
    totals = [0.0, C * NU * np.sum(shape)]
    value, _ = independent.quadratic(K, signs, np.r_[-y, y], np.full(2 * n, C), rows, totals)
    yield "NuSVR, tube of a given shape", relative(
        midpoint(hinge.NuSVR(nu=NU, C=C, gamma=GAMMA, tube=shape, tol=TOL).fit(X, y)), value
    )
    search = nu_grid(X, y, nu=[NU], C=[C], gamma=[GAMMA], cv=2, tol=TOL)
    scores = []
    for k in range(2):  # consecutive halves
        test = np.arange(n) < n // 2 + n % 2 if k == 0 else np.arange(n) >= n // 2 + n % 2
        train = ~test
        part = hinge.NuSVR(nu=NU, C=C, gamma=GAMMA, tol=TOL).fit(X[train], y[train])
        f = independent.regression_function(K[np.ix_(train, train)], y[train], C, part.epsilon_, K[np.ix_(test, train)])
        scores.append(1 - np.sum((y[test] - f) ** 2) / np.sum((y[test] - np.mean(y[test])) ** 2))
    yield "nu_grid, mean R²", relative(search.cv_results_["mean_test_score"][0], np.mean(scores))


#: Densities of the noise, and the search interval for ε.
NOISE = {
    "gaussian": (norm(), (0.01, 3.0)),
    "logistic": (logistic(), (0.01, 5.0)),
    "student_t3": (t(3), (0.01, 5.0)),
    "laplace": (laplace(), (0.0, 1.0)),
    "uniform": (uniform(-1, 2), (0.0, 1.0)),
}


def noise(name):
    """ε minimizes P(|ξ| > ε) / p(ε)², and ν is the fraction outside: by the density and a bounded search."""
    density, (low, high) = NOISE[name]

    def inefficiency(epsilon):
        return 2 * density.sf(epsilon) / (2 * density.pdf(epsilon)) ** 2

    points = np.r_[low, high, minimize_scalar(inefficiency, bounds=(low, high), method="bounded",
                                              options={"xatol": 1e-12}).x]  # fmt: skip
    best = points[np.argmin([inefficiency(e) for e in points])]
    yield "epsilon_for_noise, variance", relative(inefficiency(epsilon_for_noise(name)), inefficiency(best))
    yield "nu_for_noise, fraction outside", relative(nu_for_noise(name), 2 * density.sf(epsilon_for_noise(name)))


