"""Pairwise coupling: class probabilities from the probabilities of all pairs of classes.

The probabilities minimize Σᵢ Σⱼ≠ᵢ (rⱼᵢ pᵢ − rᵢⱼ pⱼ)² subject to Σ pᵢ = 1, where rᵢⱼ is the probability of class i in
the pair (i, j) [Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise coupling, 2004,
second approach].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_PROBABILITY = 1e-7  # pairwise probabilities are kept this far from 0 and 1, where the problem is singular
ITERATION_TOL = 0.005  # divided by the number of classes: optimality at which LIBSVM's iteration stops
MIN_ITERATION_LIMIT = 100  # rounds after which the iteration ends; the number of classes if that is larger


def couple(pairwise: Array, n_classes: int) -> Array:
    """Return the class probabilities, by solving the optimality conditions Qp + b1 = 0, 1ᵀp = 1.

    Parameters
    ----------
    pairwise : ndarray of shape (n_samples, n_pairs)
        Probability of the first class of each pair (i, j), i < j, in lexicographic order.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import couple
    >>> couple(np.array([[0.5, 0.5, 0.5]]), 3).round(3).tolist()
    [[0.333, 0.333, 0.333]]
    """
    if n_classes == 2:
        return np.column_stack([pairwise[:, 0], 1.0 - pairwise[:, 0]])
    system = np.ones((len(pairwise), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = _quadratic(pairwise, n_classes)
    system[:, -1, -1] = 0.0
    right = np.zeros((len(pairwise), n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)  # nonnegative in exact arithmetic
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def couple_iteratively(pairwise: Array, n_classes: int) -> Array:
    """Return the class probabilities to the accuracy of LIBSVM: its coordinate iteration with its stopping rule.

    The result differs from that of `couple` by up to about 0.005 / n_classes. Parameters as in `couple`.
    """
    if n_classes == 2:
        return couple(pairwise, n_classes)
    Q = _quadratic(pairwise, n_classes)
    p = np.full((len(pairwise), n_classes), 1.0 / n_classes)
    active = np.arange(len(pairwise))  # samples whose iteration has not stopped
    for _ in range(max(MIN_ITERATION_LIMIT, n_classes)):
        q, x = Q[active], p[active]
        Qp = np.einsum("nij,nj->ni", q, x)
        pQp = np.einsum("ni,ni->n", x, Qp)
        going = np.abs(Qp - pQp[:, None]).max(axis=1) >= ITERATION_TOL / n_classes
        if not going.any():
            break
        active, q, x, Qp, pQp = active[going], q[going], x[going], Qp[going], pQp[going]
        for t in range(n_classes):
            step = (pQp - Qp[:, t]) / q[:, t, t]
            x[:, t] += step
            total = 1.0 + step
            pQp = (pQp + step * (step * q[:, t, t] + 2.0 * Qp[:, t])) / total**2
            Qp = (Qp + step[:, None] * q[:, t]) / total[:, None]
            x /= total[:, None]
        p[active] = x
    return p


def _quadratic(pairwise: Array, n_classes: int) -> Array:
    """Q of every sample: Qᵢᵢ = Σⱼ≠ᵢ rⱼᵢ², Qᵢⱼ = −rⱼᵢ rᵢⱼ."""
    first, second = np.triu_indices(n_classes, 1)
    clipped = np.clip(pairwise, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    r = np.zeros((len(pairwise), n_classes, n_classes))
    r[:, first, second], r[:, second, first] = clipped, 1.0 - clipped
    Q = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = np.square(r).sum(axis=1)
    return Q
