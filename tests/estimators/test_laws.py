"""Laws of the estimators: what must not change the answer does not, and what must change it in a known way
does.

All comparisons are of decision values at a tight tolerance: the solutions of these problems are unique.
"""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, REGRESSORS, data, values

KERNELS = ("linear", "poly", "rbf", "sigmoid")
CLOSE = dict(rtol=1e-4, atol=1e-4)

every_machine = pytest.mark.parametrize("name", NAMES)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def machine(name, **options):
    # A numeric gamma: "scale" would read the weights' work into the width of the kernel.
    return getattr(hinge, name)(**{"gamma": 0.5, "tol": 1e-7, **PARAMETERS[name], **options})


def assert_same(first, second, X, factor=1.0):
    np.testing.assert_allclose(values(second, X), factor * values(first, X), **CLOSE)


def random_weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)


class TestWeights:
    @every_machine
    @pytest.mark.parametrize("classes", [2, 3])
    def test_zero_is_removed(self, name, classes):
        X, y = data(name, classes=classes)
        weight = random_weights(len(y))
        gone = np.random.default_rng(2).random(len(y)) < 0.3
        weight[gone] = 0
        weighted = machine(name).fit(X, y, sample_weight=weight)
        removed = machine(name).fit(X[~gone], y[~gone], sample_weight=weight[~gone])
        assert_same(weighted, removed, X)
        assert not set(weighted.support_) & set(np.flatnonzero(gone))

    @every_machine
    @pytest.mark.parametrize("classes", [2, 3])
    def test_integers_are_copies(self, name, classes):
        X, y = data(name, classes=classes)
        times = np.random.default_rng(3).integers(1, 4, len(y))
        weighted = machine(name).fit(X, y, sample_weight=times)
        copied = machine(name).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_same(weighted, copied, X)

    @every_machine
    def test_ones_are_none(self, name):
        X, y = data(name)
        assert_same(machine(name).fit(X, y), machine(name).fit(X, y, sample_weight=np.ones(len(y))), X)

    @pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR"])
    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_a_common_factor_is_a_factor_of_C(self, name, factor):
        X, y = data(name)
        weight, C = random_weights(len(y)), PARAMETERS[name]["C"]
        scaled = machine(name).fit(X, y, sample_weight=factor * weight)
        assert_same(scaled, machine(name, C=factor * C).fit(X, y, sample_weight=weight), X)

    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_a_common_factor_leaves_nu_classification_alone(self, factor):
        X, y = data("NuSVC")
        weight = random_weights(len(y))
        fits = [
            machine("NuSVC", tol=t).fit(X, y, sample_weight=w)
            for t, w in [(1e-7, weight), (1e-7 * min(factor, 1), factor * weight)]
        ]
        assert_same(*fits, X)

    @pytest.mark.parametrize("factor", [1e-2, 3.0, 1e3])
    def test_a_common_factor_stretches_the_one_class_function(self, factor):
        """f and ρ are linear in the mass νΣw (LIBSVM's scaling), the region {f ≥ ρ} does not move."""
        X, y = data("OneClassSVM")
        weight = random_weights(len(y))
        one = machine("OneClassSVM").fit(X, sample_weight=weight)
        other = machine("OneClassSVM", tol=1e-7 * factor).fit(X, sample_weight=factor * weight)
        np.testing.assert_allclose(values(other, X) / factor, values(one, X), **CLOSE)

    def test_class_weights_are_sample_weights(self):
        X, y = data("SVC", classes=3)
        given = {0: 0.5, 1: 2.0, 2: 1.0}
        by_class = machine("SVC", class_weight=given).fit(X, y)
        by_sample = machine("SVC").fit(X, y, sample_weight=[given[label] for label in y])
        assert_same(by_class, by_sample, X)
        both = machine("SVC", class_weight=given).fit(X, y, sample_weight=random_weights(len(y)))
        product = random_weights(len(y)) * [given[label] for label in y]
        assert_same(both, machine("SVC").fit(X, y, sample_weight=product), X)

    def test_balanced_class_weights_are_inverse_frequencies(self):
        X, y = data("SVC", classes=3)
        kept = np.r_[np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:5]]
        X, y = X[kept], y[kept]
        frequency = {label: len(y) / (3 * np.sum(y == label)) for label in range(3)}
        balanced = machine("SVC", class_weight="balanced").fit(X, y)
        assert_same(balanced, machine("SVC", class_weight=frequency).fit(X, y), X)


class TestSymmetry:
    @every_machine
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    def test_order_of_samples(self, name, kernel):
        X, y = data(name)
        order = np.random.default_rng(4).permutation(len(y))
        fits = machine(name, kernel=kernel).fit(X, y), machine(name, kernel=kernel).fit(X[order], y[order])
        assert_same(*fits, X)

    @every_machine
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    def test_order_of_features(self, name, kernel):
        X, y = data(name)
        order = np.random.default_rng(5).permutation(X.shape[1])
        one = machine(name, kernel=kernel).fit(X, y)
        other = machine(name, kernel=kernel).fit(X[:, order], y)
        np.testing.assert_allclose(values(other, X[:, order]), values(one, X), **CLOSE)

    @every_machine
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_translation(self, name, kernel):
        X, y = data(name)
        shift = np.array([100.0, -30.0, 7.0])
        one = machine(name, kernel=kernel).fit(X, y)
        other = machine(name, kernel=kernel).fit(X + shift, y)
        np.testing.assert_allclose(values(other, X + shift), values(one, X), **CLOSE)

    @every_machine
    def test_a_constant_feature(self, name):
        X, y = data(name)
        padded = np.c_[X, np.full(len(X), 3.0)]
        one, other = machine(name).fit(X, y), machine(name).fit(padded, y)
        np.testing.assert_allclose(values(other, padded), values(one, X), **CLOSE)

    @every_classifier
    def test_flipped_labels_flip_the_sign(self, name):
        X, y = data(name)
        assert_same(machine(name).fit(X, y), machine(name).fit(X, 1 - y), X, factor=-1)

    @pytest.mark.parametrize("name", REGRESSORS)
    def test_targets_move_and_mirror_the_function(self, name):
        X, y = data(name)
        one = machine(name).fit(X, y)
        np.testing.assert_allclose(machine(name).fit(X, y + 10).predict(X), one.predict(X) + 10, **CLOSE)
        np.testing.assert_allclose(machine(name).fit(X, -y).predict(X), -one.predict(X), **CLOSE)


class TestRepetition:
    @every_machine
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_bits(self, name, kernel):
        X, y = data(name, classes=3)
        first, second = (machine(name, kernel=kernel, tol=1e-3).fit(X, y) for _ in range(2))
        for attribute in ("dual_coef_", "support_", "intercept_", "support_vectors_"):
            assert getattr(first, attribute).tobytes() == getattr(second, attribute).tobytes()
        assert values(first, X).tobytes() == values(second, X).tobytes()

    @every_machine
    def test_bits_do_not_depend_on_threads(self, name):
        X, y = data(name, n=300, classes=3)
        one, two = (machine(name, n_jobs=jobs, tol=1e-3).fit(X, y) for jobs in (1, 2))
        assert one.dual_coef_.tobytes() == two.dual_coef_.tobytes()
        assert values(one, X).tobytes() == values(two, X).tobytes()

    @every_machine
    def test_refitting_forgets(self, name):
        X, y = data(name)
        other_X, other_y = data(name, seed=9, n=31, features=5)
        again = machine(name).fit(other_X, other_y).fit(X, y)
        assert again.dual_coef_.tobytes() == machine(name).fit(X, y).dual_coef_.tobytes()

    @every_machine
    def test_cloned_and_pickled(self, name):
        X, y = data(name)
        model = machine(name).fit(X, y)
        assert values(pickle.loads(pickle.dumps(model)), X).tobytes() == values(model, X).tobytes()
        assert values(clone(model).fit(X, y), X).tobytes() == values(model, X).tobytes()

    @every_machine
    def test_fit_leaves_the_data_alone(self, name):
        X, y = data(name)
        weight = random_weights(len(y))
        before = X.copy(), y.copy(), weight.copy()
        machine(name).fit(X, y, sample_weight=weight)
        for now, then in zip((X, y, weight), before, strict=True):
            np.testing.assert_array_equal(now, then)


class TestForms:
    """One set of numbers, however it is stored."""

    @every_machine
    @pytest.mark.parametrize("kernel", [*KERNELS, "laplacian"])
    @pytest.mark.parametrize(
        "form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
    )
    def test_sparse_is_dense(self, name, kernel, form):
        X, y = data(name, classes=3)
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        options = dict(kernel=kernel, gamma=0.1) if kernel == "sigmoid" else dict(kernel=kernel)
        dense = machine(name, **options).fit(X, y)
        thin = machine(name, **options).fit(form(X), y)
        np.testing.assert_allclose(values(thin, form(X)), values(dense, X), **CLOSE)
        np.testing.assert_allclose(values(thin, X), values(dense, X), **CLOSE)
        assert sparse.issparse(thin.support_vectors_)

    @every_machine
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    @pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
    def test_single_precision_is_double(self, name, kernel, form):
        X, y = data(name)
        X = X.astype(np.float32)
        single = machine(name, kernel=kernel, tol=1e-5).fit(form(X), y)
        double = machine(name, kernel=kernel, tol=1e-5).fit(form(X.astype(np.float64)), y)
        np.testing.assert_allclose(values(single, form(X)), values(double, form(X)), rtol=1e-3, atol=1e-3)

    @every_machine
    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool, np.float16])
    def test_integers_are_numbers(self, name, dtype):
        X, y = data(name, features=6)
        X = (X > 0).astype(dtype)
        one, other = machine(name).fit(X, y), machine(name).fit(X.astype(np.float64), y)
        np.testing.assert_allclose(values(one, X), values(other, X.astype(np.float64)), **CLOSE)

    @every_machine
    def test_views_and_lists(self, name):
        X, y = data(name)
        expected = values(machine(name).fit(X, y), X)
        wide = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)
        for form in (X.tolist(), np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
            np.testing.assert_allclose(values(machine(name).fit(form, list(y)), form), expected, **CLOSE)
        readonly = X.copy()
        readonly.flags.writeable = False
        np.testing.assert_allclose(values(machine(name).fit(readonly, y), readonly), expected, **CLOSE)

    @every_machine
    def test_data_frames(self, name):
        pandas = pytest.importorskip("pandas")
        X, y = data(name)
        frame = pandas.DataFrame(X, columns=["one", "two", "three"], index=np.arange(len(X))[::-1])
        model = machine(name).fit(frame, pandas.Series(y, index=frame.index))
        np.testing.assert_array_equal(model.feature_names_in_, ["one", "two", "three"])
        np.testing.assert_allclose(values(model, frame), values(machine(name).fit(X, y), X), **CLOSE)

    @every_classifier
    @pytest.mark.parametrize(
        "labels",
        [
            ["no", "yes"],
            [False, True],
            [-7.0, 3.0],
            [2**40, 2**41],
            np.array(["b", "a"], dtype=object),
            np.array(["x", "yy"]),
        ],
        ids=repr,
    )
    def test_any_labels(self, name, labels):
        X, y = data(name)
        y_named = np.array(labels)[y] if not isinstance(labels, np.ndarray) else labels[y]
        named, plain = machine(name).fit(X, y_named), machine(name).fit(X, y)
        order = np.unique(y_named)
        np.testing.assert_array_equal(named.classes_, order)
        factor = 1 if order[1] == np.asarray(labels)[1] else -1
        assert_same(plain, named, X, factor)
        np.testing.assert_array_equal(named.predict(X), np.where(values(named, X) > 0, order[1], order[0]))

    @every_machine
    def test_empty_rows_and_columns(self, name):
        X, y = data(name)
        X[3] = X[7] = 0
        X[:, 1] = 0
        dense, thin = machine(name).fit(X, y), machine(name).fit(sparse.csr_matrix(X), y)
        np.testing.assert_allclose(values(thin, sparse.csr_matrix(X)), values(dense, X), **CLOSE)


class TestKernels:
    """One kernel, however it is named."""

    @every_machine
    def test_precomputed_and_callable_are_the_named_kernel(self, name):
        X, y = data(name, classes=3)
        named = machine(name).fit(X, y)
        K = rbf_kernel(X, gamma=0.5)
        np.testing.assert_allclose(
            values(machine(name, kernel="precomputed").fit(K, y), K), values(named, X), **CLOSE
        )
        own = machine(name, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, y)
        assert_same(named, own, X)

    @every_machine
    def test_objects_are_names(self, name):
        X, y = data(name)
        pairs = {
            "linear": hinge.kernels.Linear(),
            "rbf": hinge.kernels.RBF(0.5),
            "laplacian": hinge.kernels.Laplacian(0.5),
        }
        for named, kernel in pairs.items():
            assert_same(machine(name, kernel=named).fit(X, y), machine(name, kernel=kernel).fit(X, y), X)

    @every_machine
    def test_algebra_is_algebra(self, name):
        X, y = data(name)
        composed = hinge.kernels.RBF(0.5) * hinge.kernels.RBF(0.25) + 0.2 * hinge.kernels.Linear()

        def spelled_out(A, B):
            return rbf_kernel(A, B, gamma=0.75) + 0.2 * A @ B.T

        assert_same(machine(name, kernel=composed).fit(X, y), machine(name, kernel=spelled_out).fit(X, y), X)

    @every_machine
    def test_linear_coefficients_are_the_function(self, name):
        X, y = data(name, classes=3)
        options = dict(decision_function_shape="ovo") if name in CLASSIFIERS else {}
        model = machine(name, kernel="linear", **options).fit(X, y)
        by_hand = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(by_hand.squeeze(), values(model, X), **CLOSE)
        assert not hasattr(machine(name).fit(X, y), "coef_")

    @every_machine
    @pytest.mark.parametrize("gamma", ["scale", "auto"])
    def test_gamma_by_name_is_gamma_by_number(self, name, gamma):
        X, y = data(name)
        number = 1 / (X.shape[1] * (X.var() if gamma == "scale" else 1.0))
        for form in (X, sparse.csr_matrix(X)):
            named, counted = machine(name, gamma=gamma).fit(form, y), machine(name, gamma=number).fit(form, y)
            np.testing.assert_allclose(values(named, form), values(counted, form), **CLOSE)


class TestSettings:
    """How the work is done does not change what is found."""

    @every_machine
    def test_shrinking_and_cache(self, name):
        X, y = data(name, n=150, classes=3)
        plain = machine(name).fit(X, y)
        for options in (
            dict(shrinking=False),
            dict(cache_size=0.01),
            dict(solver="smo"),
            dict(cache_size=500),
        ):
            assert_same(plain, machine(name, **options).fit(X, y), X)

    @every_machine
    def test_warm_start_changes_the_way_only(self, name):
        X, y = data(name, n=150)
        warm = machine(name, warm_start=True).fit(X, y)
        first = np.max(warm.n_iter_)
        assert_same(machine(name).fit(X, y), warm.fit(X, y), X)
        assert np.max(warm.n_iter_) <= max(2, first // 4)
        if "C" in PARAMETERS[name]:
            for C in (0.3, 20.0):
                assert_same(machine(name, C=C).fit(X, y), warm.set_params(C=C).fit(X, y), X)
        assert_same(
            machine(name, gamma=0.2).fit(X, y), warm.set_params(**PARAMETERS[name], gamma=0.2).fit(X, y), X
        )

    @every_machine
    def test_warm_start_survives_other_data(self, name):
        X, y = data(name)
        other_X, other_y = data(name, seed=9, n=31)
        warm = machine(name, warm_start=True).fit(other_X, other_y).fit(X, y)
        assert_same(machine(name).fit(X, y), warm, X)


class TestNu:
    @pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.8])
    @pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
    def test_nu_lies_between_errors_and_support_vectors(self, name, nu):
        """ν ≥ fraction of margin errors, ν ≤ fraction of support vectors (ν tutorial, Prop. 1)."""
        X, y = data(name, n=100)
        model = machine(name, nu=nu).fit(X, y)
        n, coef = len(y), np.abs(model.dual_coef_[0])
        assert len(coef) / n >= nu - 1e-9
        strict = coef >= coef.max() * (1 - 1e-6)  # at the bound: the margin errors are among them
        if name == "NuSVC":
            rho = nu * n / coef.sum()
            errors = np.where(y == 1, 1, -1) * model.decision_function(X) * rho < rho - 1e-4
        elif name == "NuSVR":
            rest = np.abs(y - model.predict(X))
            inner = np.abs(coef - PARAMETERS[name]["C"]) > 1e-6
            errors = rest > rest[model.support_[inner]].max() + 1e-4 if inner.any() else np.zeros(n, bool)
        else:
            errors = model.decision_function(X) < -1e-4
        assert errors.mean() <= nu + 1e-9
        assert errors.sum() <= strict.sum()

    @pytest.mark.parametrize("nu", [0.2, 0.5, 0.7])
    def test_nu_classification_is_c_classification(self, nu):
        """C = 1/ρ in LIBSVM's scaling, 1/(mρ) in the tutorial's; back with ν = Σα/(mC) (Prop. 2, 3)."""
        X, y = data("NuSVC")
        by_nu = machine("NuSVC", nu=nu).fit(X, y)
        rho = nu * len(y) / np.abs(by_nu.dual_coef_).sum()
        by_C = machine("SVC", C=1 / rho).fit(X, y)
        assert_same(by_nu, by_C, X)
        back = np.abs(by_C.dual_coef_).sum() * rho / len(y)
        assert back == pytest.approx(nu, rel=1e-4)

    @pytest.mark.parametrize("nu", [0.2, 0.5, 0.8])
    def test_nu_regression_is_epsilon_regression(self, nu):
        """ε is the distance at which the free support vectors lie."""
        X, y = data("NuSVR")
        by_nu = machine("NuSVR", nu=nu).fit(X, y)
        free = np.abs(by_nu.dual_coef_[0]) < PARAMETERS["NuSVR"]["C"] - 1e-4
        distance = np.abs(y - by_nu.predict(X))[by_nu.support_[free]]
        np.testing.assert_allclose(distance, distance.mean(), atol=1e-4)
        assert_same(by_nu, machine("SVR", epsilon=distance.mean()).fit(X, y), X)

    def test_one_class_mass(self):
        X, _ = data("OneClassSVM")
        for nu in (0.1, 0.5, 1.0):
            model = machine("OneClassSVM", nu=nu).fit(X)
            assert model.dual_coef_.sum() == pytest.approx(nu * len(X), rel=1e-9)
            np.testing.assert_allclose(
                model.decision_function(X), model.score_samples(X) - model.offset_, atol=1e-12
            )
