"""Access to callable and precomputed kernels, and memory limits."""

from __future__ import annotations

import timeit

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from hinge import _core
from hinge.kernels import (
    RBF,
    FunctionKernel,
    Linear,
    Precomputed,
    available_bytes,
    cache_bytes,
    expand,
    memory,
    open_access,
)
from kernels.cases import values


def rbf_function(X, Z):
    return pairwise.rbf_kernel(X, Z, gamma=0.5)


# ---- callable kernels ----


@pytest.mark.parametrize("budget", [None, 0], ids=["whole", "rows"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("mixed", [False, True])
def test_access_to_callable_kernels_agrees_with_the_function(budget, storage, mixed):
    kernel = FunctionKernel(rbf_function)
    if mixed:
        kernel = 2 * kernel + Linear()
    X, Z = storage(values(30, 4)), storage(values(8, 4, seed=1))
    K = kernel(X)
    access = open_access(kernel, X, budget_bytes=budget)
    np.testing.assert_allclose(access.rows(range(30)), K, rtol=1e-12)
    np.testing.assert_allclose(access.block([3, 1], [0, 2, 29]), K[np.ix_([3, 1], [0, 2, 29])], rtol=1e-12)
    np.testing.assert_allclose(access.diagonal(), np.diagonal(K), rtol=1e-12)
    np.testing.assert_allclose(access.matvec(np.arange(30.0)), K @ np.arange(30.0), rtol=1e-12)
    coef = np.ones((30, 2))
    np.testing.assert_allclose(expand(kernel, Z, X, coef), kernel(Z, X) @ coef, rtol=1e-12)


def test_function_is_called_once_if_the_matrix_fits():
    calls = []

    def function(X, Z):
        calls.append((X.shape[0], Z.shape[0]))
        return X @ Z.T

    X = values(20, 3)
    access = open_access(FunctionKernel(function), X)
    access.rows(range(20))
    assert calls == [(20, 20)]
    calls.clear()
    open_access(FunctionKernel(function), X, budget_bytes=8 * 400 - 1).rows([4, 5])
    assert calls == [(20, 20), (1, 20), (1, 20)]  # the diagonal by blocks, and two rows


@pytest.mark.parametrize("budget", [None, 0], ids=["whole", "rows"])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: np.ones((X.shape[0], 3)), r"shape \(\d+, \d+\).*returned shape \(\d+, 3\)"),
        (lambda X, Z: np.ones(Z.shape[0]), r"returned shape \(\d+,\)"),
        (lambda X, Z: np.full((X.shape[0], Z.shape[0]), np.nan), "finite"),
        (lambda X, Z: "matrix", "returned str"),
        (lambda X, Z: None, "must return"),
        (lambda X, Z: X @ Z.T * 1j, "must return"),
    ],
)
def test_result_of_a_function_is_checked(budget, function, message):
    with pytest.raises(ValueError, match=message):
        open_access(FunctionKernel(function), values(7, 2), budget_bytes=budget).rows([0])


@pytest.mark.parametrize("budget", [None, 0], ids=["whole", "rows"])
def test_exception_of_a_function_reaches_the_caller(budget):
    def function(X, Z):
        if X.shape[0] == 1 or budget is None:
            raise ZeroDivisionError("from the kernel")
        return np.eye(X.shape[0], Z.shape[0])

    with pytest.raises(ZeroDivisionError, match="from the kernel"):
        open_access(FunctionKernel(function), values(7, 2), budget_bytes=budget).matvec(np.ones(7))


def test_compiled_callback_checks_its_rows():
    for row, message in [
        (lambda i: np.ones(4), r"shape \(3,\).*shape \(4,\)"),
        (lambda i: "row", "a str"),
        (lambda i: np.array([1.0, np.inf, 1.0]), "column 1"),
        (lambda i: np.ones((1, 3)), r"shape \(1, 3\)"),
    ]:
        gram = _core.Gram.callback(3, np.ones(3), row)
        with pytest.raises(ValueError, match=message):
            gram.rows(np.array([0]))
    strided = _core.Gram.callback(3, np.ones(3), lambda i: np.arange(6.0)[::2])
    np.testing.assert_array_equal(strided.rows(np.array([1])), [[0.0, 2.0, 4.0]])


# ---- precomputed matrices ----


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_access_to_precomputed_matrices_returns_their_entries(dtype):
    K = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 5]]).astype(dtype)
    access = open_access(Precomputed(), K)
    np.testing.assert_array_equal(access.rows([2, 0]), K[[2, 0]])
    np.testing.assert_array_equal(access.diagonal(), np.diagonal(K))
    np.testing.assert_array_equal(access.block([1], [2, 1]), K[np.ix_([1], [2, 1])])
    np.testing.assert_array_equal(access.matvec([1.0, 2.0, 3.0]), K.astype(float) @ [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(expand(Precomputed(), K[:2], None, np.ones(3)), K[:2].sum(axis=1))
    assert (access.data is K) == (K.dtype in (np.float32, np.float64))


@pytest.mark.parametrize("K", [np.ones((3, 2)), np.ones(3), np.ones((2, 2, 2))])
def test_precomputed_matrices_must_be_square(K):
    with pytest.raises(ValueError, match="square"):
        open_access(Precomputed(), K)


# ---- factors ----


def test_linear_kernel_has_its_data_as_factor():
    X = values(6, 3)
    assert open_access(Linear(), X).factor() is X
    with pytest.raises(ValueError, match="only the linear kernel"):
        open_access(RBF(1.0), X).factor()


# ---- memory ----


def test_cache_size_is_in_megabytes():
    assert cache_bytes(200) == 200 << 20
    assert cache_bytes(0.5) == 1 << 19
    assert memory.MIN_AUTO_BYTES <= cache_bytes("auto") <= max(memory.MIN_AUTO_BYTES, available_bytes())


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "lots", "200"])
def test_invalid_cache_sizes_are_rejected(bad):
    with pytest.raises(ValueError, match="cache_size"):
        cache_bytes(bad)


@pytest.mark.parametrize("bad", [None, [200], True])
def test_cache_sizes_of_a_wrong_type_are_rejected(bad):
    with pytest.raises(TypeError, match="cache_size"):
        cache_bytes(bad)


def test_available_memory_is_determined_quickly():
    cache_bytes("auto")
    seconds = min(timeit.repeat(lambda: cache_bytes("auto"), number=10, repeat=20)) / 10
    assert seconds < 5e-4  # generous for sanitizers and loaded computers


def files(monkeypatch, contents):
    monkeypatch.setattr(memory, "_read", lambda path: contents.get(path, ""))
    memory._groups.cache_clear()


@pytest.fixture
def fresh_groups():
    memory._groups.cache_clear()
    yield
    memory._groups.cache_clear()


MEMINFO = "MemTotal: 9000000 kB\nMemAvailable: 4000000 kB\n"


def test_available_memory_without_limits_is_that_of_the_system(monkeypatch, fresh_groups):
    unlimited = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}
    files(monkeypatch, {"/proc/meminfo": MEMINFO} | unlimited)
    assert available_bytes() == 4000000 * 1024


def test_cgroup_version_2_limits_the_memory(monkeypatch, fresh_groups):
    contents = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "0::/job/step\n",
        "/sys/fs/cgroup/job/step/memory.max": "max\n",
        "/sys/fs/cgroup/job/step/memory.current": "1000\n",
        "/sys/fs/cgroup/job/memory.max": "1000000\n",
        "/sys/fs/cgroup/job/memory.current": "700000\n",
        "/sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 100000\n",
    }
    files(monkeypatch, contents)
    assert available_bytes() == 400000


def test_cgroup_version_1_limits_the_memory(monkeypatch, fresh_groups):
    contents = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/job\n",
        "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "2000000\n",
        "/sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1500000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
    }
    files(monkeypatch, contents)
    assert available_bytes() == 500000


def test_fallback_if_the_available_memory_is_unknown(monkeypatch, fresh_groups):
    files(monkeypatch, {})
    monkeypatch.delattr(memory.os, "sysconf")
    assert available_bytes() == memory.FALLBACK_BYTES
