"""The search over linear machines: along C, each solution starts the next."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sklearn.base import clone

from hinge.control import RunControl
from hinge.problems import Status
from hinge.selection.tables import Search
from hinge.solvers.blas_threads import single_thread


class LinearSearch(Search):
    """One chain of machines for every split (and epsilon), C ascending; chains run side by side."""

    def prepare(self) -> None:
        """Chains report from threads of their own."""
        self._lock = threading.Lock()

    def run(self) -> None:
        """Fill the tables."""
        chains = [
            (k, epsilon)
            for epsilon in dict.fromkeys(self.axes.get("epsilon", [getattr(self.template, "epsilon", None)]))
            for k in range(len(self.splits))
            if self.can_train(k)
        ]
        if not chains:
            return
        stop = threading.Event()
        workers = min(self.threads, len(chains))
        share = max(1, self.threads // workers)
        with single_thread(), ThreadPoolExecutor(workers) as pool:
            waiting = [pool.submit(self._climb, k, epsilon, share, stop) for k, epsilon in chains]
            try:
                for future in waiting:
                    future.result()
            except BaseException:
                stop.set()
                for future in waiting:
                    future.cancel()
                raise

    def _climb(self, k: int, epsilon: Any, threads: int, stop: threading.Event) -> None:
        """Fit and score the machines of one chain."""
        train, test = self.train(k), self.splits[k][1]
        X, y, weight = self.X[train], self.y[train], self.weight[train]
        X_test, y_test = self.X[test], self.y[test]
        model = clone(self.template).set_params(warm_start=True, n_jobs=threads, verbose=0)
        if epsilon is not None:
            model.set_params(epsilon=epsilon)
        for C in sorted({float(C) for C in self.axes["C"]}):
            left = self.left()
            if left == 0.0 or stop.is_set():
                return
            began = time.monotonic()
            model.set_params(C=C, max_time=left)
            model._fit(X, y, weight, RunControl(left, lambda _: not stop.is_set()))
            fitted = time.monotonic()
            if model.status_ in (Status.TIME_LIMIT, Status.INTERRUPTED):
                return
            score = model.score(X_test, y_test) if self.scorer is None else self.score(model, X_test, y_test)
            self._enter(k, C, epsilon, float(score), fitted - began, time.monotonic() - fitted)
            if model.status_ is not Status.SOLVED:
                with self._lock:
                    self.unsolved += 1
        self.say(f"split {k}" + ("" if epsilon is None else f"  epsilon={epsilon}"))

    def _enter(self, k: int, C: float, epsilon: Any, score: float, fit_time: float, score_time: float) -> None:
        rows = [
            row
            for row, candidate in enumerate(self.candidates)
            if float(candidate["C"]) == C and candidate.get("epsilon", epsilon) == epsilon
        ]
        self.scores[rows, k], self.known[rows, k] = score, True
        self.fit_time[rows, k], self.score_time[rows, k] = fit_time, score_time

