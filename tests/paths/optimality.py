"""Optimality conditions of every path, computed with NumPy and the formula of the kernel only."""

from __future__ import annotations

import numpy as np

#: Optimality conditions hold to this, relative to max |c| + max K · max |bound|.
KKT = 1e-9


def violation_at(parametric, K, theta, beta, mu):
    """Return the largest violation of the optimality conditions by (β, μ) at θ, relative to the scale there."""
    now, n = parametric.at(theta), len(K)
    f = np.tile(K @ beta.reshape(-1, n).sum(axis=0), parametric.size // n)
    r = f + now.linear + np.where(parametric.group >= 0, mu[parametric.group] if len(mu) else 0.0, 0.0)
    width = now.upper - now.lower
    near = 1e-10 * width
    can_rise, can_fall = beta < now.upper - near, beta > now.lower + near
    wrong = max(np.max(-r[can_rise], initial=0.0), np.max(r[can_fall], initial=0.0))
    bound = max(np.max(np.abs(now.lower)), np.max(np.abs(now.upper)))
    scale = np.max(np.abs(now.linear)) + np.max(np.abs(np.diagonal(K))) * bound
    sums = [abs(np.sum(beta[parametric.group == g]) - now.total[g]) for g in range(len(now.total))]
    outside = np.max(np.maximum(now.lower - beta, beta - now.upper))
    return max(wrong / scale, max([0.0, outside, *sums]) / max(bound, 1e-300))


def direct_violation(path, theta):
    """Return the violation of a path at θ."""
    beta, mu = path.pieces.beta(path.parametric, theta), path.pieces.multipliers(theta)
    K = np.asarray(path.X) if path.kernel.psd is None and path.X.shape[0] == path.X.shape[1] else path.kernel(path.X)
    return violation_at(path.parametric, K, theta, beta, mu)


def assert_exact(path, seed=0, count=12, every_breakpoint=True):
    """Check the violation that the path reports, and the one computed at breakpoints and at random θ between them."""
    assert path.kkt_violation <= KKT
    rng = np.random.default_rng(seed)
    if path.low > 0:
        between = np.exp(rng.uniform(np.log(path.low), np.log(path.high), count))
    else:
        between = rng.uniform(path.low, path.high, count)
    corners = path.breakpoints if every_breakpoint else rng.choice(path.breakpoints, min(40, len(path.breakpoints)))
    for theta in np.concatenate([between, corners]):
        assert direct_violation(path, theta) <= KKT, theta
    assert np.all(np.diff(path.breakpoints) > 0)
    assert path.breakpoints[0] == path.low
    assert path.breakpoints[-1] == path.high
