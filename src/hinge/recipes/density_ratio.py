"""Density ratio of target and training distribution, estimated without estimating the densities.  docs/math (423)-(426)

The methods are uLSIF (Kanamori, Hido and Sugiyama 2009) and KLIEP (Sugiyama et al. 2008). Both use Gaussians centered
at some of the target samples, r(x) = Σₗ θₗ exp(−γ‖x − cₗ‖²), θ ≥ 0.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from hinge.control import RunControl
from hinge.kernels import RBF, cross
from hinge.problems import Array
from hinge.solvers.time_budget import fits
from hinge.validation import check_choice, check_integer

METHODS = ("ulsif", "kliep")

#: Values of γ in the cross-validation, as multiples of 1 / (2 · median squared distance), and of λ of uLSIF.
WIDTHS = tuple(float(w) for w in np.geomspace(0.1, 30.0, 9))
PENALTIES = tuple(float(p) for p in np.geomspace(1e-3, 10.0, 9))


#: Estimated seconds of a kernel value with a center, for all folds, and rows that a time limit always allows.
SECONDS_PER_VALUE = {"ulsif": 3e-7, "kliep": 1e-5}
MIN_ROWS = 200

SMALLEST = 1e-300  # positive number that replaces zero before a logarithm or a division


@dataclass(frozen=True)
class DensityRatio:
    """Estimate r(x) ≈ p_target(x) / p_train(x).

    Attributes
    ----------
    centers, coefficients, gamma
        r(x) = Σ coefficientsₗ exp(−gamma ‖x − centersₗ‖²).
    penalty : float
        λ of uLSIF; 0 for KLIEP.
    score : float
        Cross-validated criterion; smaller is better.
    gap : float
        Bound on the distance of the criterion from its optimum for KLIEP (425); 0 for uLSIF, a linear system.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import density_ratio
    >>> rng = np.random.default_rng(0)
    >>> ratio = density_ratio(rng.normal(size=(60, 1)), 1 + rng.normal(size=(60, 1)), n_centers=20)
    >>> ratio.method, ratio.centers.shape == (20, 1), ratio.gap
    ('ulsif', True, 0.0)
    """

    method: str
    centers: Any
    coefficients: Any
    gamma: float
    penalty: float
    score: float
    gap: float

    def __call__(self, X: Any) -> Array:
        """Return the ratio at each row of X."""
        X = check_array(X, dtype=np.float64, order="C")
        if X.shape[1] != self.centers.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the ratio was estimated with {self.centers.shape[1]}")
        return cross(RBF(self.gamma), X, self.centers) @ self.coefficients


def density_ratio(
    X: Any,
    X_target: Any,
    *,
    method: str = "ulsif",
    n_centers: int = 100,
    cv: int = 5,
    random_state: Any = 0,
    max_time: float | None = None,
) -> DensityRatio:
    """Estimate p_target / p_train from samples of both.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples of the training distribution.
    X_target : array-like of shape (n_targets, n_features)
        Samples of the target distribution.
    method : {"ulsif", "kliep"}, default="ulsif"
        Least squares in closed form; or maximum likelihood by expectation maximization, with a bound on its gap.
    n_centers : int, default=100
        Largest number of Gaussians, which are centered at randomly chosen target samples.
    cv : int, default=5
        Folds of the cross-validation that selects γ (and λ).
    random_state : int or RandomState, default=0
    max_time : float, optional
        Seconds. Values of γ are tried from the middle of their range outwards. With many samples, random subsets are
        used that the time suffices for; a warning reports an incomplete search.

    Returns
    -------
    DensityRatio

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import density_ratio
    >>> rng = np.random.default_rng(0)
    >>> ratio = density_ratio(rng.normal(size=(60, 1)), 1 + rng.normal(size=(60, 1)), n_centers=20)
    >>> bool(ratio(np.array([[1.5]]))[0] > ratio(np.array([[-1.0]]))[0])
    True
    """
    control = RunControl(max_time)
    check_choice("method", method, METHODS)
    check_integer("n_centers", n_centers, 1)
    check_integer("cv", cv, 2)
    X = check_array(X, dtype=np.float64, order="C")
    Z = check_array(X_target, dtype=np.float64, order="C", input_name="X_target", ensure_min_samples=0)
    if len(Z) == 0:
        raise ValueError("X_target has no samples; pass samples of the target distribution")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and X_target {Z.shape[1]}; the numbers must be equal")
    if min(len(X), len(Z)) < cv:
        raise ValueError(f"cv={cv} folds need as many rows, but X has {len(X)} and X_target {len(Z)}; lower cv")
    random = check_random_state(random_state)
    X, Z = (_affordable(part, method, n_centers, random, control) for part in (X, Z))
    centers = Z[random.permutation(len(Z))[:n_centers]]
    folds = [np.arange(len(part)) % cv for part in (X, Z)]
    folds = [random.permutation(fold) for fold in folds]
    scaled = _scaled(centers)
    distances = -np.log(np.maximum(cross(RBF(1.0), scaled, scaled), SMALLEST))  # squared
    median = float(np.median(distances[distances > 0])) if np.any(distances > 0) else 1.0
    unit = 1.0 / (2.0 * median * _spread(centers) ** 2)
    best: tuple[float, float, float] | None = None
    longest, tried = 0.0, 0
    middle = len(WIDTHS) // 2
    for width in WIDTHS if max_time is None else sorted(WIDTHS, key=lambda w: abs(WIDTHS.index(w) - middle)):
        began = time.monotonic()
        if tried and not fits(control, 1.2 * longest):
            warnings.warn(
                f"max_time={max_time} s ended the search after {tried} of {len(WIDTHS)} widths; allow more time",
                ConvergenceWarning,
                stacklevel=2,
            )
            break
        gamma = width * unit
        train, target = cross(RBF(gamma), X, centers), cross(RBF(gamma), Z, centers)
        for penalty, score in _scores(method, train, target, folds, cv):
            if best is None or score < best[0]:
                best = score, gamma, penalty
        longest, tried = max(longest, time.monotonic() - began), tried + 1
    assert best is not None
    score, gamma, penalty = best
    train, target = cross(RBF(gamma), X, centers), cross(RBF(gamma), Z, centers)
    coefficients, gap = _least_squares(train, target, [penalty])[0] if method == "ulsif" else _likelihood(train, target)
    return DensityRatio(method, centers, coefficients, gamma, penalty, score, gap)


def _affordable(X: Array, method: str, n_centers: int, random: Any, control: RunControl) -> Array:
    """Return X, or as many of its rows as the time limit allows for the search over γ."""
    remaining = control.remaining()
    if remaining is None:
        return X
    rows = int(max(MIN_ROWS, remaining / (SECONDS_PER_VALUE[method] * n_centers * (len(WIDTHS) + 1))))
    return X if len(X) <= rows else np.ascontiguousarray(X[random.permutation(len(X))[:rows]])


def _spread(X: Array) -> float:
    """Return the largest distance of a feature from its mean; 1 if all samples are equal."""
    spread = float(np.max(np.abs(X - X.mean(axis=0)), initial=0.0))
    return spread if spread > 0 else 1.0


def _scaled(X: Array) -> Array:
    """Return X centered and scaled so that exp(−‖x − z‖²) does not underflow."""
    return np.ascontiguousarray((X - X.mean(axis=0)) / _spread(X))


def _scores(
    method: str, train: Array, target: Array, folds: list[NDArray[Any]], cv: int
) -> list[tuple[float, float]]:
    """Return (λ, mean criterion on the test folds) for every λ."""
    penalties = PENALTIES if method == "ulsif" else (0.0,)
    total = np.zeros(len(penalties))
    for k in range(cv):
        train_fit, train_test = train[folds[0] != k], train[folds[0] == k]
        target_fit, target_test = target[folds[1] != k], target[folds[1] == k]
        if method == "ulsif":
            for j, (theta, _) in enumerate(_least_squares(train_fit, target_fit, penalties)):
                total[j] += 0.5 * np.mean((train_test @ theta) ** 2) - np.mean(target_test @ theta)
        else:
            theta, _ = _likelihood(train_fit, target_fit, steps=200)
            total[0] -= np.mean(np.log(np.maximum(target_test @ theta, SMALLEST)))
    return [(penalty, float(value / cv)) for penalty, value in zip(penalties, total, strict=True)]


def _least_squares(train: Array, target: Array, penalties: Any) -> list[tuple[Array, float]]:
    """Return θ = max(0, (H + λ)⁻¹h), H = mean φφᵀ over the training data, h = mean φ over the targets: (423)."""
    values, vectors = np.linalg.eigh(train.T @ train / len(train))
    h = vectors.T @ target.mean(axis=0)
    return [(np.maximum(0.0, vectors @ (h / (np.maximum(values, 0.0) + p))), 0.0) for p in penalties]


def _likelihood(train: Array, target: Array, steps: int = 2000, tol: float = 1e-4) -> tuple[Array, float]:
    """Return the maximum likelihood θ ≥ 0 with mean r = 1 over the training data, and its gap: (424), (425)."""
    mean = train.mean(axis=0)
    used = mean > max(1e-12 * float(mean.max()), SMALLEST)
    if not used.any():  # all kernel values underflow
        return np.zeros(len(mean)), np.inf
    psi = np.maximum(target[:, used] / mean[used], SMALLEST)
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
