"""Optimum for given index sets in decimal arithmetic with 60 digits."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np

DIGITS = 60


@dataclass(frozen=True)
class Exact:
    """f = Kβ + μ at all samples, and the violation of the optimality conditions (0: optimal)."""

    values: np.ndarray
    beta: np.ndarray  # per sample, rounded to doubles
    mu: float
    violation: float  # of the signs of the residuals, in units of f
    outside: float  # of the bounds, in units of β


def decimals(x):
    return np.array([Decimal(float(v)) for v in np.ravel(x)], dtype=object).reshape(np.shape(x))


def solve(A, b):
    """Gaussian elimination with partial pivoting."""
    A, b = A.copy(), b.copy()
    for k in range(len(b)):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, pivot]], b[[k, pivot]] = A[[pivot, k]], b[[pivot, k]]
        ratio = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= ratio[:, None] * A[k, k:]
        b[k + 1 :] -= ratio * b[k]
    for k in range(len(b))[::-1]:
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k] if k + 1 < len(b) else b[k] / A[k, k]
    return b


def optimum(parametric, K, theta, places, mu):
    """Solution of a parametric problem with one equality row at `theta`.

    `places`: 0 at the lower bound, 1 at the upper bound, 2 free. `mu` is used if no variable is free, since μ is not
    unique then.
    """
    now, n = parametric.at(theta), len(K)
    with localcontext() as context:
        context.prec = DIGITS
        big, linear = decimals(K), decimals(now.linear)
        beta = decimals(np.where(places == 0, now.lower, now.upper))
        free = np.flatnonzero(places == 2)
        beta[free] = Decimal(0)
        per_sample = lambda: beta.reshape(-1, n).sum(axis=0)  # noqa: E731
        m = len(free)
        A = np.full((m + 1, m + 1), Decimal(1), dtype=object)
        A[:m, :m], A[m, m] = big[np.ix_(free % n, free % n)], Decimal(0)
        fixed = big[free % n] @ per_sample() if m else np.zeros(0, dtype=object)
        right = np.append(-(linear[free] + fixed), Decimal(float(now.total[0])) - beta.sum())
        solution = solve(A, right) if m else [Decimal(float(mu))]
        beta[free], mu = solution[:m], solution[m]
        f = big @ per_sample() + mu
        r = np.tile(f, parametric.size // n) + linear
        wide = now.lower < now.upper
        wrong = [-v for v in r[(places == 0) & wide]] + list(r[(places == 1) & wide])
        lower, upper = decimals(now.lower)[free], decimals(now.upper)[free]
        outside = [*(lower - beta[free]), *(beta[free] - upper), Decimal(0)]
        return Exact(
            f.astype(float),
            per_sample().astype(float),
            float(mu),
            float(max([*wrong, Decimal(0)])),
            float(max(outside)),
        )
