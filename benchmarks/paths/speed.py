"""Compare paths and updates with refits by scikit-learn.

    python benchmarks/paths/speed.py [--only weights grid update loo events large] [--sets NAME ...]

weights   weight path of Table 4.1 of the dissertation, and refits at every breakpoint
grid      regularization path over six decades of C, and 20 fits
update    10 samples added and 10 removed, and a refit of the same window; medians of 30 updates and 6 refits
loo       leave-one-out, and n refits
events    time per breakpoint as a function of n·|M|, where M is the set of samples on the margin
large     regularization path of 10,000 rows of a9a, C from 0.01 to 10

All times are processor seconds of one thread.
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
from hinge.selection import leave_one_out

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tables import weighted_data

from reference.benchmark_data import load

HEADER_GRID = f"""\
{"":13} {"":8} {"break-":>8} {"mean":>8} {"KKT":>10} {"seconds":>19} {"time":>6}
{"data set":13} {"samples":>8} {"points":>8} {"margin":>8} {"violation":>10} {"path":>9} {"20 fits":>9} {"ratio":>6}"""

HEADER_UPDATE = f"""\
{"":6} {"":16} {"break-":>8} {"milliseconds":>19} {"time":>6} {"tolerance of":>13}
{"C":>6} {"removed samples":16} {"points":>8} {"update":>9} {"refit":>9} {"ratio":>6} {"scikit-learn":>13}"""

NOTES = """
Notes
- Processor time of one thread. time ratio: time of scikit-learn divided by the time of hinge.
- mean margin, mean |M|: mean number of samples on the margin. KKT violation: largest violation on the path, relative.
- Weight path: some of the refits were measured, and their time was extrapolated to all breakpoints.
- Updates: 10 samples are added and 10 are removed.
- Leave-one-out: the difference is due to the tolerance of scikit-learn. The time of hinge includes the first fit."""


def subset(name, n, seed=0):
    X, y = load(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows], np.where(y[rows] == np.unique(y)[0], -1.0, 1.0)


def timed(action):
    """Return processor seconds and the result; both libraries use one thread."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def weights():
    X, y, cost = weighted_data(1600, 0)
    start = np.where(cost == 1, 0.0, 10.0)
    our_time, path = timed(lambda: hinge.weight_path(X, y, start, np.full(1600, 10.0), gamma=0.5))
    knots = path.breakpoints
    selected = knots[:: max(1, len(knots) // 40)]

    def refit():
        for theta in selected:
            weight = start + theta * (10.0 - start)
            keep = weight > 0
            SVC(C=1.0, gamma=0.5, cache_size=1000).fit(X[keep], y[keep], weight[keep])

    their_time = timed(refit)[0] * len(knots) / len(selected)
    print("\nWeight path and refits with scikit-learn at every breakpoint\n")
    print(f"{'':>8} {'break-':>8} {'seconds':>19} {'time':>6} {'measured':>9}")
    print(f"{'samples':>8} {'points':>8} {'path':>9} {'refits':>9} {'ratio':>6} {'refits':>9}")
    print(f"{1600:8} {len(knots):8} {our_time:9.3f} {their_time:9.1f} {their_time / our_time:6.0f} {len(selected):9}")


def grid(names=None):
    print(f"\nRegularization path and 20 fits with scikit-learn\n\n{HEADER_GRID}")
    sets = (("german_numer", 1000), ("splice", 1000), ("svmguide3", 1243), ("madelon", 2000), ("svmguide1", 3089),
            ("spambase", 4601), ("ijcnn1", 5000), ("a9a", 5000))  # fmt: skip
    for name, n in sets:
        if names and name not in names:
            continue
        X, y = subset(name, n)
        X = StandardScaler().fit_transform(X)
        gamma = 1 / X.shape[1]
        our_time, path = timed(
            lambda X=X, y=y, g=gamma: hinge.regularization_path(X, y, C_min=1e-3, C_max=1e3, gamma=g)
        )

        def refit(X=X, y=y, gamma=gamma):
            for C in np.geomspace(1e-3, 1e3, 20):
                SVC(C=C, gamma=gamma, cache_size=1000).fit(X, y)

        their_time = timed(refit)[0]
        print(
            f"{name:13} {n:8} {len(path.breakpoints):8} {path.counts.mean_margin:8.1f} {path.kkt_violation:10.0e} "
            f"{our_time:9.2f} {their_time:9.2f} {their_time / our_time:6.2f}",
            flush=True,
        )


def update():
    print(f"\nUpdates and refits with scikit-learn, ijcnn1 with 4,000 samples\n\n{HEADER_UPDATE}")
    X, y = subset("ijcnn1", 4300)
    for C, tol in ((10.0, 1e-3), (1000.0, 1e-6)):
        for removed in ("support vectors", "any samples"):
            window = Window(RBF(1.0), X[:4000], y[:4000], np.full(4000, C))
            estimator = SVC(C=C, gamma=1.0, tol=tol, cache_size=1000)
            rng, updates, events, refits = np.random.default_rng(0), [], [], []
            for k in range(4000, 4300, 10):
                pool = np.flatnonzero(window.beta) if removed == "support vectors" else np.arange(window.n)
                gone, new, cost = rng.choice(pool, 10, replace=False), slice(k, k + 10), np.full(10, C)
                seconds, counts = timed(lambda w=window, s=new, g=gone, c=cost: w.update(X[s], y[s], c, forget=g))
                updates.append(seconds)
                events.append(counts.events)
                if k % 50 == 40:  # the window changes as support vectors are removed
                    A, b = window.X[window.current], window.y[window.current]
                    refits.append(timed(lambda e=estimator, A=A, b=b: e.fit(A, b))[0])
            our_time, their_time = np.median(updates), np.median(refits)
            print(
                f"{C:6g} {removed:16} {np.mean(events):8.0f} {our_time * 1e3:9.1f} {their_time * 1e3:9.0f} "
                f"{their_time / our_time:6.1f} {tol:13g}",
                flush=True,
            )


def loo():
    X, y = subset("diabetes", 768)
    our_time, result = timed(lambda: leave_one_out(X, y, C=10.0, gamma=0.1))
    selected = range(0, 768, 16)
    values = {}

    def refit():
        for i in selected:
            rest = np.arange(768) != i
            values[i] = SVC(C=10.0, gamma=0.1).fit(X[rest], y[rest]).decision_function(X[i : i + 1])[0]

    their_time = timed(refit)[0] * 768 / len(selected)
    difference = max(abs(values[i] - result.decision_values[i]) for i in selected)
    print("\nLeave-one-out and refits with scikit-learn, diabetes\n")
    print(f"{'':>8} {'break-':>8} {'seconds':>19} {'time':>6} {'largest difference':>19}")
    print(f"{'samples':>8} {'points':>8} {'hinge':>9} {'refits':>9} {'ratio':>6} {'of decision values':>19}")
    print(
        f"{768:8} {result.n_events:8} {our_time:9.2f} {their_time:9.1f} {their_time / our_time:6.0f} {difference:19.1e}"
    )


def events():
    rng = np.random.default_rng(0)
    print("\nTime per breakpoint\n")
    print(f"{'':>8} {'mean |M|':>9} {'microseconds':>15} {'nanoseconds':>15}")
    print(f"{'samples':>8} {'':>9} {'per breakpoint':>15} {'per n |M|':>15}")
    for n in (1000, 2000, 4000):
        X = rng.normal(size=(n, 4))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
        for gamma in (0.1, 1.0):
            options = dict(C_min=0.1, C_max=10, gamma=gamma)
            seconds, path = timed(lambda X=X, y=y, o=options: hinge.regularization_path(X, y, **o))
            margin, per_event = path.counts.mean_margin, seconds / path.counts.events
            print(f"{n:8} {margin:9.1f} {per_event * 1e6:15.1f} {per_event / (n * margin) * 1e9:15.2f}", flush=True)


def large():
    X, y = subset("a9a", 10_000)
    seconds, path = timed(lambda: hinge.regularization_path(X, y, C_min=0.01, C_max=10, gamma=0.05, cache_size=1500))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\nRegularization path of a9a, C from 0.01 to 10\n")
    print(f"{'':>8} {'break-':>8} {'mean':>8} {'KKT':>10} {'':>9} {'peak':>8}")
    print(f"{'samples':>8} {'points':>8} {'margin':>8} {'violation':>10} {'seconds':>9} {'MB':>8}")
    print(
        f"{10_000:8} {path.counts.events:8} {path.counts.mean_margin:8.0f} {path.kkt_violation:10.1e} {seconds:9.0f} "
        f"{peak:8.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    jobs = {"weights": weights, "grid": grid, "update": update, "loo": loo, "events": events, "large": large}
    parser.add_argument("--only", nargs="*", choices=list(jobs), default=list(jobs))
    parser.add_argument("--sets", nargs="*", help="data sets of the benchmark grid")
    arguments = parser.parse_args()
    for name in arguments.only:
        jobs[name](arguments.sets) if name == "grid" else jobs[name]()
    print(NOTES)


if __name__ == "__main__":
    main()
