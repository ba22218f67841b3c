"""Laws of the estimators: numbers however they are stored, and kernels however they are named, give one answer."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from reference.cases import CLASSIFIERS, data, values
from reference.comparison import CLOSE, KERNELS, assert_same, every_classifier, every_machine, machine


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
