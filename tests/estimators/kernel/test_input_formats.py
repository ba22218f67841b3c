"""Results do not depend on the storage of the data or on how a kernel is given."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from reference.cases import CLASSIFIERS, data, values
from reference.comparison import CLOSE, KERNELS, assert_same, every_classifier, every_estimator, make


class TestStorage:
    """The same values in different containers and types."""

    @every_estimator
    @pytest.mark.parametrize("kernel", [*KERNELS, "laplacian"])
    @pytest.mark.parametrize(
        "form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
    )
    def test_sparse_equals_dense(self, name, kernel, form):
        X, y = data(name, classes=3)
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        options = dict(kernel=kernel, gamma=0.1) if kernel == "sigmoid" else dict(kernel=kernel)
        dense = make(name, **options).fit(X, y)
        from_sparse = make(name, **options).fit(form(X), y)
        np.testing.assert_allclose(values(from_sparse, form(X)), values(dense, X), **CLOSE)
        np.testing.assert_allclose(values(from_sparse, X), values(dense, X), **CLOSE)
        assert sparse.issparse(from_sparse.support_vectors_)

    @every_estimator
    @pytest.mark.parametrize("kernel", KERNELS[:3])
    @pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
    def test_single_precision_is_close_to_double(self, name, kernel, form):
        X, y = data(name)
        X = X.astype(np.float32)
        single = make(name, kernel=kernel, tol=1e-5).fit(form(X), y)
        double = make(name, kernel=kernel, tol=1e-5).fit(form(X.astype(np.float64)), y)
        np.testing.assert_allclose(values(single, form(X)), values(double, form(X)), rtol=1e-3, atol=1e-3)

    @every_estimator
    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool, np.float16])
    def test_integers_and_booleans_are_converted(self, name, dtype):
        X, y = data(name, features=6)
        X = (X > 0).astype(dtype)
        one, other = make(name).fit(X, y), make(name).fit(X.astype(np.float64), y)
        np.testing.assert_allclose(values(one, X), values(other, X.astype(np.float64)), **CLOSE)

    @every_estimator
    def test_views_lists_and_readonly_arrays(self, name):
        X, y = data(name)
        expected = values(make(name).fit(X, y), X)
        wide = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)
        for form in (X.tolist(), np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
            np.testing.assert_allclose(values(make(name).fit(form, list(y)), form), expected, **CLOSE)
        readonly = X.copy()
        readonly.flags.writeable = False
        np.testing.assert_allclose(values(make(name).fit(readonly, y), readonly), expected, **CLOSE)

    @every_estimator
    def test_data_frames_give_the_same_model(self, name):
        pandas = pytest.importorskip("pandas")
        X, y = data(name)
        frame = pandas.DataFrame(X, columns=["one", "two", "three"], index=np.arange(len(X))[::-1])
        model = make(name).fit(frame, pandas.Series(y, index=frame.index))
        np.testing.assert_array_equal(model.feature_names_in_, ["one", "two", "three"])
        np.testing.assert_allclose(values(model, frame), values(make(name).fit(X, y), X), **CLOSE)

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
    def test_labels_of_any_type_give_the_same_model(self, name, labels):
        X, y = data(name)
        y_named = np.array(labels)[y] if not isinstance(labels, np.ndarray) else labels[y]
        named, plain = make(name).fit(X, y_named), make(name).fit(X, y)
        order = np.unique(y_named)
        np.testing.assert_array_equal(named.classes_, order)
        factor = 1 if order[1] == np.asarray(labels)[1] else -1
        assert_same(plain, named, X, factor)
        np.testing.assert_array_equal(named.predict(X), np.where(values(named, X) > 0, order[1], order[0]))

    @every_estimator
    def test_empty_rows_and_columns_give_the_dense_model(self, name):
        X, y = data(name)
        X[3] = X[7] = 0
        X[:, 1] = 0
        dense, from_sparse = make(name).fit(X, y), make(name).fit(sparse.csr_matrix(X), y)
        np.testing.assert_allclose(values(from_sparse, sparse.csr_matrix(X)), values(dense, X), **CLOSE)


class TestKernels:
    """The same kernel given by name, object, function or matrix."""

    @every_estimator
    def test_precomputed_and_callable_equal_the_named_kernel(self, name):
        X, y = data(name, classes=3)
        named = make(name).fit(X, y)
        K = rbf_kernel(X, gamma=0.5)
        np.testing.assert_allclose(
            values(make(name, kernel="precomputed").fit(K, y), K), values(named, X), **CLOSE
        )
        callable_kernel = make(name, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, y)
        assert_same(named, callable_kernel, X)

    @every_estimator
    def test_kernel_objects_equal_names(self, name):
        X, y = data(name)
        pairs = {
            "linear": hinge.kernels.Linear(),
            "rbf": hinge.kernels.RBF(0.5),
            "laplacian": hinge.kernels.Laplacian(0.5),
        }
        for named, kernel in pairs.items():
            assert_same(make(name, kernel=named).fit(X, y), make(name, kernel=kernel).fit(X, y), X)

    @every_estimator
    def test_sums_and_products_of_kernels_agree_with_an_explicit_function(self, name):
        X, y = data(name)
        composed = hinge.kernels.RBF(0.5) * hinge.kernels.RBF(0.25) + 0.2 * hinge.kernels.Linear()

        def explicit(A, B):
            return rbf_kernel(A, B, gamma=0.75) + 0.2 * A @ B.T

        assert_same(make(name, kernel=composed).fit(X, y), make(name, kernel=explicit).fit(X, y), X)

    @every_estimator
    def test_coef_gives_the_decision_function_of_a_linear_kernel(self, name):
        X, y = data(name, classes=3)
        options = dict(decision_function_shape="ovo") if name in CLASSIFIERS else {}
        model = make(name, kernel="linear", **options).fit(X, y)
        explicit = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(explicit.squeeze(), values(model, X), **CLOSE)
        assert not hasattr(make(name).fit(X, y), "coef_")

    @every_estimator
    @pytest.mark.parametrize("gamma", ["scale", "auto"])
    def test_named_gamma_equals_its_number(self, name, gamma):
        X, y = data(name)
        number = 1 / (X.shape[1] * (X.var() if gamma == "scale" else 1.0))
        for form in (X, sparse.csr_matrix(X)):
            named, numeric = make(name, gamma=gamma).fit(form, y), make(name, gamma=number).fit(form, y)
            np.testing.assert_allclose(values(named, form), values(numeric, form), **CLOSE)
