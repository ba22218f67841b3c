"""Measure the accuracy and cost of models with n basis functions, squared hinge loss and one-vs-rest.

    python benchmarks/convex/bases.py [covtype] [mnist] [--ranks 1000 2000] [--bases random support means]

The basis functions are random samples, support vectors of `SVC` on 5 n samples, or cluster means of each class. The
models are trained by Newton's method. Its linear systems are solved by conjugate gradients, with a preconditioner that
is computed from 4 n random rows. The kernel values are stored in float32. Times are processor seconds of two threads.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from hinge import SVC
from lowrank import fit_exact

#: Maximal number of Newton steps, and of conjugate-gradient iterations (passes) per step.
MAX_STEPS, MAX_PASSES = 6, 12
#: Conjugate gradients stop when the squared residual has decreased by this factor.
RESIDUAL_DECREASE = 0.01


def kernel_values(Z, V, gamma):
    K = Z @ V.T
    K *= 2
    K -= np.einsum("ij,ij->i", Z, Z)[:, None]
    K -= np.einsum("ij,ij->i", V, V)
    K *= gamma
    return np.exp(np.minimum(K, 0, out=K), out=K)


def select_basis(kind, n, X, y, options, rng):
    if kind == "random":
        return X[rng.permutation(len(X))[:n]]
    if kind == "support":
        subset = rng.permutation(len(X))[: 5 * n]
        vectors = subset[SVC(n_jobs=2, **options).fit(X[subset], y[subset]).support_]
        return X[rng.permutation(vectors)[:n]]
    classes = np.unique(y)
    return np.concatenate([cluster_means(X[y == label][:3000], n // len(classes), rng) for label in classes])


def cluster_means(Z, k, rng, sweeps=8):
    centers = Z[rng.permutation(len(Z))[:k]].copy()
    for _ in range(sweeps):
        nearest = np.argmax(Z @ centers.T - 0.5 * np.einsum("ij,ij->i", centers, centers), axis=1)
        count, total = np.bincount(nearest, minlength=len(centers)), np.zeros_like(centers)
        np.add.at(total, nearest, Z)
        centers[count > 0] = total[count > 0] / count[count > 0, None]
    return centers


def train(K, T, C, Y, rng):
    """Minimize ½‖f‖² + C Σ max(0, 1 − y(f + b))² for every column of Y; return coefficients, offsets and passes."""
    m, n = K.shape
    subset = rng.permutation(m)[: 4 * n]
    Z = solve_triangular(T, K[subset].T.astype(np.float64), lower=True)
    A = cholesky(np.eye(n) + (0.5 * C * m / len(subset)) * (Z @ Z.T), lower=True)

    def precondition(G):  # (TA)⁻¹G
        return solve_triangular(A, solve_triangular(T, G, lower=True), lower=True)

    def whitened(U):  # A⁻ᵀU, with ½‖f‖² = ½‖A⁻ᵀU‖²
        return solve_triangular(A, U, lower=True, trans=1)

    def coefficients(U):
        return solve_triangular(T, whitened(U), lower=True, trans=1)

    def objective(U, loss):
        return 0.5 * np.sum(whitened(U) ** 2, axis=0) + C * np.sum(loss**2, axis=0, dtype=np.float64)

    U, b, F, passes = np.zeros((n, Y.shape[1])), np.zeros(Y.shape[1]), np.zeros(Y.shape, np.float32), 0
    for _ in range(MAX_STEPS):
        loss = np.maximum(1 - Y * (F + b.astype(np.float32)), 0)
        active = loss > 0
        value = objective(U, loss)
        G = -2 * C * Y * loss
        offset_scale = 1 / np.sqrt(2 * C * np.maximum(active.sum(axis=0), 1))
        r = -precondition((K.T @ G).astype(np.float64)) - solve_triangular(A, whitened(U), lower=True)
        rb = -G.sum(axis=0, dtype=np.float64) * offset_scale
        x, xb, Fx, p, pb = np.zeros_like(U), np.zeros_like(b), np.zeros_like(F), r.copy(), rb.copy()
        squared = initial = np.sum(r * r, axis=0) + rb * rb
        for _ in range(MAX_PASSES):
            Kp = K @ coefficients(p).astype(np.float32)
            q = 2 * C * np.where(active, Kp + (pb * offset_scale).astype(np.float32), 0)
            hp = precondition((K.T @ q).astype(np.float64)) + solve_triangular(A, whitened(p), lower=True)
            hb = q.sum(axis=0, dtype=np.float64) * offset_scale
            length = squared / (np.sum(p * hp, axis=0) + pb * hb)
            x, xb, Fx = x + length * p, xb + length * pb, Fx + length.astype(np.float32) * Kp
            r, rb, passes = r - length * hp, rb - length * hb, passes + 1
            previous, squared = squared, np.sum(r * r, axis=0) + rb * rb
            if np.all(squared < RESIDUAL_DECREASE * initial):
                break
            p, pb = r + squared / previous * p, rb + squared / previous * pb
        step = np.ones_like(b)
        for _ in range(6):
            F_new, b_new = F + step.astype(np.float32) * Fx, b + step * xb * offset_scale
            loss = np.maximum(1 - Y * (F_new + b_new.astype(np.float32)), 0)
            new_value = objective(U + step * x, loss)
            if not np.any(new_value > value):
                break
            step[new_value > value] /= 2
        U, b, F = U + step * x, b_new, F_new
        if np.all(value - new_value < 1e-3 * new_value):
            break
    return coefficients(U).astype(np.float32), b, passes


HEADER = f"""\
{"basis":>9}  {"":10}{"selection":>12}{"kernel values":>15}{"":>8}{"passes":>13}
{"functions":>9}  {"basis":10}{"CPU seconds":>12}{"CPU seconds":>15}{"passes":>8}{"CPU seconds":>13}{"accuracy":>10}\
{"difference":>12}"""

NOTES = """
Notes
- basis: random: random samples; support: support vectors of SVC on 5 n samples; means: cluster means of each class.
- passes: products with the kernel values and with their transpose, for all classes. difference: accuracy minus the
  accuracy of SVC, in percentage points."""


def compare(name, ranks, bases):
    X, y, X_test, y_test, options, _, exact_accuracy = fit_exact(name)
    gamma = np.float32(options["gamma"])
    print(HEADER)
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1, -1).astype(np.float32)
    for n in ranks:
        for kind in bases:
            rng, times = np.random.default_rng(0), [time.process_time()]
            V = select_basis(kind, n, X, y, options, rng)
            times.append(time.process_time())
            K = kernel_values(X, V, gamma)
            times.append(time.process_time())
            square = kernel_values(V, V, gamma).astype(np.float64) + 1e-5 * np.eye(len(V))
            w, b, passes = train(K, cholesky(square, lower=True), options["C"], Y, rng)
            times.append(time.process_time())
            accuracy = 100 * np.mean(classes[np.argmax(kernel_values(X_test, V, gamma) @ w + b, axis=1)] == y_test)
            selection, kernel, solve = np.diff(times)
            print(
                f"{len(V):9d}  {kind:10}{selection:12.2f}{kernel:15.2f}{passes:8d}{solve:13.1f}{accuracy:9.2f}%"
                f"{accuracy - exact_accuracy:+11.2f}%",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["covtype", "mnist"])
    parser.add_argument("--ranks", type=int, nargs="*", default=[1000, 2000])
    parser.add_argument("--bases", nargs="*", default=["random", "support", "means"])
    arguments = parser.parse_args()
    for name in arguments.data:
        compare(name, arguments.ranks, arguments.bases)
    print(NOTES)


if __name__ == "__main__":
    main()
