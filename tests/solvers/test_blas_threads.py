"""`single_thread` limits BLAS to one thread and restores the previous number, also with concurrent threads."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import hinge
from hinge.solvers.blas_threads import single_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("the number of BLAS threads cannot be set here")
    before = threadpool_limits(2, user_api="blas")
    _release()
    yield
    before.restore_original_limits()
    _release()


def _release():
    """Release limits that were set without a `with` statement."""
    with threadpool_limits(None):
        pass


def in_other_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def threads_within():
    with single_thread():
        return blas_threads()


def test_limit_can_be_set_in_this_thread_and_then_in_others():
    """A limit in one thread must not prevent a limit in another."""
    for _ in range(2):
        assert threads_within() == {1}
        assert blas_threads() == {2}
        assert in_other_thread(threads_within) == {1}
        assert blas_threads() == {2}


def test_limit_is_restored_by_the_last_thread():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first():
        with single_thread():
            entered.set()
            leave.wait(10)
        left.set()
        end.wait(10)  # the thread exists while the other one leaves

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10)
    with single_thread():
        leave.set()
        assert left.wait(10)
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    end.set()
    thread.join()
    assert threads_within() == {1}


def test_other_limits_can_be_set_afterwards():
    threads_within()

    def limited():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    assert in_other_thread(limited) == {1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_concurrent_fits_equal_sequential_ones():
    """Interior-point solvers in other threads must use one BLAS thread as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * 10.0 ** rng.uniform(-3, 3, 40)
    y = np.argmax(X / np.abs(X).max(axis=0) @ rng.normal(size=(40, 3)), axis=1)
    one, two = (hinge.LinearSVC(loss="hinge", C=1e4, tol=1e-10, n_jobs=n, max_iter=230).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)
    assert one.certificate_.gap == two.certificate_.gap
