"""The applications of Karasuyama's chapters 3 and 4 with their data: exact updates against refitting with scikit-learn.

    python benchmarks/streams/applications.py [--cost 1000] [--only nasdaq beer] [--tols 1e-3 1e-6]

nasdaq: the weight function (4.28) with a = 3 over a window of 2213 days, 5 in and 5 out, five times. fisher_river: a
window of 1423 days, 30 in and 30 out. beer: a window of 451 months, 12 in and 12 out. housing: heteroscedastic
regression by (4.30), every change of the weights. The width is gamma / p for nasdaq and housing, (4.25), and gamma
for the series of chapter 3. Times are processor seconds of one thread, updates only, the first training is not
counted; an update alone is measured on fifteen models, and its refit five times, each in a row: medians.
Refitting is SVC or SVR of scikit-learn with room for all kernel rows, at its default tolerance 1e-3, and at 1e-6, which
is nearer to what an update gives. "gap" is the relative duality gap of the last model, computed from the data; "fresh"
is the largest difference of its decision values from those of a model trained from scratch on the same samples and
weights.
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


def clock(action):
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def refit(machine, X, y, weight):
    return clock(lambda: machine.fit(X, y, weight))[0]


def line(name, gamma, n, updates, ours, theirs, events, gap, fresh):
    others = " ".join(f"{1e3 * seconds / updates:9.2f} {seconds / ours:7.1f}" for seconds in theirs)
    print(f"{name:13} {gamma:>5} {n:5} {updates:8} {1e3 * ours / updates:8.2f} {others} {events:7.0f} {gap:9.1e} "
          f"{fresh:9.1e}", flush=True)  # fmt: skip


def slide(name, X, y, window, step, updates, recency, cost, gamma, tols):
    """A window that moves over a series."""
    kernel = dict(C=cost, gamma=gamma / X.shape[1] if recency else gamma)
    copies = 15 if updates == 1 else 1  # one update alone is measured on several models, one after the other
    models = [SlidingSVC(window=window, recency=recency, **kernel).fit(X[:window], y[:window]) for _ in range(copies)]
    ours, theirs, events = 0.0, np.zeros(len(tols)), 0.0
    for k in range(updates):
        new = slice(window + k * step, window + (k + 1) * step)
        runs = [clock(lambda model=model, new=new: model.slide(X[new], y[new]))[0] for model in models]
        model = models[-1]
        ours, events = ours + np.median(runs), events + float(np.sum(model.n_iter_)) / updates
        rows, labels, weight = model.training_data_
        for j, tol in enumerate(tols):
            machine = SVC(cache_size=1000, tol=tol, **kernel)
            theirs[j] += np.median([refit(machine, rows, labels, weight) for _ in range(min(copies, 5))])
    rows, labels, weight = model.training_data_
    fresh = SlidingSVC(window=window, recency=recency, **kernel).fit(rows, labels)
    apart = np.max(np.abs(fresh.decision_function(rows) - model.decision_function(rows)))
    line(name, gamma, window, updates, ours, theirs, events, model.certificate_.relative_gap, apart)


class Timed(HeteroscedasticSVR):
    """Remembers every vector of weights and what it cost to follow it."""

    def reweight(self, weight):
        if not hasattr(self, "story"):
            self.story, self.seconds, self.events = [], 0.0, 0
        self.story.append(np.array(weight))
        self.seconds += clock(lambda: super(HeteroscedasticSVR, self).reweight(weight))[0]
        self.events += self.n_iter_
        return self


def heteroscedastic(cost, gamma, tols):
    X, y = housing()
    options = dict(C=cost, epsilon=0.05, gamma=gamma / X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Timed(max_updates=20, **options).fit(X, y)
    theirs = [sum(refit(SVR(cache_size=1000, tol=t, **options), X, y, w) for w in model.story) for t in tols]
    fresh = IncrementalSVR(**options).fit(X, y, model.story[-1])
    apart = np.max(np.abs(fresh.predict(X) - model.predict(X)))
    gap = model.certificate_.relative_gap
    line("housing", gamma, len(y), len(model.story), model.seconds, theirs, model.events / len(model.story), gap, apart)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", type=float, default=1000.0)
    jobs = ("nasdaq", "fisher_river", "beer", "housing")
    parser.add_argument("--only", nargs="+", choices=jobs, default=jobs)
    parser.add_argument("--tols", nargs="+", type=float, default=(1e-3, 1e-6))
    options = parser.parse_args()
    cost, tols = options.cost, options.tols
    print(versions())
    print(f"C = {cost:g}; milliseconds per update: hinge, then scikit-learn and how many times as long it takes")
    heads = " ".join(f"{f'tol {tol:g}':>9} {'ratio':>7}" for tol in tols)
    print(f"{'data':13} {'gamma':>5} {'n':>5} {'updates':>8} {'hinge':>8} {heads} {'events':>7} {'gap':>9} "
          f"{'fresh':>9}")  # fmt: skip
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


if __name__ == "__main__":
    main()
