"""Paths of degenerate problems, in many orders of their samples: every one ends exact or in an error that says why.

    python benchmarks/paths/fuzz.py [--problems 200] [--orders 6] [--seed 0] [--kinds nu_regression ...] [--show]

A problem is drawn from duplicates, duplicates with opposite labels, integer grids, constant or integer targets, zero
weights and kernels of rank one, two or more; every kind of path runs on it, on permutations of its samples and with
its kernel matrix scaled by 1 + k·2⁻⁵².  Optimality is computed with NumPy from β, μ and the kernel matrix, at all
breakpoints, in the doubles beside them and between; it must be 1e-9, relative to max |c| + max K · max |bound|.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import hinge
from hinge.kernels import RBF, Linear, Polynomial
from hinge.paths.engine import PathError
from hinge.paths.window import Window
from hinge.problems.parametric import constant

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from paths.laws import KKT, direct_violation, violation_at

KERNELS = ("rank one", "ones", "linear", "rbf near one", "rbf", "rbf sharp", "quadratic")


def samples(rng):
    """X, integer or not, with duplicates or not."""
    n, d = int(rng.choice([rng.integers(4, 26), 50])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.5:
        X = rng.integers(0, int(rng.integers(2, 5)), (n, d)).astype(float)
    if rng.random() < 0.5:
        X = np.concatenate([X, X[: int(rng.integers(1, n + 1))]])
    return X


def labels(rng, n, half):
    """Both classes, by a rule, at random or the opposite of the first copy's."""
    y = np.where(rng.random(n) < rng.choice([0.1, 0.5, 0.8]), 1.0, -1.0)
    if rng.random() < 0.4 and half < n:
        y[half:] = rng.choice([-1.0, 1.0]) * y[: n - half]
    y[:2] = rng.permutation([1.0, -1.0])
    return y


def targets(rng, n, X):
    """Constant, integer, linear or noisy."""
    kind = rng.integers(5)
    if kind == 0:
        return np.full(n, float(rng.choice([0.0, 2.0, -0.3])))
    if kind == 1:
        return rng.integers(0, 3, n).astype(float)
    if kind == 2:
        return X[:, 0] + 1.0
    return np.round(rng.normal(size=n), 1) if kind == 3 else rng.normal(size=n)


def matrix(name, X):
    """A kernel matrix."""
    if name == "ones":
        return np.ones((len(X), len(X)))
    if name == "rank one":
        return np.outer(X[:, 0], X[:, 0])
    if name == "linear":
        return X @ X.T
    if name == "quadratic":
        return (X @ X.T + 1) ** 2
    gamma = {"rbf near one": 1e-3, "rbf": 0.5, "rbf sharp": 50.0}[name]
    return np.exp(-gamma * np.sum((X[:, None] - X[None]) ** 2, axis=2))


def weights(rng, y, some=0.7):
    """Zero or positive, both classes kept."""
    w = rng.choice([rng.uniform(0.1, 2, len(y)), np.ones(len(y))]) * (rng.random(len(y)) < some)
    w[[np.argmax(y), np.argmin(y)]] = 1.0
    return w


class Draw:
    """One problem: data, and what every kind of path needs beside them."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.X = samples(rng)
        n = len(self.X)
        self.y, self.t = labels(rng, n, n // 2), targets(rng, n, self.X)
        self.kernel = str(rng.choice(KERNELS))
        self.first, self.last = weights(rng, self.y), weights(rng, self.y)
        self.margin = np.round(rng.normal(size=n))
        self.tube = rng.integers(0, 3, n) / 2.0
        self.C = float(rng.choice([0.1, 1.0, 3.0, 100.0]))
        self.epsilon = float(rng.choice([0.0, 0.1, 0.5, 1.0]))
        self.bias = bool(rng.random() < 0.8)
        self.rows = rng.permutation(n)

    def ordered(self, order, scale):
        """The same problem with its samples in this order."""
        other = object.__new__(Draw)
        other.__dict__ = dict(self.__dict__)
        for name in ("X", "y", "t", "first", "last", "margin", "tube"):
            setattr(other, name, getattr(self, name)[order])
        where = np.empty_like(order)
        where[order] = np.arange(len(order))
        other.rows = where[self.rows]
        K = matrix(self.kernel, other.X) * scale
        other.K = 0.5 * (K + K.T)
        return other


PRE = dict(kernel="precomputed")
LOSSES = ("squared_hinge", "modified_huber", "huberized_hinge", (1.0, 1.0))
KINDS = {
    "C": lambda d: hinge.regularization_path(d.K, d.y, C_min=1e-4, C_max=1e6, fit_intercept=d.bias, **PRE),
    "C weighted": lambda d: hinge.regularization_path(d.K, d.y, C_min=1e-3, C_max=1e3, sample_weight=d.first, **PRE),
    "C regression": lambda d: hinge.regularization_path(
        d.K, d.t, C_min=1e-3, C_max=1e4, task="regression", epsilon=d.epsilon, fit_intercept=d.bias, **PRE
    ),
    "epsilon": lambda d: hinge.epsilon_path(
        d.K, d.t, epsilon_min=0.0, epsilon_max=3.0, C=d.C, fit_intercept=d.bias, **PRE
    ),
    "nu": lambda d: hinge.nu_path(d.K, d.y, nu_min=0.02, **PRE),
    "nu weighted": lambda d: hinge.nu_path(d.K, d.y, nu_min=0.02, sample_weight=d.first, **PRE),
    "nu regression": lambda d: hinge.nu_path(d.K, d.t, nu_min=0.05, C=d.C, task="regression", **PRE),
    "nu regression weighted": lambda d: hinge.nu_path(
        d.K, d.t, nu_min=0.05, C=d.C, task="regression", sample_weight=d.first, **PRE
    ),
    "one class": lambda d: hinge.nu_path(d.K, nu_min=0.05, task="one_class", **PRE),
    "weights": lambda d: hinge.weight_path(d.K, d.y, d.first, d.last, C=d.C, fit_intercept=d.bias, **PRE),
    "margins": lambda d: hinge.weight_path(d.K, d.y, d.first, d.last, C=d.C, margin=1.0, margin_end=d.margin, **PRE),
    "margins alone": lambda d: hinge.weight_path(d.K, d.y, 1.0, 1.0, C=d.C, margin_end=d.margin, **PRE),
    "tubes": lambda d: hinge.weight_path(
        d.K, d.t, d.first, d.last, C=d.C, task="regression", epsilon=d.tube, epsilon_end=0.25, **PRE
    ),
}


def quadratic(d, k):
    return hinge.quadratic_loss_path(d.K, d.y, loss=LOSSES[k], lambda_min=1e-4, fit_intercept=d.bias, **PRE)


def quadratic_violation(path, K):
    """Karasuyama (5.11), relative, at breakpoints and between."""
    worst, knots = path.kkt_violation, path.breakpoints
    some = knots if len(knots) < 60 else np.random.default_rng(0).choice(knots, 60, replace=False)
    for lam in np.concatenate([some, np.geomspace(path.lambda_min, path.lambda_max, 12)]):
        alpha, b = path.alpha(lam), path.intercept(lam)
        r = path.y * (K @ (path.y * alpha) / lam + b) - path.rho + alpha
        near = 1e-9 * (1 + np.max(alpha))
        wrong = max(np.max(-r[alpha < path.h - near], initial=0.0), np.max(r[alpha > near], initial=0.0))
        out = max(np.max(-alpha), np.max(alpha - path.h), abs(float(path.y @ alpha)) if path.bias else 0.0)
        worst = max(worst, max(wrong, out) / (path.rho + np.max(alpha) * np.max(np.diagonal(K)) / lam))
    return worst


def followed_violation(path):
    """At breakpoints, a little to both sides of them, and between."""
    knots = path.breakpoints
    some = knots if len(knots) < 60 else np.random.default_rng(0).choice(knots, 60, replace=False)
    middle = 0.5 * (knots[1:] + knots[:-1])
    middle = middle if len(middle) < 40 else np.random.default_rng(1).choice(middle, 40, replace=False)
    beside = [some * (1 - 1e-9), some * (1 + 1e-9), np.nextafter(some, -np.inf), np.nextafter(some, np.inf)]
    at = np.clip(np.concatenate([some, middle, *beside]), path.low, path.high)
    return max(path.kkt_violation, max(direct_violation(path, theta) for theta in at))


def kernel_of(name):
    """The same kernels as functions; of rank one: on the first column."""
    kernels = {"ones": Polynomial(degree=1, gamma=0.0, coef0=1.0), "rank one": Linear(), "linear": Linear()}
    widths = {"rbf near one": 1e-3, "rbf": 0.5, "rbf sharp": 50.0}
    kernels["quadratic"] = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    return kernels[name] if name in kernels else RBF(widths[name])


def updates(d, task):
    """Samples come, go and change their costs, a few at a time; optimality after every update."""
    worst, target, n = 0.0, d.y if task == "classification" else d.t, len(d.y)
    first = d.rows[: max(4, n // 2)]
    if task == "classification":
        first = np.unique([*first, np.argmax(d.y), np.argmin(d.y)])
    X, kernel = d.X if d.kernel != "rank one" else d.X[:, :1], kernel_of(d.kernel)
    window = Window(kernel, X[first], target[first], np.full(len(first), d.C), task, d.epsilon)
    rng = np.random.default_rng(n)
    for _ in range(6):
        here = window.y[window.alive]
        keep = np.append(np.flatnonzero(here == here[0])[:1], np.flatnonzero(here != here[0])[:1])
        gone = np.setdiff1d(rng.choice(window.n, min(2, window.n - 2), replace=False), keep)
        new, cost = rng.integers(0, n, 3), rng.choice([0.0, 0.5, 1.0], window.n) * d.C
        cost[keep] = d.C
        window.update(X[new], target[new], np.full(3, d.C), forget=gone, reweight=cost)
        now, state = window._motion(constant(window.cost)), window.engine.set
        found = violation_at(now, kernel(window.X), 0.0, state.beta, state.mu)
        worst = max(worst, window.counts.violation, found)
    return worst


def attempt(kind, d, k):
    """(verdict, violation)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if kind == "quadratic":
                worst = quadratic_violation(quadratic(d, k % len(LOSSES)), d.K)
            elif kind.startswith("updates"):
                worst = updates(d, kind.split()[1])
            else:
                worst = followed_violation(KINDS[kind](d))
        except PathError as error:
            return ("no feasible point" if "feasible" in str(error) else "PathError: " + str(error)[:60]), 0.0
        except ValueError as error:
            return "refused: " + str(error)[:50], 0.0
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:60]}", np.inf
    return ("exact" if worst <= KKT else "WRONG"), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    everything = [*KINDS, "quadratic", "updates classification", "updates regression"]
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--orders", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=everything)
    parser.add_argument("--show", action="store_true", help="name every problem that is not exact")
    arguments = parser.parse_args()
    bad = 0
    for kind in arguments.kinds:
        counts, top, began = Counter(), 0.0, time.process_time()
        for seed in range(arguments.seed, arguments.seed + arguments.problems):
            draw = Draw(seed)
            for k in range(arguments.orders):
                rng = np.random.default_rng([seed, k])
                order = rng.permutation(len(draw.y)) if k else np.arange(len(draw.y))
                verdict, worst = attempt(kind, draw.ordered(order, 1 + k // 2 * 2.0**-52), seed)
                counts[verdict] += 1
                if verdict == "exact":
                    top = max(top, worst)
                elif not verdict.startswith("refused"):
                    bad += 1  # "no feasible point" too: all these problems have one
                    if arguments.show:
                        print(f"  {kind}: problem {seed}, order {k}, {draw.kernel}: {verdict} {worst:.1e}", flush=True)
        said = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        seconds = time.process_time() - began
        print(f"{kind:24} {said}; largest violation of the exact ones {top:.1e}; {seconds:.0f} s", flush=True)
    print(f"{bad} neither exact nor refused")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
