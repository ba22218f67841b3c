"""Measure jackknife+ and full conformal prediction, and compare them with MAPIE and with refits.

    OMP_NUM_THREADS=1 python benchmarks/conformal/speed.py [--parts jackknife exactness full] [--sizes 1000 2000]
                                                           [--share 0.2] [--save | --append]

Requires mapie. MAPIE fits scikit-learn's SVR with the same parameters n times. Both libraries use one thread. Times are
processor times, which depend little on other programs. With ``--share 0.2`` the time of MAPIE is estimated from a fifth
of its fits and predictions, without MAPIE's own work; this is less than its real time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from mapie.regression import CrossConformalRegressor
from sklearn.model_selection import LeaveOneOut
from sklearn.svm import SVR

import hinge
from hinge.conformal import ConformalClassifier, FullConformal, JackknifePlus, coverage

PARAMETERS = dict(C=5.0, gamma=0.1, epsilon=0.1)
PARTS = ("jackknife", "exactness", "full")
REPEATS = 3  # of hinge


def samples(n: int, seed: int, noise: float = 0.2) -> tuple[Any, Any]:
    """Friedman's first function of standardized features, with noise; without noise y has standard deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 8))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return (X - 0.5) * np.sqrt(12), (y - 14.4) / 4.9 + noise * rng.normal(size=n)


def timed(call: Any) -> tuple[float, Any]:
    """Return the processor time of a call and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def estimated(X: Any, y: Any, new: Any, share: float) -> float:
    """Processor time of the fits and predictions that MAPIE needs, from an evenly spaced share of them."""
    left_out = np.arange(0, len(y), round(1 / share))

    def some() -> None:
        for i in left_out:
            rest = np.arange(len(y)) != i
            model = SVR(**PARAMETERS).fit(X[rest], y[rest])
            model.predict(X[i : i + 1])
            model.predict(new)

    return timed(some)[0] * len(y) / len(left_out)


def jackknife_estimated(sizes: list[int], noise: float, share: float) -> list[str]:
    """Time of jackknife+ with 500 test points, and an estimate of that of MAPIE."""
    new, target = samples(500, 1, noise)
    title = f"jackknife+ (fit and 500 intervals, alpha = 0.1, noise {noise:g})"
    lines = [f"{title}; MAPIE estimated from {share:.0%} of its fits", ""]
    lines.append(f"{'n':>6} {'hinge, s':>10} {'MAPIE, s':>10} {'ratio':>7} {'coverage':>9}")
    for n in sizes:
        X, y = samples(n, 0, noise)

        def ours(X: Any = X, y: Any = y) -> Any:
            return JackknifePlus(hinge.SVR(**PARAMETERS)).fit(X, y).predict_interval(new)

        runs = [timed(ours) for _ in range(REPEATS)]
        own, theirs = float(np.median([seconds for seconds, _ in runs])), estimated(X, y, new, share)
        lines.append(f"{n:6d} {own:10.2f} {theirs:10.1f} {theirs / own:7.0f} {coverage(target, runs[0][1]):9.3f}")
        print(lines[-1], flush=True)
    return lines


def jackknife(sizes: list[int], noise: float) -> list[str]:
    """Time, coverage and width of jackknife+ with 500 test points."""
    new, target = samples(500, 1, noise)
    lines = [f"jackknife+ (fit and 500 intervals, alpha = 0.1, noise {noise:g})", ""]
    lines.append(
        f"{'n':>6} {'hinge, s':>10} {'MAPIE, s':>10} {'ratio':>7} {'coverage':>9} {'of MAPIE':>9} {'width':>7} "
        f"{'of MAPIE':>9} {'largest difference':>19}"
    )
    for n in sizes:
        X, y = samples(n, 0, noise)

        def ours(X: Any = X, y: Any = y) -> Any:
            return JackknifePlus(hinge.SVR(**PARAMETERS)).fit(X, y).predict_interval(new)

        def other(X: Any = X, y: Any = y) -> Any:
            model = CrossConformalRegressor(SVR(**PARAMETERS), confidence_level=0.9, method="plus", cv=LeaveOneOut())
            return model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]

        times = [timed(ours)[0] for _ in range(REPEATS)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, reference = timed(other)
        last, intervals = timed(ours)  # once more after MAPIE, which takes minutes
        own = float(np.median([*times, last]))
        widths = [float(np.mean(ends[:, 1] - ends[:, 0])) for ends in (intervals, reference)]
        lines.append(
            f"{n:6d} {own:10.2f} {theirs:10.1f} {theirs / own:7.0f} {coverage(target, intervals):9.3f} "
            f"{coverage(target, reference):9.3f} {widths[0]:7.4f} {widths[1]:9.4f} "
            f"{np.abs(intervals - reference).max():19.1e}"
        )
        print("\n".join(lines[-1:]), flush=True)
    return lines


def exactness() -> list[str]:
    X, y = samples(300, 2)
    new, _ = samples(100, 3)
    estimator = hinge.SVR(**PARAMETERS, tol=1e-10)
    path = JackknifePlus(estimator).fit(X, y).predict_interval(new)
    again = JackknifePlus(estimator, method="refit").fit(X, y).predict_interval(new)
    return ["largest difference between interval ends from paths and from 300 refits at tol = 1e-10: "
            f"{np.abs(path - again).max():.1e}"]  # fmt: skip


def full() -> list[str]:
    """Full conformal prediction: time per new sample."""
    lines = ["full conformal prediction (100 new samples)", ""]
    X, y = samples(500, 0)
    new, target = samples(100, 1)
    model = FullConformal(hinge.SVR(**PARAMETERS)).fit(X, y)
    seconds, intervals = timed(lambda: model.predict_interval(new))
    lines.append(f"SVR, n = 500, all labels and levels: {seconds:.2f} s, coverage {coverage(target, intervals):.2f}")
    X, y = samples(300, 0)
    labels = y > 0
    classifier = ConformalClassifier(hinge.SVC(C=5.0, gamma=0.1), method="full").fit(X, labels)
    seconds, _ = timed(lambda: classifier.p_values(new))
    model = hinge.SVC(C=5.0, gamma=0.1)
    refit, _ = timed(lambda: [model.fit(X, labels) for _ in range(50)])
    incremental = hinge.IncrementalSVC(C=5.0, gamma=0.1).fit(X, labels)

    def add_and_forget() -> None:
        for k in range(50):
            incremental.partial_fit(new[k : k + 1], [True]).forget([300])

    update, _ = timed(add_and_forget)
    lines.append(
        f"SVC, n = 300: {1e3 * seconds / 200:.2f} ms per sample and label with snapshots; refit {1e3 * refit / 50:.2f} "
        f"ms; partial_fit and forget {1e3 * update / 50:.2f} ms"
    )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--noise", type=float, default=0.2, help="standard deviation of the noise")
    parser.add_argument("--share", type=float, default=1.0, help="share of the fits of MAPIE that are measured")
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    parser.add_argument("--append", action="store_true", help="append the output to the file next to this script")
    arguments = parser.parse_args()
    lines: list[str] = []
    if "jackknife" in arguments.parts and arguments.share < 1:
        lines += [*jackknife_estimated(arguments.sizes, arguments.noise, arguments.share), ""]
    elif "jackknife" in arguments.parts:
        lines += [*jackknife(arguments.sizes, arguments.noise), ""]
    lines += exactness() + [""] if "exactness" in arguments.parts else []
    lines += full() + [""] if "full" in arguments.parts else []
    lines += [f"{date.today()}, hinge {version('hinge')}, MAPIE {version('mapie')}, scikit-learn "
              f"{version('scikit-learn')}", ""]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    path = Path(__file__).with_suffix(".txt")
    if arguments.save or arguments.append:
        before = path.read_text(encoding="utf-8") if arguments.append and path.is_file() else ""
        path.write_text(before + text, encoding="utf-8")


if __name__ == "__main__":
    main()
