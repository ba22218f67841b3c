"""Invariance and equivariance of the kernel estimators under changes of weights, data and settings.

Decision values are compared at a tight tolerance, because the solutions of these problems are unique.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from reference.cases import PARAMETERS, REGRESSORS, data, values
from reference.comparison import CLOSE, KERNELS, assert_same, every_classifier, every_estimator, make, random_weights


class TestWeights:
    @every_estimator
    @pytest.mark.parametrize("classes", [2, 3])
    def test_zero_weight_removes_a_sample(self, name, classes):
        X, y = data(name, classes=classes)
        weight = random_weights(len(y))
        removed_rows = np.random.default_rng(2).random(len(y)) < 0.3
        weight[removed_rows] = 0
        weighted = make(name).fit(X, y, sample_weight=weight)
        removed = make(name).fit(X[~removed_rows], y[~removed_rows], sample_weight=weight[~removed_rows])
        assert_same(weighted, removed, X)
        assert not set(weighted.support_) & set(np.flatnonzero(removed_rows))

    @every_estimator
    @pytest.mark.parametrize("classes", [2, 3])
    def test_integer_weights_equal_repeated_samples(self, name, classes):
        X, y = data(name, classes=classes)
        times = np.random.default_rng(3).integers(1, 4, len(y))
        weighted = make(name).fit(X, y, sample_weight=times)
        copied = make(name).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_same(weighted, copied, X)

    @every_estimator
    def test_unit_weights_have_no_effect(self, name):
        X, y = data(name)
        assert_same(make(name).fit(X, y), make(name).fit(X, y, sample_weight=np.ones(len(y))), X)

    @pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR"])
    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_common_factor_multiplies_C(self, name, factor):
        X, y = data(name)
        weight, C = random_weights(len(y)), PARAMETERS[name]["C"]
        scaled = make(name).fit(X, y, sample_weight=factor * weight)
        assert_same(scaled, make(name, C=factor * C).fit(X, y, sample_weight=weight), X)

    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_common_factor_does_not_change_nu_classification(self, factor):
        X, y = data("NuSVC")
        weight = random_weights(len(y))
        fits = [
            make("NuSVC", tol=t).fit(X, y, sample_weight=w)
            for t, w in [(1e-7, weight), (1e-7 * min(factor, 1), factor * weight)]
        ]
        assert_same(*fits, X)

    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_common_factor_scales_the_one_class_function(self, factor):
        """f and ρ are proportional to νΣw (LIBSVM's scaling); the region {f ≥ ρ} is unchanged."""
        X, y = data("OneClassSVM")
        weight = random_weights(len(y))
        one = make("OneClassSVM").fit(X, sample_weight=weight)
        other = make("OneClassSVM", tol=1e-7 * factor).fit(X, sample_weight=factor * weight)
        np.testing.assert_allclose(values(other, X) / factor, values(one, X), **CLOSE)

    def test_class_weights_equal_sample_weights(self):
        X, y = data("SVC", classes=3)
        given = {0: 0.5, 1: 2.0, 2: 1.0}
        by_class = make("SVC", class_weight=given).fit(X, y)
        by_sample = make("SVC").fit(X, y, sample_weight=[given[label] for label in y])
        assert_same(by_class, by_sample, X)
        both = make("SVC", class_weight=given).fit(X, y, sample_weight=random_weights(len(y)))
        product = random_weights(len(y)) * [given[label] for label in y]
        assert_same(both, make("SVC").fit(X, y, sample_weight=product), X)

    def test_balanced_class_weights_are_inverse_frequencies(self):
        X, y = data("SVC", classes=3)
        kept = np.r_[np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:5]]
        X, y = X[kept], y[kept]
        frequency = {label: len(y) / (3 * np.sum(y == label)) for label in range(3)}
        balanced = make("SVC", class_weight="balanced").fit(X, y)
        assert_same(balanced, make("SVC", class_weight=frequency).fit(X, y), X)


class TestSymmetry:
    @every_estimator
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    def test_order_of_samples_has_no_effect(self, name, kernel):
        X, y = data(name)
        order = np.random.default_rng(4).permutation(len(y))
        fits = make(name, kernel=kernel).fit(X, y), make(name, kernel=kernel).fit(X[order], y[order])
        assert_same(*fits, X)

    @every_estimator
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    def test_order_of_features_has_no_effect(self, name, kernel):
        X, y = data(name)
        order = np.random.default_rng(5).permutation(X.shape[1])
        one = make(name, kernel=kernel).fit(X, y)
        other = make(name, kernel=kernel).fit(X[:, order], y)
        np.testing.assert_allclose(values(other, X[:, order]), values(one, X), **CLOSE)

    @every_estimator
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_translation_has_no_effect(self, name, kernel):
        X, y = data(name)
        shift = np.array([100.0, -30.0, 7.0])
        one = make(name, kernel=kernel).fit(X, y)
        other = make(name, kernel=kernel).fit(X + shift, y)
        np.testing.assert_allclose(values(other, X + shift), values(one, X), **CLOSE)

    @every_estimator
    def test_constant_feature_has_no_effect(self, name):
        X, y = data(name)
        padded = np.c_[X, np.full(len(X), 3.0)]
        one, other = make(name).fit(X, y), make(name).fit(padded, y)
        np.testing.assert_allclose(values(other, padded), values(one, X), **CLOSE)

    @every_classifier
    def test_exchanged_labels_change_the_sign(self, name):
        X, y = data(name)
        assert_same(make(name).fit(X, y), make(name).fit(X, 1 - y), X, factor=-1)

    @pytest.mark.parametrize("name", REGRESSORS)
    def test_shifted_and_negated_targets_shift_and_negate_the_function(self, name):
        X, y = data(name)
        one = make(name).fit(X, y)
        np.testing.assert_allclose(make(name).fit(X, y + 10).predict(X), one.predict(X) + 10, **CLOSE)
        np.testing.assert_allclose(make(name).fit(X, -y).predict(X), -one.predict(X), **CLOSE)


class TestReproducibility:
    @every_estimator
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_fits_are_identical_to_the_bit(self, name, kernel):
        X, y = data(name, classes=3)
        first, second = (make(name, kernel=kernel, tol=1e-3).fit(X, y) for _ in range(2))
        for attribute in ("dual_coef_", "support_", "intercept_", "support_vectors_"):
            assert getattr(first, attribute).tobytes() == getattr(second, attribute).tobytes()
        assert values(first, X).tobytes() == values(second, X).tobytes()

    @every_estimator
    def test_results_do_not_depend_on_threads(self, name):
        X, y = data(name, n=300, classes=3)
        one, two = (make(name, n_jobs=jobs, tol=1e-3).fit(X, y) for jobs in (1, 2))
        assert one.dual_coef_.tobytes() == two.dual_coef_.tobytes()
        assert values(one, X).tobytes() == values(two, X).tobytes()

    @every_estimator
    def test_refit_does_not_depend_on_previous_fit(self, name):
        X, y = data(name)
        other_X, other_y = data(name, seed=9, n=31, features=5)
        refitted = make(name).fit(other_X, other_y).fit(X, y)
        assert refitted.dual_coef_.tobytes() == make(name).fit(X, y).dual_coef_.tobytes()

    @every_estimator
    def test_clones_and_pickles_are_identical(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        assert values(pickle.loads(pickle.dumps(model)), X).tobytes() == values(model, X).tobytes()
        assert values(clone(model).fit(X, y), X).tobytes() == values(model, X).tobytes()

    @every_estimator
    def test_fit_does_not_modify_its_arguments(self, name):
        X, y = data(name)
        weight = random_weights(len(y))
        before = X.copy(), y.copy(), weight.copy()
        make(name).fit(X, y, sample_weight=weight)
        for now, then in zip((X, y, weight), before, strict=True):
            np.testing.assert_array_equal(now, then)


class TestSettings:
    """Options of the computation do not change the solution."""

    @every_estimator
    def test_shrinking_and_cache_have_no_effect(self, name):
        X, y = data(name, n=150, classes=3)
        plain = make(name).fit(X, y)
        for options in (
            dict(shrinking=False),
            dict(cache_size=0.01),
            dict(solver="smo"),
            dict(cache_size=500),
        ):
            assert_same(plain, make(name, **options).fit(X, y), X)

    @every_estimator
    def test_warm_start_has_no_effect_on_the_solution(self, name):
        X, y = data(name, n=150)
        warm = make(name, warm_start=True).fit(X, y)
        first = np.max(warm.n_iter_)
        assert_same(make(name).fit(X, y), warm.fit(X, y), X)
        assert np.max(warm.n_iter_) <= max(2, first // 4)
        if "C" in PARAMETERS[name]:
            for C in (0.3, 20.0):
                assert_same(make(name, C=C).fit(X, y), warm.set_params(C=C).fit(X, y), X)
        assert_same(
            make(name, gamma=0.2).fit(X, y), warm.set_params(**PARAMETERS[name], gamma=0.2).fit(X, y), X
        )

    @every_estimator
    def test_warm_start_with_other_data(self, name):
        X, y = data(name)
        other_X, other_y = data(name, seed=9, n=31)
        warm = make(name, warm_start=True).fit(other_X, other_y).fit(X, y)
        assert_same(make(name).fit(X, y), warm, X)


class TestNu:
    @pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.8])
    @pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
    def test_nu_lies_between_errors_and_support_vectors(self, name, nu):
        """ν ≥ fraction of margin errors, ν ≤ fraction of support vectors (ν tutorial, Prop. 1)."""
        X, y = data(name, n=100)
        model = make(name, nu=nu).fit(X, y)
        n, coef = len(y), np.abs(model.dual_coef_[0])
        assert len(coef) / n >= nu - 1e-9
        at_bound = coef >= coef.max() * (1 - 1e-6)  # contains the margin errors
        if name == "NuSVC":
            rho = nu * n / coef.sum()
            errors = np.where(y == 1, 1, -1) * model.decision_function(X) * rho < rho - 1e-4
        elif name == "NuSVR":
            residual = np.abs(y - model.predict(X))
            inner = np.abs(coef - PARAMETERS[name]["C"]) > 1e-6
            errors = residual > residual[model.support_[inner]].max() + 1e-4 if inner.any() else np.zeros(n, bool)
        else:
            errors = model.decision_function(X) < -1e-4
        assert errors.mean() <= nu + 1e-9
        assert errors.sum() <= at_bound.sum()

    @pytest.mark.parametrize("nu", [0.2, 0.5, 0.7])
    def test_nu_classification_equals_c_classification(self, nu):
        """C = 1/ρ in LIBSVM's scaling, 1/(mρ) in the tutorial's; conversely ν = Σα/(mC) (Prop. 2, 3)."""
        X, y = data("NuSVC")
        nu_model = make("NuSVC", nu=nu).fit(X, y)
        rho = nu * len(y) / np.abs(nu_model.dual_coef_).sum()
        c_model = make("SVC", C=1 / rho).fit(X, y)
        assert_same(nu_model, c_model, X)
        recovered = np.abs(c_model.dual_coef_).sum() * rho / len(y)
        assert recovered == pytest.approx(nu, rel=1e-4)

    @pytest.mark.parametrize("nu", [0.2, 0.5, 0.8])
    def test_nu_regression_equals_epsilon_regression(self, nu):
        """ε is the absolute residual of the free support vectors."""
        X, y = data("NuSVR")
        nu_model = make("NuSVR", nu=nu).fit(X, y)
        free = np.abs(nu_model.dual_coef_[0]) < PARAMETERS["NuSVR"]["C"] - 1e-4
        distance = np.abs(y - nu_model.predict(X))[nu_model.support_[free]]
        np.testing.assert_allclose(distance, distance.mean(), atol=1e-4)
        assert_same(nu_model, make("SVR", epsilon=distance.mean()).fit(X, y), X)

    def test_one_class_coefficients_sum_to_nu_n(self):
        X, _ = data("OneClassSVM")
        for nu in (0.1, 0.5, 1.0):
            model = make("OneClassSVM", nu=nu).fit(X)
            assert model.dual_coef_.sum() == pytest.approx(nu * len(X), rel=1e-9)
            np.testing.assert_allclose(
                model.decision_function(X), model.score_samples(X) - model.offset_, atol=1e-12
            )
