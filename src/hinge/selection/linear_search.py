"""Grid search over linear estimators, with warm starts along increasing C."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import clone

from hinge.problems import Status
from hinge.selection.search import Search
from hinge.solvers.blas_threads import single_thread


class LinearSearch(Search):
    """Grid search with one sequence of fits for every split (and epsilon), C ascending; sequences run in parallel."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lock = threading.Lock()

    def run(self) -> None:
        """Fill the tables."""
        sequences = [
            (k, epsilon)
            for epsilon in dict.fromkeys(self.axes.get("epsilon", [getattr(self.template, "epsilon", None)]))
            for k in range(len(self.splits))
            if self.can_train(k)
        ]
        if not sequences:
            return
        stop = threading.Event()
        workers = min(self.threads, len(sequences))
        threads = max(1, self.threads // workers)
        with single_thread(), ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(self._fit_sequence, k, epsilon, threads, stop) for k, epsilon in sequences]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise

    def _fit_sequence(self, k: int, epsilon: Any, threads: int, stop: threading.Event) -> None:
        """Fit and score the estimator of one split for all values of C."""
        train, test = self.train(k), self.splits[k][1]
        X, y, weight = self.X[train], self.y[train], self.weight[train]
        X_test, y_test = self.X[test], self.y[test]
        model = clone(self.template).set_params(warm_start=True, n_jobs=threads, verbose=0)
        if epsilon is not None:
            model.set_params(epsilon=epsilon)
        for C in sorted(set(self.axes["C"]), key=np.sum):
            if self.control.expired() or stop.is_set():
                return
            start = time.monotonic()
            model.set_params(C=C, max_time=self.control.remaining())
            model._fit(X, y, weight, self.control.with_callback(lambda _: not stop.is_set()))
            fitted = time.monotonic()
            if model.status_ in (Status.TIME_LIMIT, Status.INTERRUPTED):
                return
            score = model.score(X_test, y_test) if self.scorer is None else self.score(model, X_test, y_test)
            self._store(k, C, epsilon, float(score), fitted - start, time.monotonic() - fitted)
            with self._lock:
                self.report()
            if model.status_ is not Status.SOLVED:
                with self._lock:
                    self.unsolved += 1

    def _store(self, k: int, C: Any, epsilon: Any, score: float, fit_time: float, score_time: float) -> None:
        rows = [
            row
            for row, candidate in enumerate(self.candidates)
            if candidate["C"] == C and candidate.get("epsilon", epsilon) == epsilon
        ]
        self.scores[rows, k], self.known[rows, k] = score, True
        self.fit_time[rows, k], self.score_time[rows, k] = fit_time, score_time
