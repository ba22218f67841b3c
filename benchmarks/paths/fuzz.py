"""Verify paths of random degenerate problems, with permuted samples.

    python benchmarks/paths/fuzz.py [--problems 200] [--orders 6] [--seed 0] [--kinds nu_regression ...] [--show]

The problems contain duplicates, duplicates with opposite labels, integer grids, constant or integer targets, zero
weights and kernels of rank one, two or more. Each type of path runs on each problem, on permutations of its samples,
and with its kernel matrix multiplied by 1 + k·2⁻⁵². The optimality conditions are computed with NumPy from β, μ and
the kernel matrix at all breakpoints, at the adjacent floating-point numbers, and between breakpoints. The violation
must be at most 1e-9, relative to max |c| + max K · max |bound|. A path must be exact or raise an error that explains
why the problem is invalid.
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
from paths.optimality import KKT, direct_violation, violation_at

KERNELS = ("rank one", "ones", "linear", "rbf near one", "rbf", "rbf sharp", "quadratic")


HEADER = f"""\
{"":24} {"":5} {"":6} {"largest":>17} {"CPU":>7}
{"path":24} {"exact":>5} {"others":>6} {"KKT violation":>17} {"seconds":>7}"""

NOTES = """
Notes
- exact: number of paths with a relative KKT violation of at most 1e-9. others: number and kind of all other results.
- largest KKT violation: of the exact paths."""


def samples(rng):
    """Return X with integer or real values, with or without duplicates."""
    n, d = int(rng.choice([rng.integers(4, 26), 50])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.5:
        X = rng.integers(0, int(rng.integers(2, 5)), (n, d)).astype(float)
    if rng.random() < 0.5:
        X = np.concatenate([X, X[: int(rng.integers(1, n + 1))]])
    return X


def labels(rng, n, half):
    """Return random labels of both classes; duplicates may have equal or opposite labels."""
    y = np.where(rng.random(n) < rng.choice([0.1, 0.5, 0.8]), 1.0, -1.0)
    if rng.random() < 0.4 and half < n:
        y[half:] = rng.choice([-1.0, 1.0]) * y[: n - half]
    y[:2] = rng.permutation([1.0, -1.0])
    return y


def targets(rng, n, X):
    """Return constant, integer, linear or random targets."""
    kind = rng.integers(5)
    if kind == 0:
        return np.full(n, float(rng.choice([0.0, 2.0, -0.3])))
    if kind == 1:
        return rng.integers(0, 3, n).astype(float)
    if kind == 2:
        return X[:, 0] + 1.0
    return np.round(rng.normal(size=n), 1) if kind == 3 else rng.normal(size=n)


def kernel_matrix(name, X):
    """Return the kernel matrix."""
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


def weights(rng, y, positive=0.7):
    """Return weights of which a fraction is positive and the others are zero; both classes keep a sample."""
    w = rng.choice([rng.uniform(0.1, 2, len(y)), np.ones(len(y))]) * (rng.random(len(y)) < positive)
    w[[np.argmax(y), np.argmin(y)]] = 1.0
    return w


class RandomProblem:
    """Random data and parameters for all types of paths."""

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

    def permuted(self, order, scale):
        """Return the problem with permuted samples and a scaled kernel matrix."""
        other = object.__new__(RandomProblem)
        other.__dict__ = dict(self.__dict__)
        for name in ("X", "y", "t", "first", "last", "margin", "tube"):
            setattr(other, name, getattr(self, name)[order])
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        other.rows = position[self.rows]
        K = kernel_matrix(self.kernel, other.X) * scale
        other.K = 0.5 * (K + K.T)
        return other


PRECOMPUTED = dict(kernel="precomputed")
LOSSES = ("squared_hinge", "modified_huber", "huberized_hinge", (1.0, 1.0))
KINDS = {
    "C": lambda d: hinge.regularization_path(d.K, d.y, C_min=1e-4, C_max=1e6, fit_intercept=d.bias, **PRECOMPUTED),
    "C weighted": lambda d: hinge.regularization_path(
        d.K, d.y, C_min=1e-3, C_max=1e3, sample_weight=d.first, **PRECOMPUTED
    ),
    "C regression": lambda d: hinge.regularization_path(
        d.K, d.t, C_min=1e-3, C_max=1e4, task="regression", epsilon=d.epsilon, fit_intercept=d.bias, **PRECOMPUTED
    ),
    "epsilon": lambda d: hinge.epsilon_path(
        d.K, d.t, epsilon_min=0.0, epsilon_max=3.0, C=d.C, fit_intercept=d.bias, **PRECOMPUTED
    ),
    "nu": lambda d: hinge.nu_path(d.K, d.y, nu_min=0.02, **PRECOMPUTED),
    "nu weighted": lambda d: hinge.nu_path(d.K, d.y, nu_min=0.02, sample_weight=d.first, **PRECOMPUTED),
    "nu regression": lambda d: hinge.nu_path(d.K, d.t, nu_min=0.05, C=d.C, task="regression", **PRECOMPUTED),
    "nu regression weighted": lambda d: hinge.nu_path(
        d.K, d.t, nu_min=0.05, C=d.C, task="regression", sample_weight=d.first, **PRECOMPUTED
    ),
    "one class": lambda d: hinge.nu_path(d.K, nu_min=0.05, task="one_class", **PRECOMPUTED),
    "weights": lambda d: hinge.weight_path(d.K, d.y, d.first, d.last, C=d.C, fit_intercept=d.bias, **PRECOMPUTED),
    "margins": lambda d: hinge.weight_path(
        d.K, d.y, d.first, d.last, C=d.C, margin=1.0, margin_end=d.margin, **PRECOMPUTED
    ),
    "margins alone": lambda d: hinge.weight_path(d.K, d.y, 1.0, 1.0, C=d.C, margin_end=d.margin, **PRECOMPUTED),
    "tubes": lambda d: hinge.weight_path(
        d.K, d.t, d.first, d.last, C=d.C, task="regression", epsilon=d.tube, epsilon_end=0.25, **PRECOMPUTED
    ),
}


def quadratic(d, k):
    return hinge.quadratic_loss_path(d.K, d.y, loss=LOSSES[k], lambda_min=1e-4, fit_intercept=d.bias, **PRECOMPUTED)


def quadratic_violation(path, K):
    """Return the relative violation of Karasuyama (5.11) at and between breakpoints."""
    worst, knots = path.kkt_violation, path.breakpoints
    selected = knots if len(knots) < 60 else np.random.default_rng(0).choice(knots, 60, replace=False)
    for lam in np.concatenate([selected, np.geomspace(path.lambda_min, path.lambda_max, 12)]):
        alpha, b = path.alpha(lam), path.intercept(lam)
        r = path.y * (K @ (path.y * alpha) / lam + b) - path.rho + alpha
        margin = 1e-9 * (1 + np.max(alpha))
        kkt = max(np.max(-r[alpha < path.h - margin], initial=0.0), np.max(r[alpha > margin], initial=0.0))
        infeasible = max(np.max(-alpha), np.max(alpha - path.h), abs(float(path.y @ alpha)) if path.bias else 0.0)
        worst = max(worst, max(kkt, infeasible) / (path.rho + np.max(alpha) * np.max(np.diagonal(K)) / lam))
    return worst


def path_violation(path):
    """Return the largest violation at breakpoints, close to them, and between them."""
    knots = path.breakpoints
    selected = knots if len(knots) < 60 else np.random.default_rng(0).choice(knots, 60, replace=False)
    middle = 0.5 * (knots[1:] + knots[:-1])
    middle = middle if len(middle) < 40 else np.random.default_rng(1).choice(middle, 40, replace=False)
    close = [selected * (1 - 1e-9), selected * (1 + 1e-9)]
    close += [np.nextafter(selected, -np.inf), np.nextafter(selected, np.inf)]
    thetas = np.clip(np.concatenate([selected, middle, *close]), path.low, path.high)
    return max(path.kkt_violation, max(direct_violation(path, theta) for theta in thetas))


def kernel_of(name):
    """Return the kernel object of a name; the kernel of rank one uses the first column only."""
    kernels = {"ones": Polynomial(degree=1, gamma=0.0, coef0=1.0), "rank one": Linear(), "linear": Linear()}
    widths = {"rbf near one": 1e-3, "rbf": 0.5, "rbf sharp": 50.0}
    kernels["quadratic"] = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    return kernels[name] if name in kernels else RBF(widths[name])


def updates(d, task):
    """Add, remove and reweight samples, and return the largest violation after the updates."""
    worst, target, n = 0.0, d.y if task == "classification" else d.t, len(d.y)
    first = d.rows[: max(4, n // 2)]
    if task == "classification":
        first = np.unique([*first, np.argmax(d.y), np.argmin(d.y)])
    X, kernel = d.X if d.kernel != "rank one" else d.X[:, :1], kernel_of(d.kernel)
    window = Window(kernel, X[first], target[first], np.full(len(first), d.C), task, d.epsilon)
    rng = np.random.default_rng(n)
    for _ in range(6):
        current = window.y[window.current]
        keep = np.append(np.flatnonzero(current == current[0])[:1], np.flatnonzero(current != current[0])[:1])
        removed = np.setdiff1d(rng.choice(window.n, min(2, window.n - 2), replace=False), keep)
        new, cost = rng.integers(0, n, 3), rng.choice([0.0, 0.5, 1.0], window.n) * d.C
        cost[keep] = d.C
        window.update(X[new], target[new], np.full(3, d.C), forget=removed, reweight=cost)
        now, state = window._parametric(constant(window.cost)), window.engine.active_set
        violation = violation_at(now, kernel(window.X), 0.0, state.beta, state.mu)
        worst = max(worst, window.counts.violation, violation)
    return worst


def run(kind, d, k):
    """Return (verdict, violation)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if kind == "quadratic":
                worst = quadratic_violation(quadratic(d, k % len(LOSSES)), d.K)
            elif kind.startswith("updates"):
                worst = updates(d, kind.split()[1])
            else:
                worst = path_violation(KINDS[kind](d))
        except PathError as error:
            return ("no feasible point" if "feasible" in str(error) else "PathError: " + str(error)[:60]), 0.0
        except ValueError as error:
            return "rejected: " + str(error)[:50], 0.0
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:60]}", np.inf
    return ("exact" if worst <= KKT else "WRONG"), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    all_kinds = [*KINDS, "quadratic", "updates classification", "updates regression"]
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--orders", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=all_kinds)
    parser.add_argument("--show", action="store_true", help="list all problems that are not exact")
    arguments = parser.parse_args()
    bad = 0
    print(HEADER)
    for kind in arguments.kinds:
        counts, largest, start = Counter(), 0.0, time.process_time()
        for seed in range(arguments.seed, arguments.seed + arguments.problems):
            problem = RandomProblem(seed)
            for k in range(arguments.orders):
                rng = np.random.default_rng([seed, k])
                order = rng.permutation(len(problem.y)) if k else np.arange(len(problem.y))
                verdict, worst = run(kind, problem.permuted(order, 1 + k // 2 * 2.0**-52), seed)
                counts[verdict] += 1
                if verdict == "exact":
                    largest = max(largest, worst)
                elif not verdict.startswith("rejected"):
                    bad += 1  # also "no feasible point": all problems have a feasible point
                    if arguments.show:
                        print(f"  {kind}: problem {seed}, order {k}, {problem.kernel}: {verdict} {worst:.1e}")
        exact = counts.pop("exact", 0)
        others = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        seconds = time.process_time() - start
        print(f"{kind:24} {exact:5d} {sum(counts.values()):6d} {largest:17.1e} {seconds:7.0f}  {others}".rstrip())
        sys.stdout.flush()
    print(f"\n{bad} paths are neither exact nor rejected as invalid")
    print(f"{NOTES}\n- {arguments.problems} problems, {arguments.orders} orders of the samples each")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
