"""BLAS has one thread inside, whoever enters and leaves, and afterwards what it had before."""

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
    _let_go()
    yield
    before.restore_original_limits()
    _let_go()


def _let_go():
    """What leaving a `with threadpool_limits` does, for limits that were set without one."""
    with threadpool_limits(None):
        pass


def elsewhere(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def inside():
    with single_thread():
        return blas_threads()


def test_in_this_thread_and_then_in_others():
    """A limit that one thread had set and not given up was the only one: fits in other threads had none."""
    for _ in range(2):
        assert inside() == {1}
        assert blas_threads() == {2}
        assert elsewhere(inside) == {1}
        assert blas_threads() == {2}


def test_the_last_who_leaves_takes_it_back():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first():
        with single_thread():
            entered.set()
            leave.wait(10)
        left.set()
        end.wait(10)  # still alive while the other one leaves

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
    assert inside() == {1}


def test_others_may_set_limits_afterwards():
    inside()

    def limited():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    assert elsewhere(limited) == {1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines_beside_each_other_have_the_same_bits_as_one_after_another():
    """After a fit in this thread the interior point methods of others had two BLAS threads each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * 10.0 ** rng.uniform(-3, 3, 40)
    y = np.argmax(X / np.abs(X).max(axis=0) @ rng.normal(size=(40, 3)), axis=1)
    one, two = (hinge.LinearSVC(loss="hinge", C=1e4, tol=1e-10, n_jobs=n, max_iter=230).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)
    assert one.certificate_.gap == two.certificate_.gap
