"""Probabilities from decision values, compared with definitions and a general optimizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from hinge.calibration import (
    couple,
    couple_iteratively,
    density_marks,
    fit_sigmoid,
    inlier_probability,
    laplace_scale,
)


def negative_log_likelihood(A, B, values, positive, weight):
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    log_p = -np.logaddexp(0, A * values + B)
    log_q = -np.logaddexp(0, -A * values - B)
    return -weight @ (target * log_p + (1 - target) * log_q)


class TestSigmoid:
    @pytest.mark.parametrize("seed", range(5))
    def test_likelihood_is_maximal(self, seed):
        rng = np.random.default_rng(seed)
        values, weight = rng.normal(size=60) * 10.0 ** rng.integers(-2, 3), rng.uniform(0.5, 2.0, size=60)
        positive = rng.uniform(size=60) < 1 / (1 + np.exp(-2 * values / values.std()))
        fitted = fit_sigmoid(values, positive, weight)
        assert fitted.status == "converged"
        best = minimize(lambda p: negative_log_likelihood(*p, values, positive, weight), [fitted.A, fitted.B]).fun
        reached = negative_log_likelihood(fitted.A, fitted.B, values, positive, weight)
        assert reached <= best + 1e-6 * abs(best)

    def test_integer_weights_repeat_samples(self):
        rng = np.random.default_rng(0)
        values, weight = rng.normal(size=30), rng.integers(1, 4, size=30)
        positive = rng.uniform(size=30) < 0.5
        weighted = fit_sigmoid(values, positive, weight)
        repeated = fit_sigmoid(np.repeat(values, weight), np.repeat(positive, weight))
        assert pytest.approx((repeated.A, repeated.B), rel=1e-6) == (weighted.A, weighted.B)

    def test_separable_values_give_finite_coefficients(self):
        fitted = fit_sigmoid([-3.0, -2.0, 2.0, 3.0], [False, False, True, True])
        assert np.isfinite([fitted.A, fitted.B]).all()
        assert fitted.A < 0

    def test_probability_does_not_overflow(self):
        fitted = fit_sigmoid([-1.0, 1.0, -0.5, 0.5], [False, True, True, False])
        p = fitted.probability([-1e300, 1e300])
        assert np.all((p >= 0) & (p <= 1))


pairwise = st.integers(2, 6).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.floats(0.001, 0.999), min_size=k * (k - 1) // 2, max_size=k * (k - 1) // 2)
    )
)


def coupling_objective(p, r, k):
    first, second = np.triu_indices(k, 1)
    return np.sum(((1 - r) * p[first] - r * p[second]) ** 2)


class TestCoupling:
    @given(pairwise)
    def test_probabilities_are_optimal(self, case):
        k, values = case
        r = np.array(values)
        p = couple(r[None, :], k)[0]
        assert p.sum() == pytest.approx(1)
        assert np.all(p >= 0)
        rng = np.random.default_rng(0)
        for _ in range(5):
            other = p + 1e-3 * rng.normal(size=k)
            other += (1 - other.sum()) / k
            assert coupling_objective(p, r, k) <= coupling_objective(other, r, k) + 1e-12

    @given(pairwise)
    def test_iteration_agrees_to_its_tolerance(self, case):
        k, values = case
        r = np.array([values])
        exact, iterated = couple(r, k), couple_iteratively(r, k)
        assert iterated.sum() == pytest.approx(1)
        gap = coupling_objective(iterated[0], r[0], k) - coupling_objective(exact[0], r[0], k)
        assert -1e-12 <= gap <= 0.02 / k

    def test_consistent_pairs_are_reproduced(self):
        p = np.array([0.5, 0.2, 0.2, 0.1])
        first, second = np.triu_indices(4, 1)
        np.testing.assert_allclose(couple((p[first] / (p[first] + p[second]))[None, :], 4)[0], p, atol=1e-9)

    def test_samples_are_independent(self):
        r = np.random.default_rng(0).uniform(0.05, 0.95, size=(20, 6))
        together = couple_iteratively(r, 4)
        np.testing.assert_array_equal(together, np.vstack([couple_iteratively(row[None, :], 4) for row in r]))


def test_laplace_scale_leaves_outliers_out():
    residuals = np.concatenate([np.tile([-1.0, 1.0], 500), [1e6]])
    assert laplace_scale(residuals) == pytest.approx(1.0)


class TestDensity:
    def test_marks_divide_training_values_into_bins(self):
        values = np.random.default_rng(0).normal(size=1000)
        marks = density_marks(values)
        assert np.all(np.diff(marks) > 0)
        p = inlier_probability(values, marks)
        assert np.all(p[values < marks[0]] == 0.001)
        assert np.all(p[values > marks[-1]] == 0.999)
        assert abs(p[np.abs(values) < 0.05] - 0.5).max() <= 0.1
        assert np.all(np.diff(p[np.argsort(values)]) >= 0)

    def test_few_values_of_a_sign_give_no_marks(self):
        assert density_marks(np.arange(-4.0, 20.0)) is None
        assert density_marks(np.arange(-20.0, 4.0)) is None
