"""Compare exact updates with refits by scikit-learn (applications of Karasuyama's dissertation, chapters 3 and 4).

    python benchmarks/streams/applications.py [--cost 1000] [--only nasdaq beer] [--tols 1e-3 1e-6]

nasdaq        weight function (4.28) with a = 3 over a window of 2213 days; 5 days added and 5 removed, five times
fisher_river  window of 1423 days; 30 days added and 30 removed
beer          window of 451 months; 12 months added and 12 removed
housing       heteroscedastic regression by (4.30); all changes of the weights

The kernel parameter is gamma / p for nasdaq and housing, (4.25), and gamma for the series of chapter 3.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from series import beer, fisher_river, housing, nasdaq, versions
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from hinge import IncrementalSVR
from hinge.recipes import HeteroscedasticSVR, SlidingSVC


def timed(action):
    """Return processor seconds and the result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def refit_time(estimator, X, y, weight):
    return timed(lambda: estimator.fit(X, y, weight))[0]


def print_header(tols):
    tolerances = " ".join(f"{f'tol {tol:g}':>17}" for tol in tols)
    print(f"{'':13} {'':>6} {'':>7} {'':>7} {'milliseconds per update':>{27 + 18 * (len(tols) - 1)}}")
    print(f"{'':13} {'':>6} {'':>7} {'':>7} {'':>9} {tolerances} {'break-':>7} {'relative':>9} {'difference':>12}")
    columns = " ".join(f"{'sklearn':>9} {'ratio':>7}" for _ in tols)
    print(f"{'data set':13} {'gamma':>6} {'samples':>7} {'updates':>7} {'hinge':>9} {columns} {'points':>7} {'gap':>9} "
          f"{'from new fit':>12}")  # fmt: skip


NOTES = """
Notes
- Processor time of one thread, without the first fit. A single update is measured on fifteen models, and its refit five
  times; the times are medians.
- sklearn: refit with SVC or SVR of scikit-learn and a cache for all kernel rows, at its default tolerance 1e-3 and at
  1e-6, which is closer to the accuracy of an update. ratio: time of scikit-learn divided by the time of hinge.
- breakpoints: mean number per update.
- relative gap: relative duality gap of the last model, computed from the data.
- difference from new fit: largest difference of the decision values from a model that is trained on the same samples
  and weights."""


def print_row(name, gamma, n, updates, our_time, their_times, events, gap, difference):
    peers = " ".join(f"{1e3 * seconds / updates:9.2f} {seconds / our_time:7.1f}" for seconds in their_times)
    print(f"{name:13} {gamma:>6} {n:7} {updates:7} {1e3 * our_time / updates:9.2f} {peers} {events:7.0f} {gap:9.1e} "
          f"{difference:12.1e}", flush=True)  # fmt: skip


def slide(name, X, y, window, step, updates, recency, cost, gamma, tols):
    """Move a window over a time series."""
    kernel = dict(C=cost, gamma=gamma / X.shape[1] if recency else gamma)
    copies = 15 if updates == 1 else 1  # a single update is measured on several models
    models = [SlidingSVC(window=window, recency=recency, **kernel).fit(X[:window], y[:window]) for _ in range(copies)]
    our_time, their_times, events = 0.0, np.zeros(len(tols)), 0.0
    for k in range(updates):
        new = slice(window + k * step, window + (k + 1) * step)
        runs = [timed(lambda model=model, new=new: model.slide(X[new], y[new]))[0] for model in models]
        model = models[-1]
        our_time, events = our_time + np.median(runs), events + float(np.sum(model.n_iter_)) / updates
        X_window, y_window, weight = model.training_data_
        for j, tol in enumerate(tols):
            estimator = SVC(cache_size=1000, tol=tol, **kernel)
            their_times[j] += np.median(
                [refit_time(estimator, X_window, y_window, weight) for _ in range(min(copies, 5))]
            )
    X_window, y_window, weight = model.training_data_
    new_fit = SlidingSVC(window=window, recency=recency, **kernel).fit(X_window, y_window)
    difference = np.max(np.abs(new_fit.decision_function(X_window) - model.decision_function(X_window)))
    gap = model.certificate_.relative_gap
    print_row(name, gamma, window, updates, our_time, their_times, events, gap, difference)


class TimedHeteroscedasticSVR(HeteroscedasticSVR):
    """`HeteroscedasticSVR` that records all weight vectors, and the time and breakpoints of the updates."""

    def reweight(self, weight):
        if not hasattr(self, "weights"):
            self.weights, self.seconds, self.events = [], 0.0, 0
        self.weights.append(np.array(weight))
        self.seconds += timed(lambda: super(HeteroscedasticSVR, self).reweight(weight))[0]
        self.events += self.n_iter_
        return self


def heteroscedastic(cost, gamma, tols):
    X, y = housing()
    options = dict(C=cost, epsilon=0.05, gamma=gamma / X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TimedHeteroscedasticSVR(max_updates=20, **options).fit(X, y)
    their_times = [
        sum(refit_time(SVR(cache_size=1000, tol=tol, **options), X, y, weight) for weight in model.weights)
        for tol in tols
    ]
    new_fit = IncrementalSVR(**options).fit(X, y, model.weights[-1])
    difference = np.max(np.abs(new_fit.predict(X) - model.predict(X)))
    gap, updates = model.certificate_.relative_gap, len(model.weights)
    events = model.events / updates
    print_row("housing", gamma, len(y), updates, model.seconds, their_times, events, gap, difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", type=float, default=1000.0)
    jobs = ("nasdaq", "fisher_river", "beer", "housing")
    parser.add_argument("--only", nargs="+", choices=jobs, default=jobs)
    parser.add_argument("--tols", nargs="+", type=float, default=(1e-3, 1e-6))
    options = parser.parse_args()
    cost, tols = options.cost, options.tols
    print(f"Exact updates and refits, C = {cost:g}\n")
    print_header(tols)
    with threadpool_limits(1):
        if "nasdaq" in options.only:
            X, y = nasdaq()
            for gamma in (10, 1, 0.1):
                slide("nasdaq", X, y, len(y) - 25, 5, 5, 3.0, cost, gamma, tols)
        if "fisher_river" in options.only:
            X, y = fisher_river()
            for gamma in (1, 0.1, 0.01):
                slide("fisher_river", X, y, 1423, 30, 1, 0.0, cost, gamma, tols)
        if "beer" in options.only:
            X, y = beer()
            for gamma in (1, 0.1, 0.01):
                slide("beer", X, y, 451, 12, 1, 0.0, cost, gamma, tols)
        if "housing" in options.only:
            for gamma in (10, 1, 0.1):
                heteroscedastic(cost, gamma, tols)
    print(f"{NOTES}\n- {versions()}")


if __name__ == "__main__":
    main()
