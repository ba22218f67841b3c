"""What n basis functions can do with squared hinge losses, one class against the rest, and what that costs.

    python benchmarks/convex/bases.py [covtype] [mnist] [--ranks 1000 2000] [--bases random support means]

The bases: samples drawn at random, support vectors of the exact machine of 5 n samples, or means of clusters of every
class.  Newton's method, its systems by conjugate gradients with the preconditioner of a sample of 4 n rows (float32
columns, nothing whitened): a pass is one product with the columns and one with their transpose, for all classes at
once.  Processor seconds of two threads; the exact machine beside it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from hinge import SVC
from lowrank import beside_exact

#: Newton steps, passes for one of them, and how far the residual has to fall.
STEPS, PASSES, FALL = 6, 12, 0.01


def columns(Z, V, gamma):
    K = Z @ V.T
    K *= 2
    K -= np.einsum("ij,ij->i", Z, Z)[:, None]
    K -= np.einsum("ij,ij->i", V, V)
    K *= gamma
    return np.exp(np.minimum(K, 0, out=K), out=K)


def chosen(kind, n, X, y, options, rng):
    if kind == "random":
        return X[rng.permutation(len(X))[:n]]
    if kind == "support":
        some = rng.permutation(len(X))[: 5 * n]
        vectors = some[SVC(n_jobs=2, **options).fit(X[some], y[some]).support_]
        return X[rng.permutation(vectors)[:n]]
    classes = np.unique(y)
    return np.concatenate([means(X[y == label][:3000], n // len(classes), rng) for label in classes])


def means(Z, k, rng, sweeps=8):
    centres = Z[rng.permutation(len(Z))[:k]].copy()
    for _ in range(sweeps):
        nearest = np.argmax(Z @ centres.T - 0.5 * np.einsum("ij,ij->i", centres, centres), axis=1)
        count, total = np.bincount(nearest, minlength=len(centres)), np.zeros_like(centres)
        np.add.at(total, nearest, Z)
        centres[count > 0] = total[count > 0] / count[count > 0, None]
    return centres


def train(K, T, C, Y, rng):
    """(weights of the columns, offsets, passes): ½‖f‖² + C Σ max(0, 1 − y(f + b))² for every column of Y."""
    m, n = K.shape
    some = rng.permutation(m)[: 4 * n]
    Z = solve_triangular(T, K[some].T.astype(np.float64), lower=True)
    A = cholesky(np.eye(n) + (0.5 * C * m / len(some)) * (Z @ Z.T), lower=True)

    def down(G):  # (TA)⁻¹
        return solve_triangular(A, solve_triangular(T, G, lower=True), lower=True)

    def inner(U):  # ½‖f‖² = ½‖A⁻ᵀU‖²
        return solve_triangular(A, U, lower=True, trans=1)

    def weights(U):
        return solve_triangular(T, inner(U), lower=True, trans=1)

    U, b, F, passes = np.zeros((n, Y.shape[1])), np.zeros(Y.shape[1]), np.zeros(Y.shape, np.float32), 0
    for _ in range(STEPS):
        missing = np.maximum(1 - Y * (F + b.astype(np.float32)), 0)
        active = missing > 0
        value = 0.5 * np.sum(inner(U) ** 2, axis=0) + C * np.sum(missing**2, axis=0, dtype=np.float64)
        G = -2 * C * Y * missing
        unit = 1 / np.sqrt(2 * C * np.maximum(active.sum(axis=0), 1))
        r = -down((K.T @ G).astype(np.float64)) - solve_triangular(A, inner(U), lower=True)
        rb = -G.sum(axis=0, dtype=np.float64) * unit
        x, xb, Fx, p, pb = np.zeros_like(U), np.zeros_like(b), np.zeros_like(F), r.copy(), rb.copy()
        size = first = np.sum(r * r, axis=0) + rb * rb
        for _ in range(PASSES):
            Kp = K @ weights(p).astype(np.float32)
            q = 2 * C * np.where(active, Kp + (pb * unit).astype(np.float32), 0)
            hp = down((K.T @ q).astype(np.float64)) + solve_triangular(A, inner(p), lower=True)
            hb = q.sum(axis=0, dtype=np.float64) * unit
            length = size / (np.sum(p * hp, axis=0) + pb * hb)
            x, xb, Fx = x + length * p, xb + length * pb, Fx + length.astype(np.float32) * Kp
            r, rb, passes = r - length * hp, rb - length * hb, passes + 1
            before, size = size, np.sum(r * r, axis=0) + rb * rb
            if np.all(size < FALL * first):
                break
            p, pb = r + size / before * p, rb + size / before * pb
        step = np.ones_like(b)
        for _ in range(6):
            F_new, b_new = F + step.astype(np.float32) * Fx, b + step * xb * unit
            missing = np.maximum(1 - Y * (F_new + b_new.astype(np.float32)), 0)
            now = 0.5 * np.sum(inner(U + step * x) ** 2, axis=0) + C * np.sum(missing**2, axis=0, dtype=np.float64)
            if not np.any(now > value):
                break
            step[now > value] /= 2
        U, b, F = U + step * x, b_new, F_new
        if np.all(value - now < 1e-3 * now):
            break
    return weights(U).astype(np.float32), b, passes


def compare(name, ranks, bases):
    X, y, X_test, y_test, options, _, right = beside_exact(name)
    gamma = np.float32(options["gamma"])
    names = (("choice s", 9), ("columns s", 10), ("passes", 8), ("passes s", 9), ("accuracy", 10), ("against", 9))
    print(f"{'n':>6}  {'basis':9}" + "".join(f"{name:>{width}}" for name, width in names))
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1, -1).astype(np.float32)
    for n in ranks:
        for kind in bases:
            rng, times = np.random.default_rng(0), [time.process_time()]
            V = chosen(kind, n, X, y, options, rng)
            times.append(time.process_time())
            K = columns(X, V, gamma)
            times.append(time.process_time())
            square = columns(V, V, gamma).astype(np.float64) + 1e-5 * np.eye(len(V))
            w, b, passes = train(K, cholesky(square, lower=True), options["C"], Y, rng)
            times.append(time.process_time())
            accuracy = 100 * np.mean(classes[np.argmax(columns(X_test, V, gamma) @ w + b, axis=1)] == y_test)
            choice, first, second = np.diff(times)
            print(f"{len(V):6d}  {kind:9}{choice:9.2f}{first:10.2f}{passes:8d}{second:9.1f}{accuracy:9.2f}%"
                  f"{accuracy - right:+8.2f}%", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["covtype", "mnist"])
    parser.add_argument("--ranks", type=int, nargs="*", default=[1000, 2000])
    parser.add_argument("--bases", nargs="*", default=["random", "support", "means"])
    arguments = parser.parse_args()
    for name in arguments.what:
        compare(name, arguments.ranks, arguments.bases)


if __name__ == "__main__":
    main()
