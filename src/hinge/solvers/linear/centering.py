"""Centering: shift of features and targets that leaves the solution of a linear problem with free offset unchanged.

With Σβ = 0, w = Σ βᵢxᵢ = Σ βᵢ(xᵢ − m): the problem with targets t − c and features x − m has the same w and β, and the
offset b − c + ⟨w, m⟩. Without the shift, data far from zero lose digits.   docs/math (147)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from hinge.problems import Array, Bias, LinearProblem, LinearSolution

#: Targets are centred if their midrange exceeds their range by this factor.
MIN_RELATIVE_TARGET_SHIFT = 10.0

#: Features are centred if the midrange of one of them, in a subsample, exceeds its range by this factor: a mean of
#: about five standard deviations.
MIN_RELATIVE_FEATURE_SHIFT = 1.5

#: Size of the subsample.
SUBSAMPLE_SIZE = 16

#: Corrections of Σβ, each of which reduces it to rounding errors of the previous one.
MAX_SUM_CORRECTIONS = 3


@dataclass(frozen=True)
class CenteredProblem:
    """A problem with shifted targets and, unless `feature_shift` is None, shifted features."""

    problem: LinearProblem
    target_shift: float
    feature_shift: Array | None

    def restore(self, solution: LinearSolution) -> LinearSolution:
        """The same function of the original features.

        The features' shift multiplies Σβ, which is therefore reduced to zero.
        """
        if self.feature_shift is None:
            return replace(solution, offset=solution.offset + self.target_shift)
        offset = solution.offset + self.target_shift - float(solution.weights @ self.feature_shift)
        return replace(solution, offset=offset, beta=_with_zero_sum(solution.beta))


def centered(problem: LinearProblem, features: bool) -> CenteredProblem | None:
    """Center the problem; None if it is not needed or the offset is not free.

    Features are centred only if `features` and if they are dense, since that takes a copy.
    """
    if problem.bias is not Bias.FREE or problem.total != 0 or not problem.n:
        return None
    target_shift = _target_shift(problem.target)
    feature_shift = _feature_shift(np.asarray(problem.X)) if features and not sp.issparse(problem.X) else None
    if target_shift == 0 and feature_shift is None:
        return None
    X = problem.X if feature_shift is None else np.asarray(problem.X, dtype=np.float64) - feature_shift
    return CenteredProblem(replace(problem, X=X, target=problem.target - target_shift), target_shift, feature_shift)


def _with_zero_sum(beta: Array) -> Array:
    """β with Σβ = 0: the variables of the prevailing sign are scaled down, so that they stay within bounds.   (109)"""
    for _ in range(MAX_SUM_CORRECTIONS):
        surplus = float(np.sum(beta))
        prevailing = np.maximum(beta, 0.0) if surplus > 0 else np.minimum(beta, 0.0)
        if surplus == 0 or not np.any(prevailing):
            break
        beta = beta - surplus * (prevailing / np.sum(prevailing))
    return beta


def _target_shift(target: Array) -> float:
    """Midrange of the targets if it is large relative to their range, else 0."""
    low, high = float(np.min(target)), float(np.max(target))
    midrange = 0.5 * low + 0.5 * high
    return midrange if abs(midrange) > MIN_RELATIVE_TARGET_SHIFT * (high - low) else 0.0


def _feature_shift(X: Array) -> Array | None:
    """Mean of the features if one of them is far from zero in a subsample, else None."""
    subsample = X[:: -(-len(X) // SUBSAMPLE_SIZE)]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.minimum.reduce(subsample), np.maximum.reduce(subsample)
        is_far = np.abs(0.5 * low + 0.5 * high) > MIN_RELATIVE_FEATURE_SHIFT * (high - low)
        if not np.logical_or.reduce(is_far):
            return None
        mean = np.asarray(X.mean(axis=0, dtype=np.float64))
    return mean if np.isfinite(mean).all() else None
