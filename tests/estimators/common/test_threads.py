"""Estimators that several threads update at the same time."""

import copy
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone

import hinge

THREADS = 8


def in_threads(work):
    """Run work(i) in 8 threads; raise their first error."""
    errors, start = [], threading.Barrier(THREADS)

    def run(i):
        start.wait()
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def samples(n=160):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


class TestShared:
    @pytest.mark.parametrize("cls", [hinge.IncrementalSVC, hinge.IncrementalSVR, hinge.IncrementalOneClassSVM])
    def test_updates_of_one_incremental_estimator(self, cls):
        """All samples are added, and the result is the solution for all of them."""
        X, y = samples()
        model = cls(gamma=0.5).fit(X[:80], y[:80])

        def add(i):
            for k in range(80 + i, 160, THREADS):
                model.partial_fit(X[k : k + 1], y[k : k + 1])

        in_threads(add)
        stored, labels, _ = model.training_data_
        assert model.n_samples_ == 160
        assert sorted(map(tuple, stored)) == sorted(map(tuple, X))
        reference = cls(gamma=0.5).fit(stored, labels)
        assert model.predict(X) == pytest.approx(reference.predict(X), abs=1e-8)
        assert model.certificate_.relative_gap < 1e-8

    def test_updates_and_removals(self):
        X, y = samples()
        model = hinge.IncrementalSVC(gamma=0.5).fit(X, y)

        def change(i):
            for _ in range(5):
                if i % 2:
                    model.partial_fit(X[i : i + 1], y[i : i + 1])
                else:
                    model.forget([0])

        in_threads(change)
        assert model.n_samples_ == 160
        assert model.certificate_.relative_gap < 1e-8

    @pytest.mark.parametrize("cls", [hinge.OnlineSVC, hinge.OnlineSVR, hinge.OnlineNoveltyDetector])
    @pytest.mark.parametrize("loaded", [False, True])
    def test_updates_of_one_online_estimator(self, cls, loaded):
        X, y = samples()
        model = cls(gamma=0.5)
        options = {"classes": [-1, 1]} if cls is hinge.OnlineSVC else {}
        if loaded:
            model = pickle.loads(pickle.dumps(model.partial_fit(X[:1], y[:1], **options)))
        in_threads(lambda i: [model.partial_fit(X[k : k + 1], y[k : k + 1], **options) for k in range(i, 160, THREADS)])
        assert model.t_ == 160 + loaded

    def test_a_loaded_online_estimator_is_never_new_while_another_thread_restores_it(self):
        """`_live` is set before `_state` is deleted, here between any two looks at the attributes."""

        class Restored(dict):
            def __contains__(self, key):
                found = super().__contains__(key)
                self["_live"] = None
                self.pop("_state", None)
                return found

        X, y = samples()
        model = pickle.loads(pickle.dumps(hinge.OnlineSVC(gamma=0.5).partial_fit(X[:1], y[:1], classes=[-1, 1])))
        model.__dict__ = Restored(vars(model))
        assert not model._is_new()

    @pytest.mark.parametrize("cls", [hinge.SVC, hinge.LinearSVC, hinge.OneClassSVM, hinge.LPSVC])
    def test_predictions_of_one_estimator(self, cls):
        X, y = samples()
        model = cls().fit(X, y)
        expected = model.predict(X)
        in_threads(lambda i: [np.testing.assert_array_equal(model.predict(X), expected) for _ in range(20)])

    def test_the_lock_is_not_part_of_the_estimator(self):
        X, y = samples()
        model = hinge.IncrementalSVC(gamma=0.5).fit(X, y)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
            assert "lock" not in " ".join(vars(other))
            assert other.partial_fit(X[:5], y[:5]).n_samples_ == 165


def test_separate_estimators():
    X, y = samples()
    expected = hinge.SVC(gamma=0.5).fit(X, y).dual_coef_
    in_threads(lambda i: np.testing.assert_array_equal(hinge.SVC(gamma=0.5).fit(X, y).dual_coef_, expected))
