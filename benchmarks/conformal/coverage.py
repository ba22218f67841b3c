"""Coverage and width of prediction intervals on ten regression problems with 20 random splits each.

    python benchmarks/conformal/coverage.py [--splits 20] [--save]

Requires crepes, which is compared as split conformal prediction: half of the training samples are used for calibration.
Data sets are read from the folder `shared/data` next to the repository; without it only synthetic problems are
measured.
"""

from __future__ import annotations

import argparse
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from crepes import WrapRegressor
from scipy.stats import binom
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.conformal import CVPlus, FullConformal, JackknifePlus, coverage

REAL = ("abalone", "cadata", "cpusmall", "housing", "space_ga", "diabetes_progression")
N_TRAIN, MAX_TEST, ALPHA = 150, 200, 0.1


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
    found = {}
    for folder in Path(__file__).resolve().parents:
        for name in REAL:
            path = folder / "shared" / "data" / f"{name}.npz"
            if path.is_file() and name not in found:
                with np.load(path, allow_pickle=False) as arrays:
                    found[name] = arrays["X"].astype(float), arrays["y"].astype(float)
    return {**found, **synthetic()}


def crepes_intervals(X: Any, y: Any, new: Any, seed: int) -> Any:
    order = np.random.default_rng(seed).permutation(len(y))
    train, calibration = order[: len(y) // 2], order[len(y) // 2 :]
    model = WrapRegressor(hinge.SVR(C=1.0, gamma=0.1))
    model.fit(X[train], y[train])
    model.calibrate(X[calibration], y[calibration])
    return model.predict_int(new, confidence=1 - ALPHA)


def hinge_intervals(make: Any) -> Any:
    return lambda X, y, new, seed: make(hinge.SVR(C=1.0, gamma=0.1), seed).fit(X, y).predict_interval(new, ALPHA)


METHODS = {
    "jackknife+": hinge_intervals(lambda estimator, seed: JackknifePlus(estimator)),
    "CV+": hinge_intervals(lambda estimator, seed: CVPlus(estimator, random_state=seed)),
    "full": hinge_intervals(lambda estimator, seed: FullConformal(estimator)),
    "split (crepes)": crepes_intervals,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = [f"coverage (and mean width in units of the standard deviation of y), level {1 - ALPHA:.0%}", ""]
    lines.append(f"{'data set':<22}" + "".join(f"{name:>20}" for name in METHODS))
    pooled = {name: [] for name in METHODS}
    for title, (X, y) in problems().items():
        results: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
        for seed in range(arguments.splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + MAX_TEST]
            scaler = make_pipeline(StandardScaler()).fit(X[train])
            center, unit = y[train].mean(), y[train].std()
            a, b = scaler.transform(X[train]), (y[train] - center) / unit
            new, target = scaler.transform(X[test]), (y[test] - center) / unit
            for name, method in METHODS.items():
                few = slice(0, 40) if name == "full" else slice(None)
                ends = method(a, b, new[few], seed)
                results[name].append((coverage(target[few], ends), float(np.mean(ends[:, 1] - ends[:, 0]))))
        means = {name: np.mean(values, axis=0) for name, values in results.items()}
        for name, values in results.items():
            pooled[name] += [value for value, _ in values]
        cells = (f"{share:.3f} ({width:.2f})" for share, width in means.values())
        lines.append(f"{title:<22}" + "".join(f"{cell:>20}" for cell in cells))
        print(lines[-1], flush=True)
    # Coverage of one split varies with the training samples and the test samples.
    lines.append(f"{'mean of all':<22}" + "".join(f"{np.mean(values):>20.4f}" for values in pooled.values()))
    errors = {name: np.std(values) / np.sqrt(len(values)) for name, values in pooled.items()}
    lines.append(f"{'standard error':<22}" + "".join(f"{error:>20.4f}" for error in errors.values()))
    low, high = binom.ppf([0.025, 0.975], arguments.splits * MAX_TEST, 1 - ALPHA) / (arguments.splits * MAX_TEST)
    lines += [
        "",
        f"{N_TRAIN} training samples, up to {MAX_TEST} test samples (40 for full conformal prediction), SVR(C=1, "
        f"gamma=0.1) on standardized data, {arguments.splits} splits.",
        f"95 % range of {arguments.splits * MAX_TEST} independent targets with coverage 0.9: {low:.3f} to {high:.3f}; "
        "coverage also varies with the training samples.",
        f"{date.today()}, hinge {version('hinge')}, crepes {version('crepes')}",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
