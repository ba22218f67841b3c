"""Measure full conformal prediction, and adding one sample to an exact solution and undoing it.

    OMP_NUM_THREADS=1 python benchmarks/conformal/full.py [--save]

Times are processor times of one thread.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from measure import finish, friedman, timed

import hinge
from hinge.conformal import ConformalClassifier, ConformalDetector, FullConformal
from hinge.kernels import RBF
from hinge.paths.window import Window
from hinge.problems.parametric import Values

N_FULL, N_UNDO, N_NEW = 500, 300, 100
GAMMA = 0.1


def full_conformal() -> list[str]:
    """Time and coverage for 100 new samples."""
    X, y = friedman(N_FULL, 0)
    new, target = friedman(N_NEW, 1)
    lines = [f"full conformal prediction: n = {N_FULL}, {N_NEW} new samples", ""]
    lines.append(f"{'estimator':<44} {'seconds':>8} {'coverage':>9}   result")
    for C in (1.0, 5.0, 100.0):
        model = FullConformal(hinge.SVR(C=C, gamma=GAMMA)).fit(X, y)
        seconds, sets = timed(lambda model=model: model.predict_set(new, 0.1))
        inside = [bool(((s[:, 0] <= t) & (t <= s[:, 1])).any()) for s, t in zip(sets, target, strict=True)]
        label = f"SVR(C={C:g}, gamma={GAMMA})"
        lines.append(f"{label:<44} {seconds:8.2f} {np.mean(inside):9.2f}   sets at level 90 %")
    thirds, labels = np.quantile(y, [1 / 3, 2 / 3]), (y, target)
    for classes, name in ((2, "two classes"), (3, "three classes")):
        label, true = (np.searchsorted(thirds[: classes - 1], values) for values in labels)
        model = ConformalClassifier(hinge.SVC(C=5.0, gamma=GAMMA), method="full").fit(X, label)
        seconds, p = timed(lambda model=model: model.p_values(new))
        title = f"SVC(C=5, gamma={GAMMA}), {name}"
        lines.append(f"{title:<44} {seconds:8.2f} {np.mean(p[np.arange(N_NEW), true] > 0.1):9.2f}   p-values")
    detector = ConformalDetector(hinge.OneClassSVM(nu=0.2, gamma=GAMMA), method="full").fit(X)
    seconds, p = timed(lambda: detector.p_values(new))
    title = f"OneClassSVM(nu=0.2, gamma={GAMMA})"
    lines.append(f"{title:<44} {seconds:8.2f} {np.mean(p > 0.1):9.2f}   p-values")
    return lines


def add_and_restore(window: Window, position: int, target: float, cost: float, total: float) -> tuple[Any, float]:
    """Return the decision values with one more sample, and the time of adding it and restoring the solution."""
    engine, size = window.engine, len(window.y) * window.slots
    members = position + len(window.y) * np.arange(window.slots)
    linear, lower, upper, none = (np.zeros(size) for _ in range(4))
    linear[members] = window.y[position] - target
    if window.task == "regression":
        lower[members[-1]], upper[members[0]] = -cost, cost
    else:
        (upper if target > 0 else lower)[position] = cost * target

    def run() -> Any:
        snapshot = engine.active_set.snapshot()
        engine.follow_rates(Values(linear, none, none, np.zeros(1)))  # no effect while the bounds are zero
        engine.follow_rates(Values(none, lower, upper, np.array([total])))
        values = engine.active_set.f + window.intercept
        engine.active_set.restore(snapshot)
        return values

    seconds, values = timed(run)
    return values, seconds


@dataclass(frozen=True)
class Case:
    """A problem of 300 samples, to which others are added with given labels or targets."""

    estimator: type
    incremental: type
    y: Any
    added: Any
    options: dict[str, float]
    title: str = ""

    @property
    def task(self) -> str:
        return {hinge.SVC: "classification", hinge.SVR: "regression"}.get(self.estimator, "one_class")

    @property
    def name(self) -> str:
        options = ", ".join(f"{name}={value:g}" for name, value in self.options.items())
        return f"{self.estimator.__name__}({options}){self.title}"

    def targets(self, *parts: Any) -> tuple[Any, ...]:
        """Second argument of `fit` and `partial_fit`: none for one-class problems."""
        return () if self.task == "one_class" else (np.concatenate(parts),)

    def refit(self, X: Any, *y: Any, **options: Any) -> Any:
        return self.estimator(gamma=GAMMA, **self.options, **options).fit(X, *y)

    def window(self, X: Any, new: Any) -> Window:
        cost = np.append(np.full(len(X), self.options.get("C", 1.0)), np.zeros(len(new)))
        y = np.append(self.y, np.ones(len(new)))
        nu = self.options.get("nu", 0.5)
        return Window(RBF(GAMMA), np.vstack([X, new]), y, cost, task=self.task, epsilon=0.1, nu=nu)

    def measure(self, X: Any, new: Any) -> str:
        """Mean times of one more sample, and the largest difference from a refit with a small tolerance."""
        window, cost = self.window(X, new), self.options.get("C", 1.0)
        times, differences = np.zeros(3), []
        for k, x in enumerate(new):
            more, y = np.vstack([X, x]), self.targets(self.y, self.added[k : k + 1])
            times[0] += timed(partial(self.refit, more, *y))[0]
            values, seconds = add_and_restore(window, len(X) + k, self.added[k], cost, self.options.get("nu", 0.0))
            times[2] += seconds
            if k < 10:
                exact = self.refit(more, *y, tol=1e-10)
                expected = exact.predict(X) if self.task == "regression" else exact.decision_function(X)
                differences.append(np.abs(values[: len(X)] - expected).max())
        model = self.incremental(gamma=GAMMA, **self.options).fit(X, *self.targets(self.y))

        def update() -> None:
            for k in range(len(new)):
                model.partial_fit(new[k : k + 1], *self.targets(self.added[k : k + 1])).forget([len(X)])

        times[1] = timed(update)[0]
        refit, updated, snapshot = 1e3 * times / len(new)
        ratio = f"{refit / snapshot:17.1f}"
        return f"{self.name:<22} {refit:10.2f} {updated:11.2f} {snapshot:13.3f} {ratio} {max(differences):11.1e}"


def undo() -> list[str]:
    """Refits, updates of incremental estimators, and snapshots, for one more sample."""
    X, y = friedman(N_UNDO, 0)
    new, target = friedman(N_NEW, 1)
    sign, added = np.where(y > 0, 1.0, -1.0), np.where(target > 0, 1.0, -1.0)
    cases = [
        Case(hinge.SVC, hinge.IncrementalSVC, sign, added, dict(C=5.0)),
        Case(hinge.SVC, hinge.IncrementalSVC, sign, -added, dict(C=5.0), ", wrong label"),
        Case(hinge.SVC, hinge.IncrementalSVC, sign, added, dict(C=100.0)),
        Case(hinge.SVR, hinge.IncrementalSVR, y, target, dict(C=5.0)),
        Case(hinge.OneClassSVM, hinge.IncrementalOneClassSVM, np.ones(N_UNDO), np.ones(N_NEW), dict(nu=0.2)),
    ]
    return [
        f"adding one sample and undoing it: n = {N_UNDO}, gamma = {GAMMA}, mean of {N_NEW} samples",
        "",
        f"{'estimator':<22} {'refit, ms':>10} {'update, ms':>11} {'snapshot, ms':>13} {'refit / snapshot':>17} "
        f"{'difference':>11}",
        *(case.measure(X, new) for case in cases),
        "",
        "refit: fit with n + 1 samples at the default tolerance. update: partial_fit and forget of the incremental",
        "estimator. snapshot: snapshot of the engine, path to the solution with one more sample, and restoration, as",
        "in full conformal prediction. difference: largest difference of the decision values from a refit at",
        "tol = 1e-10 (10 samples).",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the output next to this script")
    arguments = parser.parse_args()
    lines = [*full_conformal(), "", *undo(), "", "Friedman's first function with 8 features, noise 0.2. One thread."]
    finish(__file__, lines, (), arguments.save)


if __name__ == "__main__":
    main()
