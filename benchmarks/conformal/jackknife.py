"""Measure jackknife+ and compare its time and intervals with MAPIE, and its interval ends with refits.

    OMP_NUM_THREADS=1 python benchmarks/conformal/jackknife.py [--sizes 1000:1 2000:0.1] [--save]

MAPIE (required) fits scikit-learn's SVR with the same parameters n times. Both libraries use one thread. Times are
processor times, which depend little on other programs. 2000:0.1 stands for 2,000 samples, of which every tenth is
left out for MAPIE: its time is ten times that of these fits and predictions, without MAPIE's own work, and is
therefore slightly too small. 1000:1 measures MAPIE completely, and such an estimate as well.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from mapie.regression import CrossConformalRegressor
from measure import finish, friedman, timed
from sklearn.model_selection import LeaveOneOut
from sklearn.svm import SVR

import hinge
from hinge.conformal import JackknifePlus, coverage

PARAMETERS = dict(C=5.0, gamma=0.1, epsilon=0.1)
ALPHA, N_NEW, REPEATS = 0.1, 500, 5
EXACT_SIZE = 300


def hinge_intervals(X: Any, y: Any, new: Any) -> Any:
    return JackknifePlus(hinge.SVR(**PARAMETERS)).fit(X, y).predict_interval(new, ALPHA)


def mapie_intervals(X: Any, y: Any, new: Any) -> Any:
    estimator = SVR(**PARAMETERS)
    model = CrossConformalRegressor(estimator, confidence_level=1 - ALPHA, method="plus", cv=LeaveOneOut())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]


def fits(X: Any, y: Any, new: Any, share: float) -> float:
    """Processor time of n fits and predictions without one sample, from an evenly spaced share of them."""
    left_out = np.arange(0, len(y), round(1 / share))

    def some() -> None:
        for i in left_out:
            rest = np.arange(len(y)) != i
            model = SVR(**PARAMETERS).fit(X[rest], y[rest])
            model.predict(X[i : i + 1])
            model.predict(new)

    return timed(some)[0] * len(y) / len(left_out)


def row(n: int, share: float) -> str:
    X, y = friedman(n, 0)
    new, target = friedman(N_NEW, 1)
    own, intervals = zip(*(timed(lambda: hinge_intervals(X, y, new)) for _ in range(REPEATS)), strict=True)
    seconds = float(np.median(own))
    covered = coverage(target, intervals[0])
    estimate = fits(X, y, new, 0.1 if share == 1 else share)
    if share < 1:
        other, rest = estimate, f"{'':>10} {'':>12}"
    else:
        other, reference = timed(lambda: mapie_intervals(X, y, new))
        rest = f"{coverage(target, reference):10.3f} {np.abs(intervals[0] - reference).max():12.1e}"
    kind = "complete" if share == 1 else f"{share:.0%} of fits"
    return (
        f"{n:6d} {seconds:9.2f} {other:9.1f} {kind:>14} {estimate:12.1f} {other / seconds:7.0f} {covered:9.3f} {rest}"
    )


def exactness() -> str:
    X, y = friedman(EXACT_SIZE, 2)
    new, _ = friedman(100, 3)
    estimator = hinge.SVR(**PARAMETERS, tol=1e-10)
    path = JackknifePlus(estimator).fit(X, y).predict_interval(new)
    again = JackknifePlus(estimator, method="refit").fit(X, y).predict_interval(new)
    return (
        f"Largest difference between interval ends from paths and from {EXACT_SIZE} refits at tol = 1e-10: "
        f"{np.abs(path - again).max():.1e} (100 intervals)"
    )


def size_and_share(text: str) -> tuple[int, float]:
    size, share = text.split(":")
    return int(size), float(share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=size_and_share, nargs="+", default=[(1000, 1.0), (2000, 0.1)])
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = [
        f"jackknife+: fit and {N_NEW} intervals, alpha = {ALPHA}, Friedman's first function with 8 features, noise 0.2",
        "",
        f"{'n':>6} {'hinge, s':>9} {'MAPIE, s':>9} {'measured':>14} {'from fits, s':>12} {'ratio':>7} {'coverage':>9} "
        f"{'of MAPIE':>10} {'difference':>12}",
    ]
    for n, share in arguments.sizes:
        lines.append(row(n, share))
        print(lines[-1], flush=True)
    parameters = ", ".join(f"{name}={value:g}" for name, value in PARAMETERS.items())
    lines += [
        "",
        exactness(),
        "",
        f"SVR({parameters}). hinge: median of {REPEATS} runs. MAPIE: CrossConformalRegressor with scikit-learn's SVR.",
        "from fits: estimate of the time of MAPIE from a share of the fits (10 % where MAPIE was measured completely).",
        "difference: largest difference between the interval ends of both; scikit-learn's SVR stops at tol = 1e-3.",
        "One thread, processor times.",
    ]
    finish(__file__, lines, ("MAPIE", "scikit-learn"), arguments.save)


if __name__ == "__main__":
    main()
