"""Coverage and width of prediction intervals on ten regression problems with 20 random splits each.

    python benchmarks/conformal/coverage.py [--splits 20] [--methods jackknife+ CV+ ...] [--save]

Features and targets are scaled with the means and deviations of the whole data set, which treat training and test
samples alike. Scaling with those of the training samples would break exchangeability: a left-out sample would have
influenced the scale of its model.

The coverage of a method varies with the training samples and with the test samples. For n training samples and m test
samples the variance of the coverage of a split is about α(1 − α)(1/(n + 2) + 1/m). The first part is the variance of a
beta distribution, which is exact for split conformal prediction with n calibration samples; the second part is that of
the test samples. z is the difference between the mean coverage and 1 − α in units of the standard deviation of the mean
of the splits. The last lines have the mean over all data sets and its standard deviation.

Requires crepes, which is compared as split conformal prediction (half of the training samples are used for
calibration), and MAPIE, whose jackknife+ with scikit-learn's SVR uses the same splits.
Data sets are read from the folder `shared/data` next to the repository; without it only synthetic problems are
measured.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from crepes import WrapRegressor
from mapie.regression import CrossConformalRegressor
from measure import finish, stored
from scipy.stats import chi2
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import hinge
from hinge.conformal import CVPlus, FullConformal, JackknifePlus, coverage

REAL = ("abalone", "cadata", "cpusmall", "housing", "space_ga", "diabetes_progression")
N_TRAIN, MAX_TEST, MAX_TEST_FULL, ALPHA = 150, 500, 40, 0.1


def synthetic() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(3000, 2))
    skewed = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) * rng.exponential(size=3000)
    return {
        "friedman1": make_friedman1(3000, noise=1.0, random_state=0),
        "friedman2": make_friedman2(3000, noise=50.0, random_state=0),
        "friedman3": make_friedman3(3000, noise=0.1, random_state=0),
        "skewed noise": (X, skewed),
    }


def problems() -> dict[str, tuple[Any, Any]]:
    found = {name: stored(name) for name in REAL}
    return {**{name: data for name, data in found.items() if data is not None}, **synthetic()}


def crepes_intervals(X: Any, y: Any, new: Any, seed: int) -> Any:
    order = np.random.default_rng(seed).permutation(len(y))
    train, calibration = order[: len(y) // 2], order[len(y) // 2 :]
    model = WrapRegressor(hinge.SVR(C=1.0, gamma=0.1))
    model.fit(X[train], y[train])
    model.calibrate(X[calibration], y[calibration])
    return model.predict_int(new, confidence=1 - ALPHA)


def mapie_intervals(X: Any, y: Any, new: Any, seed: int) -> Any:
    estimator = SVR(C=1.0, gamma=0.1, tol=1e-6)
    model = CrossConformalRegressor(estimator, confidence_level=1 - ALPHA, method="plus", cv=LeaveOneOut())
    return model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]


def hinge_intervals(make: Any) -> Any:
    return lambda X, y, new, seed: make(hinge.SVR(C=1.0, gamma=0.1), seed).fit(X, y).predict_interval(new, ALPHA)


METHODS = {
    "jackknife+": hinge_intervals(lambda estimator, seed: JackknifePlus(estimator)),
    "CV+": hinge_intervals(lambda estimator, seed: CVPlus(estimator, random_state=seed)),
    "full": hinge_intervals(lambda estimator, seed: FullConformal(estimator)),
    "split (crepes)": crepes_intervals,
    "jackknife+ (MAPIE)": mapie_intervals,
}


def standard_deviation(method: str, n_test: int, splits: int) -> float:
    """Standard deviation of the mean coverage of independent splits."""
    calibration = N_TRAIN // 2 if method.startswith("split") else N_TRAIN
    return float(np.sqrt(ALPHA * (1 - ALPHA) * (1 / (calibration + 2) + 1 / n_test) / splits))


def measure(method: Any, X: Any, y: Any, n_test: int, splits: int) -> tuple[float, float]:
    """Mean coverage and width of the intervals of a method."""
    results = []
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + n_test]
        ends = method(X[train], y[train], X[test], seed)
        results.append((coverage(y[test], ends), float(np.mean(ends[:, 1] - ends[:, 0]))))
    share, width = np.mean(results, axis=0)
    return float(share), float(width)


def table(methods: list[str], splits: int) -> list[str]:
    lines = [
        f"{splits} splits: coverage, z, and mean width in units of the standard deviation of y; level {1 - ALPHA:.0%}",
        "",
        f"{'data set':<22}" + "".join(f"{name:>24}" for name in methods),
    ]
    shares: dict[str, list[float]] = {name: [] for name in methods}
    scores: dict[str, list[float]] = {name: [] for name in methods}
    variances: dict[str, list[float]] = {name: [] for name in methods}
    for title, (X, y) in problems().items():
        line = f"{title:<22}"
        for name in methods:
            n_test = min(MAX_TEST_FULL if name == "full" else MAX_TEST, len(y) - N_TRAIN)
            share, width = measure(METHODS[name], X, y, n_test, splits)
            deviation = standard_deviation(name, n_test, splits)
            z = (share - (1 - ALPHA)) / deviation
            variances[name].append(deviation**2)
            shares[name].append(share)
            scores[name].append(z)
            line += f"{f'{share:.3f} ({z:+.1f})  {width:.2f}':>24}"
        lines.append(line)
        print(line, flush=True)
    means = (f"{np.mean(shares[name]):.4f} ± {np.sqrt(np.sum(variances[name])) / len(each):.4f}" for name, each in
             shares.items())  # fmt: skip
    lines.append(f"{'mean':<22}" + "".join(f"{each:>24}" for each in means))
    squares = {name: float(np.sum(np.square(each))) for name, each in scores.items()}
    probability = {name: chi2.sf(value, len(scores[name])) for name, value in squares.items()}
    lines.append(f"{'probability':<22}" + "".join(f"{each:>24.3f}" for each in probability.values()))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = table(arguments.methods, arguments.splits)
    lines += [
        "",
        f"{N_TRAIN} training samples, up to {MAX_TEST} test samples ({MAX_TEST_FULL} for full conformal prediction), "
        "SVR(C=1, gamma=0.1) on standardized data. mean: with its standard deviation if the coverage is 0.9.",
        "probability: that the sum of z² of all data sets is at least as large if the coverage is exactly 0.9 "
        "(chi-squared distribution).",
    ]
    finish(__file__, lines, ("crepes", "MAPIE"), arguments.save)


if __name__ == "__main__":
    main()
