"""Odd and broken matrices: sparse ones, and those of kernels.  Refused by name, or as good as any other."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from reference.cases import data, values
from reference.invalid_input import SECONDS, every_machine, machine, refused

pytestmark = pytest.mark.usefixtures("bounded_time")


class TestSparse:
    @every_machine
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    @pytest.mark.parametrize(
        "how", ["unsorted", "duplicates", "long indices", "explicit zeros", "everything"]
    )
    @pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
    def test_odd_but_lawful(self, name, kernel, how, container):
        X, y = data(name)
        X[np.abs(X) < 0.4] = 0
        odd = oddly(container(X), how)
        before = [part.copy() for part in (odd.data, odd.indices, odd.indptr)]
        thin = machine(name, kernel=kernel, tol=1e-6).fit(odd, y)
        dense = machine(name, kernel=kernel, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(values(thin, odd), values(dense, X), rtol=1e-4, atol=1e-4)
        for now, then in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
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
    def test_damaged_is_refused_not_followed(self, damage):
        """In a process of its own: reading beyond the arrays would take this one along."""
        code = f"""
            import numpy as np, scipy.sparse, hinge
            X = scipy.sparse.random(30, 8, density=0.5, random_state=0, format="csr")
            {damage}
            try:
                hinge.SVC(gamma=1.0, max_time=5).fit(X, np.arange(30) % 2)
            except (ValueError, IndexError) as error:
                print("refused:", error)
        """
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=SECONDS
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("refused")

    @every_machine
    def test_precomputed_must_be_dense(self, name):
        _, y = data(name)
        with refused("(?i)sparse", (TypeError, ValueError)):
            machine(name, kernel="precomputed").fit(sparse.eye(len(y)).tocsr(), y)

    @every_machine
    def test_trained_dense_asked_sparse(self, name):
        X, y = data(name)
        with refused("sparse"):
            machine(name).fit(X, y).predict(sparse.csr_matrix(X))


def oddly(X, how):
    """The same matrix, stored as no library would, but as users do."""
    if how in ("duplicates", "everything"):
        X = type(X)((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert not X.has_canonical_format
    if how in ("explicit zeros", "everything"):
        grid = X.copy()
        grid.data[::7] = 0.0
        # zeros are added beside the values: each keeps its place, and a stored 0 comes with it
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
    @every_machine
    @pytest.mark.parametrize("megabytes", [200, 0.01], ids=["whole", "by rows"])
    def test_callable_that_is_not_symmetric(self, name, megabytes):
        X, y = data(name)
        with refused("must be symmetric"):
            machine(name, kernel=lambda A, B: A @ B.T + A[:, :1], cache_size=megabytes).fit(X, y)

    @every_machine
    @pytest.mark.parametrize(
        "answer",
        [np.ones((3, 3)), np.ones(60), np.ones((60, 59)), np.ones((60, 60, 1)), 1.0, None, "no"],
        ids=["too small", "flat", "not square", "deep", "scalar", "None", "text"],
    )
    def test_callable_of_wrong_shape(self, name, answer):
        X, y = data(name)
        with refused("(?i)kernel", (ValueError, TypeError)):
            machine(name, kernel=lambda A, B: answer).fit(X, y)

    @every_machine
    def test_callable_of_wrong_shape_at_predict(self, name):
        X, y = data(name)

        def only_square(A, B):
            return (A @ B.T)[: len(B)]

        model = machine(name, kernel=only_square).fit(X, y)
        with refused("(?i)kernel"):
            model.predict(np.r_[X, X])

    @every_machine
    def test_callable_that_raises_is_heard(self, name):
        X, y = data(name)

        def broken(A, B):
            raise ZeroDivisionError("from the kernel")

        with pytest.raises(ZeroDivisionError, match="from the kernel"):
            machine(name, kernel=broken).fit(X, y)

    @every_machine
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_callable_that_is_not_finite(self, name, bad):
        X, y = data(name)

        def spoiled(A, B):
            K = A @ B.T
            K[0, 0] = bad
            return K

        with refused("(?i)finite|nan|inf"):
            machine(name, kernel=spoiled).fit(X, y)

    @every_machine
    def test_precomputed_must_be_square(self, name):
        _, y = data(name)
        with refused("(?i)square|precomputed"):
            machine(name, kernel="precomputed").fit(np.ones((len(y), len(y) - 1)), y)

    @every_machine
    def test_precomputed_needs_a_column_per_sample_at_predict(self, name):
        X, y = data(name)
        model = machine(name, kernel="precomputed").fit(X @ X.T, y)
        with refused("(?i)shape|feature|column|number"):
            model.predict(X @ X[:-1].T)
