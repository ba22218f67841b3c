"""Solutions without single samples: from one inverse, along separate paths, and from refits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import hinge
from hinge.estimators.incremental.removal import RemovalProblem
from hinge.paths import leave_one_out
from hinge.paths.leave_one_out import MarginInverse


def data(n=60, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


ESTIMATORS = [
    hinge.SVR(C=3.0, gamma=0.3, tol=1e-10),
    hinge.SVR(C=100.0, gamma=0.3, epsilon=0.2, tol=1e-10),
    hinge.SVR(C=0.01, gamma=0.3, tol=1e-10),
    hinge.SVR(C=2.0, gamma=0.3, epsilon=0.0, tol=1e-10),
    hinge.SVR(C=1.0, gamma=0.3, loss="huber", tol=1e-10),
    hinge.SVR(C=1.0, gamma=0.3, loss="squared_epsilon_insensitive", tol=1e-10),
    hinge.SVR(C=2.0, kernel="laplacian", gamma=0.5, fit_intercept=False, tol=1e-10),
    hinge.SVR(C=1.0, kernel="linear", tol=1e-10),
    hinge.SVC(C=5.0, gamma=0.3, tol=1e-10),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_solutions_equal_refits(estimator):
    X, y = data()
    y = y > y.mean() if isinstance(estimator, hinge.SVC) else y
    problem = RemovalProblem(estimator, X, y)
    samples = np.flatnonzero(problem.beta)
    found = list(problem.without_each(samples))
    assert [int(solution.removed[0]) for solution in found] == samples.tolist()
    for solution in found[::3]:
        i = int(solution.removed[0])
        rest = np.delete(np.arange(len(y)), i)
        model = estimator.fit(X[rest], y[rest])
        decide = model.decision_function if isinstance(estimator, hinge.SVC) else model.predict
        values = problem.sign * (problem.kernel(X, X) @ solution.beta + solution.intercept)
        assert_allclose(values, decide(X), atol=1e-8)
        assert_allclose(problem.sign * solution.values, decide(X[[i]]), atol=1e-8)
        assert solution.beta[i] == 0


@pytest.mark.parametrize("estimator", [each for each in ESTIMATORS[:7] if each.C > 0.1], ids=repr)
def test_one_inverse_suffices_for_almost_all_samples(estimator):
    """With a small C many solutions have all variables at bounds, and their offset is not unique."""
    X, y = data()
    problem = RemovalProblem(estimator, X, y)
    samples = np.flatnonzero(problem.beta)
    found = list(MarginInverse.of(problem.engine, problem.values, len(samples)).removals(samples))
    assert np.mean(np.concatenate([block.exact for block in found])) > 0.9


def test_results_do_not_depend_on_threads_or_blocks(monkeypatch):
    X, y = data(100)
    problem = RemovalProblem(ESTIMATORS[0], X, y)
    samples = np.flatnonzero(problem.beta)
    inverse = MarginInverse.of(problem.engine, problem.values, len(samples))
    (whole,) = inverse.removals(samples, threads=1)
    monkeypatch.setattr(leave_one_out, "BLOCK", 7)
    parts = list(inverse.removals(samples, threads=3))
    assert len(parts) > 3
    np.testing.assert_array_equal(np.concatenate([part.beta for part in parts]), whole.beta)
    np.testing.assert_array_equal(np.concatenate([part.intercept for part in parts]), whole.intercept)


def test_solutions_that_are_not_verified_are_computed_along_paths(monkeypatch):
    X, y = data()
    problem = RemovalProblem(ESTIMATORS[0], X, y)
    samples = np.flatnonzero(problem.beta)
    expected = list(problem.without_each(samples))
    monkeypatch.setattr(leave_one_out, "MAX_VIOLATION", -1.0)
    for solution, other in zip(problem.without_each(samples), expected, strict=True):
        assert_allclose(solution.beta, other.beta, atol=1e-10)
        assert_allclose(solution.intercept, other.intercept, atol=1e-10)


def test_wrong_solutions_are_not_accepted():
    X, y = data()
    problem = RemovalProblem(ESTIMATORS[0], X, y)
    samples = np.flatnonzero(problem.beta)
    inverse = MarginInverse.of(problem.engine, problem.values, len(samples))
    (found,) = inverse.removals(samples)
    events = found.events
    assert found.exact.all()
    for change in (1e-8, -1e-8):
        beta = found.beta.copy()
        beta[:, samples[0]] += change
        assert not inverse._verified(found.samples, beta, found.intercept, events).exact.any()
        assert not inverse._verified(found.samples, found.beta, found.intercept + change, events).exact.any()
    bound = problem.values.upper.max()
    for k in range(len(samples)):  # a sample at each bound that should not be there
        beta = found.beta.copy()
        free = np.flatnonzero((np.abs(beta[k]) > 0) & (np.abs(beta[k]) < 0.9 * bound))
        beta[k, free[0]] = np.sign(beta[k, free[0]]) * bound
        assert not inverse._verified(found.samples, beta, found.intercept, events).exact[k]
    assert not inverse._verified(found.samples, found.beta, found.intercept, np.full_like(events, -1)).exact.any()


@pytest.mark.parametrize("reason", ["few removals", "no memory", "no margin"])
def test_separate_paths_are_used_without_an_inverse(reason):
    X, y = data()
    estimator = ESTIMATORS[0]
    if reason == "no margin":  # all samples are inside the tube
        estimator = hinge.SVR(epsilon=100.0)
    problem = RemovalProblem(estimator, X, y)
    if reason == "no memory":
        problem.engine.cache_bytes = 1000
    assert MarginInverse.of(problem.engine, problem.values, 1 if reason == "few removals" else 60) is None


@given(
    seed=st.integers(0, 1000),
    n=st.integers(3, 25),
    C=st.sampled_from([1e-8, 0.1, 1.0, 1e4]),
    epsilon=st.sampled_from([0.0, 0.1, 2.0]),
    duplicates=st.booleans(),
    rounded=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_unusual_data_equal_separate_paths(seed, n, C, epsilon, duplicates, rounded):
    """Ties, duplicates and integer targets: the function without each sample is the same."""
    X, y = data(n, seed, d=2)
    if duplicates:
        X[n // 2 :] = X[: n - n // 2]
    if rounded:
        X, y = np.round(X), np.round(y)
    problem = RemovalProblem(hinge.SVR(C=C, gamma=0.3, epsilon=epsilon), X, y)
    K = problem.kernel(X, X)
    for solution in problem.without_each(np.arange(n)):
        other = problem.without(solution.removed)
        assert_allclose(K @ solution.beta, K @ other.beta, atol=1e-8 * (1 + np.abs(y).max()))


def test_leave_out_of_incremental_estimators_uses_the_inverse():
    X, y = data()
    model = hinge.IncrementalSVR(C=3.0, gamma=0.3).fit(X, y)
    model.forget([3, 5])
    X, y, _ = model.training_data_
    values = model.leave_out(np.arange(len(y)))
    for i in range(0, len(y), 9):
        rest = np.delete(np.arange(len(y)), i)
        refit = hinge.SVR(C=3.0, gamma=0.3, tol=1e-10).fit(X[rest], y[rest])
        assert_allclose(values[i], refit.predict(X[[i]]), atol=1e-8)
