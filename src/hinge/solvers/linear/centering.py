"""Linear machines far from zero: a free offset takes the distance up, and no digits are lost to it.

With Σβ = 0, w = Σ βᵢxᵢ = Σ βᵢ(xᵢ − m): the machine of the targets t − c and the features x − m has the same w and β,
and the offset b − c + ⟨w, m⟩.   docs/math (147)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from hinge.problems import Array, Bias, LinearProblem, LinearSolution

#: Targets are far from zero where their middle is so many times their range away.
FAR = 10.0

#: Features are where the middle of one is so many times its range away, in so many samples: about five deviations.
FAR_FEATURES = 1.5
LOOKS = 16


@dataclass(frozen=True)
class Nearer:
    """The machine nearer to zero, and the way back."""

    problem: LinearProblem
    level: float
    centre: Array | None

    def back(self, found: LinearSolution) -> LinearSolution:
        """The same function of the features as they were; what is left of Σβ would be multiplied by the distance."""
        if self.centre is None:
            return replace(found, offset=found.offset + self.level)
        offset = found.offset + self.level - float(found.weights @ self.centre)
        return replace(found, offset=offset, beta=_without_sum(found.beta))


def nearer(problem: LinearProblem, features: bool) -> Nearer | None:
    """None where it is near enough; features are moved only if asked for and dense, since that takes a copy of them."""
    if problem.bias is not Bias.FREE or problem.total != 0 or not problem.n:
        return None
    level = _level(problem.target)
    centre = _centre(np.asarray(problem.X)) if features and not sp.issparse(problem.X) else None
    if level == 0 and centre is None:
        return None
    X = problem.X if centre is None else np.asarray(problem.X, dtype=np.float64) - centre
    return Nearer(replace(problem, X=X, target=problem.target - level), level, centre)


def _without_sum(beta: Array) -> Array:
    """The variables of the sign that is too strong, less their share of the sum: they stay in their boxes.   (109)"""
    for _ in range(3):
        surplus = float(np.sum(beta))
        strong = np.maximum(beta, 0.0) if surplus > 0 else np.minimum(beta, 0.0)
        if surplus == 0 or not np.any(strong):
            break
        beta = beta - surplus * (strong / np.sum(strong))
    return beta


def _level(target: Array) -> float:
    """The middle of targets that lie far from zero, close together."""
    low, high = float(np.min(target)), float(np.max(target))
    middle = 0.5 * low + 0.5 * high
    return middle if abs(middle) > FAR * (high - low) else 0.0


def _centre(X: Array) -> Array | None:
    """The mean of features of which one or more are far from zero, as some of the samples say."""
    some = X[:: -(-len(X) // LOOKS)]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.minimum.reduce(some), np.maximum.reduce(some)
        if not np.logical_or.reduce(np.abs(0.5 * low + 0.5 * high) > FAR_FEATURES * (high - low)):
            return None
        mean = np.asarray(X.mean(axis=0, dtype=np.float64))
    return mean if np.isfinite(mean).all() else None
