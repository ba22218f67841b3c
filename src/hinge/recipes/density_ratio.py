"""How much likelier a sample is among the targets than among the training data, without estimating either density.

docs/math (423)-(426): uLSIF (Kanamori, Hido and Sugiyama 2009) and KLIEP (Sugiyama et al. 2008), both with Gaussians
at some of the targets, r(x) = Σₗ θₗ exp(−γ‖x − cₗ‖²), θ ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from hinge.kernels import RBF, cross
from hinge.problems import Array
from hinge.validation import check_choice, check_integer

METHODS = ("ulsif", "kliep")
#: Widths tried, as multiples of 1 / (2 · median squared distance); and λ of uLSIF.
WIDTHS = tuple(float(w) for w in np.geomspace(0.1, 30.0, 9))
PENALTIES = tuple(float(p) for p in np.geomspace(1e-3, 10.0, 9))


@dataclass(frozen=True)
class DensityRatio:
    """r(x) ≈ p_target(x) / p_train(x).

    Attributes
    ----------
    centers, coefficients, gamma
        r(x) = Σ coefficientsₗ exp(−gamma ‖x − centersₗ‖²).
    penalty : float
        λ of uLSIF; 0 for KLIEP.
    score : float
        What cross-validation found: the smaller the better.
    gap : float
        How far the fit can be from its optimum at most: KLIEP (425); 0 for uLSIF, which is a linear system.
    """

    method: str
    centers: Any
    coefficients: Any
    gamma: float
    penalty: float
    score: float
    gap: float

    def __call__(self, X: Any) -> Array:
        """The ratio at each row of X."""
        X = check_array(X, dtype=np.float64, order="C")
        if X.shape[1] != self.centers.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the ratio was estimated with {self.centers.shape[1]}")
        return cross(RBF(self.gamma), X, self.centers) @ self.coefficients

    def _check_loaded(self) -> None:
        """The arrays belong together (they may come from a file)."""
        centers, coefficients = self.centers, self.coefficients
        whole = all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in (centers, coefficients))
        if not (
            whole
            and self.method in METHODS
            and centers.ndim == 2
            and coefficients.shape == (len(centers),)
            and np.isfinite(centers).all()
            and np.isfinite(coefficients).all()
            and 0 < self.gamma < np.inf
        ):
            raise ValueError("the internal representation of the density ratio was altered")


def density_ratio(
    X: Any, X_target: Any, *, method: str = "ulsif", n_centers: int = 100, cv: int = 5, random_state: Any = 0
) -> DensityRatio:
    """Estimate p_target / p_train from samples of both.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples like those a machine is trained on.
    X_target : array-like of shape (n_targets, n_features)
        Samples like those it will meet; no labels are needed.
    method : {"ulsif", "kliep"}, default="ulsif"
        Least squares in closed form; or maximum likelihood by expectation maximisation, with a proven gap.
    n_centers : int, default=100
        Gaussians at most, at randomly chosen targets.
    cv : int, default=5
        Folds of the cross-validation that chooses the width (and λ).
    random_state : int or RandomState, default=0

    Returns
    -------
    DensityRatio
    """
    check_choice("method", method, METHODS)
    check_integer("n_centers", n_centers, 1)
    check_integer("cv", cv, 2)
    X = check_array(X, dtype=np.float64, order="C")
    Z = check_array(X_target, dtype=np.float64, order="C", input_name="X_target", ensure_min_samples=0)
    if len(Z) == 0:
        raise ValueError("X_target has no samples; pass inputs like those that the machine will meet")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and X_target {Z.shape[1]}; both need the same")
    if min(len(X), len(Z)) < cv:
        raise ValueError(f"cv={cv} folds need as many rows, but X has {len(X)} and X_target {len(Z)}; lower cv")
    random = check_random_state(random_state)
    centers = Z[random.permutation(len(Z))[:n_centers]]
    folds = [np.arange(len(part)) % cv for part in (X, Z)]
    folds = [random.permutation(fold) for fold in folds]
    squared = -np.log(np.maximum(cross(RBF(1.0), _unit(centers), _unit(centers)), 1e-300))
    typical = float(np.median(squared[squared > 0])) if np.any(squared > 0) else 1.0
    unit = 1.0 / (2.0 * typical * _scale(centers) ** 2)
    best: tuple[float, float, float] | None = None
    for width in WIDTHS:
        gamma = width * unit
        train, target = cross(RBF(gamma), X, centers), cross(RBF(gamma), Z, centers)
        for penalty, score in _scores(method, train, target, folds, cv):
            if best is None or score < best[0]:
                best = score, gamma, penalty
    assert best is not None
    score, gamma, penalty = best
    train, target = cross(RBF(gamma), X, centers), cross(RBF(gamma), Z, centers)
    coefficients, gap = _least_squares(train, target, [penalty])[0] if method == "ulsif" else _likelihood(train, target)
    return DensityRatio(method, centers, coefficients, gamma, penalty, score, gap)


def _scale(X: Array) -> float:
    spread = float(np.max(np.abs(X - X.mean(axis=0)), initial=0.0))
    return spread if spread > 0 else 1.0


def _unit(X: Array) -> Array:
    """Moved and scaled so that exp of minus a squared distance does not vanish."""
    return np.ascontiguousarray((X - X.mean(axis=0)) / _scale(X))


def _scores(
    method: str, train: Array, target: Array, folds: list[NDArray[Any]], cv: int
) -> list[tuple[float, float]]:
    """(λ, mean criterion on the folds left out) for every λ."""
    penalties = PENALTIES if method == "ulsif" else (0.0,)
    total = np.zeros(len(penalties))
    for k in range(cv):
        seen, other = train[folds[0] != k], train[folds[0] == k]
        near, far = target[folds[1] != k], target[folds[1] == k]
        if method == "ulsif":
            for j, (theta, _) in enumerate(_least_squares(seen, near, penalties)):
                total[j] += 0.5 * np.mean((other @ theta) ** 2) - np.mean(far @ theta)
        else:
            theta, _ = _likelihood(seen, near, steps=200)
            total[0] -= np.mean(np.log(np.maximum(far @ theta, 1e-300)))
    return [(penalty, float(value / cv)) for penalty, value in zip(penalties, total, strict=True)]


def _least_squares(train: Array, target: Array, penalties: Any) -> list[tuple[Array, float]]:
    """θ = max(0, (H + λ)⁻¹h), H = mean φφᵀ over the training data, h = mean φ over the targets: (423)."""
    values, vectors = np.linalg.eigh(train.T @ train / len(train))
    h = vectors.T @ target.mean(axis=0)
    return [(np.maximum(0.0, vectors @ (h / (np.maximum(values, 0.0) + p))), 0.0) for p in penalties]


def _likelihood(train: Array, target: Array, steps: int = 2000, tol: float = 1e-4) -> tuple[Array, float]:
    """The likeliest θ ≥ 0 with mean r = 1 over the training data, and a bound on what it lacks: (424), (425)."""
    mean = train.mean(axis=0)
    used = mean > max(1e-12 * float(mean.max()), 1e-300)
    if not used.any():  # no training sample is near any target
        return np.zeros(len(mean)), np.inf
    psi = np.maximum(target[:, used] / mean[used], 1e-300)
    share = np.full(psi.shape[1], 1.0 / psi.shape[1])
    gap = np.inf
    for _ in range(steps):
        gain = (psi / (psi @ share)[:, None]).mean(axis=0)
        gap = float(gain.max() - 1.0)
        if gap <= tol:
            break
        share = share * gain
    theta = np.zeros(len(mean))
    theta[used] = share / mean[used]
    return theta, gap
