"""Invalid sparse and kernel matrices are rejected; unusual valid ones give the usual results."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from reference.cases import data, values
from reference.invalid_input import SECONDS, every_estimator, make, rejected

pytestmark = pytest.mark.usefixtures("bounded_time")


class TestSparse:
    @every_estimator
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    @pytest.mark.parametrize(
        "how", ["unsorted", "duplicates", "long indices", "explicit zeros", "everything"]
    )
    @pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
    def test_unusual_storage_is_accepted_and_not_modified(self, name, kernel, how, container):
        X, y = data(name)
        X[np.abs(X) < 0.4] = 0
        unusual = stored_unusually(container(X), how)
        before = [part.copy() for part in (unusual.data, unusual.indices, unusual.indptr)]
        from_sparse = make(name, kernel=kernel, tol=1e-6).fit(unusual, y)
        dense = make(name, kernel=kernel, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(values(from_sparse, unusual), values(dense, X), rtol=1e-4, atol=1e-4)
        for now, then in zip((unusual.data, unusual.indices, unusual.indptr), before, strict=True):
            np.testing.assert_array_equal(now, then)
            assert now.dtype == then.dtype

    @pytest.mark.parametrize(
        "damage",
        [
            "X.indices[0] = 10**6",
            "X.indices[0] = -5",
            "X.indptr[3] = 10**7",
            "X.indptr[3] = X.indptr[4] + 1",
            "X.indptr[-1] = 2 * X.nnz",
        ],
    )
    def test_damaged_matrix_is_rejected(self, damage):
        """In a subprocess, because reading beyond the arrays could crash it."""
        code = f"""
            import numpy as np, scipy.sparse, hinge
            X = scipy.sparse.random(30, 8, density=0.5, random_state=0, format="csr")
            {damage}
            try:
                hinge.SVC(gamma=1.0, max_time=5).fit(X, np.arange(30) % 2)
            except (ValueError, IndexError) as error:
                print("rejected:", error)
        """
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=SECONDS
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("rejected")

    @every_estimator
    def test_precomputed_must_be_dense(self, name):
        _, y = data(name)
        with rejected("(?i)sparse", (TypeError, ValueError)):
            make(name, kernel="precomputed").fit(sparse.eye(len(y)).tocsr(), y)

    @every_estimator
    def test_sparse_prediction_after_dense_training_is_rejected(self, name):
        X, y = data(name)
        with rejected("sparse"):
            make(name).fit(X, y).predict(sparse.csr_matrix(X))


def stored_unusually(X, how):
    """The same matrix in an unusual but valid representation."""
    if how in ("duplicates", "everything"):
        X = type(X)((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert not X.has_canonical_format
    if how in ("explicit zeros", "everything"):
        grid = X.copy()
        grid.data[::7] = 0.0
        # one explicit zero is added to each row
        data, indices, indptr = [], [], [0]
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            data += [*X.data[part], 0.0]
            indices += [*X.indices[part], 2]
            indptr.append(len(data))
        X = type(X)((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)
    if how in ("unsorted", "everything"):
        reverse = np.concatenate(
            [np.arange(b - 1, a - 1, -1) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
        )
        X = type(X)((X.data[reverse], X.indices[reverse], X.indptr), shape=X.shape)
        X.has_sorted_indices = False
    if how in ("long indices", "everything"):
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


class TestKernels:
    @every_estimator
    @pytest.mark.parametrize("megabytes", [200, 0.01], ids=["whole", "by rows"])
    def test_callable_that_is_not_symmetric(self, name, megabytes):
        X, y = data(name)
        with rejected("must be symmetric"):
            make(name, kernel=lambda A, B: A @ B.T + A[:, :1], cache_size=megabytes).fit(X, y)

    @every_estimator
    @pytest.mark.parametrize(
        "answer",
        [np.ones((3, 3)), np.ones(60), np.ones((60, 59)), np.ones((60, 60, 1)), 1.0, None, "no"],
        ids=["too small", "one-dimensional", "not square", "three-dimensional", "scalar", "None", "text"],
    )
    def test_callable_of_wrong_shape_is_rejected(self, name, answer):
        X, y = data(name)
        with rejected("(?i)kernel", (ValueError, TypeError)):
            make(name, kernel=lambda A, B: answer).fit(X, y)

    @every_estimator
    def test_callable_of_wrong_shape_is_rejected_at_predict(self, name):
        X, y = data(name)

        def only_square(A, B):
            return (A @ B.T)[: len(B)]

        model = make(name, kernel=only_square).fit(X, y)
        with rejected("(?i)kernel"):
            model.predict(np.r_[X, X])

    @every_estimator
    def test_exception_of_a_callable_reaches_the_caller(self, name):
        X, y = data(name)

        def broken(A, B):
            raise ZeroDivisionError("from the kernel")

        with pytest.raises(ZeroDivisionError, match="from the kernel"):
            make(name, kernel=broken).fit(X, y)

    @every_estimator
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_callable_that_is_not_finite(self, name, bad):
        X, y = data(name)

        def not_finite(A, B):
            K = A @ B.T
            K[0, 0] = bad
            return K

        with rejected("(?i)finite|nan|inf"):
            make(name, kernel=not_finite).fit(X, y)

    @every_estimator
    def test_precomputed_must_be_square(self, name):
        _, y = data(name)
        with rejected("(?i)square|precomputed"):
            make(name, kernel="precomputed").fit(np.ones((len(y), len(y) - 1)), y)

    @every_estimator
    def test_precomputed_needs_a_column_per_sample_at_predict(self, name):
        X, y = data(name)
        model = make(name, kernel="precomputed").fit(X @ X.T, y)
        with rejected("(?i)shape|feature|column|number"):
            model.predict(X @ X[:-1].T)
