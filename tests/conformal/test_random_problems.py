"""Jackknife+, CV+ and full conformal p-values of random, often degenerate problems, compared with refits."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.conformal import ConformalClassifier, ConformalDetector, CVPlus, JackknifePlus
from hinge.conformal.scores import class_scores
from hinge.kernels import Laplacian

KERNELS = [
    dict(gamma=1.0), dict(gamma=10.0), dict(kernel="linear"), dict(kernel=Laplacian(gamma=0.7)),
    dict(kernel="poly", degree=2, gamma=0.5, coef0=1.0),
]  # fmt: skip
LEVELS = [0.05, 0.2, 0.35, 0.5]


def random_samples(rng, n):
    """Integers (ties, duplicates), zeros, normal samples, or normal samples and a constant feature."""
    d = int(rng.integers(1, 4))
    kinds = [
        rng.integers(-2, 3, size=(n, d)) * 1.0, np.zeros((n, d)), rng.normal(size=(n, d)),
        np.column_stack([rng.normal(size=(n, d)), np.full(n, 5.0)]),
    ]  # fmt: skip
    X = kinds[rng.choice(4, p=[0.35, 0.1, 0.35, 0.2])]
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2]
    return X


def random_regressor(rng):
    """A regressor with paths and a small tolerance: every loss, ν, pairs of C and ε, with and without an offset."""
    C, epsilon = float(rng.choice([1e-3, 0.1, 1.0, 1.0, 10.0, 100.0])), float(rng.choice([0.0, 0.1, 0.5, 3.0]))
    options = dict(tol=1e-12, **KERNELS[rng.integers(len(KERNELS))])
    if rng.random() < 0.2:
        return hinge.NuSVR(nu=float(rng.choice([0.1, 0.3, 0.5, 0.8, 1.0])), C=C, **options)
    kinds = [
        dict(), dict(loss="laplace"), dict(loss="gaussian"), dict(loss="squared_epsilon_insensitive"),
        dict(loss="huber", sigma=float(rng.choice([0.01, 0.3, 2.0]))), dict(loss="polynomial", p=2.0),
        dict(loss="piecewise_polynomial", p=2.0, sigma=0.4),
        dict(C=(C, float(C * rng.choice([0.3, 2.0]))), epsilon=(epsilon, epsilon / 2 + 0.1)),
    ]  # fmt: skip
    kind = kinds[rng.integers(len(kinds))]
    return hinge.SVR(**{"C": C, "epsilon": epsilon, "fit_intercept": bool(rng.random() < 0.75), **options, **kind})


def check_intervals(seed):
    """Return whether the refits could be solved at the tolerance; compare them with the paths if so."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 16))
    X = random_samples(rng, n)
    targets = [rng.normal(size=n), rng.integers(-2, 3, size=n) * 1.0, np.zeros(n), 10 * rng.standard_t(2, size=n)]
    y = targets[rng.choice(4, p=[0.4, 0.3, 0.1, 0.2])]
    weight = rng.choice([0.5, 1.0, 2.0, 0.01], size=n) if rng.random() < 0.3 else np.ones(n)
    if rng.random() < 0.3 and n > 3:
        weight[rng.integers(n)] = 0.0
    estimator, new = random_regressor(rng), np.vstack([X[:1], rng.normal(size=(2, X.shape[1]))])
    options = dict(
        asymmetric=bool(rng.random() < 0.5), scale=(lambda X: 1 + np.abs(X[:, 0])) if rng.random() < 0.5 else None
    )
    folds = int(rng.integers(2, np.sum(weight > 0)))
    rounding = 1e-13 * np.max(estimator.C) * (1 + n * max(1.0, np.max(np.sum(X**2, axis=1)) ** 2))
    tol = 1e-9 * (1 + np.abs(y).max()) + rounding
    for make in (JackknifePlus, lambda *a, **k: CVPlus(*a, cv=folds, random_state=0, **k)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            try:
                refits = make(estimator, method="refit", **options).fit(X, y, weight)
            except ConvergenceWarning:
                return False
        paths = make(estimator, **options).fit(X, y, weight)
        assert_allclose(paths.left_out_predictions_, refits.left_out_predictions_, rtol=0, atol=tol, err_msg=f"{seed}")
        found, expected = (model.predict_interval(new, LEVELS) for model in (paths, refits))
        assert_allclose(found, expected, rtol=0, atol=tol, err_msg=f"{seed}")
    return True


def test_interval_ends_equal_refits():
    assert np.mean([check_intervals(seed) for seed in range(25)]) > 0.8


@pytest.mark.slow
def test_interval_ends_equal_refits_on_1000_problems():
    assert np.mean([check_intervals(seed) for seed in range(1000, 2000)]) > 0.8


def both_counts(scores, compared, scale):
    """p-values that rounding permits: equal scores count, or do not."""
    return [(1 + np.sum(scores[:-1][compared] >= scores[-1] + s * scale)) / (1 + np.sum(compared)) for s in (1, -1)]


def check_classes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    classes = min(int(rng.integers(2, 5)), n // 2)
    X, y = random_samples(rng, n), np.append(np.arange(classes), rng.integers(0, classes, size=n - classes))
    options = dict(C=float(rng.choice([1e-3, 0.1, 1.0, 10.0])), **KERNELS[rng.integers(len(KERNELS))])
    weights = [None, "balanced", {0: 3.0, 1: 0.5}][rng.integers(3)]
    x = X[:1] if rng.random() < 0.3 else rng.normal(size=(1, X.shape[1]))
    conditional = bool(rng.random() < 0.5)
    estimator = hinge.SVC(tol=1e-12, class_weight=weights, **options)
    model = ConformalClassifier(estimator, method="full", class_conditional=conditional).fit(X, y)
    fixed = dict(zip(range(classes), model.estimator_.class_weight_.tolist(), strict=True))
    (p,) = model.p_values(x)
    for c in range(classes):
        both, labels = np.vstack([X, x]), np.append(y, c)
        refit = hinge.SVC(tol=1e-12, class_weight=fixed, **options).fit(both, labels)
        scores = class_scores(refit, both)[np.arange(n + 1), labels]
        compared = y == c if conditional else np.ones(n, dtype=bool)
        low, high = both_counts(scores, compared, 1e-7 * (1 + np.abs(scores).max()))
        assert low - 1e-12 <= p[c] <= high + 1e-12, (seed, c)


def check_novelties(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    X = random_samples(rng, n)
    x = X[:1] if rng.random() < 0.3 else rng.normal(size=(1, X.shape[1]))
    nu, kernel = float(rng.choice([0.05, 0.2, 0.5, 0.9, 1.0])), KERNELS[rng.integers(len(KERNELS))]
    estimator = hinge.OneClassSVM(nu=nu, tol=1e-12, **kernel)
    (p,) = ConformalDetector(estimator, method="full").fit(X).p_values(x)
    both = np.vstack([X, x])
    scores = -estimator.fit(both).score_samples(both)
    tol = 1e-7 * np.abs(scores).max() + 1e-12 * n * (1 + np.abs(both).max() ** 4)
    low, high = both_counts(scores, np.ones(n, dtype=bool), tol)
    assert low - 1e-12 <= p <= high + 1e-12, seed


@pytest.mark.parametrize("check", [check_classes, check_novelties])
def test_full_p_values_equal_refits(check):
    for seed in range(60):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_classes, check_novelties])
def test_full_p_values_equal_refits_on_1000_problems(check):
    for seed in range(1000, 2000):
        check(seed)
