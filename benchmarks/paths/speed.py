"""Paths and updates against refitting with scikit-learn, side by side in one run.

    python benchmarks/paths/speed.py [--only weights grid update loo events large] [--sets NAME ...]

weights: Table 4.1's job, against SVC refitted at every breakpoint.  grid: the C-path over six decades, against 20 fits.
update: 10 samples in and 10 out, against a refit of the same window, medians of 30 and of 6.  loo: leave-one-out,
against n refits.  events: cost per event and n·|M|.  large: 10,000 rows of a9a, C from 0.01 to 10.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hinge
from hinge.kernels import RBF
from hinge.paths.window import Window

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tables import weighted_data

from reference.benchmark_data import load


def subset(name, n, seed=0):
    X, y = load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows], np.where(y[rows] == np.unique(y)[0], -1.0, 1.0)


def clock(action):
    """Seconds of processor time: both sides use one thread, and other processes do not count."""
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def weights():
    X, y, cost = weighted_data(1600, 0)
    start = np.where(cost == 1, 0.0, 10.0)
    ours, path = clock(lambda: hinge.weight_path(X, y, start, np.full(1600, 10.0), gamma=0.5))
    knots = path.breakpoints
    chosen = knots[:: max(1, len(knots) // 40)]

    def refit():
        for theta in chosen:
            weight = start + theta * (10.0 - start)
            keep = weight > 0
            SVC(C=1.0, gamma=0.5, cache_size=1000).fit(X[keep], y[keep], weight[keep])

    theirs = clock(refit)[0] * len(knots) / len(chosen)
    line = f"weights  n = 1600: path {ours:.3f} s, {len(knots)} breakpoints; scikit-learn at each {theirs:.1f} s"
    print(f"{line} (from {len(chosen)} of them): ratio {theirs / ours:.0f}", flush=True)


def grid(chosen=None):
    sets = (("german_numer", 1000), ("splice", 1000), ("svmguide3", 1243), ("madelon", 2000), ("svmguide1", 3089),
            ("spambase", 4601), ("ijcnn1", 5000), ("a9a", 5000))  # fmt: skip
    for name, n in sets:
        if chosen and name not in chosen:
            continue
        X, y = subset(name, n)
        X = StandardScaler().fit_transform(X)
        gamma = 1 / X.shape[1]
        ours, path = clock(lambda X=X, y=y, g=gamma: hinge.regularization_path(X, y, C_min=1e-3, C_max=1e3, gamma=g))

        def refit(X=X, y=y, gamma=gamma):
            for C in np.geomspace(1e-3, 1e3, 20):
                SVC(C=C, gamma=gamma, cache_size=1000).fit(X, y)

        theirs = clock(refit)[0]
        line = f"grid     {name:13} n = {n}: path {ours:7.2f} s, {len(path.breakpoints)} breakpoints, mean |M|"
        line += f" {path.counts.mean_margin:6.1f}, KKT {path.kkt_violation:.0e}; 20 fits {theirs:7.2f} s"
        print(f"{line}: ratio {theirs / ours:.2f}", flush=True)


def update():
    X, y = subset("ijcnn1", 4300)
    for C, tol in ((10.0, 1e-3), (1000.0, 1e-6)):
        for which in ("support vectors", "any samples"):
            window = Window(RBF(1.0), X[:4000], y[:4000], np.full(4000, C))
            machine = SVC(C=C, gamma=1.0, tol=tol, cache_size=1000)
            rng, ours, events, refits = np.random.default_rng(0), [], [], []
            for k in range(4000, 4300, 10):
                pool = np.flatnonzero(window.beta) if which == "support vectors" else np.arange(window.n)
                gone, new, cost = rng.choice(pool, 10, replace=False), slice(k, k + 10), np.full(10, C)
                seconds, counts = clock(lambda w=window, s=new, g=gone, c=cost: w.update(X[s], y[s], c, forget=g))
                ours.append(seconds)
                events.append(counts.events)
                if k % 50 == 40:  # the same window: it becomes an easier one as its support vectors go
                    A, b = window.X[window.alive], window.y[window.alive]
                    refits.append(clock(lambda m=machine, A=A, b=b: m.fit(A, b))[0])
            theirs = np.median(refits)
            line = f"update   ijcnn1 n = 4000, C = {C:g}, 10 in, 10 {which} out: {np.median(ours) * 1e3:.1f} ms,"
            line += f" {np.mean(events):.0f} events; scikit-learn (tol {tol:g}) {theirs * 1e3:.0f} ms"
            print(f"{line}: ratio {theirs / np.median(ours):.1f}", flush=True)


def loo():
    X, y = subset("diabetes", 768)
    ours, found = clock(lambda: hinge.selection.leave_one_out(X, y, C=10.0, gamma=0.1))
    some = range(0, 768, 16)
    values = {}

    def refit():
        for i in some:
            rest = np.arange(768) != i
            values[i] = SVC(C=10.0, gamma=0.1).fit(X[rest], y[rest]).decision_function(X[i : i + 1])[0]

    theirs = clock(refit)[0] * 768 / len(some)
    apart = max(abs(values[i] - found.decision_values[i]) for i in some)
    line = f"loo      diabetes n = 768: {ours:.2f} s with the fit, {found.n_events} events; refitting {theirs:.1f} s"
    print(f"{line}: ratio {theirs / ours:.0f}; values differ by at most {apart:.1e} (scikit-learn's tol)", flush=True)


def events():
    rng = np.random.default_rng(0)
    print("events   cost per event against n |M|")
    for n in (1000, 2000, 4000):
        X = rng.normal(size=(n, 4))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
        for gamma in (0.1, 1.0):
            options = dict(C_min=0.1, C_max=10, gamma=gamma)
            seconds, path = clock(lambda X=X, y=y, o=options: hinge.regularization_path(X, y, **o))
            margin, each = path.counts.mean_margin, seconds / path.counts.events
            line = f"         n = {n}, mean |M| = {margin:6.1f}: {each * 1e6:8.1f} us per event"
            print(f"{line}, {each / (n * margin) * 1e9:.2f} ns per n|M|", flush=True)


def large():
    X, y = subset("a9a", 10_000)
    seconds, path = clock(lambda: hinge.regularization_path(X, y, C_min=0.01, C_max=10, gamma=0.05, cache_size=1500))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = f"large    a9a n = 10,000, C from 0.01 to 10: {seconds:.0f} s, {path.counts.events} events, mean |M|"
    print(f"{line} {path.counts.mean_margin:.0f}, KKT {path.kkt_violation:.1e}, peak memory {peak:.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    jobs = {"weights": weights, "grid": grid, "update": update, "loo": loo, "events": events, "large": large}
    parser.add_argument("--only", nargs="*", choices=list(jobs), default=list(jobs))
    parser.add_argument("--sets", nargs="*", help="of the job grid")
    arguments = parser.parse_args()
    for name in arguments.only:
        jobs[name](arguments.sets) if name == "grid" else jobs[name]()


if __name__ == "__main__":
    main()
