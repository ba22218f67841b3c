"""Coverage over time of adaptive intervals for sliding, incremental and online estimators.

    python benchmarks/conformal/streams.py [--save]

Every sample is predicted before it is learned. Features and targets are scaled with the first part of the stream. The
series of `shared/data` next to the repository are left out if the folder does not exist.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from measure import finish, stored, timed
from sklearn.linear_model import SGDRegressor

import hinge
from hinge.conformal import AdaptiveIntervals
from hinge.recipes import SlidingSVR

ALPHA, RATE, N_FIRST, N_PARTS = 0.1, 0.02, 100, 4
MAX_STEPS = 1200


def synthetic() -> dict[str, tuple[Any, Any]]:
    """Series with a function or a noise that changes."""
    rng = np.random.default_rng(0)
    n = N_FIRST + MAX_STEPS
    X, time = rng.uniform(-2, 2, size=(n, 2)), np.arange(n) / n
    noise = rng.normal(size=n)
    return {
        "exchangeable": (X, np.sin(2 * X[:, 0]) + 0.3 * noise),
        "noise three times as large in the second half": (
            X,
            np.sin(2 * X[:, 0]) + np.where(time < 0.5, 0.1, 0.3) * noise,
        ),
        "function rotates": (X, np.cos(6 * time) * X[:, 0] + np.sin(6 * time) * X[:, 1] + 0.2 * noise),
    }


def lagged(series: Any, lags: int = 5) -> tuple[Any, Any]:
    """Features: the last values; target: the next one."""
    X = np.lib.stride_tricks.sliding_window_view(series, lags)[:-1]
    return np.ascontiguousarray(X), series[lags:]


def problems() -> dict[str, tuple[Any, Any]]:
    found = synthetic()
    for name in ("trump_approval", "beer", "fisher_river"):
        data = stored(name)
        if data is not None:
            found[name] = lagged(data[1]) if name != "trump_approval" else data
    return found


def estimators() -> dict[str, Any]:
    return {
        "SlidingSVR": SlidingSVR(C=5.0, gamma=0.2, window=N_FIRST),
        "IncrementalSVR": hinge.IncrementalSVR(C=5.0, gamma=0.2),
        "OnlineSVR": hinge.OnlineSVR(gamma=0.2, eta0=0.5, regularization=1e-3),
        "OnlineSVR, Huber": hinge.OnlineSVR(gamma=0.2, eta0=0.5, regularization=1e-3, loss="huber"),
        "SGDRegressor": SGDRegressor(random_state=0),
    }


def row(name: str, estimator: Any, X: Any, y: Any) -> str:
    first, steps = slice(0, N_FIRST), slice(N_FIRST, N_FIRST + MAX_STEPS)
    X = (X - X[first].mean(axis=0)) / np.maximum(X[first].std(axis=0), 1e-12)
    y = (y - y[first].mean()) / y[first].std()
    results = []
    for rate in (RATE, 0.0):
        model = AdaptiveIntervals(estimator, alpha=ALPHA, rate=rate).fit(X[first], y[first])
        seconds, _ = timed(lambda model=model: model.partial_fit(X[steps], y[steps]))
        results.append(model.history_)
    history, constant = results
    parts = [float(part.mean()) for part in np.array_split(history.covered, N_PARTS)]
    total, worst = float(history.covered.mean()), float(history.coverage(100)[99:].min())
    bound = (max(ALPHA, 1 - ALPHA) + RATE) / (RATE * len(history.y))
    assert abs(total - (1 - ALPHA)) <= bound
    width = float(np.median(history.upper - history.lower))
    fixed = float(constant.covered.mean()), float(constant.coverage(100)[99:].min())
    return (
        f"  {name:<18}" + "".join(f"{part:7.3f}" for part in parts) + f"{total:8.3f} ±{bound:.3f} {worst:9.2f} "
        f"{width:8.2f} {fixed[0]:10.3f} {fixed[1]:9.2f} {1e3 * seconds / len(history.y):10.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = [
        f"adaptive intervals: alpha = {ALPHA}, rate = {RATE}; the last columns have a constant level (rate = 0)",
        "",
        f"{'':<20}{'coverage of the quarters':>28}{'all ± bound':>15} {'worst 100':>9} {'width':>8} {'rate = 0':>10} "
        f"{'worst 100':>9} {'ms / step':>10}",
    ]
    for title, (X, y) in problems().items():
        lines.append(f"{title}, {min(len(y) - N_FIRST, MAX_STEPS)} steps")
        print(lines[-1], flush=True)
        for name, estimator in estimators().items():
            lines.append(row(name, estimator, X, y))
            print(lines[-1], flush=True)
    lines += [
        "",
        f"Trained first on {N_FIRST} samples; then every sample is predicted, compared with its interval, and learned.",
        "bound: largest possible deviation from 0.9 for every sequence, docs/math (530). worst 100: smallest coverage",
        "of 100 successive steps. width: median. Data are scaled with the first samples; trump_approval has 6",
        "features, beer and fisher_river have the last five values of the series as features.",
    ]
    finish(__file__, lines, ("scikit-learn",), arguments.save)


if __name__ == "__main__":
    main()
