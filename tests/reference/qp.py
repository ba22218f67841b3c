"""Two solvers of  min ½xᵀQx + pᵀx  s.t.  Ax = d, l ≤ x ≤ u  that share no code with hinge.

`solve_with_clarabel` uses the interior-point method of clarabel, `solve_by_enumeration` tries every active set (at most
8 variables). Both return an `Optimum`, whose `error` bounds the difference of `value` from the minimum: by weak
duality, or by exhaustive search.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Optimum:
    value: float
    error: float
    x: np.ndarray
    mu: np.ndarray


def dense_matrix(Q):
    """All of the matrix Q of problem (1)."""
    return Q.block(np.arange(Q.size), np.arange(Q.size))


def solve_with_clarabel(Q, p, A, d, lower, upper, fold=None, tol=1e-11, rounds=4):
    """Interior-point solution.  With `fold` (n × N) the quadratic form is foldᵀ Q fold, and Q is n × n.

    Bounds much larger than the solution cost digits. The problem is therefore solved again in units of the solution,
    and the result with the smallest certified error is returned.
    """
    Q, p, A, d, lower, upper = _floats(Q, p, A, d, lower, upper)
    fold = sparse.identity(p.size, format="csr") if fold is None else sparse.csr_matrix(fold)
    best, unit = None, _box_size(lower, upper, Q, p, A, d)
    for _ in range(rounds):
        x, mu = _clarabel(Q, fold, p, A, d, lower, upper, unit, tol)
        candidate = _certified(Q, fold, p, A, d, lower, upper, x, mu)
        if best is None or candidate.error < best.error:
            best = candidate
        reach = np.abs(x).max(initial=0)
        if best.error <= 1e-9 * abs(best.value) or reach == 0 or 0.1 < reach / unit < 10:
            break
        unit = reach
    return best


def _clarabel(Q, fold, p, A, d, lower, upper, unit, tol):
    """x and μ from the problem in z = x / unit, with the objective divided by its size."""
    N, n = p.size, fold.shape[0]
    size = max(np.abs(Q).max(initial=0) * unit**2, np.abs(p).max(initial=0) * unit) or 1.0
    # Variables (z, v) with v = fold z: the dense block is n × n, and there is no fill-in.
    dense = sparse.csc_matrix(np.triu(Q * (unit**2 / size)))
    P = sparse.block_diag([sparse.csc_matrix((N, N)), dense], format="csc")
    q = np.r_[p * (unit / size), np.zeros(n)]
    keep = np.abs(A).max(axis=1) > 0 if A.size else np.zeros(len(A), bool)
    norm = np.abs(A[keep]).max(axis=1, keepdims=True) if keep.any() else np.ones((0, 1))
    up, low = np.isfinite(upper), np.isfinite(lower)
    eye = sparse.hstack([sparse.identity(N), sparse.csr_matrix((N, n))], format="csr")
    rows = [
        sparse.csr_matrix(np.c_[A[keep] / norm, np.zeros((keep.sum(), n))]),
        sparse.hstack([fold, -sparse.identity(n)]),
        eye[up],
        -eye[low],
    ]
    sides = [d[keep] / norm.ravel() / unit, np.zeros(n), upper[up] / unit, -lower[low] / unit]
    cones = [clarabel.ZeroConeT(int(keep.sum()) + n), clarabel.NonnegativeConeT(int(up.sum() + low.sum()))]

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    result = clarabel.DefaultSolver(
        P, q, sparse.vstack(rows, format="csc"), np.concatenate(sides), cones, settings
    ).solve()
    mu = np.zeros(len(A))
    mu[keep] = np.asarray(result.z[: int(keep.sum())]) * (size / unit) / norm.ravel()
    return np.clip(np.asarray(result.x[:N]) * unit, lower, upper), mu


def solve_by_enumeration(Q, p, A, d, lower, upper):
    """The best feasible stationary point over all assignments of {at lower, at upper, free}.

    Some optimal face of a convex problem has a unique stationary point: on a singular face, move along the null space
    until a bound is reached. Singular systems therefore need no special treatment.
    """
    Q, p, A, d, lower, upper = _floats(Q, p, A, d, lower, upper)
    N, m = p.size, len(A)
    if N > 8:
        raise ValueError(f"{N} variables are too many to enumerate")
    s = _box_size(lower, upper, Q, p, A, d)
    size = max(np.abs(Q).max(initial=0) * s * s, np.abs(p).max(initial=0) * s) or 1.0
    norm = np.abs(A).max(axis=1, initial=0)
    norm[norm == 0] = 1.0
    H, c, B, e = Q * (s * s / size), p * (s / size), A / norm[:, None], d / norm / s
    lo, hi = lower / s, upper / s
    choices = [[v for v in ("lower", "upper", "free") if _possible(v, lo[i], hi[i])] for i in range(N)]
    best, best_z, best_mu = np.inf, None, None
    for face in itertools.product(*choices):
        z = np.array([lo[i] if f == "lower" else hi[i] if f == "upper" else 0.0 for i, f in enumerate(face)])
        free = np.array([f == "free" for f in face], dtype=bool)
        k = int(free.sum())
        kkt = np.zeros((k + m, k + m))
        kkt[:k, :k] = H[np.ix_(free, free)]
        kkt[:k, k:] = B[:, free].T
        kkt[k:, :k] = B[:, free]
        rhs = np.r_[-(c + H @ z)[free], e - B @ z]
        step = np.linalg.lstsq(kkt, rhs, rcond=1e-13)[0] if k + m else rhs
        z[free] = step[:k]
        outside = max(np.max(lo - z, initial=0), np.max(z - hi, initial=0))
        residual = np.abs(B @ z - e).max(initial=0)
        stationary = np.abs(kkt @ step - rhs).max(initial=0)
        if max(outside, residual) > 1e-9 or stationary > 1e-9 * max(1.0, np.abs(rhs).max(initial=0)):
            continue
        value = 0.5 * z @ H @ z + c @ z
        if value < best:
            best, best_z, best_mu = value, np.clip(z, lo, hi), step[k:]
    if best_z is None:
        raise ValueError("the problem is infeasible")
    return Optimum(best * size, 1e-9 * size * abs(best), best_z * s, best_mu * (size / s) / norm)


def value(Q, p, x):
    return 0.5 * x @ (np.asarray(Q) @ x) + p @ x


def _certified(Q, fold, p, A, d, lower, upper, x, mu):
    """Weak duality: min f ≥ f(x) − Σ max_v r(x − v) − μᵀ(Ax − d) for every μ, r = Qx + p + Aᵀμ, if Q ⪰ 0."""
    v = fold @ x
    quadratic = v @ (Q @ v)
    r = fold.T @ (Q @ v) + p + A.T @ mu
    with np.errstate(invalid="ignore"):
        worst = np.where(r > 0, lower, upper)
        loss = np.where(r == 0, 0.0, r * (x - worst))
    residual = mu @ (A @ x - d) if len(A) else 0.0
    objective = 0.5 * quadratic + p @ x
    return Optimum(objective, float(np.sum(loss) + abs(residual)), x, mu)


def _possible(where, low, high):
    if where == "lower":
        return np.isfinite(low)
    if low == high:
        return False
    return where == "free" or np.isfinite(high)


def _box_size(lower, upper, Q, p, A, d):
    finite = np.abs(np.r_[lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    if finite.size == 2 * p.size and finite.max(initial=0) > 0:
        return finite.max()
    curvature = np.abs(Q).max(initial=0)
    guess = np.abs(p).max(initial=0) / curvature if curvature > 0 else 0.0
    steepest = np.abs(A).max(axis=1, initial=0)
    sums = np.abs(d[steepest > 0] / steepest[steepest > 0]).max(initial=0)
    return max(finite.max(initial=0), guess, sums) or 1.0


def _floats(*arrays):
    return tuple(np.asarray(a, dtype=np.float64) for a in arrays)
